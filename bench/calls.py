"""Cost of a call on 4x4 float32 arrays: kernelwright, NumPy and Numba in turn, in one process.

Prints JSON {name: [ns, …]}.
"""

from __future__ import annotations

import json
import timeit
from collections.abc import Callable

import numpy as np

from kernelwright.examples import kernels

ROUNDS, LOOPS = 15, 50_000


def candidates() -> dict[str, Callable[[], object]]:
    a = np.ones((4, 4), np.float32)
    b, out = a.copy(), np.empty_like(a)
    add = kernels.add
    add(a, b)
    found: dict[str, Callable[[], object]] = {
        "empty loop": lambda: None,
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
            times[name].append(timeit.timeit(f, number=LOOPS) / LOOPS * 1e9)
    base = min(times.pop("empty loop"))
    print(json.dumps({name: [t - base for t in series] for name, series in times.items()}))


main()
