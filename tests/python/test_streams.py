"""Results of calls larger than the caches: stored past them where rows allow it, and right in every case."""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np
import pytest

import kernelwright as kw

LARGE = 9 << 20  # float32 elements of one array: two of them are more than any target's rule asks for


@pytest.fixture(autouse=True)
def threads_as_before():
    before = kw.threads()
    yield
    kw.set_threads(before)


@kw.kernel
def doubled(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] * 2.0
    return c


@kw.kernel
def parts(a):
    low = output_tensor(a.shape, "uint8")
    high = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        low[i] = uint8(a[i])
        high[i] = a[i] + 1.0
    return low, high


@kw.kernel
def used_again(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + 1.0
    for i in range(a.shape[0]):
        c[i] = c[i] * 2.0
    return c


@pytest.mark.parametrize("columns", [4096, 4100, 1000])
def test_rows_that_begin_at_a_line_and_others(columns: int) -> None:
    a = np.arange(LARGE // columns * columns, dtype=np.float32).reshape(-1, columns)
    for threads in (1, 2):
        kw.set_threads(threads)
        assert np.array_equal(doubled(a), a * 2)
        out = np.full(a.size + 16, -1, np.float32)[3:-13].reshape(a.shape)  # begins anywhere
        doubled(a, out=out)
        assert np.array_equal(out, a * 2)
        assert (out.base.ravel()[:3] == -1).all() and (out.base.ravel()[-13:] == -1).all()


def test_several_results_and_types() -> None:
    a = (np.arange(2 * LARGE) % 251).astype(np.float32)
    low, high = parts(a)
    assert np.array_equal(low, a.astype(np.uint8)) and np.array_equal(high, a + 1)


def test_a_result_that_is_read_stays_in_the_caches() -> None:
    a = np.arange(LARGE, dtype=np.float32)
    assert np.array_equal(used_again(a), (a + 1) * 2)
    assert "nontemporal" not in used_again.llvm()


def test_the_machine_code_has_such_stores_where_the_target_has_a_rule() -> None:
    doubled(np.ones((2, 2), np.float32))
    text = doubled.llvm()
    assert ("nontemporal" in text) == ("+avx2" in text)
    assert ("sfence" in text) == ("+avx2" in text)


@kw.kernel
def turned(a):
    c = output_tensor((a.shape[1], a.shape[0]), a.dtype)
    for i in range(a.shape[1]):
        for j in range(a.shape[0]):
            c[i, j] = a[j, i]
    return c


@kw.kernel
def running(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j]
            c[i, j] = total
    return c


@pytest.mark.parametrize("columns", [4096, 4100, 1000, 24])
def test_rows_that_are_turned_over_in_registers(columns: int) -> None:
    """Into rows that begin at lines, all of them or the first alone, and anywhere."""
    rows = LARGE // columns // 16 * 16 + (columns == 1000)
    a = (np.arange(rows * columns) % 3).astype(np.float32).reshape(rows, columns)
    for kernel, wanted in ((turned, a.T), (running, np.cumsum(a, axis=1))):
        for threads in (1, 2):
            kw.set_threads(threads)
            assert np.array_equal(kernel(a), wanted)
        memory = np.full(a.size + 16, -1, np.float32)
        kernel(a, out=memory[3:-13].reshape(wanted.shape))
        assert np.array_equal(memory[3:-13].reshape(wanted.shape), wanted)
        assert (memory[:3] == -1).all() and (memory[-13:] == -1).all()


def test_turned_rows_have_such_stores_too() -> None:
    for kernel in (turned, running):
        kernel(np.ones((2, 2), np.float32))
        assert ("nontemporal" in kernel.llvm()) == ("+avx2" in kernel.llvm())
