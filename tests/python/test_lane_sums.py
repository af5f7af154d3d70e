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


TERMS = {
    "products": "t# += x[i] * #.5",
    "squares": "t# += (x[i] - #.5) * (x[i] - #.5)",
    "factors": "t# *= 1.0 + x[i] * 0.#1",
    "functions": "t# += exp(x[i]) * #.5",
    "guarded": "if x[i] > 0.#2:\n            t# += x[i]",
    "guarded elements": "if x[i] > 0.#2:\n            y[#] += x[i]",
}


def together(terms: list[str], numbers: list[int], wide: bool = False) -> kw.Kernel:
    """The sums of these numbers in one loop, with terms in turn; each goes to an element of `y`, beside what
    was in it. With `wide`, every third number has a sum of float64 too.
    """
    beside = [n for n in numbers if wide and n % 3 == 0]
    lines = ["def k(x, y):"]
    lines += [f"    t{n} = y[{n}]" for n in numbers] + [f"    u{n} = 0.0" for n in beside]
    lines += ["    for i in range(x.shape[0]):"]
    lines += ["        " + terms[n % len(terms)].replace("#", str(n)) for n in numbers]
    lines += [f"        u{n} += float64(x[i]) * {n}.0" for n in beside]
    lines += [f"    y[{n}] += t{n}" + (f" + u{n}" if n in beside else "") for n in numbers]
    return kw.kernel("\n".join([*lines, "    return y", ""]))


@pytest.mark.parametrize("count", [9, 40, 70])
def test_many_sums_of_all_kinds_are_those_of_loops_of_their_own(count: int) -> None:
    rng, terms = np.random.default_rng(6), list(TERMS.values())
    kernel = together(terms, list(range(count)), wide=True)
    alone = {n: together(terms, [n], wide=True) for n in range(0, count, 4)}
    for length in (63, 64, 200, 5000, 70_000):
        x, begin = rng.random(length).astype(np.float32), rng.random(count).astype(np.float32)
        y = kernel(x, begin.copy())
        for n, one in alone.items():
            np.testing.assert_array_equal(y[n], one(x, begin.copy())[n], f"{length} {n}")


def beside_a_loop(count: int) -> kw.Kernel:
    lines = ["def k(x, z, w, y):", "    for i in range(x.shape[0]):", "        for j in range(z.shape[1]):"]
    lines += ["            if z[i, j] > 0.3:", "                w[i] += z[i, j]"]
    lines += [f"        y[{n}] += x[i] * {n}.5" for n in range(count)] + ["    return w, y"]
    return kw.kernel("\n".join(lines) + "\n")


def test_many_sums_leave_those_of_inner_loops_as_they_are() -> None:
    rng = np.random.default_rng(7)
    few, many = beside_a_loop(2), beside_a_loop(40)
    for length in (5, 63, 64):
        x, z = rng.random(length), rng.random((length, 20_000))
        w, y = many(x, z, np.zeros(length), np.zeros(40))
        w2, y2 = few(x, z, np.zeros(length), np.zeros(40))
        np.testing.assert_array_equal(w, w2)
        np.testing.assert_array_equal(y[:2], y2[:2])


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("count", [9, 40])
def test_many_sums_in_a_loop_are_those_of_loops_of_their_own(name: str, count: int) -> None:
    """From 8 on they share the code that counts blocks; more than 32 keep no terms of short loops."""
    rng = np.random.default_rng(5)
    kernel = together([TERMS[name]], list(range(count)))
    alone = {n: together([TERMS[name]], [n]) for n in (0, 3, count - 1)}
    for dtype in (np.float32, np.float64):
        for length in (0, 1, 63, 64, 65, 4096, 4200, 70_000):
            x, begin = rng.random(length).astype(dtype), rng.random(count).astype(dtype)
            y = kernel(x, begin.copy())
            for n, one in alone.items():
                np.testing.assert_array_equal(y[n], one(x, begin.copy())[n], f"{dtype} {length} {n}")


@kw.kernel
def rows_that_count(x, wanted):
    s = output_tensor((1,), x.dtype)
    total = 0.0
    for i in range(x.shape[0]):
        if wanted[i] > 0:
            for j in range(x.shape[1]):
                total += x[i, j]
    s[0] = total
    return s


@pytest.mark.parametrize("columns", [70, 3000, 5000])
def test_a_condition_leaves_out_several_blocks_in_a_row(columns: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.random((40 * 3000 // columns, columns)) * 10.0 ** rng.integers(-8, 8, (40 * 3000 // columns, 1))
    wanted = np.zeros(len(x), np.int64)
    wanted[[0, 1, -3]] = 1  # between them more than 8,192 iterations add nothing
    machine = rows_that_count(x, wanted)
    with kw.debug("interp"):
        assert machine[0] == rows_that_count(x, wanted)[0]
