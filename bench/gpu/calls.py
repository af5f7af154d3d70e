"""Time of a call that launches a kernel, until it returns: on the stand-in of the driver, or on a GPU.

`python bench/gpu/calls.py [--device]` prints medians of 15 rounds of 1,000 calls from Python, and what
launches.cpp measures in C++ where this build has it. The stand-in keeps launches until somebody waits for
them, and its own time for that, a vector for each launch, is part of the figures.
"""

from __future__ import annotations

import functools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
CALLS, ROUNDS = 1000, 15

HEAD = "def f(a, b=0, d=0):\n    c = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n"
TEXTS = {  # with the number of arrays
    "1 array in place": (
        1,
        "def f(a):\n    for i in range(a.shape[0]):\n        a[i] = a[i] * 2\n    return a\n",
    ),
    "1 array, 1 result": (1, HEAD + "        c[i] = a[i] * 2\n    return c\n"),
    "3 arrays, 1 result": (3, HEAD + "        c[i] = a[i] * b[i] + d[i]\n    return c\n"),
}


def microseconds(call: Callable[[], Any], wait: Callable[[], None]) -> float:
    """The median time of one call."""
    call()
    rounds = []
    for _ in range(ROUNDS):
        wait()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        rounds.append(1e6 * (time.perf_counter() - start) / CALLS)
    wait()
    return statistics.median(rounds)


def main(arguments: list[str]) -> None:
    if "--device" not in arguments:
        sys.path.insert(0, str(ROOT / "tests" / "gpu" / "emulator"))
        import stand_ins

        os.environ.update(stand_ins.environment())
    import kernelwright as kw

    print(f"microseconds of a call that launches ({kw.cuda.device().name})")
    for name, (count, text) in TEXTS.items():
        kernel = kw.kernel(text)
        tensors = [kw.Tensor(np.ones(4, np.float32), device="cuda") for _ in range(count)]
        call = functools.partial(kernel, *tensors)
        print(f"  {name:20} {microseconds(call, kw.cuda.synchronize):6.2f}", flush=True)
    program = Path(str(kw.__file__)).parents[1] / "bench" / "kw_launches"
    if program.exists():
        # the stand-in executes a launch of 64 KB in milliseconds
        subprocess.run([program, *([] if "--device" in arguments else ["100", "5"])], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
