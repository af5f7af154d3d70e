"""What an error of a call says of the call: a note with the types and extents of the arguments."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest

import kernelwright as kw

ONES = np.ones(3, np.float32)


@kw.kernel
def add(a, b, factor: float = 2.0):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + factor * b[i]
    return c


@pytest.mark.parametrize(
    ("args", "note"),
    [
        ((ONES, np.ones((2, 2))), "in the call add(a: float32[3], b: float64[2, 2], factor: float)"),
        ((ONES, "text", 1), "in the call add(a: float32[3], b: str, factor: int)"),
        ((ONES.astype(object), ONES), "in the call add(a: object[3], b: float32[3], factor: float)"),
    ],
)
def test_errors_about_arguments_say_how_it_was_called(args: tuple[Any, ...], note: str) -> None:
    """As a note, which Python prints below the message from 3.11 on."""
    with pytest.raises(kw.KernelTypeError) as caught:
        add(*args)
    assert caught.value.__notes__ == [note]  # type: ignore[attr-defined]


@kw.kernel
def pick(a, k):
    c = output_tensor(k.shape, a.dtype)
    for i in range(k.shape[0]):
        c[i] = a[k[i]]
    return c


def test_errors_of_a_run_say_how_it_was_called() -> None:
    """From a first call, from one like the last, and with the array of another library or layout."""
    wide, good, bad = np.ones(6, np.float32)[::2], np.arange(3), np.array([0, 7, 1])
    note = "in the call pick(a: float32[3], k: int64[3])"
    for a in (ONES, wide):
        for before in ((), (good,), (good, good)):
            for k in before:
                pick(a, k)
            with pytest.raises(kw.KernelIndexError) as caught:
                pick(a, bad)
            assert caught.value.code == "E303"
            assert caught.value.__notes__ == [note]  # type: ignore[attr-defined]


def test_where_python_has_no_notes_the_message_holds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    pick(ONES, np.arange(3))
    monkeypatch.setattr(sys, "version_info", (3, 10))
    with pytest.raises(kw.KernelIndexError) as caught:
        pick(ONES, np.array([9]))
    assert not hasattr(caught.value, "__notes__")
    message, note = str(caught.value).split("\n")[0], str(caught.value).split("\n")[-1]
    assert message.endswith("index 9 is out of range for dimension 0 of 'a', whose extent is 3 (valid 0..2)")
    assert note == "      = note: in the call pick(a: float32[3], k: int64[1])"


def test_notes_are_for_errors_of_this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_: Any, **__: Any) -> None:
        error = SystemExit(3)
        error.__notes__ = ["mine"]  # type: ignore[attr-defined]
        raise error

    unread = kw.kernel("def k(a):\n    b = output_tensor((2,), a.dtype)\n    b[0] *= a[0]\n    return b\n")
    monkeypatch.setattr("warnings.showwarning", leave)
    with warnings.catch_warnings(), pytest.raises(SystemExit) as caught:
        warnings.simplefilter("always")
        monkeypatch.setattr("warnings.showwarning", leave)
        unread(ONES)
    assert caught.value.__notes__ == ["mine"]  # type: ignore[attr-defined]
