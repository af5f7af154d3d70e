"""What a kernel means by the right-hand column of table 2a: values that compute as it says.

Runs the reference text of a program: literals are wrapped, merges are marked. Arithmetic of strong operands
is NumPy's. It shares no code with the compiler but the elementary functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scalar_types import BFLOAT16, DTYPES, LIMITS, arithmetic, dtype_of, is_float, is_weak, promote

import kernelwright.lang as lang

EVENTS: set[str] = set()  # rows of the table that were met
UNWRITTEN: set[str] = set()  # buffers of which an element was read before it was written
FAULTS: list[tuple[int, int, str, int]] | None = None  # of a survey, which goes on behind a bad element
HALF = 2**63


class IndexFault(Exception):
    """An element out of range: (index, dimension, tensor, extent)."""


NAMES: dict[type, str] = {bool: "wb", int: "wi", float: "wf"} | {dtype_of(t).type: t for t in DTYPES}


def type_of(v: Any) -> str:
    """The type of a bare value."""
    return NAMES[type(v)]


def wrapped(n: int) -> int:
    """A weak integer, which has 64 bits."""
    out = (n + HALF) % (2 * HALF) - HALF
    if out != n:
        EVENTS.add("V2")
    return out


def odd_float32(v: Any) -> np.float32:
    """A number rounded to odd, so that a second rounding to fewer bits is as if from the number itself."""
    f = np.float32(v)
    if not np.isfinite(f) or (isinstance(v, int) and int(f) == v) or float(f) == v:
        return f
    exact: Any = int(f) if isinstance(v, int) else float(f)
    if abs(exact) > abs(v):
        f = np.nextafter(f, np.float32(0))
    return (f.view(np.uint32) | np.uint32(1)).view(np.float32)


def convert(v: Any, t: str, row: str = "V3") -> Any:
    """A value as a cast or a store to a strong type gives it."""
    source = type_of(v)
    if source == t:
        return v
    with np.errstate(all="ignore"):
        if t == "bool":
            return np.bool_(bool(v != 0))
        if t in LIMITS:
            return to_integer(v, source, t, row)
        if t == "bfloat16":
            plain = float(v) if is_float(source) else int(v)
            once, twice = BFLOAT16.type(odd_float32(plain)), BFLOAT16.type(np.float32(plain))
            if once.tobytes() != twice.tobytes():
                EVENTS.add("ml_dtypes")  # it rounds to float32 first
            return once
        if not is_float(source):
            if source == "wi" and abs(v) > 2**53:
                EVENTS.add("V2")
            return np.array(int(v), np.uint64 if int(v) >= HALF else np.int64).astype(t)[()]
        return np.array(v).astype(dtype_of(t))[()]


def to_integer(v: Any, source: str, t: str, row: str) -> Any:
    low, high = LIMITS[t]
    if is_float(source):
        x = float(v)
        n = 0 if math.isnan(x) else (high if x > 0 else low) if math.isinf(x) else math.trunc(x)
        if math.isnan(x) or not low <= n <= high or math.isinf(x):
            EVENTS.add("V3")
        return dtype_of(t).type(min(max(n, low), high))
    n = int(v)
    if not low <= n <= high:
        EVENTS.add(row)
    return dtype_of(t).type((n - low) % (high - low + 1) + low)


def weak(v: Any, t: str) -> Any:
    """A value as int(), float(), bool() and merges of weak types give it."""
    if t == "wb":
        return bool(v != 0)
    if t == "wf":
        return float(v)
    if is_float(type_of(v)):
        x = float(v)
        n = 0 if math.isnan(x) else (HALF if x > 0 else -HALF) if math.isinf(x) else math.trunc(x)
        if not math.isfinite(x) or not -HALF <= n < HALF:
            EVENTS.add("V3")
        return min(max(n, -HALF), HALF - 1)
    if not -HALF <= int(v) < HALF:
        EVENTS.add("V3")
    return wrapped(int(v))


def adopt(v: Any, t: str, row: str = "V1") -> Any:
    if t == "bfloat16" and type_of(v) == "wf":
        EVENTS.add("ml_dtypes")  # it computes in float32 there
    return weak(v, t) if is_weak(t) else convert(v, t, row)


def weak_integers(op: str, a: int, b: int) -> Any:
    """Two Python integers."""
    if op in ("//", "%") and b == 0:
        EVENTS.add("V4")
        return 0
    if op in ("<<", ">>"):
        if not 0 <= b < 64:
            EVENTS.add("V2")
            return -1 if op == ">>" and a < 0 else 0
        return wrapped(a << b if op == "<<" else a >> b)
    calls: dict[str, Callable[[int, int], int]] = {
        "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "//": int.__floordiv__, "%": int.__mod__,
        "&": int.__and__, "|": int.__or__, "^": int.__xor__,
    }  # fmt: skip
    return wrapped(calls[op](a, b))


def strong(op: str, a: Any, b: Any) -> Any:
    """Two NumPy scalars of one type."""
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y,
        "//": lambda x, y: x // y, "%": lambda x, y: x % y, "&": lambda x, y: x & y, "|": lambda x, y: x | y,
        "^": lambda x, y: x ^ y, "<<": lambda x, y: x << y, ">>": lambda x, y: x >> y,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        return calls[op](a, b)


def binary(op: str, a: Any, b: Any) -> Any:
    t = arithmetic(op, type_of(a), type_of(b))
    if op == "/" and t == "wf" and max(abs(a), abs(b)) > 2**53:
        EVENTS.add("V2")
    if is_weak(t):
        x, y = weak(a, t), weak(b, t)
        if t == "wf":
            if y == 0 and op in ("/", "//", "%"):
                EVENTS.add("V4")
            return float(strong(op, np.float64(x), np.float64(y)))
        if t == "wb":
            return bool(weak_integers(op, int(x), int(y)))
        return weak_integers(op, x, y)
    return strong(op, adopt(a, t), adopt(b, t))


def compare(op: str, a: Any, b: Any) -> Any:
    ta, tb = type_of(a), type_of(b)
    if is_float(ta) or is_float(tb):
        t = promote(ta, tb)
        if is_weak(t) and max(abs(a), abs(b)) > 2**53:
            EVENTS.add("V2")
        x, y = adopt(a, t), adopt(b, t)
    else:
        x, y = int(a), int(b)
    found = {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[op]
    return bool(found) if is_weak(ta) and is_weak(tb) else np.bool_(found)


def integer_power(base: int, n: int) -> int:
    if n < 0:
        EVENTS.add("V5")
        return {1: 1, -1: -1 if n % 2 else 1}.get(base, 0)
    return pow(base, n, 2 * HALF)


def power_by_literal(a: Any, n: Any) -> Any:
    """`a ** n` with a literal n."""
    ta = type_of(a)
    t = promote(ta, type_of(n))
    if not is_float(t):
        if n < 0 and is_weak(t):
            return power_by_literal(float(a), float(n))
        t = {"bool": "int8", "wb": "wi"}.get(t, t)
        product = integer_power(int(a), n)
        if is_weak(t):
            EVENTS.update({"V2"} if not -HALF <= int(a) ** n < HALF else ())
            return (product + HALF) % (2 * HALF) - HALF
        low, high = LIMITS[t]
        return dtype_of(t).type((product - low) % (high - low + 1) + low)
    x: Any = np.float64(adopt(a, t)) if is_weak(t) else adopt(a, t)
    one = x.dtype.type(1)
    EVENTS.add("V10")
    if n == 2:
        out = strong("*", x, x)
    elif n in (0, 1):
        out = x if n else one
    elif n == -1:
        out = strong("/", one, x)
    elif n == 0.5:
        with np.errstate(all="ignore"):
            out = x * 0 if x == 0 else -x if np.isneginf(x) else np.sqrt(x)
            out = x.dtype.type(0) if x == 0 else out
    else:
        out = lang.power(x, x.dtype.type(n))
    return float(out) if is_weak(t) else out


class R:
    """A scalar: a bare Python number (weak) or a NumPy scalar (strong), with the operators."""

    __slots__ = ("v",)

    def __init__(self, v: Any) -> None:
        self.v = v

    def __bool__(self) -> bool:
        return bool(self.v != 0)

    def __neg__(self) -> R:
        if is_weak(type_of(self.v)):
            return R(-self.v if type(self.v) is float else wrapped(-int(self.v)))
        with np.errstate(all="ignore"):
            return R(-self.v)

    def __pos__(self) -> R:
        return R(int(self.v)) if type(self.v) is bool else self

    def __invert__(self) -> R:
        return R(~int(self.v) if type(self.v) in (bool, int) else ~self.v)


def bare(x: Any) -> Any:
    return x.v if isinstance(x, R) else x


def _operator(op: str) -> tuple[Any, Any]:
    def forward(a: R, b: Any) -> R:
        return R(binary(op, a.v, bare(b)))

    def backward(a: R, b: Any) -> R:
        return R(binary(op, bare(b), a.v))

    return forward, backward


def _comparison(op: str) -> Any:
    return lambda a, b: R(compare(op, a.v, bare(b)))


_NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "&": "and", "|": "or",
    "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
for _op, _name in _NAMES.items():
    _both = _operator(_op)
    setattr(R, f"__{_name}__", _both[0])
    setattr(R, f"__r{_name}__", _both[1])
for _op, _name in {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}.items():
    setattr(R, f"__{_name}__", _comparison(_op))


class Buffer:
    """A tensor: bare integers in a subscript are constants and count from the end, others do not."""

    def __init__(self, name: str, array: np.ndarray, written: np.ndarray | None = None) -> None:
        self.name, self.array, self.written = name, array, written
        self.shape = tuple(R(n) for n in array.shape)
        self.dtype, self.ndim = array.dtype, array.ndim
        self.type = "bfloat16" if array.dtype == BFLOAT16 else array.dtype.name

    def place(self, index: Any) -> tuple[int, ...] | None:
        items = index if isinstance(index, tuple) else (index,)
        if any(int(bare(item)) >= HALF for item in items):
            EVENTS.add("huge index")  # OverflowError in CPython
        out = []
        for n, (item, extent) in enumerate(zip(items, self.array.shape, strict=True)):
            k = int(bare(item))
            low = 0 if isinstance(item, R) else -extent
            if not low <= k < extent:
                if -extent <= k < 0:
                    EVENTS.add("V8")
                if FAULTS is None:
                    raise IndexFault(k, n, self.name, extent)
                FAULTS.append((k, n, self.name, extent))
                continue
            out.append(k)
        return tuple(out) if len(out) == len(items) else None

    def __getitem__(self, index: Any) -> R:
        place = self.place(index)
        if place is None:
            return R(self.array.dtype.type(0))
        if self.written is not None and not self.written[place]:
            UNWRITTEN.add(self.name)
        return R(self.array[place])

    def __setitem__(self, index: Any, value: Any) -> None:
        place = self.place(index)
        if place is None:
            return
        self.array[place] = convert(bare(value), self.type)
        if self.written is not None:
            self.written[place] = True


def merge(t: str, x: Any) -> R:
    """A value behind two paths."""
    v = bare(x)
    if type_of(v) != t:
        EVENTS.add("V9")
    return R(adopt(v, t, "V1"))


ROUNDINGS: dict[str, Callable[[Any], int]] = {
    "round": round, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
}  # fmt: skip


def whole(word: str, x: Any) -> R:
    """Python's round, floor, ceil and trunc: beyond int64 they saturate, NaN gives 0."""
    v = bare(x)
    if not is_float(type_of(v)):
        if not is_weak(type_of(v)) and abs(int(v)) > 2**53:
            EVENTS.add("integer through a double")  # so does CPython take NumPy's integers
        if int(v) >= HALF:
            EVENTS.add("V3")
        return R(min(int(v), HALF - 1))
    number = float(v)
    if not math.isfinite(number):
        return R(weak(number, "wi"))
    n = ROUNDINGS[word](number)
    if not -HALF <= n < HALF:
        EVENTS.add("V3")
    return R(min(max(n, -HALF), HALF - 1))


