"""Integers of 64 bits wrap, also in the ends of loops and below min and max: no proof may take them for more.

What CPython runs through beyond 64 bits is an IndexError here or the same result, never an access that no
check has seen (language.md 2a, V2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright.lang import allocate, output_tensor

MOST, LEAST = 2**63 - 1, -(2**63)
MODES = ("strict", "default", "fast")


def from_behind_a_guarded_start(a, p):
    if p >= 0:
        for i in range(p + 1, a.shape[0]):
            a[i] = 0.0
    return a


def up_to_a_guarded_end(a, p):
    if p < a.shape[0]:
        for i in range(p - 1):
            a[i] += 1.0
    return a


def rows_counted_from_one(a, ptr):
    s = output_tensor((1,), a.dtype)
    for r in range(ptr.shape[0] - 1):
        lo = ptr[r]
        hi = ptr[r + 1]
        if lo >= 1 and hi <= a.shape[0] + 1:
            for j in range(lo - 1, hi - 1):
                s[0] += a[j]
    return s


def clamped_sum(a, idx):
    for j in range(idx.shape[0]):
        k = idx[j]
        if k >= 0:
            a[min(k + 1000000, a.shape[0] - 1)] = 5.0
    return a


def clamped_difference(a, p, q):
    if p >= q:
        a[min(p - q, a.shape[0] - 1)] += 1.0
    return a


def clamped_from_below(a, p):
    s = output_tensor((1,), a.dtype)
    for i in range(a.shape[0]):
        s[0] += a[max(a.shape[0] - 1 - 3 * i - p, 0)]
    return s


def temporary_as_long_as_what_is_left(a, p):
    s = output_tensor((1,), a.dtype)
    for i in range(p + 1, a.shape[0]):
        if a.shape[0] - i > 5:
            t = allocate((a.shape[0] - i,), a.dtype)
            t[5] = 1.0
            s[0] += t[5]
    return s


def ones() -> np.ndarray:
    return np.ones(8)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (from_behind_a_guarded_start, lambda: (ones(), MOST)),
        (up_to_a_guarded_end, lambda: (ones(), LEAST)),
        (rows_counted_from_one, lambda: (ones(), np.array([1, LEAST, 9]))),
        (clamped_sum, lambda: (ones(), np.array([MOST]))),
        (clamped_difference, lambda: (ones(), MOST, -1000000)),
        (clamped_from_below, lambda: (ones(), MOST)),
    ],
)
def test_what_wraps_is_checked(mode: str, function: Any, arguments: Callable[[], tuple[Any, ...]]) -> None:
    with pytest.raises(IndexError, match="E303"):
        kw.kernel(function, fp=mode)(*arguments())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (from_behind_a_guarded_start, lambda: (ones(), 3)),
        (up_to_a_guarded_end, lambda: (ones(), 5)),
        (rows_counted_from_one, lambda: (ones(), np.array([1, 4, 9]))),
        (clamped_sum, lambda: (ones(), np.array([3, -4]))),
        (clamped_difference, lambda: (ones(), 7, 5)),
        (clamped_from_below, lambda: (ones(), 2)),
        (temporary_as_long_as_what_is_left, lambda: (ones(), -1)),
    ],
)
def test_what_does_not_wrap_runs(mode: str, function: Any, arguments: Callable[[], tuple[Any, ...]]) -> None:
    expected = function(*arguments())
    np.testing.assert_array_equal(kw.kernel(function, fp=mode)(*arguments()), expected)


@pytest.mark.parametrize("mode", MODES)
def test_a_temporary_has_no_less_memory_than_its_size_says(mode: str) -> None:
    with pytest.raises(ValueError, match="exceed 2"):
        kw.kernel(temporary_as_long_as_what_is_left, fp=mode)(ones(), MOST)


def quotients_below_a_guard(a, p):
    for i in range(p, -1, -2305843009213693952):
        if i < 100:  # noqa: SIM102
            if (p * 4 + 1) // 3 < a.shape[0]:
                a[(i * 4 + 1) // 3] = 1.0
    return a


@pytest.mark.parametrize("mode", MODES)
def test_the_end_of_a_quotient_may_wrap(mode: str) -> None:
    """2^61 steps down from p to 50, where the guard on p, which wraps, says nothing of i."""
    block = np.zeros(200)
    with pytest.raises(IndexError, match="index 67 is out of range"):
        kw.kernel(quotients_below_a_guard, fp=mode)(block[:10], 50 + 2**61)
    assert not block[10:].any()


def temporaries_of_sizes_that_wrap(a, q):
    s = output_tensor((1,), a.dtype)
    for i in range(q, 1, 4611686018427387904):
        t = allocate((4 * i,), a.dtype)
        for j in range(4 * i):
            t[j] = 7.0
            s[0] += t[j]
    return s


@pytest.mark.parametrize("mode", MODES)
def test_the_least_size_of_a_temporary_may_wrap(mode: str) -> None:
    """4 q is 20 in 64 bits, and the greatest size of all iterations is that of the last one."""
    kernel = kw.kernel(temporaries_of_sizes_that_wrap, fp=mode)
    with pytest.raises(ValueError, match="exceed 2"):
        kernel(ones(), -(2**62) + 5)
    assert kernel(ones(), 0)[0] == 0.0


def temporaries_of_threads(a, p):
    y = output_tensor((a.shape[0],), a.dtype)
    for i in range(a.shape[0]):
        t = allocate((p,), a.dtype)
        for j in range(a.shape[1]):
            t[j] = a[i, j]
        for j in range(a.shape[1]):
            y[i] += t[a.shape[1] - 1 - j] * t[(j * 7) % a.shape[1]]
    return y


@pytest.mark.parametrize("p", [2**61 + 1, 2**60, 2**44])
def test_memory_of_threads_is_not_less_than_its_size_says(p: int) -> None:
    with pytest.raises(ValueError, match="exceed 2"):
        kw.kernel(temporaries_of_threads)(np.ones((64, 20_000)), p)


def sum_between(a, p, q):
    s = 0.0
    for i in range(p, q):
        s += a[i]
    y = output_tensor((1,), a.dtype)
    y[0] = s
    return y


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ends", [(3, LEAST), (MOST, LEAST), (MOST, 0)])
def test_a_sum_over_nothing_needs_no_memory(mode: str, ends: tuple[int, int]) -> None:
    assert kw.kernel(sum_between, fp=mode)(ones(), *ends)[0] == 0.0


def squares_for_few(a, p):
    y = output_tensor((1,), a.dtype)
    if p < 100:
        t = allocate((p * p,), a.dtype)
        for i in range(p):
            t[i] = a[0]
            y[0] += t[i]
    return y


@pytest.mark.parametrize("p", [3, 10**5, 2**24, 2**33])
def test_a_temporary_of_a_branch_that_is_not_taken_costs_nothing(p: int) -> None:
    assert kw.kernel(squares_for_few)(ones(), p)[0] == (3.0 if p == 3 else 0.0)


def reads_what_a_loop_wrote(a, p):
    t = allocate((a.shape[0],), a.dtype)
    for i in range(p + 1):
        t[i] = 7.0
    s = output_tensor((1,), a.dtype)
    for k in range(a.shape[0]):
        if k <= p:
            s[0] += t[k]
    return s


def test_a_loop_whose_end_wraps_wrote_nothing() -> None:
    """Of memory that no iteration wrote: zeros, as where no loop stands."""
    kernel = kw.kernel(reads_what_a_loop_wrote)
    for _ in range(3):
        assert kernel(ones(), 4)[0] == 35.0
        assert kernel(ones(), MOST)[0] == 0.0


def where_what_follows_is_positive(a, p):
    s = output_tensor((1,), a.dtype)
    if p + 1 > 0:
        t = allocate((a.shape[0],), a.dtype)
        for i in range(a.shape[0]):
            t[i] = a[i]
            s[0] += t[i]
    return s


def where_a_hash_is_even(a, p):
    s = output_tensor((1,), a.dtype)
    if -(p * 1103515245 + 12345) % 2 == 0:
        t = allocate((a.shape[0],), a.dtype)
        for i in range(a.shape[0]):
            t[i] = a[i]
            s[0] += t[i]
    return s


@pytest.mark.parametrize("mode", MODES)
def test_a_condition_that_wraps_decides_as_the_kernel_does(mode: str) -> None:
    follows = kw.kernel(where_what_follows_is_positive, fp=mode)
    even = kw.kernel(where_a_hash_is_even, fp=mode)
    assert [follows(ones(), p)[0] for p in (3, MOST, LEAST, -2)] == [8.0, 0.0, 0.0, 0.0]
    for p in (1, 2, 2**40 + 1, 2**40, MOST, LEAST):
        assert even(ones(), p)[0] == (8.0 if p % 2 else 0.0)


def squares_below_two_conditions(a, p):
    y = output_tensor((1,), a.dtype)
    if p < 100:  # noqa: SIM102
        if p * p < 50:
            t = allocate((p * p,), a.dtype)
            for i in range(p):
                t[i] = a[0]
                y[0] += t[i]
    return y


def squares_below_both_conditions(a, p):
    y = output_tensor((1,), a.dtype)
    if p < 100 and p * p < 50:
        t = allocate((p * p,), a.dtype)
        for i in range(p):
            t[i] = a[0]
            y[0] += t[i]
    return y


@pytest.mark.parametrize("function", [squares_below_two_conditions, squares_below_both_conditions])
@pytest.mark.parametrize("p", [3, 50, 10**5, 2**33])
def test_the_outer_condition_of_a_temporary_decides(function: Any, p: int) -> None:
    assert kw.kernel(function)(ones(), p)[0] == (3.0 if p == 3 else 0.0)


def branches_with_temporaries(count: int) -> str:
    lines = ["def chain(a, p):", "    s = output_tensor((1,), a.dtype)"]
    for k in range(count):
        lines += [f"    {'el' if k else ''}if p == {k}:", f"        t = allocate(({k + 1},), a.dtype)"]
        lines += [f"        t[{k}] = {k}.0", f"        s[0] += t[{k}]"]
    return "\n".join([*lines, "    return s", ""])


def test_a_chain_of_branches_has_a_temporary_in_each() -> None:
    kernel = kw.kernel(branches_with_temporaries(60))
    for p in (0, 1, 5, 30, 59, 60):
        assert kernel(ones(), p)[0] == (p if p < 60 else 0)
