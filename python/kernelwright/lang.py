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
_unsigned: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class _BFloat16:
    """`bfloat16`, as a dtype that NumPy accepts and as a cast; both need the package ml_dtypes."""

    __name__ = "bfloat16"  # kernels that import it mean the word

    @property
    def kw_dtype(self) -> np.dtype[Any]:
        """For attributes of operators."""
        return self.dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """Returns the dtype of ml_dtypes."""
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found

    def __call__(self, x: Any) -> Any:
        """Returns x rounded once; ml_dtypes rounds to float32 first."""
        value = np.asarray(x)[()]
        bits = _core.convert_scalar(value.dtype.name, "bfloat16", _bits_of(value))
        return np.array(bits, np.uint16).view(self.dtype)[()]


bfloat16 = _BFloat16()


def _bits_of(value: Any) -> int:
    """Returns the bits of a NumPy scalar."""
    return int(np.asarray(value).view(_unsigned[value.dtype.itemsize]))


def _is_bfloat16(value: Any) -> builtins.bool:
    return type(value) not in _weak and np.asarray(value).dtype.name == "bfloat16"


def _as_dtype(dtype: Any) -> Any:
    """Returns what NumPy takes for a dtype of the language, which has bfloat16 besides."""
    return bfloat16.dtype if dtype is bfloat16 or dtype == "bfloat16" else dtype


