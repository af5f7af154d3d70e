"""Values, kernels and oracles shared by the tests of scalar operations and of 16-bit floats. Has no tests."""

from __future__ import annotations

import os
import random
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
SEED = int(os.environ.get("KW_FUZZ_SEED") or random.randrange(2**32))
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS)


def integer_values(dtype: str) -> list[int]:
    info = np.iinfo(dtype)
    near = [
        v + d for v in (0, info.min, info.max, info.bits, 1 << (info.bits // 2)) for d in (-2, -1, 0, 1, 2)
    ]
    return sorted({v for v in (*near, 7, -7, 100) if info.min <= v <= info.max})


def float_values(dtype: str) -> list[float]:
    info = np.finfo(dtype)
    tiny = float(info.smallest_subnormal)
    some = [
        0.0,
        tiny,
        3 * tiny,
        float(info.tiny),
        float(info.tiny) - tiny,
        float(info.eps),
        float(info.max),
        1e10,
    ]
    some += [
        0.1,
        0.5,
        0.75,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        7.25,
        1e-30,
        2.0**31,
        2.0**53 + 2,
        2.0**63,
        float("inf"),
    ]
    return [float("nan"), *some, *(-v for v in some)]


def special(dtype: str) -> Array:
    if dtype == "bool":
        return np.array([False, True])
    return np.array(integer_values(dtype) if dtype in INTEGERS else float_values(dtype), dtype)


def random_values(dtype: str, count: int, rng: np.random.Generator) -> Array:
    """A mix of small numbers and of arbitrary bits."""
    if dtype == "bool":
        return rng.random(count) < 0.5
    bits = rng.integers(0, 256, count * np.dtype(dtype).itemsize, "uint8").view(dtype)
    small = rng.integers(-70, 70, count).astype(dtype)
    if dtype in FLOATS:
        small = (small * rng.random(count)).astype(dtype)
    return np.where(rng.random(count) < 0.5, bits, small)


@cache
def pairs(dtype: str) -> tuple[Array, Array]:
    """Every pair of 8-bit values; else special values x special values, then 2,000 random pairs."""
    if dtype in ("int8", "uint8"):  # all of them
        every = np.arange(256, dtype="uint8").view(dtype)
        return np.repeat(every, 256), np.tile(every, 256)
    s, rng = special(dtype), np.random.default_rng(SEED)
    a, b = random_values(dtype, 2000, rng), random_values(dtype, 2000, rng)
    return np.concatenate([np.repeat(s, len(s)), a]), np.concatenate([np.tile(s, len(s)), b])


def float_ops(a, b):
    out = output_tensor((6, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = a[i] + b[i]
        out[1, i] = a[i] - b[i]
        out[2, i] = a[i] * b[i]
        out[3, i] = a[i] / b[i]
        out[4, i] = a[i] // b[i]
        out[5, i] = a[i] % b[i]
    return out


def comparisons(a, b):
    out = output_tensor((8, a.shape[0]), "bool")
    for i in range(a.shape[0]):
        out[0, i] = a[i] < b[i]
        out[1, i] = a[i] <= b[i]
        out[2, i] = a[i] > b[i]
        out[3, i] = a[i] >= b[i]
        out[4, i] = a[i] == b[i]
        out[5, i] = a[i] != b[i]
        out[6, i] = not a[i] < b[i]
        out[7, i] = a[i] < b[i] < a[i] + b[i]
    return out


def extremes(a, b):
    out = output_tensor((2, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = min(a[i], b[i])
        out[1, i] = max(a[i], b[i])
    return out


def float_unary(a):
    out = output_tensor((5, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = -a[i]
        out[1, i] = +a[i]
        out[2, i] = abs(a[i])
        out[3, i] = floor(a[i])
        out[4, i] = sqrt(a[i])
    return out


def bits_of(a: Array) -> Array:
    """The bits, every NaN made one."""
    with np.errstate(all="ignore"):
        plain = np.where(np.isnan(a), np.array(np.nan, a.dtype), a) if a.dtype.kind in "fV" else a
    return np.ascontiguousarray(plain).view(f"u{a.dtype.itemsize}")


def cast(a: Array, to: str) -> Array:
    """Table 2a (V3): integers wrap, floats to integers truncate and saturate, NaN is 0; else as NumPy."""
    if to not in INTEGERS or a.dtype.kind != "f":
        return a.astype(to)
    info = np.iinfo(to)
    wide = a.astype("float64")
    low, high = (-(2.0 ** (info.bits - 1)), 2.0 ** (info.bits - 1)) if info.min else (0.0, 2.0**info.bits)
    out = np.where((wide > low) & (wide < high), wide, 0).astype(to)
    out[wide >= high], out[wide <= low] = info.max, info.min
    return out
