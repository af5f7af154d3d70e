"""The whole benchmark run: prints a table and writes it to bench/results/."""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from quiet import pulses, samples, undisturbed_sample

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ROUNDS = 9
PATIENCE = 2.0  # seconds that a sample waits for a quiet moment

Row = tuple[str, float, float, str, str]  # what, median, best, unit, target


def probe(*arguments: str, cache: str) -> tuple[list[float], list[float]]:
    """Milliseconds of a new process, and those of the loops beside them."""
    command = [sys.executable, str(HERE / "probe.py"), *arguments]
    environment = {**os.environ, "KW_CACHE_DIR": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # imports come from bytecode, as users have them
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    times, beside = json.loads(done.stdout)
    return times, beside


def quiet_probe(*arguments: str, cache: str = "") -> list[float]:
    """Of a process that found the machine quiet; each in a new directory for the cache unless told."""

    def sample() -> tuple[list[float], list[float]]:
        with tempfile.TemporaryDirectory() as fresh:
            return probe(*arguments, cache=cache or fresh)

    return undisturbed_sample(sample, PATIENCE)


def row(what: str, series: list[float], unit: str, target: str) -> Row:
    return (what, statistics.median(series), min(series), unit, target)


def compile_rows() -> list[Row]:
    names = ("add", "softmax", "matmul")
    first: dict[str, list[float]] = {n: [] for n in names}
    later: dict[str, list[float]] = {n: [] for n in names}
    for _ in range(ROUNDS):
        for i, name in enumerate(names):
            order = [name, *names[:i], *names[i + 1 :]]
            times = quiet_probe("first", *order)
            first[name].append(times[0])
            for other, t in zip(order[1:], times[1:], strict=True):
                later[other].append(t)
    targets = {"add": ("8", "4"), "softmax": ("15", "9"), "matmul": ("10", "5")}
    rows = [
        row(f"cold compile, first in a process: {n}", first[n], "ms", f"<= {targets[n][0]}") for n in names
    ]
    return rows + [row(f"cold compile, later: {n}", later[n], "ms", f"<= {targets[n][1]}") for n in names]


def warm_rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as cache:
        probe("first", "add", cache=cache)
        cached = [quiet_probe("first", "add", cache=cache)[0] for _ in range(ROUNDS)]
        imports = [quiet_probe("import", cache=cache)[0] for _ in range(ROUNDS)]
    return [
        row("first call in a new process, from the cache", cached, "ms", "<= 1"),
        row("import kernelwright beside NumPy", imports, "ms", "<= 30"),
    ]


def call_rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "KW_CACHE_DIR": cache}
        command = [sys.executable, str(HERE / "calls.py")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    targets = {
        "kernelwright add(a, b)": "<= 120",
        "kernelwright add(a, b, out=out)": "<= 60",
        "each captured global": "<= 13",
    }
    return [
        row(f"call, 4x4 f32: {n}", s, "ns", targets.get(n, "peer"))
        for n, s in json.loads(done.stdout).items()
    ]


def safety_rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "KW_CACHE_DIR": cache}
        command = [sys.executable, str(HERE / "safety.py")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    targets = {"gather": "<= 1.35", "scatter": "<= 1.35", "stencil": "<= 1.03", "matmul": "<= 1.03"}
    return [
        row(f"checked over unchecked: {n}", s, "x", targets[n.split(",")[0]])
        for n, s in json.loads(done.stdout).items()
    ]


def core_rows() -> list[Row]:
    binary = ROOT / "build-bench" / "bench" / "kw_bench"
    command = [str(binary), "--benchmark_format=json", "--benchmark_repetitions=9"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    series: dict[str, list[float]] = {}
    for b in json.loads(done.stdout)["benchmarks"]:
        if b["run_type"] == "iteration":
            series.setdefault(b["name"], []).append(b["real_time"])
    names = {
        "front_end": ("parse, infer and lower 20 lines", "<= 400"),
        "load_artifact": ("load of an object in memory", "<= 30"),
        "load_cached": ("load of a cached object, with its file", "<= 30"),
    }
    rows = [row(names[n][0], s, "us", names[n][1]) for n, s in series.items()]
    with tempfile.TemporaryDirectory() as cache:
        loads = [
            subprocess.run(
                [str(binary), "first_load", cache], capture_output=True, text=True, check=True
            ).stdout
            for _ in range(ROUNDS + 1)
        ]
    first = [float(text) for text in loads[1:]]
    return [*rows, row("load of a cached object, the first in a process", first, "us", "<= 100")]


def thread_rows() -> list[Row]:
    command = [str(ROOT / "build-bench" / "bench" / "kw_bench"), "fork_join"]
    rounds = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(ROUNDS)
    ]
    names = {
        "two empty chunks": "<= 0.7",
        "5 us in each chunk": "<= 0.7",
        "5 us in each chunk, after 50 ms of rest": "<= 20",
        "20 us in each chunk, a core busy elsewhere, p99": "<= 100",
    }
    columns = zip(names.items(), zip(*rounds, strict=True), strict=True)
    return [row(f"fork-join: {n}", [float(x) for x in series], "us", t) for (n, t), series in columns]


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "?")
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


def main() -> None:
    rows = compile_rows() + warm_rows() + call_rows() + safety_rows() + core_rows()
    rows += thread_rows()
    rows.insert(0, row("the machine: one short loop of Python, all through the run", pulses, "ms", "-"))
    lines = [
        f"# {datetime.date.today()}, {machine()}",
        "",
        "| what | median | best | unit | target |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {w} | {m:.3g} | {b:.3g} | {u} | {t} |" for w, m, b, u, t in rows]
    lines += ["", "Samples of whole processes: {kept} kept, {disturbed} taken again.".format(**samples)]
    text = "\n".join(lines) + "\n"
    print(text)
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    (folder / f"{datetime.date.today()}.md").write_text(text)


main()
