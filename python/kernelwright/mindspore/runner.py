"""`kw run`: executes a program as `__main__` while `import mindspore` means our layer."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence
from types import ModuleType, TracebackType
from typing import Any

from .missing import text_of

_STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in")


def _text(name: str) -> str:
    """Returns the message about a missing module, with the names that exist if its package is ours."""
    outer, _, last = name.rpartition(".")
    found = sys.modules.get(f"kernelwright.{outer}")
    names = vars(found) if found else {}
    return text_of(outer, last, {k: v for k, v in names.items() if isinstance(v, ModuleType)})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Resolves `mindspore` and `mindspore.x` to `kernelwright.mindspore` and its modules."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "mindspore" and not name.startswith("mindspore."):
            return None
        try:
            ours = importlib.util.find_spec(f"kernelwright.{name}")
        except ModuleNotFoundError:
            ours = None
        is_package = ours is not None and ours.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        try:
            return importlib.import_module(f"kernelwright.{spec.name}")
        except ModuleNotFoundError as e:
            if e.name != f"kernelwright.{spec.name}":
                raise
            raise ModuleNotFoundError(_text(spec.name), name=spec.name) from None

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: the module was executed under its own name."""


def install() -> None:
    """Makes `mindspore` mean our layer in this process, and in processes that get its sys.path."""
    for name in [n for n in sys.modules if n == "mindspore" or n.startswith("mindspore.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder())
    layer = sys.modules["mindspore"] = importlib.import_module("kernelwright.mindspore")
    layer.__name__ = "mindspore"  # the name in Python's own messages
    if _STAND_IN not in sys.path:
        sys.path.insert(1, _STAND_IN)


def _print_error(
    script: str, kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Prints an error as Python does, from the program's own first line on."""
    own = trace
    while own and own.tb_frame.f_code.co_filename != script:
        own = own.tb_next
    if own is None and not isinstance(error, SyntaxError):  # a SyntaxError of the program has no frame in it
        own = trace
    sys.__excepthook__(kind, error.with_traceback(own), own)


def run_program(script: str, arguments: Sequence[str]) -> int:
    """Runs `script` with `arguments` as its sys.argv and returns the exit status; exceptions pass through."""
    if not os.path.isfile(script):
        print(f"kw run: no such file: {script}", file=sys.stderr)
        return 2
    sys.argv = [script, *arguments]
    if not getattr(sys.flags, "safe_path", False):  # otherwise Python has put no program folder there
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    install()
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = functools.partial(_print_error, script)
    runpy.run_path(script, run_name="__main__")
    return 0