def output_tensor(shape: Any, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """A zeroed array that the kernel returns."""
    return np.zeros(shape, _as_dtype(dtype))


def allocate(shape: Any, dtype: Any = np.float32, scope: str = "") -> np.ndarray[Any, Any]:
    """A zeroed temporary; `scope` is a hint without effect."""
    return np.zeros(shape, _as_dtype(dtype))


def grid(shape: Any, /) -> Iterator[tuple[int, ...]]:
    """All index tuples of a shape, row-major."""
    return itertools.product(
        *(builtins.range(int(n)) for n in (shape if isinstance(shape, tuple | list) else (shape,)))
    )


def _loop(*bounds: Any) -> builtins.range:
    return builtins.range(*(int(b) for b in bounds))


def attr(key: Any, value: Any, /) -> contextlib.AbstractContextManager[None]:
    """A scheduling scope of AKG kernels; means nothing."""
    return contextlib.nullcontext()


def block_realize(tensor: Any, /) -> contextlib.AbstractContextManager[None]:
    """A scheduling scope of AKG kernels; means nothing."""
    return contextlib.nullcontext()


def serial(*bounds: Any) -> builtins.range:
    """A range whose iterations run in order."""
    return _loop(*bounds)


def parallel(*bounds: Any) -> builtins.range:
    """A range whose iterations depend on no other one: a claim that is proved, else reported."""
    return _loop(*bounds)


def vectorize(*bounds: Any) -> builtins.range:
    """A range whose iterations may run as vectors: a claim that is proved, else reported."""
    return _loop(*bounds)


def unroll(*bounds: Any) -> builtins.range:
    """A range whose iterations may be written out."""
    return _loop(*bounds)


def reduce(*bounds: Any) -> builtins.range:
    """A range whose iterations only add to sums and the like: a claim that is proved, else reported."""
    return _loop(*bounds)


def const_range(*bounds: Any) -> builtins.range:
    """A range of compile-time constants, expanded when the kernel is compiled."""
    return _loop(*bounds)


def _float_of(x: Any) -> Any:
    """Converts an argument to the float type of a function; Python numbers become Python floats."""
    if type(x) in _weak:
        return float(x)
    dtype = np.asarray(x).dtype
    if dtype.kind == "f" or dtype.name == "bfloat16":
        return x
    wide = {1: np.float16, 2: np.float32}.get(dtype.itemsize, np.float64)
    return wide(x)


def _expanded(name: str, *args: Any) -> Any:
    """Computes a function of floats of one type, through the expansion that compiled code uses."""
    weak = type(args[0]) is float
    dtype = np.dtype(np.float64) if weak else args[0].dtype
    bits = _core.call_intrinsic(name, dtype.name, [_bits_of(dtype.type(v)) for v in args])
    result = np.array(bits, _unsigned[dtype.itemsize]).view(dtype)[()]
    return float(result) if weak else result


def _unary(name: str, text: str) -> Callable[[Any], Any]:
    def function(x: Any, /) -> Any:
        return _expanded(name, _float_of(x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


rsqrt = _unary("rsqrt", "Reciprocal of the square root.")
exp = _unary("exp", "e to the power x.")
exp2 = _unary("exp2", "2 to the power x.")
expm1 = _unary("expm1", "e to the power x, less 1.")
log = _unary("log", "Natural logarithm; -inf for 0, NaN for negative numbers.")
log2 = _unary("log2", "Logarithm to base 2.")
log10 = _unary("log10", "Logarithm to base 10.")
log1p = _unary("log1p", "Natural logarithm of 1 + x.")
sin = _unary("sin", "Sine of radians.")
cos = _unary("cos", "Cosine of radians.")
tan = _unary("tan", "Tangent of radians.")
asin = _unary("asin", "Inverse sine in radians; NaN beyond 1 and -1.")
acos = _unary("acos", "Inverse cosine in radians; NaN beyond 1 and -1.")
atan = _unary("atan", "Inverse tangent in radians.")
sinh = _unary("sinh", "Hyperbolic sine.")
cosh = _unary("cosh", "Hyperbolic cosine.")
tanh = _unary("tanh", "Hyperbolic tangent.")
erf = _unary("erf", "Error function.")
erfc = _unary("erfc", "1 less the error function.")
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x)).")


def sqrt(x: Any, /) -> Any:
    """Square root; NaN for negative numbers."""
    v = _float_of(x)
    with np.errstate(all="ignore"):
        root = np.sqrt(v)
    return float(root) if type(v) is float else root


def _rounding(name: str, numpys: Callable[[Any], Any], text: str) -> Callable[[Any], Any]:
    def function(x: Any, /) -> Any:
        if type(x) in (bool, int):
            return int(x)
        if type(x) is float:
            return float(numpys(x))
        return x if np.asarray(x).dtype.kind in "iub" else numpys(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


floor = _rounding("floor", np.floor, "Largest integral value not above x; integers stay as they are.")
ceil = _rounding("ceil", np.ceil, "Least integral value not below x; integers stay as they are.")
trunc = _rounding("trunc", np.trunc, "x without its fraction; integers stay as they are.")
round = _rounding("round", np.rint, "Nearest integral value, half to even; integers stay as they are.")


def abs(x: Any, /) -> Any:
    """Absolute value."""
    with np.errstate(all="ignore"):
        return builtins.abs(x)


def sign(x: Any, /) -> Any:
    """-1, 0 or 1; NaN stays NaN. Of -0 it is 0, as NumPy has it, also where ml_dtypes keeps the sign."""
    if _is_bfloat16(x):
        return type(x)(np.sign(np.float32(x)))
    return type(x)(np.sign(x)) if type(x) in (int, float) else int(x) if type(x) is bool else np.sign(x)


def atan2(y: Any, x: Any, /) -> Any:
    """The angle of the point (x, y) in radians, from -pi to pi."""
    a, b = _common((y, x))
    return _expanded("atan2", _float_of(a), _float_of(b))


def _classify(name: str, numpys: Callable[[Any], Any], text: str) -> Callable[[Any], Any]:
    def function(x: Any, /) -> Any:
        return bool(numpys(float(x))) if type(x) in _weak else numpys(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


isnan = _classify("isnan", np.isnan, "Whether x is NaN.")
isinf = _classify("isinf", np.isinf, "Whether x is infinite, of either sign.")
isfinite = _classify("isfinite", np.isfinite, "Whether x is neither NaN nor infinite.")


def popcount(x: Any, /) -> Any:
    """Number of ones in the two's complement of an integer, in its type."""
    if type(x) in (bool, int):
        return (int(x) & (2**64 - 1)).bit_count()
    return x.dtype.type((int(x) & (2 ** (8 * x.dtype.itemsize) - 1)).bit_count())


def _whole(values: tuple[Any, ...]) -> bool:
    return type(values[0]) is not float and np.asarray(values[0]).dtype.kind in "iu"


def fmod(x: Any, y: Any, /) -> Any:
    """Remainder with the sign of x; of integers 0 for y = 0."""
    a, b = _common((x, y))
    with np.errstate(all="ignore"):
        rest = np.fmod(a, b)
    return type(a)(rest)


def ceil_div(x: Any, y: Any, /) -> Any:
    """Quotient rounded up; of integers 0 for y = 0."""
    a, b = _common((x, y))
    kind = type(a)
    if kind in (bool, int):
        return int(-(-int(a) // int(b))) if b else 0
    with np.errstate(all="ignore"):
        if _whole((a,)):
            return kind(a // b + kind(a % b != 0))
        a, b = np.asarray(a)[()], np.asarray(b)[()]
        return kind(-((-a) // b))


def _integer_power(base: int, exponent: int) -> int:
    if exponent < 0:
        return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)
    return builtins.pow(base, exponent, 2**64)


def power(x: Any, y: Any, /) -> Any:
    """x to the power y; integers wrap, and a negative y gives 0 (or 1 and -1 of these)."""
    a, b = _common((x, y))
    if type(a) in (bool, int):
        wrapped = _integer_power(int(a), int(b))
        return wrapped - 2**64 if wrapped >= 2**63 else wrapped
    if _whole((a,)):
        return np.array(_integer_power(int(a), int(b)) % 2**64, np.uint64).astype(a.dtype)[()]
    return _expanded("power", a, b)


def _common(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Converts values to one promoted type (NEP 50). If all are Python numbers, they stay Python numbers."""
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
    """Converts values to one type if bfloat16 is among them. Python numbers adopt bfloat16; for other types
    NumPy has sums, but no result_type.
    """
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


def select(condition: Any, yes: Any, no: Any, /) -> Any:
    """`yes` or `no`, both evaluated, in their common type."""
    a, b = _common((yes, no))
    return a if condition else b


def likely(x: Any, /) -> Any:
    """x itself."""
    return x


def sub_relu(a: Any, b: Any, /) -> Any:
    """max(a - b, 0)."""
    return max(a - b, 0)


_words: dict[str, Callable[..., Any]] = {
    name: value
    for name, value in globals().items()
    if not name.startswith("_")
    and callable(value)
    and name not in ("Any", "Callable", "Iterator", "annotations")
}
words = frozenset(_words) - {"round"}
"""Every name that a kernel knows without importing it. A bare `round` is Python's own, which gives an int."""

_functions = frozenset(
    "sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh erf erfc"
    " sigmoid floor ceil trunc round abs sign power fmod isnan isinf isfinite popcount ceil_div".split()
)
attributes = frozenset(_words)
"""Names that are attributes of the package as well."""


class _Done(dict[types.FunctionType, types.FunctionType]):
    """The copies made so far for one kernel, and whether they know the words of AKG."""

    akg = False


class _ModuleProxy:
    """A module whose functions are those of the language, or copies that know its words."""

    def __init__(self, module: types.ModuleType, done: _Done) -> None:
        self._module = module
        self._done = done

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        word = capture.word_of(value)
        if word in _functions:
            return _words[word]
        return value if isinstance(value, types.ModuleType) else _bound_value(value, self._done)


def _bound_value(value: Any, done: _Done) -> Any:
    """Returns the replacement of a captured object: NumPy's and math's elementary functions become the
    language's.

    Functions and kernels become copies that know its words.
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
    """Returns a copy of a kernel's function whose globals know the words of the language; the user's globals
    win.

    Functions that it calls are copied too; `done` holds the copies made so far.
    """
    if done is None:
        done = _Done()
        done.akg = capture.knows_akg_words(function)
    space: dict[str, Any] = {**_words, "__builtins__": builtins}
    if not done.akg:
        del space["round"]
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
