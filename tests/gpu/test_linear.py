"""Loops that are launched as one: arrays that are one row, and rows that are short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device, View

import kernelwright as kw
from kernelwright import output_tensor


def added(x, y):
    z = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            z[i, j] = x[i, j] + y[i, j] * x[0, 0]
    return z


def of_three(x, y):
    z = output_tensor((x.shape[0], y.shape[0], y.shape[1]), x.dtype)
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            for k in range(y.shape[1]):
                z[i, j, k] = y[j, k] - i + 2 * j
    return z


def in_steps(x, y):
    for i in range(1, x.shape[0] - 1, 2):
        for j in range(x.shape[1] - 1, -1, -1):
            x[i, j] = x[i, j] + y[i - 1, j]
    return x


def of_neighbours(x, y):
    z = output_tensor((x.shape[0] - 1, y.shape[1]), x.dtype)
    for i in range(x.shape[0] - 1):
        for j in range(y.shape[1]):
            z[i, j] = y[i, j] + y[i + 1, j]
    return z


def powers(x, y):
    z = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            power = x[i, j]
            for _ in range(int64(y[0, 0])):
                power = power * x[i, j]
            z[i, j] = power
    return z


KERNELS = [added, of_three, in_steps, of_neighbours, powers]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_each_length(function: Callable[..., Any], dtype: str, device: Device) -> None:
    kernel = kw.kernel(function)
    for number, shape in enumerate(
        [(2, 1), (3, 3), (64, 2), (5, 127), (3, 128), (400, 3), (1025, 1), (3, 700)]
    ):
        rng = np.random.default_rng(number)
        x, y = (rng.integers(1, 4, shape).astype(dtype) for _ in range(2))
        device.seed(number)
        found = kernel(kw.Tensor(x, device="cuda"), kw.Tensor(y, device="cuda")).numpy()
        assert found.tobytes() == kernel(x.copy(), y).tobytes(), str(shape)


def test_arrays_with_longer_rows(device: Device) -> None:
    kernel = kw.kernel(added)
    x, y = np.ones((5, 7), "float32"), np.arange(60, dtype="float32").reshape(5, 12)
    found = kernel(kw.Tensor(x, device="cuda"), kw.Tensor(y, device="cuda")).numpy()
    assert found.tobytes() == kernel(x, y).tobytes()


def test_rows_that_do_not_lie_end_to_end(device: Device) -> None:
    kernel = kw.kernel(added)
    x, y = np.ones((5, 7), "float32"), np.arange(60, dtype="float32").reshape(5, 12)
    owner = kw.Tensor(y, device="cuda")
    part = View(owner, y[:, 2:9], y.__array_interface__["data"][0])
    found = kernel(kw.Tensor(x, device="cuda"), part).numpy()
    assert found.tobytes() == kernel(x, y[:, 2:9]).tobytes()


def test_memory_that_is_not_aligned(device: Device) -> None:
    kernel = kw.kernel(added)
    x, y = np.ones((37, 31), "float32"), np.arange(37 * 31 + 1, dtype="float32")
    owner = kw.Tensor(y, device="cuda")
    rows = y[1:].reshape(37, 31)
    part = View(owner, rows, y.__array_interface__["data"][0])
    for seed in range(3):
        device.seed(seed)
        found = kernel(kw.Tensor(x, device="cuda"), part).numpy()
        assert found.tobytes() == kernel(x, rows).tobytes()


def test_empty_arrays(device: Device) -> None:
    kernel = kw.kernel(added)
    for shape in ((0, 5), (5, 0), (0, 2**40)):
        x = np.empty(shape, "float32")
        assert kernel(kw.Tensor(x, device="cuda"), kw.Tensor(x, device="cuda")).shape == shape


def test_a_fault_names_the_first_iteration(device: Device) -> None:
    @kw.kernel(wait=True)
    def picked(x, index):
        z = output_tensor(index.shape, x.dtype)
        for i in range(index.shape[0]):
            for j in range(index.shape[1]):
                z[i, j] = x[index[i, j]]
        return z

    index = np.zeros((50, 3), "int64")
    index[11, 2] = index[30, 0] = index[31, 1] = 9
    index[30, 0] = 8
    for seed in range(3):
        device.seed(seed)
        with pytest.raises(kw.KernelIndexError, match="index 9 is out of range"):
            picked(kw.Tensor(np.ones(4, "float32"), device="cuda"), kw.Tensor(index, device="cuda"))


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_they_do_not_spill(device: str) -> None:
    for function in KERNELS:
        made = nvrtc.compile_text(kw.kernel(function).cuda("f32[:, :]", "f32[:, :]", device=device), device)
        assert made.code == 0 and " 0 bytes spill stores" in made.log, made.log


def test_divisions_of_iterators_round_down(device: Device) -> None:
    @kw.kernel
    def divided(x, m):
        y = output_tensor(x.shape, x.dtype)
        z = output_tensor((x.shape[0], 3), x.dtype)
        for i in range(x.shape[0]):
            y[i] = 100 * (i // x[i]) + i % m
        for i in range(x.shape[0]):
            for j in range(3):
                z[i, j] = 100 * (j // x[i]) + i % m - i // -3 + i // 4
        return y, z

    x = np.array([-2, -1, 1, 3, 4, 2**40, -(2**40), 5], "int64")
    for m in (-2, 7, 4):
        found = divided(kw.Tensor(x, device="cuda"), m)
        wanted = divided(x, m)
        for f, w in zip(found, wanted, strict=True):
            assert f.numpy().tobytes() == w.tobytes(), m


def test_explain_tells_that_loops_are_merged() -> None:
    kernel = kw.kernel(
        "def f(a):\n    b = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n"
        "        for j in range(a.shape[1]):\n            for k in range(a.shape[2]):\n"
        "                b[i, j, k] = a[i, j, k] * 2\n    return b\n"
    )
    told = str(kernel.explain("f32[:, :, :]", device="sm_90"))
    assert "j in range(a.shape[1]): merged, into the loop around it\n" in told
    assert "written out" not in told
