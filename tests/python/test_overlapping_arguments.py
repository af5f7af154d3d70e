"""Arguments that share memory: a store to one changes what subscripts read from another."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kernelwright as kw


def groups(p, q, x, y):
    t = allocate((4,), float64)
    for i in range(4):
        t[i] = 0.0
    for i in range(x.shape[0]):
        t[p[0]] += x[i]
        q[0] = (i // 100) % 4
    for i in range(4):
        y[i] = t[i]
    return q, y


def groups_by_a_local(p, q, x, y):
    t = allocate((4,), float64)
    for i in range(4):
        t[i] = 0.0
    for i in range(x.shape[0]):
        k = p[0]
        t[k] += x[i]
        q[0] = (i // 100) % 4
    for i in range(4):
        y[i] = t[i]
    return q, y


def place_beyond_all_elements(p, q, x, y):
    """The last iteration leaves a place that nothing asks for."""
    t = allocate((4,), float64)
    for i in range(4):
        t[i] = 0.0
    for i in range(x.shape[0]):
        t[p[0]] += x[i]
        q[0] = (i // (x.shape[0] - 1)) * 1099511627776
    for i in range(4):
        y[i] = t[i]
    return q, y


def place_in_a_result(p, q, x, y):
    for i in range(x.shape[0]):
        y[p[0]] += x[i]
        q[0] = (i // 100) % 4
    return q, y


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "default", "fast"])
@pytest.mark.parametrize(
    "function", [groups, groups_by_a_local, place_beyond_all_elements, place_in_a_result]
)
def test_places_read_from_an_argument_that_another_one_changes(function: Any, fp: str, threads: int) -> None:
    def results(run: Any) -> list[Any]:
        block = np.zeros(8, np.int64)
        return [a.tolist() for a in run(block[0:2], block[0:3], np.arange(400.0) + 1, np.zeros(4))]

    kernel: Any = kw.kernel(fp=fp)(function)
    before = kw.threads()
    kw.set_threads(threads)
    try:
        assert results(kernel) == results(kernel.py)
    finally:
        kw.set_threads(before)
