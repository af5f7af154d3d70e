"""Every scalar operation: machine code = interpreter (scalar_ops) = NumPy, on special values and random ones.

NumPy is no oracle where language.md 2a differs: casts out of range, the sign of zero in min and max.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scalar_cases import (
    DTYPES,
    FLOATS,
    INTEGERS,
    SEED,
    Array,
    cast,
    comparisons,
    extremes,
    float_ops,
    float_unary,
    pairs,
)

import kernelwright as kw


def integer_ops(a, b):
    out = output_tensor((11, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = a[i] + b[i]
        out[1, i] = a[i] - b[i]
        out[2, i] = a[i] * b[i]
        out[3, i] = a[i] // b[i]
        out[4, i] = a[i] % b[i]
        out[5, i] = a[i] & b[i]
        out[6, i] = a[i] | b[i]
        out[7, i] = a[i] ^ b[i]
        out[8, i] = a[i] << b[i]
        out[9, i] = a[i] >> b[i]
        out[10, i] = min(a[i], b[i]) ^ max(a[i], b[i])
    return out


def bool_ops(a, b):
    out = output_tensor((8, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = a[i] + b[i]
        out[1, i] = a[i] * b[i]
        out[2, i] = a[i] & b[i]
        out[3, i] = a[i] | b[i]
        out[4, i] = a[i] ^ b[i]
        out[5, i] = a[i] and b[i]
        out[6, i] = a[i] or b[i]
        out[7, i] = not a[i]
    return out


def quotients(a, b):
    out = output_tensor((1, a.shape[0]), "float64")
    for i in range(a.shape[0]):
        out[0, i] = a[i] / b[i]
    return out


def integer_unary(a):
    out = output_tensor((5, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = -a[i]
        out[1, i] = ~a[i]
        out[2, i] = +a[i]
        out[3, i] = abs(a[i])
        out[4, i] = floor(a[i])
    return out


def truth(a):
    out = output_tensor((3, a.shape[0]), "bool")
    for i in range(a.shape[0]):
        out[0, i] = not a[i]
        out[1, i] = 1 if a[i] else 0
        out[2, i] = bool_(a[i])
    return out


def cast_and_store(a, like):
    out = output_tensor((2, a.shape[0]), like.dtype)
    for i in range(a.shape[0]):
        out[0, i] = a[i]
        if like.dtype == "bool":
            out[1, i] = bool_(a[i])
        elif like.dtype == "int8":
            out[1, i] = int8(a[i])
        elif like.dtype == "int16":
            out[1, i] = int16(a[i])
        elif like.dtype == "int32":
            out[1, i] = int32(a[i])
        elif like.dtype == "int64":
            out[1, i] = int64(a[i])
        elif like.dtype == "uint8":
            out[1, i] = uint8(a[i])
        elif like.dtype == "uint16":
            out[1, i] = uint16(a[i])
        elif like.dtype == "uint32":
            out[1, i] = uint32(a[i])
        elif like.dtype == "uint64":
            out[1, i] = uint64(a[i])
        elif like.dtype == "float16":
            out[1, i] = float16(a[i])
        elif like.dtype == "float32":
            out[1, i] = float32(a[i])
        else:
            out[1, i] = float64(a[i])
    return out


def both(function: Callable[..., Any], *args: Array) -> Array:
    """The result of machine code, after comparing its bits with the interpreter's."""
    results = []
    for words in ("cache=off", "cache=off; interp"):
        with kw.debug(words):
            results.append(kw.kernel(fp="strict")(function)(*args))
    expect_same(results[0], results[1], args, "LLVM", "interpreter")
    return results[0]


def expect_same(left: Array, right: Array, args: tuple[Array, ...], *names: str) -> None:
    """Equal dtype, shape and bits, NaNs taken as one; names the first difference."""
    assert left.dtype == right.dtype and left.shape == right.shape
    same = (left == right) | ((left != left) & (right != right))
    if left.dtype.kind == "f":
        same &= (np.signbit(left) == np.signbit(right)) | (left != left)
    if not same.all():
        row, i = (int(v[0]) for v in np.nonzero(~same))
        values = ", ".join(repr(a[min(i, len(a) - 1)]) for a in args)
        what = f"row {row} of ({values}): {left[row, i]!r} by {names[0]}, {right[row, i]!r} by {names[1]}"
        pytest.fail(f"{what} ({int((~same).sum())} differences, KW_FUZZ_SEED={SEED})")


def compare(function: Callable[..., Any], rows: list[Callable[..., Any]], *args: Array) -> None:
    with np.errstate(all="ignore"):
        got = both(function, *args)
        expect_same(got, np.stack([row(*args) for row in rows]).astype(got.dtype), args, "kernel", "NumPy")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_operators(dtype: str) -> None:
    rows = [np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.bitwise_and, np.bitwise_or]
    rows += [np.bitwise_xor, np.left_shift, np.right_shift, lambda a, b: np.minimum(a, b) ^ np.maximum(a, b)]
    compare(integer_ops, rows, *pairs(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_operators(dtype: str) -> None:
    rows = [np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder]
    compare(float_ops, rows, *pairs(dtype))


def test_bool_operators() -> None:
    rows = [np.add, np.multiply, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_and, np.logical_or]
    compare(bool_ops, [*rows, lambda a, b: ~a], *pairs("bool"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons(dtype: str) -> None:
    rows = [
        np.less,
        np.less_equal,
        np.greater,
        np.greater_equal,
        np.equal,
        np.not_equal,
        lambda a, b: ~(a < b),
    ]
    compare(comparisons, [*rows, lambda a, b: (a < b) & (b < a + b)], *pairs(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_min_and_max(dtype: str) -> None:
    """Like NumPy, but with -0 < +0, so that the order of the operands never matters."""

    def ordered(f: Any, zero: Any) -> Callable[..., Any]:
        if dtype not in FLOATS:
            return f
        return lambda a, b: np.where((a == 0) & (b == 0), np.where(zero(a, b), -0.0, 0.0), f(a, b))

    low = ordered(np.minimum, lambda a, b: np.signbit(a) | np.signbit(b))
    high = ordered(np.maximum, lambda a, b: np.signbit(a) & np.signbit(b))
    compare(extremes, [low, high], *pairs(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_true_division(dtype: str) -> None:
    compare(quotients, [lambda a, b: (a / b).astype("float64")], *pairs(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_operators(dtype: str) -> None:
    a = pairs(dtype)[0]
    if dtype in INTEGERS:
        compare(integer_unary, [np.negative, np.invert, np.positive, np.abs, np.floor], a)
    if dtype in FLOATS:
        compare(float_unary, [np.negative, np.positive, np.abs, np.floor, np.sqrt], a)
    compare(truth, [np.logical_not, lambda v: v.astype(bool), lambda v: v.astype(bool)], a)


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_casts_and_stores(source: str, to: str) -> None:
    a = pairs(source)[0]
    with np.errstate(all="ignore"):
        got = both(cast_and_store, a, np.zeros(1, to))
        expect_same(got, np.stack([cast(a, to)] * 2), (a,), "kernel", "the table")
