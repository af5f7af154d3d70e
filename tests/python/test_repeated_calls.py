"""Calls of the same types and shapes as the one before take a shorter way: same results, same refusals."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright.errors import KernelValueError

Array = np.ndarray[Any, Any]


@kw.kernel
def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] + b[i, j]
    return c


@kw.kernel
def upper(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(i, a.shape[1]):
            c[i, j] = a[i, j]
    return c


class Sub(np.ndarray[Any, Any]):
    pass


def matrix(rows: int = 4, columns: int = 4, dtype: str = "float32") -> Array:
    return np.arange(rows * columns, dtype=dtype).reshape(rows, columns)


def subclass() -> Array:
    return matrix().view(Sub)


def misaligned() -> Array:
    raw = np.zeros(4 * 4 * 4 + 1, np.uint8)
    view = raw[1:].view(np.float32).reshape(4, 4)
    view[...] = matrix()
    return view


OPERANDS: dict[str, Callable[[], Array]] = {
    "same": matrix,
    "wider": lambda: matrix(4, 7),
    "narrow": lambda: matrix(1, 2),
    "empty": lambda: matrix(0, 4),
    "float64": lambda: matrix(dtype="float64"),
    "int32": lambda: matrix(dtype="int32"),
    "transposed": lambda: matrix().T,
    "every second": lambda: matrix(8, 8)[::2, ::2],
    "reversed": lambda: matrix()[::-1],
    "misaligned": misaligned,
    "subclass": subclass,
    "read-only": lambda: np.broadcast_to(matrix(), (4, 4)),
}


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(OPERANDS, 2)))
def test_one_call_after_another(before: str, after: str) -> None:
    for name in (before, before, after, after, before):
        a = OPERANDS[name]()
        result = add(a, a)
        assert type(result) is np.ndarray and result.dtype == a.dtype
        np.testing.assert_array_equal(result, a + a)


@pytest.mark.parametrize("name", OPERANDS)
def test_out_after_a_call_of_the_same_types(name: str) -> None:
    a = OPERANDS[name]()
    for _ in range(3):
        out = np.full(a.shape, 7, a.dtype)
        assert add(a, a, out=out) is out
        np.testing.assert_array_equal(out, a + a)


def test_unwritten_elements_are_zeroed_again() -> None:
    a, out = matrix() + 1, np.full((4, 4), 9, np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(upper(a), np.triu(a))
        out[...] = 9
        np.testing.assert_array_equal(upper(a, out=out), np.triu(a))


def refusals() -> dict[str, Array]:
    read_only = np.zeros((4, 4), np.float32)
    read_only.flags.writeable = False
    return {
        "is written but read-only": read_only,
        "but must be float32 (4, 4)": np.zeros((4, 5), np.float32),
        "is float64 (4, 4)": np.zeros((4, 4), np.float64),
        "share memory": np.lib.stride_tricks.as_strided(
            np.zeros(4, np.float32), (4, 4), (0, 4), writeable=True
        ),
    }


@pytest.mark.parametrize("text", refusals())
def test_refused_outs(text: str) -> None:
    a, out = matrix(), refusals()[text]
    for _ in range(2):
        add(a, a, out=np.empty((4, 4), np.float32))
        with pytest.raises((KernelValueError, kw.KernelTypeError)) as error:
            add(a, a, out=out)
        assert text in str(error.value)


def test_out_that_overlaps_an_argument() -> None:
    memory = np.arange(40, dtype=np.float32)
    a, out = memory[:16].reshape(4, 4), memory[15:31].reshape(4, 4)
    before = a.copy() + 1
    add(a, a, out=memory[16:32].reshape(4, 4))
    for _ in range(2):
        a[...] = before
        np.testing.assert_array_equal(add(a, a, out=out), before + before)
        assert a[3, 3] == out[0, 0] == 2
        a[...] = before
        np.testing.assert_array_equal(add(a, a, out=a), before + before)


def test_counts_and_names_of_arguments() -> None:
    a = matrix()
    add(a, a)
    with pytest.raises(TypeError, match=r"^add\(a, b\) is missing the argument 'b'$"):
        add(a)
    with pytest.raises(TypeError, match=r"^add\(a, b\) takes 2 arguments but 3 were given"):
        add(a, a, a)
    with pytest.raises(TypeError, match="unexpected keyword argument 'into'"):
        add(a, a, into=a)
    np.testing.assert_array_equal(add(a, b=a), a + a)
    np.testing.assert_array_equal(add(a, a, out=None), a + a)


SCALE = 2


@kw.kernel
def scaled(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * SCALE
    return c


def test_captured_values_are_looked_at_each_time() -> None:
    global SCALE
    a = np.ones(3, np.float32)
    for value in (2, 2, 5, 5, 2):
        SCALE = value
        np.testing.assert_array_equal(scaled(a), a * value)


WRITERS: dict[str, Callable[[dict[str, Any], Any], object]] = {
    "the dict": lambda where, value: where.__setitem__("SCALE", value),
    "an attribute": lambda where, value: setattr(sys.modules[__name__], "SCALE", value),
    "update": lambda where, value: where.update(SCALE=value),
    "exec": lambda where, value: exec(f"global SCALE; SCALE = {value!r}", where),
    "taken out": lambda where, value: (where.pop("SCALE"), where.setdefault("SCALE", value)),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_captured_values_are_seen_whoever_writes_them(
    write: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, where = np.ones(3, np.float32), scaled.__wrapped__.__globals__
    monkeypatch.setitem(where, "SCALE", 1)
    monkeypatch.setitem(where, "_unrelated", 1)
    for value in (7, 7, 3, 8, 8, 3):
        write(where, value)
        for _ in range(2):
            np.testing.assert_array_equal(scaled(a), a * value)
            where["_unrelated"] = value  # another state of the dict, with the same captured value


def test_results_are_new_arrays() -> None:
    a = matrix()
    first, second = add(a, a), add(a, a)
    assert not np.shares_memory(first, second)
    assert first.flags.owndata and first.flags.c_contiguous and first.flags.writeable


@kw.kernel
def fill(n, a, value, upward):
    c = output_tensor((n,), a.dtype)
    for i in range(n):
        k = i if upward else n - 1 - i
        c[i] = a[k % a.shape[0]] * value
    return c


NUMBERS: list[tuple[Any, Any, Any]] = [
    (3, 2.5, True),
    (3, -0.0, True),
    (3, float("nan"), False),
    (5, 2.5, False),
    (0, 2.5, True),
    (3, 2, True),  # an integer is another type
    (3, True, True),
    (np.int64(3), 2.5, True),
    (3, np.float32(2.5), True),
    (3, np.float64(2.5), np.bool_(False)),
]


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(range(len(NUMBERS)), 2)))
def test_numbers_may_change_in_value_and_type(before: int, after: int) -> None:
    a = np.array([1, -2, 3, 4], np.float32)
    for number in (before, before, after, after, before):
        n, value, upward = NUMBERS[number]
        result, expected = fill(n, a, value, upward), fill.py(n, a, value, upward)
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, expected)


def test_a_number_that_does_not_fit_after_one_that_does() -> None:
    a = np.ones(4, np.float32)
    for _ in range(2):
        fill(3, a, 1.0, True)
    with pytest.raises(OverflowError, match="does not fit into 64 bits"):
        fill(1 << 64, a, 1.0, True)
    with pytest.raises(IndexError, match="is negative: -1"):
        fill(-1, a, 1.0, True)
    assert fill(3, a, 1.0, True).shape == (3,)


@kw.kernel
def front(a, n):
    c = output_tensor((2,), a.dtype)
    for i in range(n):
        c[i % 2] = a[i]
    return c


def test_a_number_that_decides_which_body_runs() -> None:
    a = np.arange(6, dtype=np.float32)
    for n in (6, 6, 2, 6, 4, 4):
        np.testing.assert_array_equal(front(a, n), front.py(a, n))
        with pytest.raises(IndexError):
            front(a, 7)
