"""Accumulations into shared elements: every operation and type, as CPython computes them, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device

import kernelwright as kw

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")
EXACT = {
    "sum": "h[k[i]] += x[i]",
    "difference": "h[k[i]] -= x[i]",
    "product": "h[k[i]] *= x[i]",
    "and": "h[k[i]] &= x[i]",
    "or": "h[k[i]] |= x[i]",
    "xor": "h[k[i]] ^= x[i]",
}
OF_ALL = {"least": "h[k[i]] = min(h[k[i]], x[i])", "greatest": "h[k[i]] = max(x[i], h[k[i]])"}
CASES = [
    *((name, line, dtype) for name, line in EXACT.items() for dtype in INTEGERS),
    *((name, line, dtype) for name, line in OF_ALL.items() for dtype in INTEGERS + FLOATS),
]


def kernel_of(line: str, fp: str = "strict") -> Any:
    return kw.kernel(fp=fp)(
        f"def f(h, k, x):\n    for i in range(k.shape[0]):\n        {line}\n    return h\n"
    )


def values(dtype: str, count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Values of all bits; of floats, zeros of both signs as well."""
    raw = np.random.default_rng(seed).integers(0, 256, (count, np.dtype(dtype).itemsize), dtype="uint8")
    out = raw.view(dtype)[:, 0].copy()
    if out.dtype.kind == "f":
        out[~np.isfinite(out)] = 1.5
        out[::3], out[1::7] = -0.0, 0.0
    return out


@pytest.mark.parametrize(("name", "line", "dtype"), CASES, ids=lambda v: v if str(v).isalnum() else "")
def test_elements_are_those_of_cpython(name: str, line: str, dtype: str, device: Device) -> None:
    kernel = kernel_of(line)
    k = np.random.default_rng(1).integers(0, 5, 700)
    x = values(dtype, 700, 3)
    for bins in (5, 8193):  # which fit the memory of a block, and which do not
        h = values(dtype, bins, 2)
        text = kernel.cuda(h, k, x)
        assert "kw_atomic_" in text.split("KW_KERNEL(256)")[1] and "h_own" in text
        with np.errstate(all="ignore"):
            wanted = kernel.py(h.copy(), k, x)
        for seed in (0, 1, 2):
            device.seed(seed)
            got = kernel(*(kw.Tensor(a, device="cuda") for a in (h, k, x)))
            assert got.numpy().tobytes() == wanted.tobytes(), f"{bins} bins, seed {seed}"


@pytest.mark.parametrize("count", [0, 1, 16_383, 16_384, 16_385, 50_000])
def test_blocks_with_bins_of_their_own(count: int, device: Device) -> None:
    kernel = kernel_of("h[k[i]] += x[i]")
    rng = np.random.default_rng(count)
    for bins in (1, 255, 257, 4096, 4097):
        h, k, x = rng.integers(-9, 9, bins), rng.integers(0, bins, count), rng.integers(-9, 9, count)
        wanted = h.copy()
        np.add.at(wanted, k, x)
        device.seed(bins)
        got = kernel(*(kw.Tensor(a, device="cuda") for a in (h, k, x)))
        assert np.array_equal(got.numpy(), wanted), f"{bins} bins"


def test_bins_of_two_dimensions(device: Device) -> None:
    @kw.kernel
    def joint(h, x, y):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                h[x[i, j], y[j]] += 1
        return h

    rng = np.random.default_rng(3)
    for bins in ((3, 5), (64, 128), (91, 91)):
        h = np.zeros(bins, "int32")
        x, y = rng.integers(0, bins[0], (70, 300)), rng.integers(0, bins[1], 300)
        wanted = h.copy()
        np.add.at(wanted, (x, np.broadcast_to(y, x.shape)), 1)
        got = joint(*(kw.Tensor(a, device="cuda") for a in (h, x, y)))
        assert np.array_equal(got.numpy(), wanted), bins


@pytest.mark.parametrize("fp", ["strict", "default", "fast"])
def test_a_sum_of_floats_keeps_its_order(fp: str) -> None:
    """Atomic operations come in another order in each call."""
    text = kernel_of("h[k[i]] += x[i]", fp).cuda("f32[:]", "i64[:]", "f32[:]")
    assert "KW_KERNEL(1) f_0(" in text and "KW_KERNEL(256)" not in text


def test_small_floats_are_accumulated_by_one_thread() -> None:
    text = kernel_of("h[k[i]] = min(h[k[i]], x[i])").cuda("f16[:]", "i64[:]", "f16[:]")
    assert "KW_KERNEL(1) f_0(" in text and "KW_KERNEL(256)" not in text


def test_the_first_bad_bin_is_reported(device: Device) -> None:
    kernel = kernel_of("h[k[i]] += 1")
    k = np.zeros(600, "int64")
    k[[17, 400]] = 9, -1
    for bins, seed in ((4, 0), (4, 1), (4, 2)):
        device.seed(seed)
        result = kernel(*(kw.Tensor(a, device="cuda") for a in (np.zeros(bins, "int64"), k, k)))
        with pytest.raises(kw.KernelIndexError, match="index 9 is out of range for dimension 0 of 'h'"):
            result.numpy()


