"""What the fuzzers found, each as its smallest kernel."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import _core

BIG = 2**63 - 1
BACKENDS = ("cache=off; interp", "cache=off")


def kernel(text: str) -> Any:
    """The kernel f of a text."""
    name = f"<found {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    return kw.kernel(space["f"])


@pytest.mark.parametrize("words", BACKENDS)
@pytest.mark.parametrize("again", ["n = a.shape[0]", "n += 2", "n, m = a.shape"])
def test_extent_by_a_name_assigned_twice(again: str, words: str) -> None:
    f = kernel(
        f"def f(a):\n    n = a.shape[0]\n    {again}\n    b = output_tensor((n,), a.dtype)\n    return b\n"
    )
    with kw.debug(words):
        assert f(np.zeros((3, 4))).shape == f.py(np.zeros((3, 4))).shape


@pytest.mark.parametrize("words", BACKENDS)
def test_extent_by_a_name_assigned_again_later(words: str) -> None:
    f = kernel(
        "def f(a):\n    n = a.shape[0]\n    out = output_tensor((n,), a.dtype)\n    n = 7\n    return out\n"
    )
    with kw.debug(words):
        assert f(np.zeros(3)).shape == (3,)


LONG_RANGES = (
    ("-1, BIG", (0, 0)),
    ("-BIG, 3", (0, 0)),
    ("3, -BIG, -1", (0, 0)),
    ("lo, hi", (-1, BIG)),
    ("lo, hi", (-BIG - 1, BIG)),
    ("hi, lo, -1", (-BIG, 3)),
    ("a.shape[0] - 1, -BIG, -1", (0, 0)),
    ("lo, hi, 3", (-BIG - 1, BIG)),
)


@pytest.mark.parametrize("words", BACKENDS)
@pytest.mark.parametrize(("bounds", "limits"), LONG_RANGES)
def test_loop_of_more_than_2_63_trips(bounds: str, limits: tuple[int, int], words: str) -> None:
    """It runs into the first bad index; it is not taken for an empty one."""
    loop = bounds.replace("BIG", str(BIG))
    f = kernel(f"def f(a, lo, hi):\n    for i in range({loop}):\n        a[i] = 1.0\n    return a\n")
    with kw.debug(words), pytest.raises(kw.KernelIndexError, match=r"E30[13]"):
        f(np.zeros(4), *limits)


@pytest.mark.parametrize("literal", ["f32.bits(9223372036854775808)", "f32.bits(0x1ffffffff)"])
def test_wide_bits_in_ir_are_refused_or_come_back(literal: str) -> None:
    f = kernel("def f(a):\n    for i in range(a.shape[0]):\n        a[i] = 1.5\n    return a\n")
    text = f.ir(np.zeros(3, "float32"))
    assert text.count("= f32(1.5)\n") == 1
    printed, error, same = _core.round_trip(text.replace("f32(1.5)", literal))
    assert same or (printed == "" and error != "")


PARSED = (
    "def f(a):\n    for a[0] in range(3):\n        pass\n    return a\n",
    "def f(a):\n    a[0] = 1 if a[0] > 0.7else 2\n    return a\n",
    "def f(a):\n    a[0] = 1.if a[1] > 2 else 3\n    return a\n",
    "def f(a):\n    a[0] = (a[1]\r + a[2])\n    return a\n",
)


@pytest.mark.parametrize("text", PARSED)
@pytest.mark.filterwarnings("ignore:invalid decimal literal")
def test_what_cpython_parses_is_not_called_malformed(text: str) -> None:
    compile(text, "<text>", "exec")
    assert "E100" not in _core.compile_text(text, [("float64", 1)])
