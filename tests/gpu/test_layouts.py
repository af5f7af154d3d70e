"""Arrays that lie in memory in any way, for one kernel of each kind of launch: the bits of the CPU.

Reversed rows and columns, repeated ones, every other one, and places that no access of 16 bytes fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device import Device, View, bits
from test_selections import least_of_rows
from test_sums import total
from test_teams import softmax
from test_tiles import stored_transposed

import kernelwright as kw
from kernelwright import float32, int64, output_tensor

Array = np.ndarray[Any, Any]


def scaled(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * 2 + 1
    return y


def running_sums_of_rows(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            s = s * 0.5 + x[i, j]
            y[i, j] = s
    return y


def sums_of_columns(x):
    y = output_tensor((x.shape[1],), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j] += x[i, j]
    return y


def of_neighbours(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
    return y


def running_sum(x):
    y = output_tensor((x.shape[0],), int64)
    s = int64(0)
    for i in range(x.shape[0]):
        s += int64(x[i, 3] * 8)
        y[i] = s
    return y


def recurrence(x):
    y = output_tensor((x.shape[0],), x.dtype)
    s = float32(0.0)
    for i in range(x.shape[0]):
        s = s * 0.5 + x[i, 3]
        y[i] = s
    return y


def counts(x):
    y = output_tensor((8,), int64)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[int64(abs(x[i, j]) * 3) % 8] += 1
    return y


KERNELS = [
    scaled,
    softmax,
    running_sums_of_rows,
    sums_of_columns,
    stored_transposed,
    total,
    least_of_rows,
    of_neighbours,
]
KERNELS += [running_sum, recurrence, counts]

LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "reversed rows": lambda a: a[::-1],
    "reversed columns": lambda a: a[:, ::-1],
    "every other column": lambda a: a[:, 1::2],
    "every third row": lambda a: a[2::3],
    "from the second element on": lambda a: a[1:, 1:],
    "columns first": lambda a: a[:130, :130].T,
    "one row again and again": lambda a: np.broadcast_to(a[5], (140, a.shape[1])),
    "one column again and again": lambda a: np.broadcast_to(a[:, 7:8], (a.shape[0], 140)),
    "one element": lambda a: a[3:4, 9:10],
}


@pytest.mark.parametrize("layout", [name.replace(" ", "_") for name in LAYOUTS])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_each_layout(function: Callable[..., Any], layout: str, device: Device) -> None:
    kernel = kw.kernel(function)
    base = np.random.default_rng(len(layout)).standard_normal((300, 141)).astype("float32")
    view = LAYOUTS[layout.replace("_", " ")](base)
    if function in (running_sum, recurrence) and view.shape[1] < 4:
        view = np.broadcast_to(view, (1, 5))
    owner = kw.Tensor(base, device="cuda")
    found = kernel(View(owner, view, base.ctypes.data))
    assert bits(found) == bits(kernel(view))


@pytest.mark.parametrize("offset", [1, 2, 3, 4])
def test_arrays_that_begin_between_two_items(offset: int, device: Device) -> None:
    """The host runs on copies: a GPU cannot load such an item."""
    kernel = kw.kernel(
        "def f(a, b):\n    for i in range(a.shape[0]):\n        b[i] = a[i] * 2\n    return b\n"
    )
    data = np.random.default_rng(offset).standard_normal(100).astype(np.float32).view(np.uint8)
    owner, written = kw.Tensor(data, device="cuda"), kw.Tensor(np.zeros(400, np.uint8), device="cuda")
    start = data.__array_interface__["data"][0]
    items = data[offset : offset + 240].view(np.float32)
    kernel(View(owner, items, start), View(written, items, start))
    expected = kernel(items.copy(), np.zeros(60, np.float32))
    assert written.numpy()[offset : offset + 240].tobytes() == bits(expected)
    added = kw.ops.add(kw.Tensor(View(owner, items, start)), kw.Tensor(View(owner, items, start)))
    assert bits(added) == bits(expected)
