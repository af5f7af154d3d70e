"""Sums in lanes on every target that this machine runs, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelwright as kw

PROGRAM = Path(__file__).with_name("lane_sums.py")


@pytest.mark.parametrize("target", ["host", "avx2,grain=4", "generic,grain=0"])
def test_machine_code_sums_as_the_interpreter_does(target: str) -> None:
    seed = int(os.environ.get("KW_TEST_SEED", "11"))
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(seed), "14"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "KW_TARGET": target},
    )
    if "cannot run code for" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, f"seed {seed}\n{done.stdout}{done.stderr}"


@kw.kernel
def nearly_rectangular(x):
    n, m = x.shape
    s = output_tensor((n,), x.dtype)
    for i in range(n):
        s[i] = 0.0
        if i > 0:
            s[i] = x[i - 1, 0]
        for k in range(3):
            for j in range(max(1 - i - k, 0), m):
                s[i] += x[k, j]
    return s


@kw.kernel
def nearly_one_place(x):
    n, m = x.shape
    s = output_tensor((n,), x.dtype)
    for i in range(n):
        s[i] = 0.0
        if i > 0:
            s[i] = x[i - 1, 0]
        for k in range(n):
            for j in range(m):
                s[min(i + k, i)] += x[k, j]
    return s


@pytest.mark.parametrize("kernel", [nearly_rectangular, nearly_one_place])
def test_borders_that_are_cut_off_change_no_order(kernel: kw.Kernel) -> None:
    x = np.random.default_rng(3).normal(size=(17, 100)).astype(np.float32)
    checked = kw.kernel(debug=True)(kernel.__wrapped__)
    np.testing.assert_array_equal(kernel(x), checked(x))