def extreme(larger: bool) -> Callable[..., R]:
    def function(*args: Any) -> R:
        values = [bare(x) for x in args]
        t = type_of(values[0])
        for v in values[1:]:
            t = promote(t, type_of(v))
        items = [adopt(v, t) for v in values]
        best = items[0]
        for v in items[1:]:
            if best != best:
                break
            turns = v == best and is_float(t) and (math.copysign(1, float(v)) > 0) == larger
            if v != v or turns or (v > best if larger else v < best):
                best = v
        return R(best)

    return function


def of_words(name: str) -> Callable[..., R]:
    """A function of the language on operands of their common type."""
    function = getattr(lang, name)

    def call(*args: Any) -> R:
        values = [bare(x) for x in args]
        t = type_of(values[0])
        for v in values[1:]:
            t = promote(t, type_of(v))
        values = [adopt(v, t) for v in values]
        if name in ("fmod", "ceil_div") and is_weak(t) and not is_float(t):
            a, b = int(values[0]), int(values[1])
            EVENTS.update({"V4"} if b == 0 else ())
            if name == "ceil_div":
                return R(wrapped(-(-a // b)) if b else 0)
            return R(wrapped(int(math.copysign(1, a)) * (abs(a) % abs(b))) if b else 0)
        if name in ("fmod", "ceil_div") and is_weak(t):
            return R(float(function(np.float64(values[0]), np.float64(values[1]))))
        if name == "abs" and is_weak(t):
            return R(abs(values[0]) if t == "wf" else wrapped(abs(int(values[0]))))
        with np.errstate(all="ignore"):
            return R(function(*values))

    return call


def select(condition: Any, yes: Any, no: Any) -> R:
    t = promote(type_of(bare(yes)), type_of(bare(no)))
    a, b = adopt(bare(yes), t), adopt(bare(no), t)
    return R(a if condition else b)


def counted(*bounds: Any) -> Iterator[R]:
    return (R(k) for k in range(*(int(bare(b)) for b in bounds)))


def grid(shape: Any) -> Iterator[tuple[R, ...]]:
    return itertools.product(*(list(counted(n)) for n in shape))


def cast_to(t: str) -> Callable[[Any], R]:
    return lambda x: R(convert(bare(x), t))


def raised(a: Any, n: Any) -> R:
    return R(power_by_literal(bare(a), bare(n)))


def declared(shape: Any, dtype: Any, name: str) -> Buffer:
    """A zeroed buffer; reference texts name it."""
    kind = dtype if isinstance(dtype, str) else dtype.reference
    extents = tuple(int(bare(n)) for n in shape)
    return Buffer(name, np.zeros(extents, dtype_of(kind)), np.zeros(extents, np.bool_))


class Cast:
    """A cast name, which is also a dtype."""

    def __init__(self, t: str) -> None:
        self.reference = t

    def __call__(self, x: Any) -> R:
        return R(convert(bare(x), self.reference))


def words() -> dict[str, Any]:
    """The names that a reference text uses."""
    space: dict[str, Any] = {
        "L": R, "N": int, "M": merge, "POW": raised, "WHOLE": whole,
        "CAST": lambda t, x: R(convert(bare(x), t)),
        "min": extreme(False), "max": extreme(True), "select": select, "grid": grid,
        "int": lambda x: R(weak(bare(x), "wi")), "float": lambda x: R(weak(bare(x), "wf")),
        "bool": lambda x: R(weak(bare(x), "wb")), "bool_": Cast("bool"),
        "output_tensor": declared, "allocate": declared,
    }  # fmt: skip
    names = "range serial parallel vectorize unroll reduce const_range".split()
    space |= dict.fromkeys(names, counted)
    for t in (*LIMITS, "float16", "bfloat16", "float32", "float64"):
        space[t] = Cast(t)
    functions = (
        "sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf erfc"
        " sigmoid floor ceil trunc round abs sign popcount isnan isinf isfinite atan2 fmod ceil_div"
    ).split()
    return space | {n: of_words(n) for n in functions}


def run(text: str, captured: dict[str, Any], names: list[str], args: list[Any]) -> list[np.ndarray]:
    """The results of a reference text; raises IndexFault with the line that it happened at."""
    EVENTS.clear()
    UNWRITTEN.clear()
    space = words()
    for name, value in captured.items():
        space[name] = tuple(R(v) for v in value) if isinstance(value, tuple) else R(value)
    exec(compile(text, "<reference>", "exec"), space)
    given = [Buffer(n, a) if isinstance(a, np.ndarray) else R(a) for n, a in zip(names, args, strict=True)]
    result = space["f"](*given)
    return [b.array for b in (result if isinstance(result, tuple) else (result,))]
