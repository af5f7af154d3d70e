"""The decorator and the methods of kernels. The type itself, with its fast call, is `_core.Kernel`."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable
from typing import Any, overload

from . import _core, capture  # noqa: F401 (the core calls capture at each first call)
from ._core import Kernel


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...
@overload
def kernel(
    *, fp: str = "default", debug: bool = False, unchecked: bool = False
) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    *,
    fp: str = "default",
    debug: bool = False,
    unchecked: bool = False,
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Turns a Python function in the kernel language into a compiled operator.

    Compiled at the first call for each combination of dtypes and ranks, and kept in the disk cache. `fp`
    is "strict", "default" or "fast" (how sums may be rounded). `debug` runs asserts, checks every access and
    first read, and raises where values differ from CPython's: ints beyond 64 bits or the type that takes
    them, divisions by zero. `unchecked` leaves out the run-time checks of subscripts that are data: an index
    out of range then reads or writes foreign memory. Raises TypeError when `function` is no Python function;
    errors in the kernel itself are raised by the first call or by `.check()`.
    """

    def make(f: Callable[..., Any]) -> Kernel:
        if not isinstance(f, types.FunctionType):
            raise TypeError(f"kernel: expected a Python function, got {type(f).__name__}; decorate a `def`")
        made = Kernel(f, fp=fp, debug=debug, unchecked=unchecked)
        functools.update_wrapper(made, f)
        return made

    return make if function is None else make(function)


def _py(self: Kernel, *args: Any, **kwargs: Any) -> Any:
    """Runs the original function under CPython, with the words of the language bound; prints and breakpoints
    work.
    """
    from .lang import bind

    return bind(_core.function_of(self))(*args, **kwargs)


def _ir(self: Kernel, *args: Any, stage: str = "lower") -> str:
    """The IR as text: stage "lower" (as written) or "final" (checked and expanded).

    For the types of the given arguments, else for those of the last call. Raises TypeError when there are
    neither.
    """
    if stage not in ("lower", "final"):
        raise ValueError(f"ir: stage is {stage!r}, but must be 'lower' or 'final'")
    return _core.inspect(self, args, stage)


def _llvm(self: Kernel, *args: Any) -> str:
    """The LLVM IR that the code generator receives; arguments as for `ir`."""
    return _core.inspect(self, args, "llvm")


def _asm(self: Kernel, *args: Any) -> str:
    """The assembly of the compiled kernel; arguments as for `ir`."""
    return _core.inspect(self, args, "asm")


def _check(self: Kernel) -> None:
    """Raises what can be found without argument types: syntax errors and undefined names (E1xx)."""
    _core.check(self)


def _reduce(self: Kernel) -> str | tuple[Any, ...]:
    """Pickles by qualified name, like a function."""
    module, name = self.__module__, self.__qualname__
    target: Any = sys.modules.get(module)
    for part in name.split("."):
        target = getattr(target, part, None)
    if target is not self:
        raise TypeError(
            f"cannot pickle kernel {name}: it is not found as {module}.{name}; define it at module level"
        )
    script = getattr(sys.modules[module], "__file__", None) if module == "__main__" else None
    return (_find, (module, name, os.path.abspath(script)) if script else (module, name))


def _find(module: str, name: str, script: str | None = None) -> Any:
    """The kernel of a qualified name, for unpickling.

    A worker whose `__main__` is another program (joblib's) runs the script once, under a name that is not
    "__main__", as multiprocessing does.
    """
    import importlib

    target: Any = importlib.import_module(module)
    if script and not hasattr(target, name.split(".")[0]):
        target = _script(script)
    for part in name.split("."):
        target = getattr(target, part)
    return target


@functools.cache
def _script(path: str) -> types.SimpleNamespace:
    import runpy

    return types.SimpleNamespace(**runpy.run_path(path, run_name="__mp_main__"))


def _repr(self: Kernel) -> str:
    function = _core.function_of(self)
    return f"<kernel {function.__module__}.{function.__qualname__}>"


for _name, _method in {
    "py": _py,
    "ir": _ir,
    "llvm": _llvm,
    "asm": _asm,
    "check": _check,
    "__reduce__": _reduce,
    "__repr__": _repr,
}.items():
    _method.__name__ = _name
    _method.__qualname__ = f"Kernel.{_name}"
    setattr(Kernel, _name, _method)
