"""What versions a kernel holds: by captured values, bounded, and by arguments that are the same view."""

from __future__ import annotations

import random
import threading
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import _core

MOST_VERSIONS = 64
SEED = 11
Setter = Callable[[float], None]


def scaling() -> tuple[kw.Kernel, Setter]:
    """A kernel that captures a number, and the way to change it."""
    scale = 1.0

    @kw.kernel
    def scaled(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] * scale
        return c

    def change(value: float) -> None:
        nonlocal scale
        scale = value

    return scaled, change


def messages(call: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in caught]


def test_old_versions_are_forgotten() -> None:
    kernel, change = scaling()
    a = np.ones(3)
    with kw.debug("interp; cache=off"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in range(MOST_VERSIONS + 20):
            change(float(step))
            assert kernel(a)[0] == step
            change(-1.0)
            assert kernel(a)[0] == -1.0  # used again and again: it stays
            assert len(_core.held_versions(kernel)) == min(step + 2, MOST_VERSIONS)
    newest = _core.held_versions(kernel)
    change(float(MOST_VERSIONS + 19))
    with kw.debug("interp; cache=off"):
        kernel(a)
    assert sorted(_core.held_versions(kernel)) == sorted(newest), "the newest ones were held"


def test_forgotten_versions_come_back() -> None:
    """Any order of values gives the right results, whatever was forgotten in between."""
    draw = random.Random(SEED)
    kernel, change = scaling()
    a = np.ones(2)
    with kw.debug("interp"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(600):
            value = float(draw.randrange(2 * MOST_VERSIONS))
            change(value)
            assert kernel(a)[0] == value, f"seed {SEED}"


def test_values_that_come_back_are_no_change() -> None:
    kernel, change = scaling()

    def alternate() -> None:
        for step in range(40):
            change(float(step % 4))
            kernel(np.ones(2))

    assert messages(alternate) == []


def test_dtypes_are_no_versions_of_a_capture() -> None:
    kernel, change = scaling()

    def call_all() -> None:
        for step in range(2):
            change(float(step))
            for dtype in "bhilBHILefd":
                kernel(np.ones(2, dtype))

    assert messages(call_all) == []


def test_numbers_of_modules_and_helpers_are_named() -> None:
    import types

    cfg, state = types.ModuleType("cfg"), SimpleNamespace(rate=0)
    cfg.RATE = 0.0  # type: ignore[attr-defined]

    @kw.kernel
    def by_module(a):
        a[0] = cfg.RATE
        return a

    def calls() -> None:
        for step in range(9):
            cfg.RATE = float(step)  # type: ignore[attr-defined]
            by_module(np.ones(1))

    (message,) = messages(calls)
    assert "captures 'cfg.RATE', whose value" in message

    rate = 0

    def helper(x):
        return x + rate

    @kw.kernel
    def by_helper(a):
        a[0] = helper(a[0])
        return a

    def more_calls() -> None:
        nonlocal rate
        for step in range(9):
            rate = step + state.rate
            by_helper(np.ones(1))

    (message,) = messages(more_calls)
    assert "captures 'rate', whose value" in message


def test_a_version_that_runs_is_not_forgotten() -> None:
    """A run without the GIL goes on while other threads compile more versions than are held."""
    number = 0.0

    @kw.kernel
    def slow(a, n):
        c = output_tensor((1,), a.dtype)
        c[0] = 0.0
        for _k in range(n):
            for i in range(a.shape[0]):
                c[0] = c[0] * 0.5 + a[i]
        c[0] = c[0] + number
        return c

    a, results = np.ones(1000), []
    runner = threading.Thread(target=lambda: results.append(slow(a, 100_000)[0]))
    runner.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in range(1, MOST_VERSIONS + 10):
            number = float(step)
            assert slow(a, 1)[0] == pytest.approx(2.0 + step)
    runner.join()
    assert results == [pytest.approx(2.0)]


# arguments that are the same view


@kw.kernel
def shift_into(a, b):
    for i in range(1, b.shape[0]):
        b[i] = a[i - 1] + 1.0
    return b


@kw.kernel
def swap(a, b, c):
    for i in range(a.shape[0]):
        x = a[i]
        a[i] = b[i] + c[i]
        b[i] = x
    return a, b


def aliases(kernel: kw.Kernel) -> list[str]:
    """The last part of each argument in the signatures held, the last used first."""
    lines = [
        line for key in _core.held_versions(kernel) for line in key.split("\n") if line[:9] == "signature"
    ]
    return ["".join(arg[-1] for arg in line.split("outs")[0].split()[1:]) for line in lines]


def test_the_same_view_is_one_buffer() -> None:
    for make in (np.arange, lambda n: np.arange(2.0 * n)[::2], lambda n: np.arange(2.0 * n)[::-2]):
        block, again = make(5.0 if make is np.arange else 5), make(5.0 if make is np.arange else 5)
        view = block[:]
        assert shift_into(block, view) is view
        shift_into.py(again, again)
        assert block.tolist() == again.tolist()
    assert aliases(shift_into)[0] == "00"
    block, again = np.arange(6.0), np.arange(6.0)
    shift_into(block[:5], block[1:])  # another overlap runs in source order
    shift_into.py(again[:5], again[1:])
    assert block.tolist() == again.tolist()
    assert aliases(shift_into)[0] == "01"


def test_several_of_the_same_view() -> None:
    for pick in ("aab", "aba", "abb", "aaa", "abc"):
        blocks, again = ({name: np.arange(4.0) + ord(name) for name in "abc"} for _ in range(2))
        first, second = swap(*(blocks[name] for name in pick))
        swap.py(*(again[name] for name in pick))
        assert first is blocks[pick[0]] and second is blocks[pick[1]]
        assert all(blocks[name].tolist() == again[name].tolist() for name in "abc"), pick
        assert aliases(swap)[0] == "".join(str(pick.index(name)) for name in pick), pick


def test_the_same_view_beside_another_overlap_runs_in_source_order() -> None:
    block, again = np.arange(6.0), np.arange(6.0)
    swap(block[:5], block[:5], block[1:])
    swap.py(again[:5], again[:5], again[1:])
    assert block.tolist() == again.tolist()
    assert aliases(swap)[0] == "012"


def test_reading_the_same_view_twice_changes_nothing() -> None:
    @kw.kernel
    def add(a, b):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] + b[i]
        return c

    a = np.arange(3.0)
    assert add(a, a).tolist() == [0.0, 2.0, 4.0]
    assert aliases(add) == ["01"]


@kw.kernel
def running(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = b[i] + (a[i - 1] if i > 0 else 0.0)
    return c


@kw.kernel
def sums(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c


@kw.kernel
def at_even_places(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(0, a.shape[0], 2):
        c[i] = a[i] + 1.0
    return c


def test_out_that_is_an_argument_is_one_buffer_where_that_is_proved_the_same() -> None:
    for step in (1, 2, -1):
        a, b = np.ones(5), np.arange(5.0 * abs(step))[::step]
        expected = running(a, b).tolist()
        assert running(a, b, out=b) is b and b.tolist() == expected
        assert " =1" in _core.held_versions(running)[0]
    a = np.ones(4)
    assert sums(a, a, out=(a,)) is a and a.tolist() == [2.0] * 4
    assert aliases(sums)[0].startswith("00") and " =0" in _core.held_versions(sums)[0]


def test_out_that_is_read_after_it_is_written_goes_through_a_temporary() -> None:
    for step in (1, 2, -1):
        a, b = np.arange(5.0 * abs(step))[::step], np.ones(5)
        expected = running(a, b).tolist()
        assert running(a, b, out=a) is a and a.tolist() == expected
    a = np.ones(4)
    assert running(a, a, out=(a,)).tolist() == [1.0, 2.0, 2.0, 2.0]
    assert not any(" =0" in key for key in _core.held_versions(running))


def test_out_whose_remainder_is_zeroed_goes_through_a_temporary() -> None:
    a = np.ones(4)
    assert at_even_places(a, out=a).tolist() == [2.0, 0.0, 2.0, 0.0]  # the zeros do not go over what is read
    assert len(_core.held_versions(at_even_places)) == 1


def test_out_of_another_shape_or_dtype_is_refused_before_aliases_matter() -> None:
    @kw.kernel
    def first_two(a):
        c = output_tensor((2,), float64)
        c[0] = a[0]
        c[1] = a[1]
        return c

    for a in (np.ones(3), np.ones(2, np.float32)):
        with pytest.raises(ValueError, match="out= of kernel 'first_two' for 'c' is"):
            first_two(a, out=a)


def test_an_index_error_in_an_aliased_call() -> None:
    block = np.arange(4.0)

    @kw.kernel
    def looks_far(a, b, n):
        b[n] = a[0]
        return b

    with pytest.raises(IndexError, match="index 9 is out of range for dimension 0"):
        looks_far(block, block, 9)
    assert looks_far(block, block, 3)[3] == 0.0
