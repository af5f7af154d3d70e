"""Programs that show kernelwright at work: `python -m kernelwright.examples.demo`."""
