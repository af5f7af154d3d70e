"""Loops whose iterations the threads of a warp or of a block share: bits of the CPU for each length of a row.

Few rows have a block each, and from 2,048 rows on each has a warp.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device

import kernelwright as kw
from kernelwright import allocate, exp, float32, int64, output_tensor, sqrt

LENGTHS = [0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 129, 255, 256, 257, 1000, 4095, 4096, 4097, 8200, 32769]
MANY = 2051  # rows


def softmax(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        top = float32(-1e30)
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        total = float32(0.0)
        for j in range(x.shape[1]):
            y[i, j] = exp(x[i, j] - top)
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / total
    return y


def normalised(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        mean = float32(0.0)
        square = float32(0.0)
        for j in range(x.shape[1]):
            mean += x[i, j]
            square += x[i, j] * x[i, j]
        mean = mean / (float32(x.shape[1]) + float32(1.0))
        for j in range(x.shape[1]):
            y[i, j] = (x[i, j] - mean) / sqrt(square + float32(1.0))
    return y


def with_a_row_of_its_own(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        row = allocate((x.shape[1],), x.dtype)
        for j in range(x.shape[1]):
            row[j] = x[i, j] * x[i, j]
        for j in range(x.shape[1]):
            y[i, j] = row[x.shape[1] - 1 - j] + x[i, j]
    return y


def with_a_small_array(x):
    y = output_tensor((x.shape[0], 40), x.dtype)
    for i in range(x.shape[0]):
        part = allocate((40,), x.dtype)
        for k in range(40):
            part[k] = x[i, k % x.shape[1]]
        for k in range(40):
            y[i, k] = part[39 - k] + part[k]
    return y


def product_of_some(x):
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        p = float32(1.5)
        for j in range(x.shape[1]):
            if x[i, j] > 0.25:
                p *= x[i, j]
        y[i] = p
    return y


def dot_of_some(x):
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        s = float32(-0.0)
        for j in range(x.shape[1]):
            if x[i, j] > 0.25:
                s += x[i, j] * x[0, j]
        y[i] = s
    return y


def every_third(x):
    y = output_tensor((x.shape[0], 2), x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        least = float32(9.0)
        for j in range(2, x.shape[1], 3):
            s -= x[i, j]
        for j in range(x.shape[1] - 1, -1, -1):
            least = min(least, x[i, j])
        y[i, 0] = s
        y[i, 1] = least
    return y


def of_integers(x):
    y = output_tensor((x.shape[0], 4), "int64")
    for i in range(x.shape[0]):
        bits = int64(0)
        odd = int64(1)
        s = int64(5)
        same = int64(-1)
        for j in range(x.shape[1]):
            v = int64(x[i, j] * 1000)
            bits |= v
            odd ^= v
            s += v
            same &= v
        y[i, 0] = bits
        y[i, 1] = odd
        y[i, 2] = s
        y[i, 3] = same
    return y


def several_times(x):
    y = np.zeros(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for k in range(3):
            s = float32(0.0)
            for j in range(x.shape[1]):
                s += x[i, j]
            for j in range(x.shape[1]):
                if k > 0:
                    y[i, j] = y[i, x.shape[1] - 1 - j] * s
                else:
                    y[i, j] = x[i, j]
    return y


def stored_between(x):
    y = np.zeros((x.shape[0], 3), x.dtype)
    for i in range(x.shape[0]):
        y[i, 0] = x[i, 0]
        if y[i, 0] > 0.5:
            y[i, 1] = y[i, 0] + 1
        s = float32(0.0)
        for j in range(x.shape[1]):
            s += x[i, j] * y[i, 0]
        y[i, 2] = s + y[i, 1]
    return y


def of_three(x):
    y = output_tensor((x.shape[0], 2), x.dtype)
    for i in range(x.shape[0]):
        for h in range(2):
            s = float32(h)
            for j in range(x.shape[1]):
                s += x[i, j]
            y[i, h] = s
    return y


def dot_with_the_first(x):
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i] += x[i, j] * x[0, j]
    return y


def extreme_in_place(x):
    y = np.ones((x.shape[0], 2), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, 1] = max(y[i, 1], x[i, j])
        y[i, 0] += y[i, 1]
    return y


def first_and_last_greatest(x):
    y = output_tensor((x.shape[0], 4), "float32")
    for i in range(x.shape[0]):
        best = float32(-0.5)
        at = -7
        last = float32(-0.5)
        last_at = -7
        for j in range(x.shape[1]):
            v = float32(int64(x[i, j] * 2))
            if v > best:
                best = v
                at = j
            if last <= v:
                last = v
                last_at = j
        y[i, 0] = best
        y[i, 1] = at
        y[i, 2] = last
        y[i, 3] = last_at
    return y


def least_of_some(x):
    y = output_tensor((x.shape[0], 2), "float32")
    for i in range(x.shape[0]):
        best = x[i, 0] / x[i, 0] * x[i, 0]
        at = 0
        for j in range(x.shape[1] - 1, 0, -1):
            if x[i, j] > -1.0:  # noqa: SIM102 (a selection under a condition)
                if x[i, j] < best:
                    best = x[i, j]
                    at = j
        y[i, 0] = best
        y[i, 1] = at
    return y


KERNELS = [
    softmax,
    normalised,
    with_a_row_of_its_own,
    with_a_small_array,
    product_of_some,
    dot_of_some,
    every_third,
    of_integers,
    several_times,
    stored_between,
    of_three,
    dot_with_the_first,
    extreme_in_place,
    first_and_last_greatest,
    least_of_some,
]


def bits(a: Any) -> bytes:
    """The bytes of an array with every NaN made the same."""
    return (
        np.where(np.isnan(a), np.array(np.nan, a.dtype), a).tobytes() if a.dtype.kind == "f" else a.tobytes()
    )


def rows(length: int, seed: int, count: int = 6) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, length)).astype("float32")
    if length > 2:
        x[3, length // 2], x[4, 0], x[5] = np.nan, np.nan, np.where(x[5] > 0, 0.0, -0.0)
    return x


@pytest.mark.parametrize("fp", ["default", "strict", "fast"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_rows_of_each_length(function: Callable[..., Any], fp: str, device: Device) -> None:
    kernel = kw.kernel(fp=fp)(function)
    for number, length in enumerate(LENGTHS):
        if length == 0 and function in (stored_between, with_a_small_array, least_of_some):
            continue  # they read the first element of a row
        if length > 1000 and fp == "strict" and function is softmax:
            continue  # 256 emulated threads execute a serial sum
        x = rows(length, number)
        device.seed(number)
        found = kernel(kw.Tensor(x, device="cuda")).numpy()
        wanted = kernel(x)
        if fp == "fast":
            assert np.allclose(found, wanted, rtol=1e-4, atol=1e-6, equal_nan=True), f"{length} elements"
        else:
            assert bits(found) == bits(wanted), f"{length} elements"


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_many_rows(function: Callable[..., Any], device: Device) -> None:
    kernel = kw.kernel(function)
    needs_one = function in (stored_between, with_a_small_array, least_of_some)
    for number, length in enumerate([1 if needs_one else 0, 33, 64, 129]):
        x = rows(length, number, MANY)
        device.seed(number)
        assert bits(kernel(kw.Tensor(x, device="cuda")).numpy()) == bits(kernel(x)), f"{length} elements"


def test_many_long_rows(device: Device) -> None:
    kernel, x = kw.kernel(dot_of_some), rows(4200, 1, MANY)  # of two blocks of 4,096 terms
    assert bits(kernel(kw.Tensor(x, device="cuda")).numpy()) == bits(kernel(x))


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_they_are_shared_by_teams(function: Callable[..., Any]) -> None:
    text = kw.kernel(function).cuda("f32[:, :]", device="sm_90")
    teams = [32] if function is with_a_small_array else [256, 32]  # whose loops have 40 iterations
    if "_row_all" in text:
        teams = [256, 256, 32]  # long rows, too, that do not fit shared memory
    has_tiles = "_tile_all" in text  # of short rows, which threads go through
    assert [int(n) for n in re.findall(r"const i64 t = kw_thread % (\d+);", text)] == [32] * has_tiles + teams
    assert text.count("KW_TEAM_KERNEL(256)") == len(teams)


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_they_need_few_registers(device: str) -> None:
    for function in KERNELS:
        text = kw.kernel(function).cuda("f32[:, :]", device=device)
        made = nvrtc.compile_text(text, device)
        assert made.code == 0, made.log
        used = [int(n) for n in re.findall(r"Used (\d+) registers", made.log)]
        # Shared memory leaves room for 12 warps of those with tiles.
        most = 96 if "_tile_all" in text else 64
        assert used and max(used) <= most, f"{function.__name__}: {used}"
        assert "0 bytes spill stores" in made.log and "0 bytes stack frame" in made.log, made.log


def serial_outside(x):
    y = np.ones((x.shape[1],), x.dtype)
    for i in range(1, x.shape[0]):
        if x[i, 0] > 0:
            for j in range(1, x.shape[1]):
                y[j] = y[j] * x[i, j] + y[0]
        else:
            y[0] += 0.5
    return y


def of_everything(x):
    y = output_tensor((3,), x.dtype)
    total = float32(0.0)
    best = float32(-9.0)
    at = 0
    for j in range(x.shape[1]):
        total += x[0, j]
    for j in range(x.shape[1]):
        if x[1, j] > best:
            best = x[1, j]
            at = j
    y[0] = total
    y[1] = best
    y[2] = at
    return y


def previous_rows(x):
    y = np.zeros(x.shape, x.dtype)
    for i in range(1, x.shape[0]):
        at = int64(y[i - 1, 0]) % 2
        for j in range(x.shape[1]):
            y[i, j] = y[i - 1, x.shape[1] - 1 - j] + x[i - at, j]
    return y


@pytest.mark.parametrize("fp", ["default", "strict"])
@pytest.mark.parametrize("function", [serial_outside, of_everything, previous_rows], ids=lambda f: f.__name__)
def test_one_team_executes_serial_loops(function: Callable[..., Any], fp: str, device: Device) -> None:
    kernel = kw.kernel(fp=fp)(function)
    for number, length in enumerate(LENGTHS[1:-2]):
        x = np.nan_to_num(rows(length, number))
        device.seed(number)
        assert bits(kernel(kw.Tensor(x, device="cuda")).numpy()) == bits(kernel(x)), f"{length} elements"


def test_explain_tells_who_shares_a_loop() -> None:
    said = str(kw.kernel(softmax).explain("f32[:, :]", device="sm_90"))
    assert "a warp for each iteration, 8 in a block" in said
    who = "a warp of 32 threads or a block of 256 threads"
    assert f"{who} shares its iterations" in said


def test_rows_of_a_known_length(device: Device) -> None:
    @kw.kernel
    def sums(x):
        y = output_tensor((x.shape[0], 3), x.dtype)
        for i in range(x.shape[0]):
            for j in range(100):
                y[i, 0] += x[i, j]
            for j in range(100):
                y[i, 1] += x[i, j % x.shape[1]]
            for j in range(40):
                y[i, 2] += x[i, j]
        return y

    x = rows(100, 7)
    assert bits(sums(kw.Tensor(x, device="cuda")).numpy()) == bits(sums(x))


def test_a_long_row(device: Device) -> None:
    @kw.kernel
    def total(x):
        y = output_tensor((x.shape[0],), x.dtype)
        for i in range(x.shape[0]):
            s = float32(0.0)
            for j in range(x.shape[1]):
                s += x[i, j]
            y[i] = s
        return y

    for length in (131_071, 131_073, 200_000):
        x = np.random.default_rng(length).standard_normal((1, length)).astype("float32")
        assert total(kw.Tensor(x, device="cuda")).numpy().tobytes() == total(x).tobytes()


def test_the_first_bad_subscript_of_a_team_is_reported(device: Device) -> None:
    @kw.kernel
    def gathered(x, at):
        y = output_tensor((at.shape[0],), x.dtype)
        for i in range(at.shape[0]):
            s = float32(0.0)
            for j in range(at.shape[1]):
                s += x[at[i, j]]
            y[i] = s
        return y

    x, at = np.ones(100, "float32"), np.zeros((20, 300), "int64")
    at[7, 250], at[7, 90], at[7, 91], at[12, 0] = 200, 300, 400, 500
    for seed in range(4):
        device.seed(seed)
        with pytest.raises(kw.KernelIndexError) as caught:
            gathered(kw.Tensor(x, device="cuda"), kw.Tensor(at, device="cuda")).numpy()
        assert "index 300 is out of range" in str(caught.value)


def test_a_condition_that_the_team_changes(device: Device) -> None:
    """All threads test it before one of them stores, and again when that is done."""

    @kw.kernel
    def counted_up(a, n):
        top = a[0]
        for i in range(a.shape[0]):
            top = max(top, a[i])
        while n[0] < top:
            n[0] = n[0] + 1.0
        for i in range(a.shape[0]):
            a[i] = a[i] + n[0]
        return a, n

    text = counted_up.cuda("f32[:]", "f32[:]", device="sm_90")
    assert "KW_TEAM_KERNEL" in text
    for seed in range(4):
        device.seed(seed)
        a, n = np.arange(50, dtype="float32") % 7, np.zeros(1, "float32")
        found, count = counted_up(kw.Tensor(a, device="cuda"), kw.Tensor(n, device="cuda"))
        wanted, times = counted_up(a.copy(), n.copy())
        assert found.numpy().tobytes() == wanted.tobytes() and count.numpy()[0] == times[0] == 6


def test_a_selection_before_a_condition_that_the_team_changes(device: Device) -> None:
    @kw.kernel
    def selected(a, n):
        best = 0
        for i in range(a.shape[0]):
            if a[i] < best:
                best = a[i]
        while n[0] <= 0:
            n[0] = n[0] + 1
        return n

    for seed in range(4):
        device.seed(seed)
        a, n = np.arange(50, dtype="int64") % 7 - 3, np.zeros(1, "int64")
        found = selected(kw.Tensor(a, device="cuda"), kw.Tensor(n, device="cuda")).numpy()
        assert found.tobytes() == selected(a, n.copy()).tobytes()


def triangle(b, x):
    for i in range(2):
        for j in range(i):
            b[i] += x[j]
    return b


def first_of_triangle(b, x):
    for i in range(2):
        for j in range(i):
            if x[j] < b[i]:
                b[i] = x[j]
    return b


def test_selections_of_16_bit_floats_from_one(device: Device) -> None:
    kernel = kw.kernel(first_of_triangle)
    b, x = np.array([1, 2], np.float16), np.array([-3, 4], np.float16)
    found = kernel(kw.Tensor(b, device="cuda"), kw.Tensor(x, device="cuda"))
    assert found.numpy().tolist() == kernel(b, x).tolist() == [1, -3]


def test_sums_of_16_bit_floats_that_have_one_term(device: Device) -> None:
    """No dependence tells that the loop accumulates, as no iteration follows another."""
    kernel = kw.kernel(triangle)
    b, x = np.array([1, 2], np.float16), np.array([3, 4], np.float16)
    found = kernel(kw.Tensor(b, device="cuda"), kw.Tensor(x, device="cuda"))
    assert found.numpy().tolist() == kernel(b, x).tolist() == [1, 5]
