"""Export: one kernel as a shared library with a C header, for programs that have no kernelwright."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core
from ._core import Kernel
from .errors import placeless_error
from .warm.warmup import arguments_of

_linkers = ("ld.lld", "ld")


@dataclass(frozen=True)
class ExportedLibrary:
    """The files of an exported kernel. `name` is that of its functions in C: NAME_run, NAME_shapes and NAME,
    the entry of MindSpore's ahead-of-time kernels.
    """

    name: str
    library: Path
    header: Path


def _refused(message: str, help_text: str = "") -> Exception:
    return placeless_error("UnsupportedError", "E508", message, help_text)


def _linker() -> str:
    for name in _linkers:
        if found := shutil.which(name):
            return found
    raise _refused("export needs a linker, and there is neither ld.lld nor ld", "install lld or binutils")


def _link(folder: Path, name: str, library: str, objects: Mapping[str, bytes]) -> Path:
    """Links objects to a shared library in a folder; returns its path."""
    public = {
        f"{name}_run": "kw_exported_run",
        f"{name}_shapes": "kw_exported_shapes",
        name: "kw_exported_aot",
    }
    (folder / "exports.map").write_text(f"{{ global: {'; '.join(public)}; local: *; }};")
    for file, text in objects.items():
        (folder / file).write_bytes(text)
    archive = Path(_core.__file__).parent / "lib" / "libkw_exported.a"
    command = [_linker(), "-shared", "-o", library, "-soname", library, "--gc-sections", "-Bsymbolic", "-s"]
    command += ["-z", "noexecstack", "-z", "relro", "-z", "now", "--version-script", "exports.map"]
    for alias, symbol in public.items():
        command += ["-u", symbol, "--defsym", f"{alias}={symbol}"]
    command += [*objects, "--whole-archive", str(archive), "--no-whole-archive"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise _refused(f"{command[0]} could not link {library}: {done.stderr.strip() or done.returncode}")
    return folder / library


def export(
    kernel: Kernel,
    path: str | os.PathLike[str],
    args: tuple[Any, ...],
    keywords: Mapping[str, Any],
    *,
    target: str,
    name: str,
) -> ExportedLibrary:
    """Writes a shared library, and beside it a C header, from a kernel for types of arguments."""
    library = Path(path or f"lib{name or kernel.__name__}.so")
    if not library.parent.is_dir():
        raise _refused(f"there is no folder '{library.parent}' for {library.name}")
    if library.is_dir() or ".so" not in library.suffixes:
        what = "a folder" if library.is_dir() else "no name of a shared library"
        raise _refused(f"'{library}' is {what}", "name a file that ends with .so, as libk.so")
    stem = library.name.partition(".so")[0]
    header = library.with_name((stem.removeprefix("lib") or stem) + ".h")
    positional, by_name = arguments_of(kernel, args, keywords, "export")
    main, plain, description, text, name = _core.export(
        kernel, positional, by_name, target, name, library.name, header.name
    )
    objects = {"main.o": main, "plain.o": plain, "description.o": description}
    # a folder of its own, so that nobody sees half a library, on the same disk, so that it can be moved
    with tempfile.TemporaryDirectory(prefix=f".{library.name}.", dir=library.parent) as folder:
        made = _link(Path(folder), name, library.name, objects)
        (Path(folder) / header.name).write_text(text, encoding="utf-8")
        os.replace(Path(folder) / header.name, header)
        os.replace(made, library)
    return ExportedLibrary(name, library, header)
