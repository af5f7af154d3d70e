"""Selections over everything, in parts: what the serial loop selects, for each size of an array."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device

import kernelwright as kw
from kernelwright import int64, output_tensor

# parts have 4,096 elements, threads combine 16 parts
SIZES = [1, 2, 31, 33, 63, 4096, 4097, 4098, 9000, 16 * 4096 + 1, 16 * 4096 + 2, 100_000]


def first_least(x):
    value = output_tensor((1,), x.dtype)
    at = output_tensor((1,), int64)
    best = x[0]
    k = 0
    for i in range(1, x.shape[0]):
        if x[i] < best:
            best = x[i]
            k = i
    value[0] = best
    at[0] = k
    return value, at


def last_least(x):
    value = output_tensor((1,), x.dtype)
    at = output_tensor((1,), int64)
    best = x[0]
    k = -5
    for i in range(x.shape[0]):
        if x[i] <= best:
            best = x[i]
            k = i
    value[0] = best
    at[0] = k
    return value, at


def greatest_and_what_stands_beside_it(x):
    value = output_tensor((1,), x.dtype)
    beside = output_tensor((1,), x.dtype)
    best = x[x.shape[0] - 1]
    other = best
    for i in range(x.shape[0] - 1, 0, -1):
        if best < x[i]:
            other = x[i - 1]
            best = x[i]
    value[0] = best
    beside[0] = other
    return value, beside


def least_and_greatest_of_some(x):
    values = output_tensor((2,), x.dtype)
    at = output_tensor((3,), int64)
    least = x[0]
    greatest = x[0]
    first = -1
    last = -1
    count = 0
    for i in range(x.shape[0]):
        if x[i] != x[0]:
            count += 1
            if x[i] < least:
                least = x[i]
                first = i
            if x[i] >= greatest:
                last = i
                greatest = x[i]
    values[0] = least
    values[1] = greatest
    at[0] = first
    at[1] = last
    at[2] = count
    return values, at


KERNELS = [first_least, last_least, greatest_and_what_stands_beside_it, least_and_greatest_of_some]


def least_of_rows(x):
    at = output_tensor((2,), int64)
    best = x[0, 0]
    row = 0
    column = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] < best:
                best = x[i, j]
                row = i
                column = j
    at[0] = row
    at[1] = column
    return at


def data(size: int, kind: str) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(size)
    if kind == "few_values":
        return random.integers(-3, 4, size).astype("float32")
    if kind == "zeros_of_both_signs":
        return np.where(random.integers(0, 2, size) > 0, np.float32(0.0), np.float32(-0.0))
    x = random.standard_normal(size).astype("float32")
    if kind == "some_nans":
        x[1::3] = np.nan
    if kind == "a_nan_first":
        x[0] = np.nan
    if kind == "first_is_best":
        x[0] = -np.inf
    if kind == "last_is_best":
        x[-1] = -np.inf
    return x


def agree(kernel: Any, *arrays: np.ndarray[Any, Any]) -> bool:
    found = kernel(*(kw.Tensor(a, device="cuda") for a in arrays))
    wanted = kernel(*arrays)
    if not isinstance(found, tuple):
        found, wanted = (found,), (wanted,)
    return all(a.numpy().tobytes() == np.asarray(b).tobytes() for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize(
    "kind",
    ["random", "few_values", "zeros_of_both_signs", "some_nans", "a_nan_first", "first_is_best"]
    + ["last_is_best"],
)
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_each_size(function: Callable[..., Any], kind: str, device: Device) -> None:
    kernel = kw.kernel(function)
    for number, size in enumerate(SIZES):
        device.seed(number)
        assert agree(kernel, data(size, kind)), size


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "uint8", "int32", "uint64"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_types(function: Callable[..., Any], dtype: str, device: Device) -> None:
    kernel = kw.kernel(function)
    for size in (40, 9000):
        x = np.random.default_rng(size).integers(0, 100, size).astype(dtype)
        assert agree(kernel, x), size


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (70, 130), (9000, 1), (1, 9000), (5, 4097)])
def test_several_loops(shape: tuple[int, int], device: Device) -> None:
    x = np.random.default_rng(shape[0]).integers(0, 50, shape).astype("float32")
    assert agree(kw.kernel(least_of_rows), x)


def test_where_the_least_stands(device: Device) -> None:
    """In each part, at its ends and between them, once and twice."""
    kernel = kw.kernel(first_least)
    for place in (0, 1, 2, 4095, 4096, 4097, 8191, 8192, 8193, 40_000, 69_998, 69_999):
        x = np.ones(70_000, "float32")
        x[place] = 0.5
        assert kernel(kw.Tensor(x, device="cuda"))[1].numpy()[0] == place
        x[65_537] = 0.5
        assert kernel(kw.Tensor(x, device="cuda"))[1].numpy()[0] == min(place, 65_537)


def test_several_levels(device: Device) -> None:
    x = np.random.default_rng(1).integers(0, 1 << 20, 16 * 16 * 4096 + 5).astype("int32")
    assert agree(kw.kernel(last_least), x)


def test_nothing_to_select(device: Device) -> None:
    @kw.kernel
    def below(x, least):
        at = output_tensor((1,), int64)
        best = least[0]
        k = -7
        for i in range(x.shape[0]):
            if x[i] < best:
                best = x[i]
                k = i
        at[0] = k
        return at

    for size in (0, 5, 5000):
        assert agree(below, np.ones(size, "float32"), np.float32([0.5]))


def test_parts_are_launched() -> None:
    for function in [*KERNELS, least_of_rows]:
        types = "f32[:, :]" if function is least_of_rows else "f32[:]"
        kernel = kw.kernel(function)
        assert "rfactor" in str(kernel.explain(types, device="sm_90")), function.__name__


def test_loads_stand_before_comparisons() -> None:
    """No branch stands in an iteration, unless that selects what memory has."""
    texts = {f: kw.kernel(f).cuda("f32[:]", device="sm_90") for f in KERNELS}
    assert "best_own = better ? value : best_own;" in texts[first_least]
    assert "? value :" not in texts[greatest_and_what_stands_beside_it]


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_they_need_few_registers(device: str) -> None:
    for function in KERNELS:
        made = nvrtc.compile_text(kw.kernel(function).cuda("f32[:]", device=device), device)
        assert made.code == 0, made.log
        used = [int(n) for n in re.findall(r"Used (\d+) registers", made.log)]
        combining = used.pop(2)  # few threads, each of which waits for several parts at once
        assert max(used) <= 64 and combining <= 96, function.__name__
        assert all(" 0 bytes spill stores" in line for line in made.log.splitlines() if "spill" in line)


PAD = 0


def beside_another_that_never_executes(x):
    values = output_tensor((2,), x.dtype)
    low = x[0]
    k = 0
    for i in range(x.shape[0]):
        if i < PAD:  # noqa: SIM102 (the outer one never holds)
            if x[i] > low:
                low = x[i]
        if x[i] < low:
            low = x[i]
            k = i
    values[0] = low
    values[1] = k
    return values


def beside_a_store_that_never_executes(x):
    values = output_tensor((2,), x.dtype)
    low = x[0]
    k = 0
    for i in range(x.shape[0]):
        if i < PAD:
            k = -2
        elif x[i] < low:
            low = x[i]
            k = i
    values[0] = low
    values[1] = k
    return values


def of_rows_beside_another(x):
    lows = output_tensor((x.shape[0],), x.dtype)
    for r in range(x.shape[0]):
        low = x[r, 0]
        for i in range(x.shape[1]):
            if i < PAD:  # noqa: SIM102
                if x[r, i] > low:
                    low = x[r, i]
            if x[r, i] < low:
                low = x[r, i]
        lows[r] = low
    return lows


def test_no_other_store_stands_beside_a_selection(device: Device) -> None:
    """Not even one that never executes, of which no dependence tells."""
    x = np.random.default_rng(7).standard_normal(9001).astype("float32")
    for function in (beside_another_that_never_executes, beside_a_store_that_never_executes):
        assert agree(kw.kernel(function), x), function.__name__
    assert agree(kw.kernel(of_rows_beside_another), x[:8100].reshape(9, 900))


def test_what_cannot_be_scanned_is_explained() -> None:
    kernel = kw.kernel(
        "def counted(x):\n    y = output_tensor((2,), x.dtype)\n    c = 0\n    low = x[0]\n    k = 0\n"
        "    for i in range(x.shape[0]):\n        c += 1\n        if x[i] < low:\n            low = x[i]\n"
        "            k = c\n    y[0] = low\n    y[1] = k\n    return y\n"
    )
    assert "counted_0" in str(kernel.explain("f32[:]", device="sm_90"))
