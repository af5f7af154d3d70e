"""Time of a call that launches a kernel, until it returns: on the stand-in of the driver, or on a GPU.

`python bench/gpu/calls.py [--device] [--tiny]` prints medians of 15 rounds of 1,000 calls from Python, and
what launches.cpp measures in C++ where this build has it. The calls from Python are measured without the
stand-in's launches: cuLaunchKernel does nothing there. A driver's own launch takes some 1.3 us.
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


class Foreign:
    """An array of another library, which describes the memory of a tensor."""

    __slots__ = ("__cuda_array_interface__", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.__cuda_array_interface__, self.tensor = tensor.__cuda_array_interface__, tensor


def with_nvrtc() -> dict[str, str]:
    """The environment for a program in C++, which finds no packages of Python."""
    sys.path.insert(0, str(ROOT / "tests" / "gpu"))
    import nvrtc

    found = nvrtc.path()
    given = {k: v for k, v in os.environ.items() if k != "KW_EMULATOR_LAUNCHES"}  # it reads results
    return {**({"KW_NVRTC": found} if found else {}), **given}


def microseconds(call: Callable[[], Any], wait: Callable[[], None], calls: int, rounds: int) -> float:
    """The median time of one call."""
    call()
    times = []
    for _ in range(rounds):
        wait()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append(1e6 * (time.perf_counter() - start) / calls)
    wait()
    return statistics.median(times)


def main(arguments: list[str]) -> None:
    if "--device" not in arguments:
        sys.path.insert(0, str(ROOT / "tests" / "gpu" / "emulator"))
        import stand_ins

        os.environ.update(stand_ins.environment())
        os.environ["KW_EMULATOR_LAUNCHES"] = "none"  # they take longer than our part
    import kernelwright as kw

    without = "" if "--device" in arguments else ", without its launches"
    tiny = "--tiny" in arguments
    calls, rounds = (10, 1) if tiny else (CALLS, ROUNDS)
    print(f"microseconds of a call that launches ({kw.cuda.device().name}{without})")
    for name, (count, text) in TEXTS.items():
        kernel = kw.kernel(text)
        tensors = [kw.Tensor(np.ones(4, np.float32), device="cuda") for _ in range(count)]
        for what, given in ((name, tensors), (f"{name}, foreign", [Foreign(t) for t in tensors])):
            call = functools.partial(kernel, *given)
            print(f"  {what:28} {microseconds(call, kw.cuda.synchronize, calls, rounds):6.2f}", flush=True)
    program = Path(str(kw.__file__)).parents[1] / "bench" / "kw_launches"
    if program.exists():
        # the stand-in executes a launch of 64 KB in milliseconds
        size = ["10", "1"] if tiny else [] if "--device" in arguments else ["100", "5"]
        sys.exit(subprocess.run([program, *size], env=with_nvrtc(), check=False).returncode)


if __name__ == "__main__":
    main(sys.argv[1:])
