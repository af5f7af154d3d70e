"""What a freer mode takes beside a stricter one: default over strict and fast over default.

`mode_times.py [WORD…]` measures the kernels of mode_kernels.py and those of the gallery at their smallest
size (with words only those whose name holds one) and prints a table; `--json` prints
{name: {mode: [seconds, …]}}.
The modes take turns in one process, on one thread; a figure is the fastest call of its turn.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mode_kernels

import kernelwright as kw

sys.path.insert(0, str(Path(__file__).resolve().parent / "gallery"))

from families import CASES

MODES = ("strict", "default", "fast")
ROUNDS, SECONDS = 9, 0.04

Times = dict[str, list[float]]


def all_cases() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    of_gallery = {
        name: (case.kernel.__wrapped__, case.arguments(next(iter(case.sizes))))
        for name, case in CASES.items()
    }
    return {**mode_kernels.cases(), **of_gallery}


def fastest(kernel: Callable[..., Any], args: tuple[Any, ...]) -> float:
    best, until = float("inf"), time.perf_counter() + SECONDS
    while (start := time.perf_counter()) < until:
        kernel(*args)
        best = min(best, time.perf_counter() - start)
    return best


def measure(function: Any, args: tuple[Any, ...]) -> Times:
    kernels = {mode: kw.kernel(fp=mode)(function) for mode in MODES}
    times: Times = {mode: [] for mode in MODES}
    for kernel in kernels.values():
        kernel(*args)
    for round_ in range(ROUNDS):
        for mode in MODES if round_ % 2 else reversed(MODES):
            times[mode].append(fastest(kernels[mode], args))
    return times


def ratio(times: Times, freer: str, stricter: str) -> float:
    """The median over rounds."""
    return statistics.median(f / s for f, s in zip(times[freer], times[stricter], strict=True))


def table(found: dict[str, Times]) -> str:
    lines = [
        "| kernel | strict, ms | default, ms | fast, ms | default over strict | fast over default |",
        "|---|---|---|---|---|---|",
    ]
    for name, times in found.items():
        cells = [f"{1e3 * statistics.median(times[mode]):.3g}" for mode in MODES]
        cells += [f"{ratio(times, 'default', 'strict'):.2f}", f"{ratio(times, 'fast', 'default'):.2f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    warnings.simplefilter("ignore")
    kw.set_threads(1)
    words = [word for word in sys.argv[1:] if word != "--json"]
    found = {
        name: measure(function, args)
        for name, (function, args) in all_cases().items()
        if not words or any(word in name for word in words)
    }
    print(json.dumps(found) if "--json" in sys.argv else table(found))


if __name__ == "__main__":
    main()
