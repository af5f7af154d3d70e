"""Floats as integers in lanes: truncated, saturated, NaN as 0, at every limit of every type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import kernelwright as kw

TEXT = """
def cast(x):
    y = output_tensor(x.shape, '{0}')
    for i in range(x.shape[0]):
        y[i] = {0}(x[i])
    return y
"""
SPECIAL = (0.0, -0.0, 0.5, -0.5, 0.9999999, -0.9999999, 1.5, -1.5, math.nan, math.inf, -math.inf, 1e38, 1e-40)


def numbers(dtype: str) -> np.ndarray[Any, Any]:
    """All that may go wrong, twice as long as any register and no multiple of it."""
    out = list(SPECIAL)
    for bits in (7, 8, 15, 16, 31, 32, 63, 64):
        for limit in (2.0**bits, -(2.0**bits)):
            v = np.array(limit, dtype)
            out += [v, np.nextafter(v, v * 0), np.nextafter(v, v * 2), v - 1, v + 1, v - 0.5, v + 0.5]
    rng = np.random.default_rng(20261123)
    for scale in (50.0, 1e4, 1e10, 1e19):
        out += list(rng.normal(size=73) * scale)
    return np.array(out, dtype)


def truncated(v: float, dtype: str) -> int:
    limits = np.iinfo(dtype)
    if math.isnan(v):
        return 0
    return int(limits.max if v >= limits.max else limits.min if v <= limits.min else int(v))


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("sign", ["", "u"])
def test_floats_become_integers(source: str, bits: int, sign: str) -> None:
    dtype = f"{sign}int{bits}"
    x = numbers(source)
    result = kw.kernel(TEXT.format(dtype))(x)
    np.testing.assert_array_equal(result, np.array([truncated(float(v), dtype) for v in x], dtype))
