"""The kernels of the gallery compiled for GPUs, without one: time, registers, spills, predicted time.

`python bench/gpu/compiled.py [KERNEL ...] [--device sm_80,sm_90,sm_100]` prints a table for each device.
Each table is made by a process of its own with an empty cache. NVRTC is open before the first kernel of the
table, so "ms" is our compilation and NVRTC's. "least us" is the time of the bytes that the largest case
moves, at the rate that an H100 was seen to copy; what a kernel does besides is not in it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

BENCH = Path(__file__).resolve().parents[1]
COPY_RATE = 3.0e12  # bytes read and written each second, of an H100 SXM (measured once by a copy kernel)


def bytes_moved(case: Any) -> int:
    """Bytes of the arrays that a call of the largest case reads and makes."""
    arguments = case.arguments(list(case.sizes)[-1])
    results = case.kernel(*arguments)
    arrays = (*arguments, *(results if isinstance(results, tuple) else (results,)))
    return sum(a.nbytes for a in {id(a): a for a in arrays}.values() if isinstance(a, np.ndarray))


def row(case: Any, device: str) -> tuple[float, str]:
    """Milliseconds of the compilation, and the line of the table."""
    arguments = case.arguments(next(iter(case.sizes)))
    start = time.perf_counter()
    case.kernel.warmup(*arguments, device=device)
    milliseconds = 1e3 * (time.perf_counter() - start)
    launches = case.kernel.explain(*arguments, device=device).versions[-1].launches
    least = f"{1e6 * bytes_moved(case) / COPY_RATE:9.1f}" if case.limit else "        -"
    threads = ", ".join(str(launch.threads) for launch in launches)
    registers = max(launch.registers or 0 for launch in launches)
    spilled = sum(launch.spilled or 0 for launch in launches)
    line = (
        f"  {case.name:22} {milliseconds:8.1f} {len(launches):9} {threads[:18]:>20} "
        f"{registers:10} {spilled:8} {least}"
    )
    return milliseconds, line


def compile_all(names: list[str], device: str) -> None:
    sys.path.insert(0, str(BENCH / "gallery"))
    from families import CASES

    import kernelwright as kw

    warnings.simplefilter("ignore")
    opener = kw.kernel("def opens_nvrtc(a):\n    a[0] = 1.0\n    return a\n")
    start = time.perf_counter()
    opener.warmup("f32[:]", device=device)
    print(
        f"\n{device}: {1e3 * (time.perf_counter() - start):.0f} ms for the first kernel, NVRTC opened with it"
    )
    heads = f"{'ms':>8} {'launches':>9} {'threads':>20} {'registers':>10} {'spilled':>8} {'least us':>9}"
    print(f"  {'':22} {heads}")
    rows = [row(CASES[name], device) for name in (names or CASES)]
    print("\n".join(line for _, line in rows))
    times = [milliseconds for milliseconds, _ in rows]
    print(f"  median {statistics.median(times):.1f} ms, slowest {max(times):.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--device", default="sm_80,sm_90,sm_100")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        return compile_all(given.kernels, given.device)
    for device in given.device.split(","):
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable, __file__, "--here", "--device", device, *given.kernels]
            subprocess.run(command, check=True, env={**os.environ, "KW_CACHE_DIR": cache})
    return None


if __name__ == "__main__":
    main()
