"""The sizes around which each class of launches changes what it does: results have the bits of the CPU.

Sums have lanes from 64 terms on, blocks of 4,096, and parts of 131,072.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device import Device, View, bits
from test_layouts import (
    counts,
    of_neighbours,
    recurrence,
    running_sum,
    running_sums_of_rows,
    scaled,
    sums_of_columns,
)
from test_scatters import add_rows
from test_selections import least_of_rows
from test_sums import of_integers, several, total
from test_teams import softmax
from test_tiles import stored_transposed

import kernelwright as kw

EDGES = (0, 1, 63, 64, 65, 4_095, 4_096, 4_097, 131_071, 131_073)
ROWS, COLUMNS = "long rows", "long columns"
CLASSES: list[tuple[Callable[..., Any], str]] = [
    (scaled, ROWS),
    (total, ROWS),
    (several, ROWS),
    (of_integers, ROWS),
    (softmax, ROWS),
    (least_of_rows, ROWS),
    (counts, ROWS),
    (stored_transposed, ROWS),
    (stored_transposed, COLUMNS),
    (of_neighbours, ROWS),
    (sums_of_columns, COLUMNS),
    (sums_of_columns, ROWS),
    (running_sums_of_rows, ROWS),
    (running_sum, COLUMNS),
    (recurrence, COLUMNS),
]


@pytest.mark.parametrize(("function", "sides"), CLASSES, ids=lambda v: getattr(v, "__name__", v))
def test_each_edge(function: Callable[..., Any], sides: str, device: Device) -> None:
    kernel = kw.kernel(function)
    for number, n in enumerate(EDGES):
        shape = (3, n) if sides == ROWS else (n, 5)
        if 0 in shape and function in (least_of_rows, softmax):
            continue  # they read the first element of a row
        x = np.random.default_rng(number).standard_normal(shape).astype("float32")
        device.seed(number)
        assert bits(kernel(kw.Tensor(x, device="cuda"))) == bits(kernel(x)), shape
        if x.size == 0:
            continue
        owner, inner = kw.Tensor(x, device="cuda"), x.reshape(-1)[1:][None, :]  # no 16 bytes begin there
        if sides == ROWS and n > 1:
            assert bits(kernel(View(owner, inner, x.ctypes.data))) == bits(kernel(inner)), inner.shape


@pytest.mark.parametrize("rows", [n for n in EDGES if 0 < n < 5000])
def test_edges_of_scatters(rows: int, device: Device) -> None:
    rng = np.random.default_rng(rows)
    y, v = (rng.standard_normal((rows, 9)).astype("float32") for _ in range(2))
    at = rng.integers(0, rows, rows)
    device.seed(rows)
    kernel = kw.kernel(add_rows)
    found = kernel(*(kw.Tensor(a, device="cuda") for a in (y, at, v)))
    assert found.numpy().tobytes() == kernel(y, at, v).tobytes()