def test_explain_tells_of_atomic_operations() -> None:
    text = str(kernel_of("h[k[i]] += x[i]").explain("i64[:]", "i64[:]", "i64[:]", device="sm_90"))
    assert "a thread for each iteration, 256 in a block, atomic operations on 'h'" in text
    assert "private_bins i" in text


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
def test_nvrtc_accepts_every_atomic_operation() -> None:
    names = {
        "int8": "i8",
        "uint8": "u8",
        "int16": "i16",
        "uint16": "u16",
        "int32": "i32",
        "uint32": "u32",
        "int64": "i64",
        "uint64": "u64",
        "float32": "f32",
        "float64": "f64",
    }
    lines: list[str] = []
    for n, (_, line, dtype) in enumerate(CASES):
        t = names[dtype]
        text = kernel_of(line, "fast").cuda(f"{t}[:]", "i64[:]", f"{t}[:]", device="sm_80")
        head, _, whole = text.rpartition("KW_KERNEL(256)")
        functions, _, in_blocks = head.rpartition("KW_TEAM_KERNEL(256)")
        lines += [f"KW_TEAM_KERNEL(256) {in_blocks}".replace(" f_0(", f" b_{n}(")]
        lines += [f"KW_KERNEL(256) {whole}".replace(" f_1(", f" f_{n}(")]
    made = nvrtc.compile_text(functions + "".join(lines), "sm_80")
    assert made.code == 0 and made.is_elf, made.log


def test_what_a_thread_accumulates_again_and_again_stays_atomic(device: Device) -> None:
    """A loop that hands an element to its next iteration would else keep it in a variable of its own."""

    @kw.kernel
    def largest(a):
        y = np.zeros((1, a.shape[1]), "int32")
        for i in range(a.shape[0]):
            if a[i, 0] > 1:
                for j in range(a.shape[1]):
                    for k in range(a.shape[1]):
                        y[0, j] = max(y[0, j], a[i, k])
        return y

    for shape in ((1, 1), (50, 3), (700, 2)):
        a = np.random.default_rng(1).integers(0, 999, shape).astype("int32")
        for seed in range(2):
            device.seed(seed)
            assert largest(kw.Tensor(a, device="cuda")).numpy().tobytes() == largest(a).tobytes()


def test_elements_beside_those_that_threads_accumulate_in(device: Device) -> None:
    """A block has no copy of them."""

    @kw.kernel
    def even_ones(a, b):
        for i in range(a.shape[0]):
            b[2 * (a[i] % 4)] += b[1]
        return b

    a, b = np.arange(500, dtype="int32"), np.arange(9, dtype="int32")
    found = even_ones(kw.Tensor(a, device="cuda"), kw.Tensor(b, device="cuda")).numpy()
    assert found.tobytes() == even_ones.py(a, b.copy()).tobytes()


def test_rows_whose_sums_meet(device: Device) -> None:
    """A team stores its sum without an atomic operation, so it has no part in sums of several rows."""

    @kw.kernel
    def sums_by_place(x, at):
        s = np.zeros((5,), "int64")
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                s[at[i] % 5] += x[i, j]
        return s

    for shape in ((40, 70), (3, 2000), (300, 3)):
        rng = np.random.default_rng(1)
        x, at = rng.integers(0, 99, shape), rng.integers(0, 9, shape[0])
        for seed in range(2):
            device.seed(seed)
            found = sums_by_place(kw.Tensor(x, device="cuda"), kw.Tensor(at, device="cuda"))
            assert found.numpy().tobytes() == sums_by_place(x, at).tobytes()
    # and of elements that a division chooses
    counted = kw.kernel(
        "def f(a, b):\n    for i in range(b.shape[0]):\n        for j in range(i):\n"
        "            a[0, i % 0] += 1\n    return a\n"
    )
    a, b = np.ones((2, 2), "int64"), np.ones(300)
    found = counted(kw.Tensor(a, device="cuda"), kw.Tensor(b, device="cuda"))
    assert found.numpy().tobytes() == counted(a, b).tobytes()


@pytest.mark.parametrize("fp", ["strict", "default", "fast"])
def test_sums_of_floats_are_not_atomic(fp: str) -> None:
    """Their order would be another one in each run."""
    kernel = kw.kernel(fp=fp)(
        "def f(x, at, s):\n    for i in range(x.shape[0]):\n        s[at[i]] += x[i]\n    return s\n"
    )
    text = kernel.cuda("f32[:]", "i64[:]", "f32[:]")
    assert "kw_atomic" not in text[text.rindex("#endif") :]
    text = kernel.cuda("i32[:]", "i64[:]", "i32[:]")
    assert "kw_atomic_add" in text[text.rindex("#endif") :]
