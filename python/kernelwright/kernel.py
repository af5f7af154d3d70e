"""The decorator and the methods of kernels. `_core.Kernel` is the type itself, with its fast call."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from . import _core, capture, kept_text, text  # noqa: F401 (the core calls capture at each first call)
from ._core import Kernel

if TYPE_CHECKING:
    import os
    from typing import ParamSpec, TypeVar

    from .explain import Explanation, HtmlExplanation
    from .export import ExportedLibrary
    from .measure.bench import Result
    from .measure.stats import KernelStats
    from .warm.warmup import WarmedVersion

    P = ParamSpec("P")
    R = TypeVar("R")


@overload
def kernel(function: Callable[P, R]) -> Kernel[P, R]: ...
@overload
def kernel(
    function: str,
    *,
    fp: str = "default",
    debug: bool = False,
    unchecked: bool = False,
    debug_info: bool = False,
    wait: bool = False,
    scope: Mapping[str, object] | None = None,
) -> Kernel: ...
@overload
def kernel(
    *,
    fp: str = "default",
    debug: bool = False,
    unchecked: bool = False,
    debug_info: bool = False,
    wait: bool = False,
) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(
    function: Callable[..., Any] | str | None = None,
    *,
    fp: str = "default",
    debug: bool = False,
    unchecked: bool = False,
    debug_info: bool = False,
    wait: bool = False,
    scope: Mapping[str, object] | None = None,
) -> Any:
    """Turns a Python function in the kernel language into a compiled operator.

    Compiled at the first call for each combination of dtypes and ranks, and kept in the disk cache. `fp`
    is "strict", "default" or "fast": how sums may be rounded, and whether a product and a sum with it are
    rounded once where the machine has FMA, which "strict" never does. `debug` runs asserts, checks every
    access and first read, and raises where values differ from CPython's: ints beyond 64 bits or the type
    that takes them, divisions by zero. `unchecked` leaves out the run-time checks of subscripts that are
    data: an index out of range then reads or writes foreign memory. `debug_info` adds line tables, which
    debuggers show under KW_DEBUG=gdb. Calls with arrays on a GPU return when the kernel has started, and an
    index out of range is raised later; with `wait` they return when it has ended. Instead of a function, the
    text of a module that ends with it will do: it sees the names in `scope` and what it defines and imports
    itself. Such a text is executed as a Python module is: give none that you would not run.
    Raises TypeError when `function` is neither; errors in the kernel itself are raised by the first call or
    by `.check()`.
    """

    def make(f: Callable[..., Any] | str) -> Kernel:
        if isinstance(f, str):
            f = text.define(f, scope or {})
        elif scope is not None:
            raise TypeError("kernel: scope= goes with a text; a function has its own globals")
        if not isinstance(f, types.FunctionType):
            raise TypeError(f"kernel: expected a Python function, got {type(f).__name__}; decorate a `def`")
        kept_text.keep(f)
        made = Kernel(f, fp=fp, debug=debug, unchecked=unchecked, debug_info=debug_info, wait=wait)
        functools.update_wrapper(made, f)
        return made

    return make if function is None else make(function)


def _py(self: Kernel, *args: Any, **kwargs: Any) -> Any:
    """Runs the original function under CPython, with the words of the language bound. Prints and breakpoints
    work.
    """
    from .lang import bind

    return bind(_core.function_of(self))(*args, **kwargs)


def _ir(self: Kernel, *args: Any, stage: str = "lower", **keywords: Any) -> str:
    """Returns the IR as text after a stage: "lower" (as written), a pass by its name, or "final" (checked,
    expanded).

    `.ir("final")` uses the types of the last call, `.ir(a, b, stage="final")` those of the arguments, which
    may be texts: `.ir("f32[:, :]", "int")`. Raises TypeError if there are neither, and ValueError with the
    list of stages for an unknown one.
    """
    stage, args = stage_of(stage, args)
    if stage in ("llvm", "asm", "cuda"):
        raise ValueError(f"ir: {stage} is no IR of ours; use .{stage}()")
    return _inspect(self, args, keywords, stage)


def stage_of(stage: str, args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Takes the stage from the first argument, unless that is the type of an argument."""
    if not args or not isinstance(args[0], str):
        return stage, args
    from .argument_types import is_type

    return (stage, args) if is_type(args[0]) else (args[0], args[1:])


