"""One measurement in a new process; prints milliseconds as JSON: what was measured, then the loops beside it.

`probe.py import`, `probe.py first NAME…`; `probe.py scalar NAME…` calls them with a result that overlaps an
argument, so that it is the body for such calls, which is scalar code, that is compiled; `probe.py mindspore`
imports that layer, and `probe.py custom` makes and calls a custom operator of it.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from quiet import pulse

SPINNING = 0.15  # seconds for which NumPy's BLAS keeps the other cores busy after its import


def _arguments(name: str) -> tuple[np.ndarray[Any, Any], ...]:
    a = np.ones((4, 4), np.float32)
    return {"add": (a, a.copy()), "matmul": (a, a.copy()), "layernorm": (a, a[0].copy(), a[1].copy())}.get(
        name, (a,)
    )


def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] + b[i, j]
    return c


def _mindspore(calls: bool, beside: list[float]) -> list[list[float]]:
    """Time of the import of the layer, or of making and calling a custom operator after it."""
    start = time.perf_counter()
    from kernelwright.mindspore import Tensor, ops

    if calls:
        a = np.ones((2, 2), np.float32)
        beside.append(pulse())
        start = time.perf_counter()
        op = ops.Custom(add, lambda x, _: x, lambda x, _: x, func_type="akg")
        op(Tensor(a), Tensor(a))
    return [[(time.perf_counter() - start) * 1e3], [*beside, pulse()]]


def main() -> None:
    beside = [pulse()]
    if sys.argv[1] in ("mindspore", "custom"):
        print(json.dumps(_mindspore(sys.argv[1] == "custom", beside)))
        return
    start = time.perf_counter()
    import kernelwright

    imported = (time.perf_counter() - start) * 1e3
    assert kernelwright
    if sys.argv[1] == "import":
        print(json.dumps([[imported], [*beside, pulse()]]))
        return
    from kernelwright.examples import kernels

    time.sleep(SPINNING)
    times, beside = [], [pulse()]
    for name in sys.argv[2:]:
        kernel, args, out = getattr(kernels, name), _arguments(name), None
        if sys.argv[1] == "scalar":
            memory = np.ones((5, 4), np.float32)
            args, out = (memory[:4], *args[1:]), memory[1:]
        start = time.perf_counter()
        kernel(*args, out=out)
        times.append((time.perf_counter() - start) * 1e3)
        beside.append(pulse())
    print(json.dumps([times, beside]))


main()
