"""The gallery: kernels as loops in Python beside the same loops in C, Numba and NumPy, all checked, in turn.

`run.py [NAME…]` prints a table and writes it, with all samples as JSON, to bench/results/. Each engine is a
process of its own; what is missing on the machine is named and left out.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import table
from engines import any_compiler, find_compiler, find_onednn
from families import CASES

import kernelwright as kw

HERE = Path(__file__).resolve().parent
ROUNDS, SECONDS = 7, 0.04


class Process:
    """One engine; started anew when it ended by itself."""

    def __init__(self, name: str, folder: str) -> None:
        self.name, self.folder = name, folder
        self.start()

    def start(self) -> None:
        threads = self.name.partition(" ")[2] or "1"
        names = ("KW_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
        # the threads of OpenBLAS go on for a while after each call, into what is measured next
        environment = {**os.environ, **dict.fromkeys(names, threads), "OPENBLAS_NUM_THREADS": "1"}
        environment["KW_CACHE_DIR"] = str(Path(self.folder) / "cache")
        self.child = subprocess.Popen(
            [sys.executable, str(HERE / "engine.py"), self.name, self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.child.stdout
        line = self.child.stdout.readline()
        found: dict[str, Any] = json.loads(line) if line else {"failed": "the process ended"}
        return found

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.child.stdin
        try:
            print(json.dumps(request), file=self.child.stdin, flush=True)
            found = self.answer()
        except BrokenPipeError:
            found = {"failed": "the process ended"}
        if self.child.poll() is not None:
            self.start()
        return found

    def end(self) -> None:
        assert self.child.stdin
        self.child.stdin.close()
        self.child.wait(timeout=60)


def version(command: str) -> str:
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.stdout else command


def choose_engines() -> tuple[dict[str, str], dict[str, str]]:
    """(name → what it is) of the engines of this machine, and (name → why not)."""
    import numpy

    two = (os.cpu_count() or 1) >= 2
    engines = {"kw 1": f"kernelwright {kw.__version__}", "unchecked 1": "kernels made with unchecked=True"}
    engines["out 1"] = "kernels called with out="
    engines["aligned 1"] = "kernels of arrays that begin at a line of the caches"
    engines["call 1"] = "a kernel with the same arguments that does nothing, taken off ours beside C"
    skipped: dict[str, str] = {}
    if not hasattr(kw, "set_threads"):
        skipped["kw 2"] = "kernels run in one thread yet"
    elif two:
        engines["kw 2"] = engines["unchecked 2"] = engines["out 2"] = engines["aligned 2"] = (
            "with two threads"
        )
    for name in table.C:
        path = find_compiler(name)
        if path:
            engines[name] = f"{version(path)}, -O3 -march=native"
            engines[f"{name}-fast"] = "with -ffast-math"
        else:
            skipped[name] = "not installed"
    if not any_compiler():
        skipped["limit"] = "needs a C compiler"
    else:
        engines["limit 1"] = "the fastest copy, or read, of as many bytes"
        if two:
            engines["limit 2"] = "the same by two threads"
    if importlib.util.find_spec("numba"):
        import numba

        engines["numba 1"] = f"Numba {numba.__version__}, njit"
        if two:
            engines["prange 2"] = "Numba, njit(parallel=True) with prange, two threads"
    else:
        skipped["numba"] = "not installed"
    engines["numpy"] = f"NumPy {numpy.__version__}, one thread"
    if not find_onednn() or not any_compiler():
        skipped["oneDNN"] = "not installed"
    else:
        engines["onednn 1"] = "oneDNN, one thread"
        if two:
            engines["onednn 2"] = "oneDNN, two threads"
    return engines, skipped


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "?")
    flags = next((x.split() for x in lines if x.startswith("flags")), [])
    width = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    return f"{model}, {width}, {os.cpu_count()} cores, Python {platform.python_version()}"


def measure_row(
    processes: dict[str, Process], name: str, size: str, rounds: int, seconds: float
) -> tuple[dict[str, Any], list[str]]:
    """One row of the table, and the engines that gave something wrong."""
    row: dict[str, Any] = {"kernel": name, "size": size, "shape": CASES[name].sizes[size]}
    row |= {"seconds": {}, "samples": {"quiet": 0, "busy": 0}}
    wrong: list[str] = []
    ready: list[str] = []
    for engine, process in processes.items():
        said = process.ask(prepare=name, size=size)
        if "bytes" in said:
            ready.append(engine)
            row["bytes"] = said["bytes"]
        elif "skip" not in said:
            wrong.append(f"{name} {size}, {engine}: {said.get('wrong') or said.get('failed')}")
    for turn in range(rounds):
        turned = turn % max(len(ready), 1)
        for engine in [*ready[turned:], *ready[:turned]]:
            said = processes[engine].ask(measure=seconds)
            if "seconds" in said:
                row["seconds"].setdefault(engine, []).append(said["seconds"])
                row["samples"]["quiet" if said["quiet"] else "busy"] += 1
    return row, wrong


def results_stem(kind: str, data: dict[str, Any]) -> Path:
    """Of the files of results: "…/gallery-DATE-CPU-WIDTH", since CPUs of one name differ in their vectors."""
    folder = HERE.parent / "results"
    folder.mkdir(exist_ok=True)
    cpu = re.sub(r"[^a-z0-9]+", "-", " ".join(data["machine"].split(",")[:2]).lower()).strip("-")
    return folder / f"{kind}-{data['date']}-{cpu}"


def write(data: dict[str, Any], whole: bool) -> None:
    print(table.markdown(data))
    if not whole:
        return
    stem = results_stem("gallery", data)
    stem.with_suffix(".md").write_text(table.markdown(data))
    stem.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n")


def measure(names: list[str], rounds: int, seconds: float) -> dict[str, Any]:
    """The samples of the kernels, of all when none is named, with what the machine and the engines are."""
    engines, skipped = choose_engines()
    data: dict[str, Any] = {
        "date": str(datetime.date.today()),
        "machine": machine(),
        "rounds": rounds,
        "engines": engines,
        "skipped": skipped,
        "rows": [],
        "wrong": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        processes = {name: Process(name, folder) for name in engines}
        for name in names or CASES:
            for size in CASES[name].sizes:
                row, wrong = measure_row(processes, name, size, rounds, seconds)
                data["rows"].append(row)
                data["wrong"] += wrong
                print(table.line(row), *wrong, sep="\n", file=sys.stderr, flush=True)
        for process in processes.values():
            process.end()
    return data


def chosen_options() -> argparse.Namespace:
    options = argparse.ArgumentParser()
    options.add_argument(
        "names", nargs="*", help="kernels; all of them, and a file of results, when none is named"
    )
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--seconds", type=float, default=SECONDS, help="of one sample")
    chosen = options.parse_args()
    unknown = [n for n in chosen.names if n not in CASES]
    if unknown:
        options.error(f"no kernel {unknown[0]}; the gallery has {', '.join(CASES)}")
    return chosen


def main() -> None:
    chosen = chosen_options()
    data = measure(chosen.names, chosen.rounds, chosen.seconds)
    write(data, not chosen.names)
    sys.exit(bool(data["wrong"]))


if __name__ == "__main__":
    main()
