"""The words of the kernel language as ordinary Python functions over NumPy, for running kernels under
CPython (`kernel.py`).

Elementary functions evaluate the same expansion as compiled code, so both agree bit for bit.
"""

from __future__ import annotations

import builtins
import contextlib
import itertools
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _core, capture

bool_ = np.bool_
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64

_weak = (bool, int, float)


def output_tensor(shape: Any, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """A zeroed array that the kernel returns."""
    return np.zeros(shape, dtype)


def allocate(shape: Any, dtype: Any = np.float32, scope: str = "") -> np.ndarray[Any, Any]:
    """A zeroed temporary; `scope` is a hint without effect."""
    return np.zeros(shape, dtype)


def grid(shape: Any) -> Iterator[tuple[int, ...]]:
    """All index tuples of a shape, row-major."""
    return itertools.product(
        *(builtins.range(int(n)) for n in (shape if isinstance(shape, tuple | list) else (shape,)))
    )


def _loop(*bounds: Any) -> builtins.range:
    return builtins.range(*(int(b) for b in bounds))


def attr(key: Any, value: Any) -> contextlib.AbstractContextManager[None]:
    """A scheduling scope of AKG kernels; means nothing."""
    return contextlib.nullcontext()


def block_realize(tensor: Any) -> contextlib.AbstractContextManager[None]:
    """A scheduling scope of AKG kernels; means nothing."""
    return contextlib.nullcontext()


serial = parallel = vectorize = unroll = reduce = const_range = _loop


def _float_of(x: Any) -> Any:
    """An argument as the float type that a function of it has; Python numbers become Python floats."""
    if type(x) in _weak:
        return float(x)
    dtype = np.asarray(x).dtype
    if dtype.kind == "f":
        return x
    wide = {1: np.float16, 2: np.float32}.get(dtype.itemsize, np.float64)
    return wide(x)


def _expanded(name: str, x: Any) -> Any:
    v = _float_of(x)
    if type(v) is float:
        bits = int(np.float64(v).view(np.uint64))
        return float(np.uint64(_core.call_intrinsic(name, "float64", bits)).view(np.float64))
    unsigned = {4: np.uint32, 8: np.uint64}[v.dtype.itemsize]
    bits = int(v.view(unsigned))
    return unsigned(_core.call_intrinsic(name, v.dtype.name, bits)).view(v.dtype)


def exp(x: Any) -> Any:
    """e to the power x."""
    return _expanded("exp", x)


def sqrt(x: Any) -> Any:
    """Square root; NaN for negative numbers."""
    v = _float_of(x)
    with np.errstate(all="ignore"):
        root = np.sqrt(v)
    return float(root) if type(v) is float else root


def floor(x: Any) -> Any:
    """Largest integral value not above x; integers stay as they are."""
    if type(x) in (bool, int):
        return int(x)
    if type(x) is float:
        return float(np.floor(x))
    return x if np.asarray(x).dtype.kind in "iub" else np.floor(x)


def abs(x: Any) -> Any:
    """Absolute value."""
    with np.errstate(all="ignore"):
        return builtins.abs(x)


def _common(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values of one promoted type (NEP 50); Python numbers stay Python numbers among themselves."""
    if builtins.all(type(v) in _weak for v in values):
        kind = (
            float
            if builtins.any(type(v) is float for v in values)
            else int
            if builtins.any(type(v) is int for v in values)
            else bool
        )
        return tuple(kind(v) for v in values)
    dtype = np.result_type(*values)
    return tuple(dtype.type(v) for v in values)


def _extreme(values: tuple[Any, ...], larger: bool) -> Any:
    items = _common(values)
    best = items[0]
    for v in items[1:]:
        if v != v or best != best:
            best = best if best != best else v
        elif v == best:
            negative = math.copysign(1.0, float(v)) < 0
            best = v if negative != larger else best
        elif (v > best) == larger:
            best = v
    return best


def min(*values: Any) -> Any:
    """The least of two or more numbers; NaN propagates and -0 < +0."""
    return _extreme(values, False)


def max(*values: Any) -> Any:
    """The greatest of two or more numbers; NaN propagates and -0 < +0."""
    return _extreme(values, True)


def select(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` or `no`, both evaluated, in their common type."""
    a, b = _common((yes, no))
    return a if condition else b


def likely(x: Any) -> Any:
    """x itself."""
    return x


def sub_relu(a: Any, b: Any) -> Any:
    """max(a - b, 0)."""
    return max(a - b, 0)


_words: dict[str, Callable[..., Any]] = {
    name: value
    for name, value in globals().items()
    if not name.startswith("_")
    and callable(value)
    and name not in ("Any", "Callable", "Iterator", "annotations")
}
_functions = ("exp", "sqrt", "floor", "abs")


_Done = dict[types.FunctionType, types.FunctionType]


class _ModuleProxy:
    """A module whose functions are those of the language, or copies that know its words."""

    def __init__(self, module: types.ModuleType, done: _Done) -> None:
        self._module = module
        self._done = done

    def __getattr__(self, name: str) -> Any:
        if self._module.__name__ in ("numpy", "math", "kernelwright") and name in _functions:
            return _words[name]
        value = getattr(self._module, name)
        return value if isinstance(value, types.ModuleType) else _bound_value(value, self._done)


def _bound_value(value: Any, done: _Done) -> Any:
    """What a captured object stands for: elementary functions of NumPy and math are those of the language.

    Functions and kernels know its words.
    """
    if isinstance(value, types.ModuleType):
        return _ModuleProxy(value, done)
    word = capture.word_of(value)
    if word is not None:
        return _words[word] if word in _functions else value
    if isinstance(value, _core.Kernel):
        value = _core.function_of(value)
    is_users = isinstance(value, types.FunctionType) and (value.__module__ or "").split(".")[0] != "numpy"
    return (done.get(value) or bind(value, done)) if is_users else value


def _bound_cell(cell: types.CellType, done: _Done) -> types.CellType:
    try:
        return types.CellType(_bound_value(cell.cell_contents, done))
    except ValueError:
        return cell  # not yet assigned


def bind(function: types.FunctionType, done: _Done | None = None) -> types.FunctionType:
    """A copy of a kernel's function whose globals know the words of the language; the user's globals win.

    So do the functions that it calls; `done` holds the copies made so far.
    """
    done = {} if done is None else done
    space: dict[str, Any] = {**_words, "__builtins__": builtins}
    bound = types.FunctionType(
        function.__code__, space, function.__name__, function.__defaults__, function.__closure__
    )
    done[function] = bound
    used = {*function.__code__.co_names}
    for name, value in function.__globals__.items():
        space[name] = _bound_value(value, done) if name in used else value
    if function.__closure__:
        cells = tuple(_bound_cell(c, done) for c in function.__closure__)
        bound = types.FunctionType(function.__code__, space, function.__name__, function.__defaults__, cells)
    bound.__kwdefaults__ = function.__kwdefaults__
    return bound