def _inspect(self: Kernel, args: tuple[Any, ...], keywords: Mapping[str, Any], stage: str) -> str:
    code = _core.function_of(self).__code__
    if "device" in keywords and "device" not in code.co_varnames[: code.co_argcount]:
        shown = stage if stage in ("llvm", "asm") else "ir"
        raise TypeError(f"{shown}() shows code for the CPU and takes no device; use .cuda() or .ptx()")
    return _core.inspect(self, *_with_examples(self, args, keywords), stage)


def _with_examples(
    self: Kernel, args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Replaces texts among arguments, such as "f32[:, :]", by examples of these types."""
    if not args and not keywords:
        return (), {}
    from .warm.warmup import with_examples

    return with_examples(self, args, keywords)


def _llvm(self: Kernel, *args: Any, **keywords: Any) -> str:
    """Returns the LLVM IR that the code generator receives; arguments as for `ir`."""
    return _inspect(self, args, keywords, "llvm")


def _asm(self: Kernel, *args: Any, **keywords: Any) -> str:
    """Returns the assembly of the compiled kernel; arguments as for `ir`."""
    return _inspect(self, args, keywords, "asm")


def _cuda(self: Kernel, *args: Any, device: str = "sm_90", **keywords: Any) -> str:
    """Returns the CUDA C++ text for an architecture of GPUs, which needs neither a GPU nor a part of CUDA, or
    for a GPU at hand, "cuda"; arguments as for `ir`. Raises ValueError for an unknown architecture.
    """
    return _inspect(self, args, keywords, f"cuda:{device}")


def _ptx(self: Kernel, *args: Any, device: str = "sm_90", **keywords: Any) -> str:
    """Returns the PTX text that NVRTC makes of the CUDA text for an architecture of GPUs; arguments as for
    `ir`. No GPU is needed. Raises DeviceError E502 without NVRTC, and ValueError for an unknown architecture.
    """
    from .cuda import find_nvrtc

    find_nvrtc()
    return _inspect(self, args, keywords, f"ptx:{device}")


def _explain(
    self: Kernel, *args: Any, html: bool = False, device: str = "", **keywords: Any
) -> Explanation | HtmlExplanation:
    """Explains what the compiler proved, checks, zeroes and sums, for each compiled specialization.

    With arguments, or texts such as "f32[:, :]": for their types, compiled or not. Prints well; its fields
    hold the same facts as data. `html`: a page with the source coloured by what happened to each loop, which
    notebooks show. `device`: an architecture of GPUs, "sm_90", which need not be here: what a call launches
    there; "cuda" is that of the GPU at hand, which counts for tensors of a GPU, too. Raises TypeError if
    there is neither a call nor an argument, and ValueError for a device that is no architecture.
    """
    from .explain import explain, explain_as_html
    from .warm.warmup import architecture_of

    if not isinstance(device, str):
        raise TypeError(f"device is {device!r}, but must be an architecture of GPUs such as 'sm_90'")
    device = device or architecture_of((*args, *keywords.values()))

    return (explain_as_html if html else explain)(self, *_with_examples(self, args, keywords), device)


def _check(self: Kernel, *args: Any, **keywords: Any) -> None:
    """Raises the errors that need no argument types: syntax errors and undefined names (E1xx).

    With arguments, or texts such as "f32[:, :]", also raises those for their types.
    """
    _core.check(self)
    if args or keywords:
        _inspect(self, args, keywords, "final")


def _warmup(
    self: Kernel,
    *types: Any,
    target: str | Iterable[str] | None = None,
    device: str | Iterable[str] | None = None,
    **named: Any,
) -> list[WarmedVersion]:
    """Compiles the kernel for types of arguments and stores it in the disk cache, without a call.

    A type is a text, or an array or number that has it, by position or by name; if it is missing, the
    annotation of the parameter counts:
        f32[:, :] contiguous      f32[:, :]/inner rows with gaps      f32[:, :]/any any strides
        =0 the same view as argument 0      int float bool of Python      i64 f32 scalars of NumPy
    `target`: "host" (the default), "avx512", "avx2", "generic", or several with commas; they need not be
    those of this machine. Makes both bodies of a version, the optimised and the checked one.
    `device`: architectures of GPUs, "sm_90", or several with commas, which need not be here, or "cuda" for
    the GPU at hand; their kernels are compiled to machine code, for which NVRTC is needed. "cpu" among them
    compiles for the host; without it, devices compile for no target. A tensor of a GPU names its own.
    Returns what it made or found. Raises what a call would raise for these types, TypeError for a missing
    type, and ValueError for a text that is no type, or an unknown target or architecture.
    """
    from .warm.warmup import warmup

    return warmup(self, types, named, target, device)


def _export(
    self: Kernel,
    path: str | os.PathLike[str] = "",
    /,
    *types: Any,
    target: str = "host",
    name: str = "",
    **named: Any,
) -> ExportedLibrary:
    """Writes the kernel as a shared library, and beside it a C header: libk.so and k.h.

    The library needs no kernelwright, and runs in the caller's thread. NAME_run calls the kernel and
    NAME_shapes computes the shapes of its results; both check their arguments and return a code and a
    message. NAME is the entry of `ops.Custom("./libk.so:NAME", …, func_type="aot")`. Arrays that the kernel
    captures are copied into the library. `path` is lib<name>.so if it is not given; types and `target` are as
    for `warmup`, but for one target; `name` is the kernel's if it is not given. Raises what a call would
    raise for these types, and UnsupportedError E508, without a linker among others.
    """
    from .export import export

    return export(self, path, types, named, target=target, name=name)


def _bench(
    self: Kernel,
    *args: Any,
    peers: Mapping[str, Callable[..., Any]] | None = None,
    numba: bool = False,
    python: bool = True,
    seconds: float = 0.3,
) -> Result:
    """Measures compilation, calls and runs, and what part of the machine's limit the kernel reaches.

    Arguments are those of a call, or texts with sizes, as "f32[4096, 1024]". `peers` are other functions of
    the same arguments, by their names; `numba` adds Numba's njit of the same source, `python` CPython's own
    loops where they are short. Each time takes about `seconds`. The result prints well, and its fields hold
    the figures: times in seconds. Arrays that the kernel writes are copied first. Raises what a call raises,
    and ValueError for a text that is no type with sizes.
    """
    from .measure.bench import bench_with_texts

    return bench_with_texts(self, args, peers=peers, numba=numba, python=python, seconds=seconds)


def _stats(self: Kernel) -> KernelStats:
    """Returns how often the kernel was called, compiled and found in the disk cache, and the seconds."""
    from .measure.stats import stats

    return stats(self)


def _repr_html(self: Kernel) -> str:
    """Returns signature, source, compiled specializations and explanation, for notebooks."""
    from .explain import to_html

    return to_html(self)


def _reduce(self: Kernel) -> tuple[Any, ...]:
    """Pickles by qualified name, like a function; whoever loads it executes what it names or holds."""
    from .pickling import reduce

    return reduce(self)


def _repr(self: Kernel) -> str:
    function = _core.function_of(self)
    return f"<kernel {function.__module__}.{function.__qualname__}>"


_methods: dict[str, Callable[..., Any]] = {
    "py": _py,
    "ir": _ir,
    "llvm": _llvm,
    "asm": _asm,
    "cuda": _cuda,
    "ptx": _ptx,
    "explain": _explain,
    "check": _check,
    "warmup": _warmup,
    "export": _export,
    "bench": _bench,
    "stats": _stats,
    "_repr_html_": _repr_html,
    "__reduce__": _reduce,
    "__repr__": _repr,
}
for _name, _method in _methods.items():
    _method.__name__ = _name
    _method.__qualname__ = f"Kernel.{_name}"
    setattr(Kernel, _name, _method)
