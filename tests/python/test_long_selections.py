"""Selections in lanes over more iterations than numbers of 32 bits tell apart."""

from __future__ import annotations

import pytest

import kernelwright as kw


@kw.kernel
def first_of_largest(n):
    best = int32(-1)
    at = -1
    for i in range(n):
        x = int32(i >> 10)
        if x > best:
            best = x
            at = i
    out = output_tensor((2,), "int64")
    out[0] = best
    out[1] = at
    return out


@kw.kernel
def last_of_smallest(n):
    best = int32(1)
    at = -1
    for i in range(n):
        x = int32((i & 4095) >> 10)
        if x <= best:
            best = x
            at = i
    out = output_tensor((2,), "int64")
    out[0] = best
    out[1] = at
    return out


@kw.kernel
def selects_and_sums(n):
    best = int32(-1)
    at = -1
    total = 0
    for i in range(n):
        x = int32(i >> 10)
        if x > best:
            best = x
            at = i
        total += i & 3
    out = output_tensor((3,), "int64")
    out[0] = best
    out[1] = at
    out[2] = total
    return out


def test_the_first_of_the_largest_has_a_number_of_more_than_32_bits() -> None:
    n = (1 << 32) + 5000
    last = (n - 1) >> 10
    assert first_of_largest(n).tolist() == [last, last << 10]


def test_the_last_of_the_smallest_has_a_number_of_more_than_31_bits() -> None:
    assert last_of_smallest((1 << 31) + 5000).tolist() == [0, (1 << 31) + 4096 + 903]


@pytest.mark.parametrize("n", [1 << 30, (1 << 30) + 1, 1 << 31])
def test_sums_go_on_beside_them(n: int) -> None:
    last = (n - 1) >> 10
    total = n // 4 * 6 + (n & 3) * ((n & 3) - 1) // 2
    assert selects_and_sums(n).tolist() == [last, last << 10, total]


def test_they_run_in_lanes() -> None:
    for kernel in (first_of_largest, last_of_smallest, selects_and_sums):
        assert "vectorize i by" in str(kernel.explain(1 << 31))
