"""`kw run`: executes a program as `__main__` while `import mindspore` means our layer."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import runpy
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ..errors import DeviceError
from . import context


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Resolves `mindspore` and `mindspore.x` to `kernelwright.mindspore` and its modules."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "mindspore" and not name.startswith("mindspore."):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name == "mindspore")

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        try:
            return importlib.import_module(f"kernelwright.{spec.name}")
        except ModuleNotFoundError as e:
            raise ModuleNotFoundError(
                f"{spec.name} is not part of kernelwright's MindSpore layer", name=spec.name
            ) from e

    def exec_module(self, module: ModuleType) -> None:
        """The module was executed under its own name."""


def run_program(script: str, arguments: Sequence[str], device: str | None) -> int:
    """Runs `script` with `arguments` as its sys.argv; returns the exit status.

    Exceptions of the program pass through. A device that is not there is one line on stderr and status 1.
    """
    if not os.path.isfile(script):
        print(f"kw run: no such file: {script}", file=sys.stderr)
        return 2
    try:
        context.decide_device(device)
    except DeviceError as e:
        print(f"kw run: {type(e).__name__} {e.code}: {e.message}; use --device cpu", file=sys.stderr)
        return 1
    sys.meta_path.insert(0, _Finder())
    for name in [n for n in sys.modules if n == "mindspore" or n.startswith("mindspore.")]:
        del sys.modules[name]
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")
    return 0
