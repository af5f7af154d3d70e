"""Two builds against each other: `ab.py OLD NEW [KERNEL…]`, each the folder that holds the package.

Builds take turns row by row, each with a cache of its own and in new processes for each round. Prints for
each number of threads the ratio of speeds (old time / new time) of each row of the gallery, and their
geometric mean; then ratios of times (new / old) of what surrounds the kernels. `--around` leaves out the
gallery.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SECONDS = 0.02  # that one sample of a row takes about
PLACES = 4  # of the arrays in memory, in each process, and processes around the kernels: the best counts
SLOW = 0.95  # a row below this ratio of speeds is named
SCRIPTS = {"call": "calls.py", "operator": "operators.py"}

Series = dict[str, list[float]]


class Build:
    """A build and the environment in which its processes run."""

    def __init__(self, path: str, scratch: Path, number: int) -> None:
        self.path = Path(path).resolve()
        if not (self.path / "kernelwright").is_dir():
            raise SystemExit(f"ab.py: {self.path} holds no package kernelwright")
        self.scratch = scratch / str(number)
        self.scratch.mkdir()

    def environment(self, **more: str) -> dict[str, str]:
        own = {"PYTHONPATH": str(self.path), "KW_CACHE_DIR": str(self.scratch / "cache"), **more}
        # imports are measured as users have them, from bytecode
        own["PYTHONPYCACHEPREFIX"] = str(self.scratch / "bytecode")
        clean = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        return {**clean, "OPENBLAS_NUM_THREADS": "1", **own}

    def run(self, script: str, *arguments: str, **more: str) -> tuple[str, str]:
        """Runs a script; returns what it wrote to stdout and to stderr."""
        command = [sys.executable, str(HERE / script), *arguments]
        # in a file: a reader at the other end of a pipe would run beside each line that is written
        with tempfile.TemporaryFile("w+") as err:
            environment = self.environment(**more)
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=err, text=True, check=True, env=environment
            )
            err.seek(0)
            return done.stdout, err.read()


class Engine:
    """The process that runs the gallery of one build."""

    def __init__(self, build: Build, threads: int) -> None:
        command = [sys.executable, str(HERE / "gallery" / "engine.py"), "placed", str(build.scratch)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=build.environment(KW_THREADS=str(threads)),
        )
        self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("ab.py: the process of a build ended")
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return self.answer()

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def gallery_rows(names: list[str], all_sizes: bool) -> list[tuple[str, str]]:
    sys.path.insert(0, str(HERE / "gallery"))
    from families import CASES

    unknown = sorted(set(names) - set(CASES))
    if unknown:
        raise SystemExit(f"ab.py: no kernel of the gallery is named {', '.join(unknown)}")
    wanted = {name: case for name, case in CASES.items() if not names or name in names}
    return [(n, size) for n, case in wanted.items() for size in list(case.sizes)[: None if all_sizes else 1]]


def ratio(old: list[float], new: list[float]) -> float:
    return statistics.median(old) / statistics.median(new)


def measure_gallery(builds: list[Build], rows: list[tuple[str, str]], threads: int, rounds: int) -> None:
    times: dict[tuple[str, str], list[list[float]]] = {row: [[], []] for row in rows}
    faults: dict[tuple[str, str], Any] = {}
    for number in range(rounds):
        # Where arrays and code lie decides up to a third of the time of a short row, in both builds alike:
        # each round has new processes, and each process tries several places.
        engines = [Engine(b, threads) for b in builds]
        for row in random.Random(number).sample(rows, len(rows)):
            best = [math.inf, math.inf]
            for _ in range(PLACES):
                ready = [e.ask(prepare=row[0], size=row[1]) for e in engines]
                if wrong := [r for r in ready if "bytes" not in r]:
                    faults[row] = wrong[0]
                    break
                for k in (0, 1) if number % 2 == 0 else (1, 0):
                    best[k] = min(best[k], float(engines[k].ask(measure=SECONDS)["seconds"]))
            for k in (0, 1):
                times[row][k].append(best[k])
        for engine in engines:
            engine.close()
    ratios: list[float] = []
    print(f"\n{threads} thread{'s' * (threads > 1)}: old time / new time, median of {rounds}")
    for (name, size), series in times.items():
        if (name, size) in faults:
            print(f"  {name:24} {size:8} {faults[name, size]}")
            continue
        ratios.append(ratio(*series))
        mark = "  <-- slower" if ratios[-1] < SLOW else ""
        print(f"  {name:24} {size:8} {statistics.median(series[1]) * 1e6:12.2f} us {ratios[-1]:6.3f}{mark}")
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        few = sum(r < SLOW for r in ratios)
        print(f"  geometric mean {mean:.3f}, {few} of {len(ratios)} rows below {SLOW}", flush=True)


def _series_of(build: Build, script: str) -> Series:
    found: Series = json.loads(build.run(script)[0])
    return found


def _milliseconds(build: Build, *arguments: str, cache: bool = False) -> list[float]:
    """Of a process in a new cache, or in that of the processes before it."""
    with tempfile.TemporaryDirectory() as fresh:
        more = {} if cache else {"KW_CACHE_DIR": fresh}
        times, _ = json.loads(build.run("probe.py", *arguments, **more)[0])
    return [float(t) for t in times]


def _scheduler(build: Build) -> list[float]:
    """Milliseconds for each kernel of the gallery; builds before #27 call the stage choose_cpu."""
    _, reports = build.run("scheduler.py", KW_DEBUG="time; cache=off")
    stage = re.compile(r"^\[kw\] \w+ +(?:schedule|choose_cpu) +([\d.]+) ms$", re.MULTILINE)
    return [float(t) for t in stage.findall(reports)]


def measure_around(builds: list[Build], rounds: int) -> None:
    kernels = ("add", "softmax", "matmul")
    probes: dict[str, Callable[[Build], list[float]]] = {
        "import": lambda b: _milliseconds(b, "import"),
        "cold compile": lambda b: _milliseconds(b, "first", *kernels),
        "cached first call": lambda b: _milliseconds(b, "first", *kernels, cache=True),
        "scheduler p50": lambda b: [statistics.median(_scheduler(b))],
    }
    times: dict[str, list[list[float]]] = {}

    def note(what: str, k: int, value: float) -> None:
        times.setdefault(what, [[], []])[k].append(value)

    for b in builds:
        _milliseconds(b, "first", *kernels, cache=True)
    for number in range(rounds):
        for k in (0, 1) if number % 2 == 0 else (1, 0):
            for what, probe in probes.items():
                note(what, k, min(sum(probe(builds[k])) for _ in range(PLACES)))
            for script in SCRIPTS.values():
                found = [_series_of(builds[k], script) for _ in range(PLACES)]
                for what in found[0]:
                    note(what, k, min(statistics.median(series[what]) for series in found))
    print(f"\nnew time / old time, median of {rounds}")
    for what, (old, new) in times.items():
        print(f"  {what:36} {statistics.median(new):12.3f} {1 / ratio(old, new):6.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--sizes", choices=("first", "all"), default="all")
    parser.add_argument("--around", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        builds = [Build(p, Path(scratch), k) for k, p in enumerate((asked.old, asked.new))]
        if not asked.around:
            rows = gallery_rows(asked.kernels, asked.sizes == "all")
            for threads in map(int, asked.threads.split(",")):
                measure_gallery(builds, rows, threads, asked.rounds)
        if not asked.kernels:
            measure_around(builds, asked.rounds)


if __name__ == "__main__":
    main()
