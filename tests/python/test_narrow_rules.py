"""Table 2a and the rules of language.md 10 for narrow and unsigned integers, where CPython is no oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import KernelIndexError
from kernelwright.errors import KernelOverflowError

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
Array = np.ndarray[Any, Any]


def run(function: Callable[..., Any], *args: Any) -> Any:
    """The result of machine code, equal to the interpreter's."""
    results = []
    for words in ("cache=off", "cache=off; interp"):
        with kw.debug(words):
            results.append(kw.kernel(fp="strict")(function)(*args))
    assert np.array_equal(results[0], results[1]) and results[0].dtype == results[1].dtype
    return results[0]


def weak_operands(a, k):
    out = output_tensor((5, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = a[i] + i
        out[1, i] = a[i] * k
        out[2, i] = a[i] - a.shape[0]
        out[3, i] = max(a[i], i)
        out[4, i] = a[i] ^ (k + i)
    return out


@pytest.mark.parametrize("dtype", INTEGERS)
def test_v1_weak_variables_wrap(dtype: str) -> None:
    """A loop variable, an argument and a shape take the operand's type by wrapping."""
    a = np.full(300, 3, dtype)
    i, k = np.arange(300), 70_000
    narrow = i.astype(dtype)
    want = [a + narrow, a * np.array(k).astype(dtype), a - np.array(300).astype(dtype), np.maximum(a, narrow)]
    want.append(a ^ (k + i).astype(dtype))
    assert np.array_equal(run(weak_operands, a, k), np.stack(want))


def compares(a, k):
    out = output_tensor((6, a.shape[0]), "bool")
    for i in range(a.shape[0]):
        out[0, i] = a[i] < k
        out[1, i] = a[i] <= k
        out[2, i] = a[i] == k
        out[3, i] = k < a[i]
        out[4, i] = k <= a[i]
        out[5, i] = k != a[i]
    return out


@pytest.mark.parametrize("k", [-(2**63), -129, -1, 0, 255, 300, 2**32, 2**63 - 1])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_comparisons_with_weak_variables_are_exact(dtype: str, k: int) -> None:
    info = np.iinfo(dtype)
    numbers = [info.min, info.max, 0, 1, info.max // 2 + 1]
    exact = [[n < k, n <= k, n == k, k < n, k <= n, k != n] for n in map(int, numbers)]
    assert run(compares, np.array(numbers, dtype), k).T.tolist() == exact


def stores(a, like):
    out = output_tensor(a.shape, like.dtype)
    for i in range(a.shape[0]):
        out[i] = a[i]
    return out


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_v3_float_stores_saturate(source: str, to: str) -> None:
    info = np.iinfo(to)
    a = np.array([np.nan, np.inf, -np.inf, 2.9, -0.9, -2.9], source)
    want = [0, info.max, info.min, 2, 0, -2 if info.min else 0]
    assert run(stores, a, np.zeros(1, to)).tolist() == want


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_v3_integer_stores_wrap(source: str, to: str) -> None:
    info = np.iinfo(source)
    a = np.array([info.min, info.max, 0, 100, info.max - 5], source)
    assert np.array_equal(run(stores, a, np.zeros(1, to)), a.astype(to))


def scalar_kernel(a, s):
    out = output_tensor((s - 1, 2), "float64")
    for i in range(s - 1):
        out[i, 0] = a[0] + s
        out[i, 1] = s / 2
    return out


@pytest.mark.parametrize("dtype", INTEGERS)
def test_numpy_scalars_are_strong_and_size_outputs(dtype: str) -> None:
    a, s = np.array([1], "int8"), np.dtype(dtype).type(4)
    got = run(scalar_kernel, a, s)
    assert got.shape == (3, 2) and got[:, 0].tolist() == [5.0] * 3 and got[:, 1].tolist() == [2.0] * 3
    wide = np.array([np.iinfo(dtype).max], dtype)
    assert run(scalar_kernel, wide, s)[0, 0] == float(int((wide + s)[0]))


def gathers(a, index):
    out = output_tensor(index.shape, a.dtype)
    for i in range(index.shape[0]):
        out[i] = a[index[i]]
    return out


@pytest.mark.parametrize("dtype", INTEGERS)
def test_any_integer_indexes(dtype: str) -> None:
    a = np.arange(7.0)
    assert run(gathers, a, np.array([6, 0, 3], dtype)).tolist() == [6.0, 0.0, 3.0]
    beyond = np.array([0, np.iinfo(dtype).max], dtype)
    with pytest.raises(KernelIndexError):
        kw.kernel(gathers)(a, beyond)


def adds(a, k):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = a[i] + k
    return out


def test_python_ints_beyond_int64_are_no_arguments() -> None:
    with pytest.raises(KernelOverflowError):
        kw.kernel(adds)(np.ones(1, "uint64"), 2**63)
    assert run(adds, np.ones(1, "uint64"), np.uint64(2**63)).tolist() == [2**63 + 1]


def test_captured_constants_beyond_int64_are_told_apart() -> None:
    """-1 and 2^64 - 1 have the same bits, but are different kernels."""

    def make(k: int) -> Any:
        def captures(a):
            out = output_tensor((1,), "float64")
            out[0] = a[0] * k
            return out

        return kw.kernel(captures)

    one = np.ones(1, "float64")
    assert make(-1)(one)[0] == -1.0 and make(2**64 - 1)(one)[0] == 2.0**64 and make(-1)(one)[0] == -1.0


def names_wide(a):
    wide = 18446744073709551615
    out = output_tensor((2, 1), "float64")
    for i in range(1):
        out[0, i] = a[0] * wide
        wide = 2
        out[1, i] = a[0] * wide
    return out


def test_a_weak_local_beyond_int64_keeps_its_value_until_it_merges() -> None:
    """At the loop's head it merges with another int and wraps at 64 bits (V2)."""
    assert run(names_wide, np.ones(1)).tolist() == [[-1.0], [2.0]]
