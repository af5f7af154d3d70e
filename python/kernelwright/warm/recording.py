"""Records the versions of kernels that a program compiles or loads: a manifest for `kw warmup`.

A manifest is a JSON object with one version a line. Several processes may add to one file.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sys
import types
from _frozen_importlib_external import MAGIC_NUMBER
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from ..argument_types import described
from ..capture import identity_of
from ..source import class_of, code_of_text
from .warmup import BODIES

FORMAT = "kernelwright manifest 1"
_HEAD = f'{{"format": "{FORMAT}", "versions": ['
_TAIL = "\n]}\n"


class ManifestError(ValueError):
    """A file is no manifest that this version reads; the message says why."""


def bytecode() -> str:
    """Returns the version of Python's bytecode, which is part of the identity of a kernel."""
    return f"{sys.implementation.cache_tag}-{MAGIC_NUMBER.hex()}"


def _of_code(function: types.FunctionType, code: types.CodeType, text: str) -> dict[str, Any]:
    """Returns what the text of a function does not tell of its code object (source.code_of_text)."""
    out: dict[str, Any] = {"flags": code.co_flags}
    if code.co_freevars:
        out["free"] = list(code.co_freevars)
    if owner := class_of(function):
        out["owner"] = owner
    space = function.__globals__
    modules = [n for n in code.co_names if isinstance(space.get(n), types.ModuleType)]
    # a module that another cell or file imported is a name like any other to CPython's compiler
    if modules and not _makes(code, text, out):
        out["modules"] = modules
    return out


def _makes(code: types.CodeType, text: str, of_code: dict[str, Any]) -> bool:
    """Returns whether a text compiles to a code object, with what is known of it so far."""
    made = code_of_text(text, of_code.get("free", []), of_code.get("owner", ""), of_code["flags"], [])
    return made is not None and identity_of([made]) == identity_of([code])


def entry_of(
    request: dict[str, Any],
    source: dict[str, Any],
    functions: list[tuple[types.FunctionType, types.CodeType]],
) -> dict[str, Any]:
    """Returns a version as a manifest holds it. What has its default value is left out."""
    entry = {
        "kernel": request["name"],
        "types": described(request["args"]),
        "body": BODIES[request["options"]["body"]],
        "target": request["target"],
    }
    if "grain" in request:
        entry["grain"] = request["grain"]
    options = {k: v for k, v in request["options"].items() if k != "body" and v != _defaults[k]}
    for name, value in [
        ("options", options),
        ("captures", request["captures"]),
        ("outs", request["outs"]),
        ("out_aliases", request["out_aliases"]),
    ]:
        if value:
            entry[name] = value
    entry["source"] = source
    entry["identity"] = request["identity"]
    if functions:
        texts = [source["text"], *(callee["text"] for callee in source.get("callees", []))]
        told = [_of_code(f, c, text) for (f, c), text in zip(functions, texts, strict=True)]
        entry["python"] = {"bytecode": bytecode(), "functions": told}
    return entry


_defaults = {"fp": 1, "debug": False, "unchecked": False, "asserts": True, "debug_info": False}


def options_of(entry: dict[str, Any], body: int) -> dict[str, Any]:
    """Returns the options of a recorded version, with those that have their default value."""
    return {**_defaults, **entry.get("options", {}), "body": body}


class Recorder:
    """Adds each new version to a manifest, as soon as it was compiled or loaded."""

    def __init__(self, path: str) -> None:
        """Makes the file if there is none. Raises ManifestError and OSError."""
        self.path = os.path.abspath(path)
        self._known: set[str] = set()
        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            text = file.read().decode(errors="replace")
            if not text:
                file.write((_HEAD + _TAIL).encode())
            elif not text.startswith(_HEAD) or not text.endswith(_TAIL):
                raise ManifestError(f"'{path}' is no manifest of kernelwright: record into another file")
        self._known.update(line.rstrip(",") for line in text.splitlines()[1:-1])

    def __call__(
        self,
        request: dict[str, Any],
        source: dict[str, Any],
        functions: list[tuple[types.FunctionType, types.CodeType]],
    ) -> None:
        line = json.dumps(entry_of(request, source, functions))
        if line in self._known:
            return
        with open(self.path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = file.seek(0, os.SEEK_END) - len(_TAIL)
            comma = "," if end > len(_HEAD) else ""
            _write_at(file.fileno(), f"{comma}\n{line}{_TAIL}".encode(), end)
        self._known.add(line)


def _write_at(descriptor: int, data: bytes, end: int) -> None:
    """Replaces the tail of a manifest, in one write, so that a killed process leaves a whole file. Raises
    OSError on a full disk, and leaves the manifest as it was.
    """
    if os.pwrite(descriptor, data, end) != len(data):
        os.pwrite(descriptor, _TAIL.encode(), end)
        os.ftruncate(descriptor, end + len(_TAIL))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


_present: list[Recorder] = []  # the innermost last


def start(path: str) -> Recorder:
    """Begins to record into a file. Raises ManifestError and OSError."""
    _present.append(Recorder(path))
    _core.set_recorder(_present[-1])
    return _present[-1]


@contextmanager
def record(path: str) -> Iterator[None]:
    """Records the versions of kernels that are compiled or loaded in the `with` block, by any thread.

    `path` is a manifest, to which they are added; `kw warmup` compiles what it lists, on any machine.
    Versions that this process made before are not listed. Raises ValueError if the file is another one, and
    OSError if it cannot be written.
    """
    recorder = start(path)
    try:
        yield
    finally:
        _present.remove(recorder)
        _core.set_recorder(_present[-1] if _present else None)
