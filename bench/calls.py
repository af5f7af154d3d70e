"""Cost of a call on 4x4 float32 arrays: kernelwright, NumPy and Numba in turn, in one process; and what each
captured global adds to a call, from kernels that compute the same with and without them.

Prints JSON {name: [ns, …]}.
"""

from __future__ import annotations

import functools
import json
import statistics
import timeit
from collections.abc import Callable

import numpy as np
from quiet import undisturbed

import kernelwright as kw
from kernelwright.examples import kernels

ROUNDS, LOOPS, PATIENCE = 15, 4000, 1.0
A, B, C, D, E, F, G, H = (float(n) for n in range(8))
GUARDS = 8


@kw.kernel
def captures_eight(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + A + B + C + D + E + F + G + H
    return c


@kw.kernel
def captures_none(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + 0.0 + 1.0 + 2.0 + 3.0 + 4.0 + 5.0 + 6.0 + 7.0
    return c


def candidates() -> dict[str, Callable[[], object]]:
    a = np.ones((4, 4), np.float32)
    b, out = a.copy(), np.empty_like(a)
    add = kernels.add
    add(a, b)
    row = np.ones(4, np.float32)
    captures_eight(row), captures_none(row)
    found: dict[str, Callable[[], object]] = {
        "empty loop": lambda: None,
        "captures eight": lambda: captures_eight(row),
        "captures none": lambda: captures_none(row),
        "kernelwright add(a, b)": lambda: add(a, b),
        "kernelwright add(a, b, out=out)": lambda: add(a, b, out=out),
        "NumPy a + b": lambda: a + b,
        "NumPy np.add(a, b, out=out)": lambda: np.add(a, b, out=out),
    }
    try:
        import numba
    except ImportError:
        return found

    @numba.njit
    def njit_add(x, y):  # type: ignore[no-untyped-def]
        c = np.empty(x.shape, x.dtype)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                c[i, j] = x[i, j] + y[i, j]
        return c

    njit_add(a, b)
    found["Numba njit add(a, b)"] = lambda: njit_add(a, b)
    return found


def main() -> None:
    functions = candidates()
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(ROUNDS):
        for name, f in functions.items():
            seconds = undisturbed(functools.partial(timeit.timeit, f, number=LOOPS), PATIENCE)
            times[name].append(seconds / LOOPS * 1e9)
    empty = statistics.median(times.pop("empty loop"))
    pairs = zip(times.pop("captures eight"), times.pop("captures none"), strict=True)
    guards = [(eight - none) / GUARDS for eight, none in pairs]
    calls = {name: [t - empty for t in series] for name, series in times.items()}
    print(json.dumps(calls | {"each captured global": guards}))


main()
