"""Reductions over everything, in parts: bits of the CPU for each number of terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device

import kernelwright as kw
from kernelwright import allocate, exp, float32, int64, output_tensor

SHAPES = [
    (0, 5),
    (1, 1),
    (1, 63),
    (64, 1),
    (5, 13),
    (63, 65),
    (64, 64),
    (1, 4097),
    (2, 4096 + 20),
    (17, 4096),
    (1, 16 * 4096 + 1),
    (3, 77_777),
]


def total(x):
    s = float32(0.5)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s += x[i, j]
    y = output_tensor((1,), x.dtype)
    y[0] = s
    return y


def total_in_place(x):
    y = output_tensor((2,), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[1] -= x[i, j]
    return y


def dot_of_some(x):
    y = output_tensor((1,), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] < 1.0:
                y[0] += x[i, j] * x[i, x.shape[1] - 1 - j]
    return y


def several(x):
    least = float32(3.0)
    greatest = float32(-3.0)
    s = float32(0.0)
    p = float32(1.0)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            least = min(least, x[i, j])
            greatest = max(x[i, j], greatest)
            s += x[i, j]
            p *= 1.0 + x[i, j] / 1024.0
    y = output_tensor((4,), x.dtype)
    y[0] = least
    y[1] = greatest
    y[2] = s
    y[3] = p
    return y


def of_integers(x):
    y = output_tensor((5,), "int64")
    y[4] = -1
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[0] += int64(x[i, j] * 1000)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[1] |= int64(x[i, j] * 1000)
    bits = int64(7)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            bits ^= int64(x[i, j] * 1000)
    y[2] = bits
    return y


def row_of_weights(x):
    y = output_tensor(x.shape, x.dtype)
    top = float32(-9.0)
    for j in range(x.shape[1]):
        top = max(top, x[0, j])
    s = float32(0.0)
    for j in range(x.shape[1]):
        y[0, j] = exp(x[0, j] - top)
        s += y[0, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = exp(x[0, j] - top) / s
    return y


def backwards(x):
    s = float32(0.0)
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(1, x.shape[1], 2):
            s += x[i, j]
    y = output_tensor((1,), x.dtype)
    y[0] = s
    return y


def several_steps(x):
    y = output_tensor((3,), x.dtype)
    for t in range(3):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[t] += x[i, j]
    return y


KERNELS = [total, total_in_place, dot_of_some, several, of_integers, row_of_weights, backwards, several_steps]


@pytest.mark.parametrize("fp", ["default", "strict", "fast"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_each_number_of_terms(function: Callable[..., Any], fp: str, device: Device) -> None:
    kernel = kw.kernel(fp=fp)(function)
    for number, shape in enumerate(SHAPES):
        if function is row_of_weights and shape[0] == 0:
            continue  # it reads the first row
        x = np.random.default_rng(number).standard_normal(shape).astype("float32")
        device.seed(number)
        found = kernel(kw.Tensor(x, device="cuda")).numpy()
        wanted = kernel(x)
        if fp == "fast":
            assert np.allclose(found, wanted, rtol=1e-3, atol=1e-3), str(shape)
        else:
            assert found.tobytes() == wanted.tobytes(), str(shape)


def test_parts_are_launched() -> None:
    for function in KERNELS:
        kernel = kw.kernel(function)
        assert "rfactor" in str(kernel.explain("f32[:, :]", device="sm_90")), function.__name__
    text = kw.kernel(total).cuda("f32[:, :]", device="sm_90")
    assert "s_own[half] = s_own[half] + x[k_1];" in text  # the array is contiguous


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_they_do_not_spill(device: str) -> None:
    for function in (total, several):
        made = nvrtc.compile_text(kw.kernel(function).cuda("f32[:, :]", device=device), device)
        assert made.code == 0 and "bytes spill" in made.log, made.log
        assert all(" 0 bytes spill stores" in line for line in made.log.splitlines() if "spill" in line)


@pytest.mark.parametrize("few", [1, 2, 3, 7, 40, 63])
def test_a_last_part_of_few_terms(few: int, device: Device) -> None:
    """A part has 131,072 terms; those of the last one are added in lanes, however few they are."""
    x = np.zeros((1, 131_072 + few), "float32")
    x[0, -few:] = np.random.default_rng(few).standard_normal(few)
    for function in (total, total_in_place, several):
        kernel = kw.kernel(function)
        assert kernel(kw.Tensor(x, device="cuda")).numpy().tobytes() == kernel(x).tobytes(), function.__name__


BOUNDS = (-(2**63), -1, 0, 1, 2, 63, 64, 65, 129, 399, 400, 2**63 - 1)


@pytest.mark.parametrize("first", [0, 1, 3])
def test_terms_below_a_bound(first: int, device: Device) -> None:
    """Several rows of lanes at once end at the bound, whatever its difference to the first term is."""

    @kw.kernel
    def below(x, m, first: kw.static):
        r = output_tensor((x.shape[0],), x.dtype)
        for i in range(x.shape[0]):
            for j in range(first, x.shape[1]):
                if j < m:
                    r[i] += x[i, j]
        return r

    x = np.random.default_rng(first).standard_normal((3, 400)).astype("float32")
    for bound in BOUNDS:
        found = below(kw.Tensor(x, device="cuda"), bound, first).numpy()
        assert found.tobytes() == below(x, bound, first).tobytes(), bound


def test_a_bad_subscript_is_reported(device: Device) -> None:
    @kw.kernel
    def gathered(x, at):
        s = float32(0.0)
        for i in range(at.shape[0]):
            s += x[at[i]]
        y = output_tensor((1,), x.dtype)
        y[0] = s
        return y

    x, at = np.ones(100, "float32"), np.zeros(30_000, "int64")
    at[20_000], at[9_000], at[9_100] = 200, 300, 400
    for seed in range(3):
        device.seed(seed)
        with pytest.raises(kw.KernelIndexError) as caught:
            gathered(kw.Tensor(x, device="cuda"), kw.Tensor(at, device="cuda")).numpy()
        assert "index 300 is out of range" in str(caught.value)


def test_stores_that_never_execute_beside_sums(device: Device) -> None:
    """No dependence tells of them, and threads that sum for themselves could not execute them."""

    @kw.kernel
    def in_an_empty_loop(a):
        t = np.zeros(1, "int32")
        for _i in range(a.shape[0]):
            for _j in range(0):
                t[0] += 1.5
            for j in range(a.shape[0]):
                t[0] = t[0] - a[j]
        a[0] = t[0]
        return a

    @kw.kernel
    def under_a_condition(a):
        t = np.zeros(1, "int32")
        for i in range(a.shape[0]):
            if i < 0:
                t[0] = t[0] * 5 + 1
            t[0] = t[0] + a[i]
        a[0] = t[0]
        return a

    for kernel in (in_an_empty_loop, under_a_condition):
        for size in (1, 40, 5000):
            a = np.arange(size, dtype="int32") % 7
            assert kernel(kw.Tensor(a, device="cuda")).numpy().tobytes() == kernel(a.copy()).tobytes()


def test_a_term_of_nothing_beside_others(device: Device) -> None:
    """What adds 0 becomes a store of what is there, which accumulates nothing."""

    @kw.kernel
    def counted_down(a, h):
        t = allocate((1,), "int32")
        for _i in range(a.shape[0]):
            for _j in range(0):
                t[0] += 0
            for _j in range(a.shape[0]):
                t[0] = t[0] - 1
        for i in range(a.shape[0]):
            h[a[i]] += 0
            h[a[i]] += 1
        h[0] += t[0]
        return h

    for size in (1, 40, 300):
        a, h = np.arange(size, dtype="int32") % 5, np.zeros(6, "int32")
        for seed in range(3):
            device.seed(seed)
            found = counted_down(kw.Tensor(a, device="cuda"), kw.Tensor(h, device="cuda")).numpy()
            assert found.tobytes() == counted_down(a, h.copy()).tobytes()
