"""Stores to rows that an index array names, in the order of the source: threads share the columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device import Device

import kernelwright as kw

SHAPES = [(1, 1), (5, 3), (40, 31), (33, 33), (64, 70), (9, 300), (300, 9)]


def add_rows(y, at, v):
    for i in range(v.shape[0]):
        for j in range(v.shape[1]):
            y[at[i], j] += v[i, j]
    return y


def take_last(y, at, v):
    for i in range(v.shape[0]):
        for j in range(v.shape[1]):
            y[at[i], j] = v[i, j]
    return y


def from_rows_to_rows(y, at, v):
    for i in range(at.shape[0]):
        for j in range(y.shape[1]):
            y[at[i], j] = y[at[i], j] * 0.5 + v[at[at.shape[0] - 1 - i], j]
    return y


def rows_of_planes(y, at, v):
    for i in range(v.shape[0]):
        for j in range(v.shape[1]):
            for k in range(3):
                y[at[i], j] += v[i, j] * (k + 1)
    return y


KERNELS = [add_rows, take_last, from_rows_to_rows, rows_of_planes]


def arguments(shape: tuple[int, int]) -> tuple[Any, ...]:
    rng = np.random.default_rng(shape[0])
    y, v = (rng.standard_normal(shape).astype("float32") for _ in range(2))
    return y, rng.integers(0, shape[0], shape[0]), v


def on_device(kernel: Any, given: tuple[Any, ...]) -> Any:
    return kernel(*(kw.Tensor(a, device="cuda") for a in given)).numpy()


@pytest.mark.parametrize("fp", ["strict", "default", "fast"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_elements_are_those_of_the_cpu(function: Callable[..., Any], fp: str, device: Device) -> None:
    kernel = kw.kernel(fp=fp)(function)
    for number, shape in enumerate(SHAPES):
        given = arguments(shape)
        device.seed(number)
        found = on_device(kernel, given)
        wanted = kernel(*(a.copy() for a in given))
        if fp == "fast":
            assert np.allclose(found, wanted, rtol=1e-3, atol=1e-3), shape
        else:
            assert found.tobytes() == wanted.tobytes(), shape


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_the_host_launches_no_row(function: Callable[..., Any]) -> None:
    """Indices are checked by a launch of their own, and no launch has the number of a row from the host."""
    text = kw.kernel(function).cuda("f32[:, :]", "i64[:]", "f32[:, :]", device="sm_90")
    heads = [line for line in text.splitlines() if re.match(r"KW_(TEAM_)?KERNEL\(", line)]
    assert 2 <= len(heads) <= 3 and "y, " not in heads[0] and "kw_fault(" in text
    assert not [head for head in heads if re.search(r"\bi64 i[,)]", head)]


@pytest.mark.parametrize("bad", [[(7, 12), (20, -1)], [(0, -9)], [(39, 40)]], ids=str)
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_the_first_bad_row_is_reported(
    function: Callable[..., Any], bad: list[tuple[int, int]], device: Device
) -> None:
    kernel = kw.kernel(function)
    y, at, v = arguments((12 if bad[0][1] == 12 else 40, 33))
    at, v = np.zeros(40, "int64"), np.ones((40, 33), "float32")
    for place, value in bad:
        at[place] = value
    with pytest.raises(kw.KernelIndexError) as of_cpu:
        kernel(y.copy(), at, v)
    for seed in range(3):
        device.seed(seed)
        with pytest.raises(kw.KernelIndexError) as caught:
            on_device(kernel, (y, at, v))
        assert caught.value.message == of_cpu.value.message


def test_the_launch_that_fails_first_is_reported(device: Device) -> None:
    """Checks of a scatter run before its own nest, not before those that stand in front of it."""

    @kw.kernel
    def gathered_and_scattered(x, k, z, y, at, v):
        for i in range(k.shape[0]):
            z[i] = x[k[i]]
        for i in range(v.shape[0]):
            for j in range(v.shape[1]):
                y[at[i], j] += v[i, j]
        return z, y

    x, z = np.ones(5), np.zeros(4)
    k, at = np.array([0, 1, 99, 2]), np.array([0, 77, 1])
    y, v = np.zeros((3, 4)), np.ones((3, 4))
    given = (x, k, z, y, at, v)
    with pytest.raises(kw.KernelIndexError, match="index 99 is out of range for dimension 0 of 'x'"):
        gathered_and_scattered(*given)
    for place in ("index 99 is out of range for .* of 'x'", "index 77 is out of range for .* of 'y'"):
        gathered_and_scattered(*(kw.Tensor(a, device="cuda") for a in given))
        with pytest.raises(kw.KernelIndexError, match=place):
            kw.cuda.synchronize()
        k[2] = 3


def test_without_columns_no_row_is_checked(device: Device) -> None:
    y, at, v = np.zeros((3, 4), "float32"), np.array([9, 9]), np.zeros((2, 0), "float32")
    assert not on_device(kw.kernel(add_rows), (y, at, v)).any()
