"""Elements side by side in one access: every length, type and alignment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device, View

import kernelwright as kw
from kernelwright import output_tensor


def scaled(x, w):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * w[j] + x[i, 0]
    return y


def added(x, w):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + w[j]
    return y


def in_place(x, w):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if w[j] > 0:
                x[i, j] = x[i, j] - w[j]
            else:
                x[i, j] = w[j]
    return x


KERNELS = [scaled, added, in_place]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8", "float16"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_each_length(function: Callable[..., Any], dtype: str, device: Device) -> None:
    kernel = kw.kernel(function)
    for number, shape in enumerate([(1, 1), (3, 4), (5, 7), (2, 64), (3, 513), (2, 2050)]):
        rng = np.random.default_rng(number)
        x, w = (rng.integers(-9 if dtype != "uint8" else 0, 9, s).astype(dtype) for s in (shape, shape[1:]))
        device.seed(number)
        found = kernel(kw.Tensor(x, device="cuda"), kw.Tensor(w, device="cuda")).numpy()
        assert found.tobytes() == kernel(x.copy(), w).tobytes(), str(shape)


def test_atomic_operations_have_no_vectors(device: Device) -> None:
    @kw.kernel
    def counted(x, h):
        for i in range(x.shape[0]):
            by = x[i, 0]
            for j in range(x.shape[1]):
                h[j] += x[i, j] * by
        return h

    text = counted.cuda("i32[:, :]", "i32[:]", device="sm_90")
    assert "kw_atomic_add(&h[j], " in text and "kw_st((" not in text
    x, h = np.arange(40 * 64, dtype="int32").reshape(40, 64), np.zeros(64, "int32")
    for seed in range(3):
        device.seed(seed)
        found = counted(kw.Tensor(x, device="cuda"), kw.Tensor(h, device="cuda")).numpy()
        assert found.tobytes() == counted(x, h.copy()).tobytes()


def test_a_condition_of_the_device_around_them(device: Device) -> None:
    @kw.kernel
    def guarded(x, y):
        if x[0] > 0:
            for i in range(x.shape[0]):
                y[i] = x[i] + 1.0
        return y

    for first in (-1.0, 1.0):
        x, y = np.full(70, first, "float32"), np.zeros(70, "float32")
        found = guarded(kw.Tensor(x, device="cuda"), kw.Tensor(y, device="cuda")).numpy()
        assert found.tobytes() == guarded(x, y.copy()).tobytes()


GUARDED = {
    "some_elements": "for i in range(c.shape[0]):\n        if i < m:\n            c[i] = a[i] * 2",
    "a_shorter_array": "for i in range(c.shape[0]):\n        if i < a.shape[0]:\n            c[i] = a[i] * 2",
    "by_a_name": "for i in range(c.shape[0]):\n        k = i + 3\n        if k < m:\n"
    "            c[i] = a[i] * 2",
    "of_a_remainder": "for i in range(c.shape[0]):\n        if i % 32 < m:\n            c[i] = a[i] * 2",
    "of_what_is_there": "for i in range(c.shape[0]):\n        c[i] = c[i] * 2 if a[i] > 0 else 0.0",
    "loaded_in_a_branch": "for i in range(c.shape[0]):\n        v = 1.0\n        if a[i] > 0:\n"
    "            v = c[i]\n        c[i] = v * 2",
}


@pytest.mark.parametrize("name", GUARDED)
def test_elements_under_a_condition(name: str, device: Device) -> None:
    kernel = kw.kernel(f"def f(a, c, m):\n    {GUARDED[name]}\n    return c\n")
    rng = np.random.default_rng(5)
    for m in (0, 1, 30, 1001, 4096, 5000):
        a = rng.standard_normal(max(m, 1) if name == "a_shorter_array" else 5000).astype("float32")
        c = rng.standard_normal(5000).astype("float32")
        given = min(m, a.shape[0])
        found = kernel(kw.Tensor(a, device="cuda"), kw.Tensor(c, device="cuda"), given).numpy()
        assert found.tobytes() == kernel(a, c.copy(), given).tobytes(), m


SUBSCRIPTS = [
    "c[i, j + i] = a[i, j] * 2",
    "c[i, j] = a[i, j + i]",
    "c[i, j + m] = a[i, j] + 1",
    "c[i, j + i // 3] = a[i, j]",
]


@pytest.mark.parametrize("statement", [*SUBSCRIPTS, "if j <= i:\n                c[i, j] = a[i, j]"])
def test_rows_that_begin_elsewhere(statement: str, device: Device) -> None:
    kernel = kw.kernel(
        "def f(a, c, m):\n    for i in range(a.shape[0] - 4):\n        for j in range(a.shape[1] - 64):\n"
        f"            {statement}\n    return c\n"
    )
    a, c = np.random.default_rng(6).standard_normal((2, 40, 320)).astype("float32")
    for m in (0, 3, 4):
        found = kernel(kw.Tensor(a, device="cuda"), kw.Tensor(c, device="cuda"), m).numpy()
        assert found.tobytes() == kernel(a, c.copy(), m).tobytes(), m


def test_memory_that_is_not_aligned(device: Device) -> None:
    kernel = kw.kernel(added)
    # rows of 128 elements and more, which have vectors
    x, w = np.arange(4 * 256, dtype="float32").reshape(4, 256), np.arange(257, dtype="float32")
    owner = kw.Tensor(w, device="cuda")
    part = View(owner, w[1:], w.__array_interface__["data"][0])
    found = kernel(kw.Tensor(x, device="cuda"), part).numpy()
    assert found.tobytes() == kernel(x, w[1:]).tobytes()


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_they_do_not_spill(device: str) -> None:
    for function in KERNELS:
        text = kw.kernel(function).cuda("f32[:, :]", "f32[:]", device=device)
        assert "kw_st((kw_vec<f32, 4> *)&" in text or function is in_place
        made = nvrtc.compile_text(text, device)
        assert made.code == 0 and " 0 bytes spill stores" in made.log, made.log


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_they_are_single_instructions(device: str) -> None:
    """One that the compiler cuts in four would take the time of four."""
    for function in KERNELS:
        text = kw.kernel(function).cuda("f32[:, :]", "f32[:]", device=device)
        made = nvrtc.compile_text(text, device.replace("sm_", "compute_"))
        assert made.code == 0, made.log
        loads, stores = nvrtc.accesses_of_16_bytes(made.ptx)
        assert loads == text.count("kw_ld((") and stores == text.count("kw_st(("), function.__name__
