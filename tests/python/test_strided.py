"""Loads whose lanes lie a few elements apart, of arrays beside pages that no one may touch."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kernelwright as kw

Array = np.ndarray[Any, Any]


@kw.kernel
def seconds(x):
    y = output_tensor(((x.shape[0] + 1) // 2,), x.dtype)
    for i in range((x.shape[0] + 1) // 2):
        y[i] = x[2 * i] + x[0]
    return y


@kw.kernel
def pairs(x):
    y = output_tensor((x.shape[0] // 2,), x.dtype)
    for i in range(x.shape[0] // 2):
        y[i] = x[2 * i] + x[2 * i + 1]
    return y


@kw.kernel
def odd_ones(x):
    y = output_tensor((x.shape[0] // 2,), x.dtype)
    for i in range(x.shape[0] // 2):
        y[i] = x[2 * i + 1] + x[1]
    return y


@kw.kernel
def chosen(x):
    y = output_tensor(((x.shape[0] + 1) // 2,), x.dtype)
    for i in range((x.shape[0] + 1) // 2):
        y[i] = x[2 * i]
        if 2 * i + 1 < x.shape[0]:
            y[i] = x[2 * i] - x[2 * i + 1]
    return y


@kw.kernel
def backwards(x):
    n = x.shape[0]
    y = output_tensor(((n + 3) // 4,), x.dtype)
    for i in range((n + 3) // 4):
        y[i] = x[n - 1 - 4 * i] + x[n - 1]
    return y


@kw.kernel
def thirds(x):
    y = output_tensor((x.shape[0] // 3,), x.dtype)
    for i in range(x.shape[0] // 3):
        y[i] = x[3 * i] - x[3 * i + 1]
    return y


def np_chosen(x: Array) -> Array:
    y: Array = x[::2].copy()
    y[: x.size // 2] -= x[1::2]
    return y


KERNELS: list[tuple[Any, Callable[[Array], Array]]] = [
    (seconds, lambda x: x[::2] + x[0]),
    (pairs, lambda x: x[: x.size // 2 * 2 : 2] + x[1::2]),
    (odd_ones, lambda x: x[1::2] + x[1:2]),
    (chosen, np_chosen),
    (backwards, lambda x: x[::-1][::4] + x[-1]),
    (thirds, lambda x: x[: x.size // 3 * 3 : 3] - x[1 : x.size // 3 * 3 : 3]),
]


@pytest.fixture(scope="module")
def page() -> mmap.mmap:
    """Pages of which the second may be used, and its neighbours not."""
    size = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * size)
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None)
    for at in (first, first + 2 * size):
        assert libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(size), 0) == 0
    return memory


def at_the_ends(memory: mmap.mmap, values: Array) -> list[Array]:
    """The values at the begin of the page and at its end."""
    size = mmap.PAGESIZE
    places = [size, 2 * size - values.nbytes]
    arrays: list[Array] = [np.frombuffer(memory, values.dtype, values.size, at) for at in places]
    return arrays


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("kernel, wanted", KERNELS, ids=[k.__name__ for k, _ in KERNELS])
def test_nothing_beside_the_array_is_read(
    page: mmap.mmap, kernel: Any, wanted: Callable[[Array], Array], dtype: str
) -> None:
    for size in [*range(1, 40), 63, 64, 65, 127, 128, 129, 190, 191, 192, 193, 255, 257, 384, 385]:
        values = (np.arange(size) % 7 + 1).astype(dtype)
        for array in at_the_ends(page, values):
            array[:] = values
            assert kernel(array).tolist() == wanted(values).tolist(), size


@kw.kernel
def lengths(p):
    y = output_tensor((p.shape[0],), p.dtype)
    for i in range(p.shape[0]):
        y[i] = p[i, 0] * p[i, 0] + p[i, 1] * p[i, 1]
    return y


@pytest.mark.parametrize("columns", [2, 3, 4, 7])
def test_rows_may_be_longer_than_the_columns_named(page: mmap.mmap, columns: int) -> None:
    for rows in [*range(1, 20), 33, 65]:
        values = (np.arange(rows * columns) % 11).astype(np.float32)
        table = values.reshape(rows, columns)
        for array in at_the_ends(page, values):
            array[:] = values
            made = lengths(array.reshape(rows, columns))
            assert made.tolist() == (table[:, 0] ** 2 + table[:, 1] ** 2).tolist()
