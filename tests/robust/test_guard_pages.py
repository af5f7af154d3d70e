"""Arguments that end where memory ends, and begin where it begins: no kernel touches a byte beside them."""

from __future__ import annotations

import ctypes
import mmap
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cold import SEED, TIMES

import kernelwright as kw
from kernelwright.examples.kernels import softmax

PAGE = mmap.PAGESIZE
LIBC = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """Memory between two pages that nobody may touch; a violation ends the process."""

    def __init__(self, size: int) -> None:
        pages = -(-size // PAGE) + 2
        self.map = mmap.mmap(-1, pages * PAGE)
        self.begin = PAGE
        self.end = (pages - 1) * PAGE
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        for place in (0, self.end):
            assert LIBC.mprotect(ctypes.c_void_p(address + place), PAGE, 0) == 0
        self.address = address

    def array(self, shape: tuple[int, ...], dtype: Any, at_end: bool, strides: Any = None) -> Any:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        offset = self.end - size if at_end else self.begin
        return np.ndarray(shape, dtype, buffer=self.map, offset=offset, strides=strides)


@kw.kernel
def stencil(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]
    return y


@kw.kernel
def columns(x):
    y = output_tensor((x.shape[1],), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j] += x[i, j]
    return y


@kw.kernel
def transposed(x):
    y = output_tensor((x.shape[1], x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j, i] = x[i, j]
    return y


@kw.kernel
def largest(x):
    y = output_tensor((x.shape[0],), "int64")
    for i in range(x.shape[0]):
        best = x[i, 0]
        for j in range(1, x.shape[1]):
            if x[i, j] > best:
                best = x[i, j]
                y[i] = j
    return y


@kw.kernel
def every_second(x):
    y = output_tensor((x.shape[0], (x.shape[1] + 1) // 2), x.dtype)
    for i in range(x.shape[0]):
        for j in range((x.shape[1] + 1) // 2):
            y[i, j] = x[i, 2 * j]
    return y


@kw.kernel
def gather(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            k = int64(abs(x[i, j])) % x.shape[1]
            y[i, j] = x[i, k]
    return y


KERNELS = [softmax, stencil, columns, transposed, largest, every_second, gather]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = kw.threads()
    yield
    kw.set_threads(before)


def shapes(rng: random.Random) -> Iterator[tuple[int, int]]:
    for _ in range(25 * TIMES):
        yield rng.randrange(1, 20), rng.randrange(1, 70)
    yield from ((1, 1), (2, 2), (3, 3), (1, 1025), (70, 3), (40, 40))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_beside_an_array_is_touched(kernel: Callable[..., Any], dtype: Any) -> None:
    rng = random.Random(SEED)
    memory = Guarded(100 * 1100 * 8)
    for rows, width in shapes(rng):
        kw.set_threads(rng.choice((1, 2)))
        values = np.array([rng.randrange(-50, 50) for _ in range(rows * width)], dtype).reshape(rows, width)
        expected = kernel(values)
        for at_end in (False, True):
            x = memory.array((rows, width), dtype, at_end)
            x[...] = values
            np.testing.assert_array_equal(kernel(x), expected, err_msg=f"{rows}x{width}, seed {SEED}")
            out_memory = Guarded(expected.nbytes)
            out = out_memory.array(expected.shape, expected.dtype, at_end)
            kernel(values, out=out)
            np.testing.assert_array_equal(out, expected)
            if width % 2 == 0:
                half = x[:, ::2]
                np.testing.assert_array_equal(kernel(half), kernel(half.copy()))
