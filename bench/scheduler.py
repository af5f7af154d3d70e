"""Milliseconds that the scheduler takes for each kernel of the gallery: medians of several compilations.

`scheduler.py` compiles all of them once in a process of its own; `measure` runs that several times.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent


def measure(rounds: int) -> list[float]:
    times: dict[str, list[float]] = {}
    environment = {**os.environ, "KW_DEBUG": "time; cache=off"}
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, str(HERE / "scheduler.py")],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        for name, time in re.findall(r"^\[kw\] (\w+) +schedule +([\d.]+) ms$", done.stderr, re.MULTILINE):
            times.setdefault(name, []).append(float(time))
    return [statistics.median(series) for series in times.values()]


def main() -> None:
    sys.path.insert(0, str(HERE / "gallery"))
    from families import CASES

    warnings.simplefilter("ignore")
    for case in CASES.values():
        case.kernel(*case.arguments(next(iter(case.sizes))))


if __name__ == "__main__":
    main()
