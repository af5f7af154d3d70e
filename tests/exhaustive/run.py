"""The long run over the elementary functions, `make exhaustive`: all float32 arguments, random float32 pairs,
and random float64 arguments against mpmath. Writes results.md beside it; not part of the test run.
"""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

import numpy as np  # noqa: E402
from math_points import FUNCTIONS, POINTS, coordinates, exact_error, kernel_of, points, powers  # noqa: E402

import kernelwright as kw  # noqa: E402

BINARY = HERE.parent.parent / "build" / "tests" / "kw_exhaustive"
PAIRS = {"atan2": 1.0, "power": 1.0, "fmod": 0.0}
Row = tuple[str, str, str, float, float, float]  # function, dtype, points, worst error, bound, seconds


def float32_row(name: str, *numbers: int) -> Row:
    """By the C++ program; mpmath judges what that cannot. Raises when a kernel fails."""
    begin = time.monotonic()
    command = [str(BINARY), name, *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    worst = bound = float("nan")
    judged = 0.0
    for line in done.stdout.splitlines():
        kind, _, *words = line.split()
        if kind == "worst":
            worst, bound = float(words[0]), float(words[1])
            continue
        x, y, got = (float.fromhex(w) for w in words[:3])
        arguments = (x, y) if name in PAIRS else (x,)
        judged = max(judged, exact_error(name, np.float32(got), *arguments))
    # a point near the bound counts as mpmath says, all others lie below every such point
    worst = judged if judged else worst
    what = f"{numbers[0]:,} pairs" if name in PAIRS else "all" if numbers == (1,) else f"every {numbers[0]}th"
    return (name, "float32", what, worst, bound, time.monotonic() - begin)


def float64_row(name: str, count: int, seed: int) -> Row:
    """Every point by mpmath."""
    begin = time.monotonic()
    kernel = kw.kernel(kernel_of(name))
    rng = np.random.default_rng(seed)
    worst, done = 0.0, 0
    while done < count:
        x = points(name, "float64", rng)
        errors = [exact_error(name, g, v) for g, v in zip(kernel(x), x.tolist(), strict=True)]
        worst = max(worst, *errors)
        done += len(x)
    return (name, "float64", f"{done:,}", worst, FUNCTIONS[name][0], time.monotonic() - begin)


def float64_pairs_row(name: str, count: int, seed: int) -> Row:
    """Every pair by mpmath; the remainder is exact, so NumPy's bits are the judge."""
    begin = time.monotonic()
    kernel = kw.kernel(kernel_of(name, 2))
    rng = np.random.default_rng(seed)
    worst, done = 0.0, 0
    while done < count:
        x, y = (powers if name == "power" else coordinates)("float64", rng)
        got = kernel(x, y)
        if name == "fmod":
            with np.errstate(all="ignore"):
                same = np.array_equal(got, np.fmod(x, y), equal_nan=True)
            worst = worst if same else float("inf")
        else:
            of = zip(got, x.tolist(), y.tolist(), strict=True)
            worst = max(worst, *(exact_error(name, g, v, w) for g, v, w in of))
        done += len(x)
    return (name, "float64", f"{done:,} pairs", worst, PAIRS[name], time.monotonic() - begin)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("stride", nargs="?", type=int, default=1, help="over the float32 bit patterns")
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--points", type=int, default=5 * POINTS, help="float64 points of each function")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"seed {options.seed}, {os.cpu_count()} processes", flush=True)
    begin = time.monotonic()
    rows: list[Row] = []
    with ProcessPoolExecutor() as pool:
        jobs: list[Future[Row]] = []
        for name in ("sqrt", *FUNCTIONS):
            jobs.append(pool.submit(float32_row, name, options.stride))
        jobs += [pool.submit(float32_row, name, options.pairs, options.seed) for name in PAIRS]
        jobs += [pool.submit(float64_row, name, options.points, options.seed) for name in FUNCTIONS]
        jobs += [pool.submit(float64_pairs_row, name, options.points, options.seed) for name in PAIRS]
        for job in jobs:
            rows.append(job.result())
            name, dtype, what, worst, bound, seconds = rows[-1]
            print(
                f"{name:8} {dtype} {what:>16}: {worst:.6f} ULP, bound {bound:g}, {seconds:.0f} s", flush=True
            )
    minutes = (time.monotonic() - begin) / 60
    lines = [
        "# Errors of the elementary functions",
        f"`make exhaustive` on {datetime.date.today()}, seed {options.seed}, {minutes:.0f} min on",
        f"{os.cpu_count()} cores, their load {os.getloadavg()[2]:.1f} at the end. In units of the last",
        "place; float32 against the C library, points near the bound and float64 against mpmath.",
        "",
        "| function | dtype | points | worst | bound |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {n} | {d} | {what} | {worst:.6f} | {bound:g} |" for n, d, what, worst, bound, _ in rows]
    (HERE / "results.md").write_text("\n".join(lines) + "\n")
    return int(any(not worst <= bound for *_, worst, bound, _ in rows))


if __name__ == "__main__":
    raise SystemExit(main())
