"""NumPy's constructors in kernels, and W102 for outputs of the default dtype."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import zeros as nothing

import kernelwright as kw


def results(f: Callable[..., Any], *args: Any, fp: str = "strict") -> tuple[Any, Any]:
    """What the kernel and CPython return, as tuples."""
    kernel = kw.kernel(fp=fp)(f)
    found, expected = kernel(*args), kernel.py(*args)
    return tuple(x if isinstance(x, tuple) else (x,) for x in (found, expected))  # type: ignore[return-value]


def all_of_them(x):  # type: ignore[no-untyped-def]
    sums = np.zeros(x.shape[0])
    whole = np.zeros((3, 2), dtype=np.int32)
    ones = np.ones_like(x)
    sevens = np.full((2,), 7)
    firsts = np.full(4, x[0], "float32")
    threes = np.full_like(x, 3)
    ints = np.zeros(2, int)
    floats = nothing(3, float)
    scalar = np.full((), 2.5)
    flags = np.full(2, True)
    like = np.zeros_like(x, dtype="int8")
    temporary = np.empty(x.shape, x.dtype)
    for i in range(x.shape[0]):
        temporary[i] = x[i] + 1
    for i in range(x.shape[0]):
        sums[i] += temporary[i] * ones[i] + threes[i]
    return sums, whole, ones, sevens, firsts, threes, ints, floats, scalar, flags, like


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int16"])
def test_constructors_make_what_numpy_makes(dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, expected = results(all_of_them, np.arange(5).astype(dtype))
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)


@kw.kernel
def returned_and_not(x):  # type: ignore[no-untyped-def]
    t = np.zeros(x.shape[0], x.dtype)
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        t[i] += x[i]
    for i in range(x.shape[0]):
        y[i] += t[i]
    return y


def test_a_buffer_is_an_output_if_a_return_names_it() -> None:
    x, out = np.arange(4.0), np.full(4, -1.0)
    assert returned_and_not(x, out=out) is out
    np.testing.assert_array_equal(out, x)
    with pytest.raises(kw.KernelValueError, match="2 entries for 1 output"):
        returned_and_not(x, out=(out, out))


def double(x, i):  # type: ignore[no-untyped-def]
    """A helper with a temporary of its own."""
    t = np.full((2,), x[i])
    return t[0] + t[1]


@kw.kernel
def by_helper(x):  # type: ignore[no-untyped-def]
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = double(x, i)
    return y


def test_a_constructor_in_a_helper_makes_a_temporary() -> None:
    np.testing.assert_array_equal(by_helper(np.arange(3.0)), [0, 2, 4])


@kw.kernel(debug=True)
def sums_in_zeros(x, y):  # type: ignore[no-untyped-def]
    h = np.zeros(2, x.dtype)
    c = output_tensor((2,), x.dtype)
    for i in range(x.shape[0]):
        h[i % 2] = max(h[i % 2], x[i])
        c[i % 2] += x[i]
    y[0] = h[1]
    return h, c, y


def test_zeros_are_read_in_debug_mode_without_an_error_or_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        h, c, _ = sums_in_zeros(np.arange(5.0), np.zeros(1))
    np.testing.assert_array_equal(h, [4, 3])
    np.testing.assert_array_equal(c, [6, 4])


@kw.kernel
def default_dtype(x):  # type: ignore[no-untyped-def]
    y = output_tensor(x.shape)
    for i in range(x.shape[0]):
        y[i] = x[i]
    return y


def test_an_output_without_a_dtype_is_told_once_beside_other_floats() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        default_dtype(np.ones(2, np.float32))
        default_dtype(np.ones(2, np.int64))
        assert seen == []
        default_dtype(np.ones(2))
        default_dtype(np.ones(3))
    assert ["W102" in str(w.message) for w in seen] == [True]
