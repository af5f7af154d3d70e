"""One measurement in a new process; prints milliseconds as JSON: what was measured, then the loops beside it.

`probe.py import`, `probe.py first NAME…`; `probe.py scalar NAME…` calls them with a result that overlaps an
argument, so that it is the body for such calls, which is scalar code, that is compiled.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from quiet import pulse


def _arguments(name: str) -> tuple[np.ndarray[Any, Any], ...]:
    a = np.ones((4, 4), np.float32)
    return {"add": (a, a.copy()), "matmul": (a, a.copy()), "layernorm": (a, a[0].copy(), a[1].copy())}.get(
        name, (a,)
    )


def main() -> None:
    beside = [pulse()]
    start = time.perf_counter()
    import kernelwright

    imported = (time.perf_counter() - start) * 1e3
    assert kernelwright
    if sys.argv[1] == "import":
        print(json.dumps([[imported], [*beside, pulse()]]))
        return
    from kernelwright.examples import kernels

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
