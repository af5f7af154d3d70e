"""Kernels of hundreds of statements, which are compiled with fewer passes, give CPython's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kernelwright as kw

LENGTH = 300
HEAD = "def long(x, y):\n"
LOOP = HEAD + "    for i in range(x.shape[0]):\n"


def lines(text: str) -> str:
    """A line of `text` for each number, which stands for K in it."""
    return "".join(text.replace("K", str(k)) + "\n" for k in range(LENGTH))


TEXTS = {
    "stores": LOOP + lines("        y[i, K] = x[i] * K.5"),
    "rows": LOOP + lines("        y[K, i] += x[i] * K.5"),
    "in turn": LOOP + "        a = x[i]\n" + lines("        a = a * 0.5 + K.0") + "        y[0, i] = a\n",
    "outside of loops": HEAD + lines("    y[0, 0] += x[K % 7] * K.0"),
    "branches": LOOP + lines("        if x[i] < K.5:\n            y[K, i] = K.0"),
    "a chain": LOOP + "        if x[i] < 0.0:\n            y[0, i] = 1.0\n"
    + lines("        elif x[i] < K.5:\n            y[0, i] = K.0"),
    "locals": LOOP + lines("        tK = x[i] * K.0\n        if x[i] < K.5:\n            tK = 0.5")
    + lines("        y[i, K] = tK"),
    "locals that are handed on": HEAD + lines("    tK = 0.0") + "    for i in range(x.shape[0]):\n"
    + lines("        if x[i] < K.5:\n            tK = x[i]\n        y[i, K] = tK"),
    "sums": HEAD + lines("    tK = 0.0") + "    for i in range(x.shape[0]):\n"
    + lines("        tK += x[i] * K.0") + lines("    y[0, K] = tK"),
    "selections": HEAD + lines("    tK = 0.0\n    nK = -1") + "    for i in range(x.shape[0]):\n"
    + lines("        if x[i] % (K + 1) > tK:\n            tK = x[i] % (K + 1)\n            nK = i")
    + lines("    y[0, K] = tK\n    y[1, K] = nK"),
    "loops in a loop": LOOP + "        for j in range(3):\n" + lines("            y[i, j] += x[K % 7] + j"),
}  # fmt: skip


def function_of(text: str) -> Callable[..., Any]:
    space: dict[str, Any] = {}
    exec(compile(text, "<long>", "exec"), space)
    return space["long"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("fp", ["strict", "default", "fast"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_long_kernel(name: str, fp: str) -> None:
    """All numbers are exact in any order of sums but for those of "in turn", which has none."""
    text = TEXTS[name] + "    return y\n"
    kernel = kw.kernel(text, fp=fp)
    for length in (7, 900) if name in ("sums", "selections") else (7,):  # rows of lanes
        x, y = np.arange(length) * 43.0 % 301, np.zeros((LENGTH, LENGTH))
        expected = np.zeros_like(y)
        kernel(x, y)
        function_of(text)(x, expected)
        if name == "in turn" and fp != "strict":
            np.testing.assert_allclose(y, expected, rtol=1e-14)
        else:
            np.testing.assert_array_equal(y, expected)


def test_a_long_chain_is_read_below_many_calls() -> None:
    """CPython's compiler, which the text is compared with, counts the frames of its caller."""
    branches = "".join(f"        elif x[i] < {k}.5:\n            y[i, 0] = {k}.0\n" for k in range(1200))
    text = f"{LOOP}        if x[i] < 0.0:\n            y[i, 0] = 1.0\n{branches}    return y\n"
    kernel: Any = kw.kernel(text)

    def below(calls: int) -> Any:
        return below(calls - 1) if calls else kernel(np.arange(3.0), np.zeros((3, 1)))

    assert below(800)[:, 0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.filterwarnings("ignore::kernelwright.UninitializedReadWarning")
def test_many_places_of_an_output() -> None:
    """What is known to be written is forgotten after some of them; elements are zero all the same."""
    places = lines("        y[(i * 3 + K) % m] += x[i] * K.0")
    text = (
        "def long(x):\n    y = output_tensor(x.shape, x.dtype)\n    m = x.shape[0]\n"
        f"    for i in range(m):\n{places}    return y\n"
    )
    x, expected = np.arange(500.0), np.zeros(500)
    for i in range(500):
        for k in range(LENGTH):
            expected[(i * 3 + k) % 500] += x[i] * k
    np.testing.assert_array_equal(kw.kernel(text)(x), expected)


def test_loops_in_turn_within_a_loop() -> None:
    """More of them than count for how many threads one is worth."""
    loops = lines("        for i in range(x.shape[0]):\n            y[K, i] += x[i] + t")
    text = f"def long(x, y):\n    for t in range(3):\n{loops}    return y\n"
    x, y = np.arange(300.0), np.zeros((LENGTH, 300))
    kw.kernel(text)(x, y)
    np.testing.assert_array_equal(y, np.broadcast_to(3 * x + 3, y.shape))


@pytest.mark.filterwarnings("error")
def test_what_is_wholly_written_stays_known() -> None:
    places = lines("        y[(i * 3 + K) % m] *= x[i]")
    evens = "".join(f"    t[{k}] = 1.0\n" for k in [*range(0, 40, 2), *range(1, 40, 2)])
    text = (
        "def long(x):\n    y = output_tensor(x.shape, x.dtype)\n    t = allocate((40,), x.dtype)\n"
        f"    m = x.shape[0]\n{evens}    for i in range(m):\n        y[i] = t[i % 40]\n"
        f"    for i in range(m):\n{places}    return y\n"
    )
    np.testing.assert_array_equal(kw.kernel(text)(np.ones(50)), np.ones(50))
