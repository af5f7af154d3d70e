"""The words of the kernel language as ordinary Python functions over NumPy, for running kernels under
CPython (`kernel.py`).

Elementary functions evaluate the same expansion as compiled code, so both agree bit for bit.
"""

from __future__ import annotations

import builtins
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
_unsigned: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class _BFloat16:
    """`bfloat16`, as a dtype that NumPy accepts and as a cast; both need the package ml_dtypes."""

    __name__ = "bfloat16"  # kernels that import it mean the word

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of ml_dtypes."""
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found

    def __call__(self, x: Any) -> Any:
        """x rounded once, where ml_dtypes goes by way of float32."""
        value = np.asarray(x)[()]
        bits = _core.convert_scalar(value.dtype.name, "bfloat16", _bits_of(value))
        return np.array(bits, np.uint16).view(self.dtype)[()]


bfloat16 = _BFloat16()


def _bits_of(value: Any) -> int:
    """The bits of a NumPy scalar."""
    return int(np.asarray(value).view(_unsigned[value.dtype.itemsize]))


def _is_bfloat16(value: Any) -> builtins.bool:
    return type(value) not in _weak and np.asarray(value).dtype.name == "bfloat16"


def _as_dtype(dtype: Any) -> Any:
    return bfloat16.dtype if dtype is bfloat16 or dtype == "bfloat16" else dtype


def output_tensor(shape: Any, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """A zeroed array that the kernel returns."""
    return np.zeros(shape, _as_dtype(dtype))


def allocate(shape: Any, dtype: Any = np.float32, scope: str = "") -> np.ndarray[Any, Any]:
    """A zeroed temporary; `scope` is a hint without effect."""
    return np.zeros(shape, _as_dtype(dtype))


def grid(shape: Any) -> Iterator[tuple[int, ...]]:
    """All index tuples of a shape, row-major."""
    return itertools.product(
        *(builtins.range(int(n)) for n in (shape if isinstance(shape, tuple | list) else (shape,)))
    )


def _loop(*bounds: Any) -> builtins.range:
    return builtins.range(*(int(b) for b in bounds))


serial = parallel = vectorize = unroll = reduce = const_range = _loop


def _float_of(x: Any) -> Any:
    """An argument as the float type that a function of it has; Python numbers become Python floats."""
    if type(x) in _weak:
        return float(x)
    dtype = np.asarray(x).dtype
    if dtype.kind == "f" or dtype.name == "bfloat16":
        return x
    wide = {1: np.float16, 2: np.float32}.get(dtype.itemsize, np.float64)
    return wide(x)


def _expanded(name: str, x: Any) -> Any:
    v = _float_of(x)
    if type(v) is float:
        bits = int(np.float64(v).view(np.uint64))
        return float(np.uint64(_core.call_intrinsic(name, "float64", bits)).view(np.float64))
    bits = _core.call_intrinsic(name, v.dtype.name, _bits_of(v))
    return np.array(bits, _unsigned[v.dtype.itemsize]).view(v.dtype)[()]


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
    if builtins.any(_is_bfloat16(v) for v in values):
        return _common_with_bfloat16(values)
    dtype = np.result_type(*values)
    return tuple(dtype.type(v) for v in values)


def _common_with_bfloat16(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Python numbers keep bfloat16; for other types NumPy knows sums, but no result_type."""
    strong = [np.zeros((), np.asarray(v).dtype) for v in values if type(v) not in _weak]
    dtype = np.asarray(sum(strong[1:], strong[0])).dtype
    cast = bfloat16 if dtype.name == "bfloat16" else dtype.type
    return tuple(cast(v) for v in values)


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


class _ModuleProxy:
    """A module whose elementary functions are those of the language."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _words[name] if name in _functions else getattr(self._module, name)


def _bound_value(value: Any) -> Any:
    """What a captured object stands for: elementary functions of NumPy and math are those of the language."""
    if isinstance(value, types.ModuleType):
        return _ModuleProxy(value) if value.__name__ in ("numpy", "math", "kernelwright") else value
    word = capture.word_of(value)
    return _words[word] if word in _functions else value


def _bound_cell(cell: types.CellType) -> types.CellType:
    try:
        return types.CellType(_bound_value(cell.cell_contents))
    except ValueError:
        return cell  # not yet assigned


def bind(function: types.FunctionType) -> types.FunctionType:
    """A copy of a kernel's function whose globals know the words of the language; the user's globals win."""
    space: dict[str, Any] = {**_words, "__builtins__": builtins}
    space.update((name, _bound_value(value)) for name, value in function.__globals__.items())
    cells = tuple(_bound_cell(c) for c in function.__closure__ or ())
    bound = types.FunctionType(
        function.__code__, space, function.__name__, function.__defaults__, cells or None
    )
    bound.__kwdefaults__ = function.__kwdefaults__
    return bound
