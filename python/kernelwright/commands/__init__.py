"""The commands of `kw` (kernelwright.cli), one module each. Imported by the command alone."""
