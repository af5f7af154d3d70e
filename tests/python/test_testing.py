"""kernelwright.testing: which results agree, and what is said of others."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright.testing import assert_close


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_tolerances_follow_the_dtype(name: str) -> None:
    dtype = np.dtype(name)
    one = np.ones(3, dtype)
    step = np.finfo(dtype).eps
    assert_close(one + step, one)
    far = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-6}[name]
    with pytest.raises(AssertionError, match=r"^3 of 3 elements differ"):
        assert_close((one + far).astype(dtype), one)
    assert_close((one + far).astype(dtype), one, rtol=0.1)
    assert_close((one + far).astype(dtype), one, atol=0.1)


def test_integers_and_bools_are_exact() -> None:
    large = np.array([2**63 - 1, -(2**63)])
    assert_close(large, large.copy())
    with pytest.raises(
        AssertionError, match=r"^1 of 2 elements differ; the worst at \[0\] is 9223372036854775806"
    ):
        assert_close(large - np.array([1, 0]), large, rtol=1.0)
    with pytest.raises(AssertionError, match=r"^1 of 1 elements differ; the worst is True, expected False$"):
        assert_close(np.bool_(True), np.bool_(False))


def test_special_values() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
    assert_close(values, values.copy())
    with pytest.raises(
        AssertionError, match=r"^1 of 5 elements differ.* the worst at \[0\] is nan, expected nan$"
    ):
        assert_close(values, values.copy(), equal_nan=False)
    for wrong in (np.nan, -np.inf, 1e308):
        with pytest.raises(AssertionError, match=r"^1 of 1 elements"):
            assert_close(np.array([wrong]), np.array([np.inf]), rtol=1.0, atol=1e300)


def test_bfloat16_and_tensors() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    one = np.ones(2, ml_dtypes.bfloat16)
    assert_close(one * ml_dtypes.bfloat16(1.01), one)
    assert_close(kw.Tensor(np.ones(2)), np.ones(2))
    assert_close(2.0, np.float64(2.0))


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (np.ones((2, 3)), np.ones((3, 2)), "the shape is (2, 3), expected (3, 2)"),
        (np.ones(2, "f4"), np.ones(2), "the dtype is float32, expected float64"),
        ((np.ones(2), np.ones(3)), (np.ones(2),), "there are 2 results, expected 1 results"),
        ((np.ones(2),), np.ones(2), "there are 1 results, expected one result"),
        (
            (np.ones(2), np.array([[1.0, 2.0], [3.0, 9.0]])),
            (np.ones(2), np.array([[1.0, 2.5], [3.0, 4.0]])),
            "result 1: 2 of 4 elements differ (rtol 1e-07, atol 1e-09); the worst at [1, 1] is 9.0, "
            "expected 4.0",
        ),
    ],
)
def test_what_is_said(actual: Any, expected: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=f"^{re.escape(message)}$"):
        assert_close(actual, expected)


def test_other_dtypes() -> None:
    assert_close(np.ones(2, "f4"), np.ones(2), same_dtype=False)
    assert_close(np.ones(2, "i4"), np.ones(2), same_dtype=False)
    with pytest.raises(TypeError, match=r"^expected an array of numbers, got str of dtype <U1$"):
        assert_close("a", np.ones(1))
