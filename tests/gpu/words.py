"""The words of the device prelude, each with values that are hard for it and what NumPy or Python gives."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
TYPES = {"bool": "b1", "float16": "u16", "bfloat16": "u16"}
F32 = np.float32(
    [0.0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3.25, 7, -7, 0.1, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 1e-40]
    + [1.1754944e-38, 3.4028235e38, -3.4028235e38, 2**31, -(2**31), 2**31 - 128, 2**32, 2**63, -(2**63)]
    + [2**64, 65504, 65519.99, 65520, 5.96e-8, 2.98e-8, 1.0009765625, 1.00048828125, 8388609.5, 1e10, 1 / 3]
)
F64 = np.array([*F32.astype(np.float64), 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2**53 + 2])
I32 = np.array([0, 1, -1, 2, -2, 3, -3, 7, -7, 31, 32, 33, 63, 64, 2**31 - 1, -(2**31)], np.int32)
I64 = np.array([*I32, 2**31, -(2**31) - 1, 2**32, 2**53 + 1, 2**63 - 1, -(2**63)], np.int64)
U16 = np.array(
    [0, 0x8000, 1, 0x03FF, 0x0400, 0x3C00, 0x3C01, 0xBC00, 0x7BFF, 0x7C00, 0xFC00, 0x7E01], np.uint16
)


def pairs(values: Array) -> tuple[Array, Array]:
    left, right = np.indices((len(values),) * 2).reshape(2, -1)
    return values[left], values[right]


@dataclass(frozen=True)
class Word:
    """An expression of x, y and z, which are elements of the inputs, and its values."""

    text: str
    inputs: tuple[Array, ...]
    expected: Array


def each(function: Callable[..., Any], dtype: Any) -> Callable[..., Array]:
    """What Python gives for each element."""

    def all_of(*inputs: Array) -> Array:
        return np.array([function(*row) for row in zip(*inputs, strict=True)], dtype)

    return all_of


def least(x: Any, y: Any) -> Any:
    if math.isnan(x) or math.isnan(y):
        return math.nan
    return min(x, y) if x != y else (x if math.copysign(1, x) < 0 else y)


def rounded(value: Fraction, dtype: Any) -> Any:
    """The nearest float of the type; of two, the even one."""
    info = np.finfo(dtype)
    if value == 0:
        return dtype(0)
    size = abs(value)
    exponent = max(size.numerator.bit_length() - size.denominator.bit_length() - 1, int(info.minexp))
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - info.nmant)
    units, sign = round(size / unit), -1 if value < 0 else 1  # to even
    if units * unit >= Fraction(2) ** int(info.maxexp):
        return dtype(sign * math.inf)
    return dtype(sign * math.ldexp(units, exponent - info.nmant))


def fused(dtype: Any) -> Callable[..., Any]:
    def fma(x: Any, y: Any, z: Any) -> Any:
        product = float(x) * float(y)
        if not all(map(math.isfinite, (x, y, z))):
            return (
                dtype(product if math.isinf(float(x)) or math.isinf(float(y)) or product != product else 0)
                + z
            )
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        if exact == 0:
            both = math.copysign(1, x) * math.copysign(1, y)
            return dtype(-0.0 if both < 0 and math.copysign(1, z) < 0 else 0.0) if x * y == 0 else dtype(0)
        return rounded(exact, dtype)

    return fma


def integer(low: int, high: int) -> Callable[[Any], int]:
    def to(x: Any) -> int:
        if math.isnan(x):
            return 0
        return low if x <= low else high if x >= high else int(x)

    return to


def wrapped(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def bfloat(x: Any) -> int:
    bits = int(np.float32(x).view(np.uint32))
    if math.isnan(x):
        return 0x7FFF
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def of_floats() -> list[Word]:
    out = []
    for dtype, values in ((np.float32, F32), (np.float64, F64)):
        two = pairs(values)
        few = values[:: 3 if dtype == np.float32 else 4]
        three = tuple(np.array(list(itertools.product(few, repeat=3)), dtype).T)
        unary = ("floor", "ceil", "trunc", "sqrt", "abs")
        out += [Word(f"kw_{name}(x)", (values,), getattr(np, name)(values)) for name in unary]
        out += [
            Word("kw_round(x)", (values,), np.rint(values)),
            Word("kw_min(x, y)", two, each(least, dtype)(*two)),
            Word("kw_max(x, y)", two, each(lambda x, y: -least(-x, -y), dtype)(*two)),
            Word("kw_fmod(x, y)", two, np.fmod(*two)),
            Word("kw_floor_mod(x, y)", two, np.mod(*two)),
            Word("kw_floor_div(x, y)", two, np.floor_divide(*two)),
            Word("kw_fma(x, y, z)", three, each(fused(dtype), dtype)(*three)),
            Word("kw_float(kw_bits(x))", (values,), values),
        ]
        for op in "+-*/":
            function = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[op]
            out.append(Word(f"x {op} y", two, function(*two)))
        for name, bits in (("i8", 8), ("i32", 32), ("i64", 64)):
            low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
            out.append(Word(f"kw_to<{name}>(x)", (values,), each(integer(low, high), f"int{bits}")(values)))
        for name, bits in (("u8", 8), ("u32", 32), ("u64", 64)):
            expected = each(integer(0, (1 << bits) - 1), f"uint{bits}")(values)
            out.append(Word(f"kw_to<{name}>(x)", (values,), expected))
    return out


def of_narrow_floats() -> list[Word]:
    return [
        Word("kw_to_half(x)", (F32,), F32.astype(np.float16)),
        Word("kw_from_half(x)", (U16,), U16.view(np.float16).astype(np.float32)),
        Word("kw_to_bfloat(x)", (F32,), each(bfloat, np.uint16)(F32)),
        Word("(f32)x", (F64,), F64.astype(np.float32)),
        Word("(f32)x", (I64,), I64.astype(np.float32)),
        Word("(f64)x", (I64,), I64.astype(np.float64)),
        Word("(f32)x", (I64.view(np.uint64),), I64.view(np.uint64).astype(np.float32)),
    ]


def of_integers() -> list[Word]:
    out = []
    for values, bits in ((I32, 32), (I64, 64)):
        dtype, two = values.dtype, pairs(values)

        def quotient(x: Any, y: Any, bits: int = bits) -> int:
            return wrapped(int(x) // int(y), bits) if y else 0

        def remainder(x: Any, y: Any) -> int:
            return int(x) % int(y) if y else 0

        def left(x: Any, n: Any, bits: int = bits) -> int:
            return wrapped(int(x) << int(n), bits) if 0 <= n < bits else 0

        def right(x: Any, n: Any, bits: int = bits) -> int:
            return int(x) >> int(n) if 0 <= n < bits else -1 if x < 0 else 0

        def trips(x: Any, y: Any) -> int:
            return len(range(int(x), int(y), 3))

        out += [
            Word("kw_floor_div(x, y)", two, each(quotient, dtype)(*two)),
            Word("kw_floor_mod(x, y)", two, each(remainder, dtype)(*two)),
            Word("kw_shl(x, y)", two, each(left, dtype)(*two)),
            Word("kw_shr(x, y)", two, each(right, dtype)(*two)),
            Word("kw_min(x, y)", two, np.minimum(*two)),
            Word("kw_max(x, y)", two, np.maximum(*two)),
            Word("kw_abs(x)", (values,), np.abs(values)),
            Word(
                "kw_popcount(x)",
                (values,),
                each(lambda x, b=bits: (int(x) % (1 << b)).bit_count(), dtype)(values),
            ),
            Word("(i64)kw_trips(x, y, 3)", two, each(trips, np.int64)(*two)),
        ]
    return out


with np.errstate(all="ignore"):
    WORDS = [*of_floats(), *of_narrow_floats(), *of_integers()]


def c_type(array: Array) -> str:
    kind = array.dtype
    return TYPES.get(kind.name, f"{'f' if kind.kind == 'f' else kind.kind}{8 * kind.itemsize}")


def kernel_of(word: Word, name: str) -> str:
    """The text of a kernel that gives an element to each thread."""
    given = [f"const {c_type(a)} *{v}s" for a, v in zip(word.inputs, "xyz", strict=False)]
    loaded = [f"{c_type(a)} {v} = {v}s[i]" for a, v in zip(word.inputs, "xyz", strict=False)]
    result = c_type(word.expected)
    return (
        f"KW_KERNEL(32) {name}({', '.join(given)}, {result} *out, i64 n) {{\n"
        "  i64 i = kw_block(x) * 32 + kw_thread;\n  if (i >= n) return;\n"
        f"  {'; '.join(loaded)};\n  out[i] = {word.text};\n}}\n"
    )
