"""What a value may be in the default and the fast mode: a bound beside every number of the reference.

Sums and products may be computed in any order there, and with fma. A number that is the same in every order
has bound 0 and may decide branches and subscripts. Any other float has a bound and may decide only what the
bound leaves no choice about. Knows the strict values from reference.py and runs no compiled code.

A sum carries the count and the magnitude of its terms as long as only sums and differences follow. Two orders
of n terms are at most (n - 1) * eps * sum |x| apart: to first order, each is off by (n - 1) units of
roundoff, which are half of eps. All orders are exact if the terms are multiples of 2^g and the magnitudes add
up to 2^(p + g) at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import reference
from scalar_types import arithmetic, is_float


@dataclass(frozen=True)
class Format:
    """A floating-point format: bits of the significand, exponents of the largest and least normal number."""

    bits: int
    most: int
    least: int

    @property
    def eps(self) -> float:
        return math.ldexp(1.0, 1 - self.bits)

    @property
    def tiny(self) -> float:
        return math.ldexp(1.0, max(self.least - self.bits, -1074))


FORMATS = {
    "float16": Format(11, 15, -14),
    "bfloat16": Format(8, 127, -126),
    "float32": Format(24, 127, -126),
    "float64": Format(53, 1023, -1022),
    "wf": Format(53, 1023, -1022),
}
MARGIN = 1.02  # for what bounds of the first order leave out, and for the rounding of the bounds themselves
COARSE = 1 << 20  # the granularity of 0, which is a multiple of everything
EXACT_WORDS = ("abs", "sign", "floor", "ceil", "trunc", "round", "popcount", "isnan", "isinf", "isfinite")
FAST = False  # whether bounds are those of the fast mode
KEPT: list[np.ndarray] = []  # buffers of this run, so that no address is used twice
SHADOWS: dict[int, Shadow | None] = {}  # of elements, by address


class Undecided(Exception):
    """A float that has a bound decides what the program does next."""


@dataclass(frozen=True)
class Shadow:
    """Bounds of a float, read as a sum of terms; `error` of each term is in `errors`."""

    size: float  # the magnitudes of the terms add up to this
    unit: int  # without errors, every sum of some terms is a multiple of 2^unit
    terms: int = 1
    errors: float = 0.0
    high: int = 0  # no product of some of the factors has a larger exponent
    low: int = 0  # or a smaller one


POISON = Shadow(math.inf, 0, 1, math.inf)  # a float of which nothing is known, or another number in doubt


def exponent(x: float) -> int:
    """That of the leading bit."""
    return math.frexp(x)[1] - 1


def leaf(v: Any) -> Shadow:
    """Of a number that has the same bits in every mode; the fast mode promises nothing for inf and NaN."""
    x = float(v)
    if not math.isfinite(x):
        return POISON if FAST else Shadow(0.0, COARSE)
    if x == 0:
        return Shadow(0.0, COARSE)
    above, below = x.as_integer_ratio()
    unit = (above & -above).bit_length() - below.bit_length()
    return Shadow(abs(x), unit, 1, 0.0, max(exponent(x), 0), min(exponent(x), 0))


def fits(size: float, unit: int, f: Format) -> bool:
    """Whether all multiples of 2^unit up to a size are numbers of the format."""
    if size == 0:
        return True
    significand, top = math.frexp(size)
    top -= significand == 0.5
    return top <= f.bits + unit and top <= f.most and unit >= f.least - f.bits + 1


class Bounded(reference.R):
    """A scalar of the reference and its shadow; none means that an integer is the same in every mode."""

    __slots__ = ("s",)

    def __init__(self, v: Any, s: Shadow | None = None) -> None:
        super().__init__(v)
        self.s = leaf(v) if s is None and type(v) is not int and is_float(reference.type_of(v)) else s

    def __bool__(self) -> bool:
        settle(self)
        return super().__bool__()

    def __index__(self) -> int:
        """As the item of a tuple."""
        settle(self)
        return int(self.v)

    def __neg__(self) -> Bounded:
        return Bounded(reference.R(self.v).__neg__().v, self.s)

    def __pos__(self) -> Bounded:
        return Bounded(reference.R(self.v).__pos__().v, self.s)

    def __invert__(self) -> Bounded:
        return Bounded(reference.R(self.v).__invert__().v, self.s)


def bounded(x: Any) -> Bounded:
    return x if isinstance(x, Bounded) else Bounded(reference.bare(x))


def error(x: Bounded) -> float:
    """How far the value may be from that of the strict mode."""
    s = x.s
    if s is None or s.errors == math.inf:
        return 0.0 if s is None else math.inf
    t = reference.type_of(x.v)
    if not math.isfinite(float(x.v)):
        return 0.0
    f = FORMATS[t]
    if s.errors == 0 and fits(s.size, s.unit, f):
        return 0.0
    if exponent(s.size) >= f.most - 1:
        return math.inf
    return s.errors + (s.terms - 1) * f.eps * s.size * MARGIN


def settle(x: Bounded) -> None:
    """Raises Undecided if a decision by this value may differ between modes."""
    e = error(x)
    if e and (e == math.inf or abs(float(x.v)) <= e):
        raise Undecided


def inexact(v: Any, e: float, t: str) -> Bounded:
    """A float of a type that is e off at most, a rounding of its own included by the caller."""
    x = abs(float(v))
    if not math.isfinite(x) or not math.isfinite(e) or exponent(max(x + e, 1e-300)) >= FORMATS[t].most - 1:
        return Bounded(v, POISON)
    lead = exponent(x - e) if x > e else FORMATS[t].least
    return Bounded(v, Shadow(x + e, 0, 1, e, max(exponent(max(x + e, 1.0)), 0), min(lead, 0)))


def converted(x: Bounded, t: str, v: Any) -> Bounded:
    """x as a type, where the reference says v."""
    source, e = reference.type_of(x.v), error(x)
    if source == t:
        return Bounded(v, x.s)
    if e == math.inf:
        return Bounded(v, POISON)
    if not is_float(source) or e == 0:
        same = is_float(t) and x.s is not None and float(v) == float(x.v)
        return Bounded(v, Shadow(x.s.size, x.s.unit, 1, 0.0, x.s.high, x.s.low) if same and x.s else None)
    if is_float(t):
        return inexact(v, (e + FORMATS[t].eps * (abs(float(x.v)) + e) + FORMATS[t].tiny) * MARGIN, t)
    if t in ("bool", "wb"):
        return Bounded(v, None if abs(float(x.v)) > e else POISON)
    both = {math.floor(float(x.v) + d) if x.v > 0 else math.ceil(float(x.v) + d) for d in (-e, e)}
    return Bounded(v, None if len(both) == 1 and abs(float(x.v)) > e else POISON)


def adopted(x: Bounded, t: str) -> Bounded:
    return converted(x, t, reference.adopt(x.v, t))


def total(a: Bounded, b: Bounded, v: Any) -> Bounded:
    """A sum or a difference of two floats of one type."""
    assert a.s and b.s
    if POISON in (a.s, b.s):
        return Bounded(v, POISON)
    if not math.isfinite(float(v)) and math.isfinite(float(a.v)) and math.isfinite(float(b.v)):
        return Bounded(v, POISON)
    size = a.s.size + b.s.size
    if not math.isfinite(float(v)) and FAST:
        return Bounded(v, POISON)
    high = max(a.s.high, b.s.high, exponent(size) if size else 0)
    low = min(a.s.low, b.s.low, exponent(float(v)) if v and math.isfinite(float(v)) else 0)
    errors = a.s.errors + b.s.errors
    return Bounded(v, Shadow(size, min(a.s.unit, b.s.unit), a.s.terms + b.s.terms, errors, high, low))


def least(x: Bounded, e: float) -> int:
    """The smallest exponent of a factor, or of a product of some of its factors."""
    assert x.s
    if e == 0:
        return x.s.low
    size = abs(float(x.v))
    return min(x.s.low, exponent(size - e) if size > e else FORMATS[reference.type_of(x.v)].least)


def product(a: Bounded, b: Bounded, v: Any, t: str) -> Bounded:
    """A product of two floats of one type; a rounding of it may be missing, by fma."""
    assert a.s and b.s
    ea, eb, x, y, f = error(a), error(b), float(a.v), float(b.v), FORMATS[t]
    if math.inf in (ea, eb):
        return Bounded(v, POISON)
    if not math.isfinite(x) or not math.isfinite(y):
        return Bounded(v, None if ea == eb == 0 else POISON)
    size, unit = a.s.size * b.s.size, a.s.unit + b.s.unit
    high, low = a.s.high + b.s.high, least(a, ea) + least(b, eb)
    if high + 2 > f.most or low < f.least:
        return Bounded(v, POISON)
    if ea == eb == 0 and fits(size, unit, f):
        return Bounded(v, Shadow(size, unit, 1, 0.0, high, low))
    off = inexact(v, (abs(x) * eb + abs(y) * ea + ea * eb + f.eps * abs(x * y) + f.tiny) * MARGIN, t)
    assert off.s
    if off.s is POISON:
        return off
    return Bounded(v, Shadow(off.s.size, 0, 1, off.s.errors, max(high, off.s.high), min(low, off.s.low)))


def is_power_of_two(x: Bounded) -> bool:
    return error(x) == 0 and math.isfinite(float(x.v)) and abs(math.frexp(float(x.v))[0]) == 0.5


def quotient(a: Bounded, b: Bounded, v: Any, t: str) -> Bounded:
    """The fast mode may use a reciprocal of any quality, which is exact for powers of two alone."""
    ea, eb, x, y = error(a), error(b), float(a.v), float(b.v)
    if is_power_of_two(b) and abs(exponent(y)) < 12:
        return product(a, Bounded(type(b.v)(1 / y)), v, t)
    if FAST or math.inf in (ea, eb):
        return Bounded(v, POISON)
    if ea == eb == 0:
        return Bounded(v)
    if not math.isfinite(x) or not math.isfinite(y) or abs(y) <= eb or not math.isfinite(float(v)):
        return Bounded(v, POISON)
    off = (ea + abs(x / y) * eb) / (abs(y) - eb) + FORMATS[t].eps * abs(x / y) + FORMATS[t].tiny
    return inexact(v, off * MARGIN, t)


def exact_only(v: Any, *operands: Bounded, rough: bool = True) -> Bounded:
    """An operation whose result is known if all operands are; the fast mode may compute it `rough`ly."""
    known = all(error(x) == 0 for x in operands)
    return Bounded(v, None if known and not (rough and FAST) else POISON)


def binary(op: str, left: Any, right: Any) -> Bounded:
    a, b = bounded(left), bounded(right)
    v = reference.binary(op, a.v, b.v)
    t = arithmetic(op, reference.type_of(a.v), reference.type_of(b.v))
    if not is_float(t):
        return exact_only(v, a, b, rough=False)
    a, b = adopted(a, t), adopted(b, t)
    if op in "+-":
        return total(a, b, v)
    if op == "*":
        return product(a, b, v, t)
    return quotient(a, b, v, t) if op == "/" else exact_only(v, a, b)


def compare(op: str, left: Any, right: Any) -> Bounded:
    a, b = bounded(left), bounded(right)
    v = reference.compare(op, a.v, b.v)
    e = error(a) + error(b)
    apart = e == 0 or (e < math.inf and not abs(float(a.v) - float(b.v)) <= e * MARGIN)
    return Bounded(v, None if apart else POISON)


def _operator(op: str) -> tuple[Any, Any]:
    return (lambda a, b: binary(op, a, b)), (lambda a, b: binary(op, b, a))


for _op, _name in reference._NAMES.items():
    _both = _operator(_op)
    setattr(Bounded, f"__{_name}__", _both[0])
    setattr(Bounded, f"__r{_name}__", _both[1])
for _op, _name in {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}.items():
    setattr(Bounded, f"__{_name}__", lambda a, b, op=_op: compare(op, a, b))
