"""Warnings about hints: once per kernel and process, also when the code comes from the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import kernelwright as kw

PROGRAM = """
import warnings
import numpy as np
import kernelwright as kw

@kw.kernel
def scan(a):
    for i in parallel(1, a.shape[0]):
        a[i] += a[i - 1]
    return a

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for n in (3, 4, 0):
        for dtype in ("float32", "float64"):
            assert scan(np.ones(n, dtype)).tolist() == list(range(1, n + 1))
assert [w.category for w in seen] == [kw.HintIgnoredWarning], [str(w.message) for w in seen]
print("_llvm.so" in open("/proc/self/maps").read())
print(str(seen[0].message))
"""


def test_warnings_come_again_on_a_warm_start(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(program)],
            env={**clean, "KW_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.splitlines())
    assert [s[0] for s in said] == ["True", "False"]
    assert said[0][1:] == said[1][1:]
    assert said[0][1].startswith(f"{program}:8:14: warning[W401]: `parallel(i)` is false")


@kw.kernel
def sums(a):
    c = output_tensor((1,), a.dtype)
    s = float32(0.0)
    for i in parallel(a.shape[0]):
        s += a[i]
    c[0] = s
    return c


@pytest.mark.parametrize(("fp", "codes"), [("strict", ["W404"]), ("default", []), ("fast", [])])
def test_a_claim_depends_on_the_order_of_sums(fp: str, codes: list[str]) -> None:
    """Lanes give the same bits for any number of threads, so `parallel` is true of them."""
    kernel = kw.kernel(fp=fp)(sums.__wrapped__)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert kernel(np.ones(100, "float32")).tolist() == [100.0]
    assert [getattr(w.message, "code", "") for w in seen] == codes


def test_a_warning_can_stop_the_call() -> None:
    kernel = kw.kernel(fp="strict")(sums.__wrapped__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(kw.HintIgnoredWarning, match="W404"):
            kernel(np.ones(3, "float32"))


REFUTED_BY_IMPOSSIBLE_SIZES = """
def k(a):
    n = a.shape[0]
    if {}:
        for i in parallel(a.shape[0]):
            a[0] = 3.0
    return a
"""


@pytest.mark.parametrize("condition", ["n * n < 0", "n * n == 3"])
def test_no_example_is_made_of_what_is_no_size(condition: str) -> None:
    """Such a value may not be possible, so the claim is not called false and no size is told."""
    kernel = kw.kernel(REFUTED_BY_IMPOSSIBLE_SIZES.format(condition))
    with pytest.warns(kw.HintIgnoredWarning) as seen:
        kernel(np.ones(3))
    text = str(seen[0].message)
    assert "could not be proved: iterations of `i` may depend on each other" in text
    assert "for example" not in text and "a_0" not in text


def test_an_example_leaves_temporaries_an_extent() -> None:
    kernel = kw.kernel(
        "def k(a):\n    n = a.shape[0]\n    t = allocate((1 - n,), a.dtype)\n    for i in parallel(n):\n"
        "        a[0] = 3.0\n    return a\n"
    )
    with pytest.warns(kw.HintIgnoredWarning) as seen:
        kernel(np.ones(1))
    assert "is false" not in str(seen[0].message) and "n = 2" not in str(seen[0].message)


def twice(x):
    return x + x


@kw.kernel(fp="fast")
def sums_calls(a, b):
    c = output_tensor((1,), a.dtype)
    c[0] = 0
    for i in reduce(a.shape[0]):
        c[0] += b[i] * twice(a[i])
    return c


def test_an_element_that_is_read_ahead_of_a_call_makes_no_claim_false() -> None:
    """The old value is read for its subscript before the call, and nothing depends on that."""
    a = np.arange(100, dtype="float32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sums_calls(a, np.ones_like(a))[0] == 2 * a.sum()
    assert "@ lanes(i)" in sums_calls.ir(a, a)
