"""The kernels of the gallery compiled for GPUs, without one: time, registers, spills, predicted time.

`python bench/gpu/compiled.py [KERNEL ...] [--device sm_80,sm_90,sm_100]` prints a table for each device.
Each table is made by a process of its own with an empty cache. NVRTC is open before the first kernel of the
table, so "ms" is our compilation and NVRTC's; "again" is what a new kernel of the same text takes that finds
all in the cache on disk. "least us" is what the largest case takes on an H100 at best: its bytes, each once,
at the rate that one was seen to copy, or its operations at one for each lane and cycle, whichever is more;
"-" where they cannot be counted.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parents[1]
COPY_RATE = 3.0e12  # bytes read and written each second, of an H100 SXM (measured once by a copy kernel)
# instructions of all lanes each second: 132 multiprocessors with 128 lanes, half as many for f64, at 1.7 GHz
FLOAT32_RATE, FLOAT64_RATE = 132 * 128 * 1.7e9, 132 * 64 * 1.7e9


def least_time(case: Any) -> float:
    """Seconds of a call of the largest case by its bytes or its operations; 0 where they are not known."""
    from kernelwright.measure.bench import work_of

    work, _ = work_of(case.kernel, case.arguments(list(case.sizes)[-1]))
    if work.unknown:
        return 0.0
    computing = work.float32 / FLOAT32_RATE + work.float64 / FLOAT64_RATE
    return max(work.bytes / COPY_RATE, computing)


def row(case: Any, device: str) -> tuple[float, str]:
    """Milliseconds of the compilation, and the line of the table."""
    import kernelwright as kw

    arguments = case.arguments(next(iter(case.sizes)))
    start = time.perf_counter()
    case.kernel.warmup(*arguments, device=device)
    milliseconds = 1e3 * (time.perf_counter() - start)
    start = time.perf_counter()
    found = kw.kernel(case.kernel.__wrapped__).warmup(*arguments, device=device)
    again = 1e3 * (time.perf_counter() - start)
    if not all(version.was_cached for version in found):
        again = math.nan
    launches = case.kernel.explain(*arguments, device=device).versions[-1].launches
    seconds = least_time(case)
    least = f"{1e6 * seconds:9.1f}" if seconds else "        -"
    threads = ", ".join(str(launch.threads) for launch in launches)
    registers = max(launch.registers or 0 for launch in launches)
    spilled = sum(launch.spilled or 0 for launch in launches)
    line = (
        f"  {case.name:22} {milliseconds:8.1f} {again:6.1f} {len(launches):9} {threads[:18]:>20} "
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
    times = f"{'ms':>8} {'again':>6}"
    heads = f"{times} {'launches':>9} {'threads':>20} {'registers':>10} {'spilled':>8} {'least us':>9}"
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
