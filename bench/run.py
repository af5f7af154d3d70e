"""The whole benchmark run: targets, figures and the gallery, printed and written to bench/results/.

`run.py [KERNEL…]`; with kernels only these are measured, beside their targets, and nothing is written;
`run.py around` measures what surrounds the kernels alone.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import charts
import mode_times
import plot
import scheduler
from quiet import pulses, samples, undisturbed_sample

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "gallery"))

import gallery  # noqa: E402
import table  # noqa: E402
import targets  # noqa: E402

ROOT = HERE.parent
ROUNDS = 9
COMPILED = ("add", "softmax", "matmul")
PATIENCE = 5.0  # seconds that a sample waits for a quiet moment

Row = tuple[str, float, float, str, str]  # what, median, best, unit, target


def probe(*arguments: str, cache: str) -> tuple[list[float], list[float]]:
    """Milliseconds of a new process, and those of the loops beside them."""
    command = [sys.executable, str(HERE / "probe.py"), *arguments]
    environment = {**os.environ, "KW_CACHE_DIR": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # imports come from bytecode, as users have them
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    times, beside = json.loads(done.stdout)
    return times, beside


def quiet_probe(*arguments: str, cache: str = "", prepared: str = "") -> list[float]:
    """Of a process that found the machine quiet; each in a new directory for the cache unless told. It begins
    as a copy of `prepared`."""

    def sample() -> tuple[list[float], list[float]]:
        with tempfile.TemporaryDirectory() as fresh:
            if prepared:
                shutil.copytree(prepared, fresh, dirs_exist_ok=True)
            return probe(*arguments, cache=cache or fresh)

    return undisturbed_sample(sample, PATIENCE)


def row(what: str, series: list[float], unit: str, target: str) -> Row:
    return (what, statistics.median(series), min(series), unit, target)


def compile_times(mode: str, prepared: str = "") -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Of the first kernel of a process, and of later ones; each process begins with a copy of a cache."""
    first: dict[str, list[float]] = {n: [] for n in COMPILED}
    later: dict[str, list[float]] = {n: [] for n in COMPILED}
    for _ in range(ROUNDS):
        for i, name in enumerate(COMPILED):
            order = [name, *COMPILED[:i], *COMPILED[i + 1 :]]
            times = quiet_probe(mode, *order, prepared=prepared)
            first[name].append(times[0])
            for other, t in zip(order[1:], times[1:], strict=True):
                later[other].append(t)
    return first, later


def compile_rows() -> list[Row]:
    first, later = compile_times("first")
    bounds = {"add": "<= 7", "softmax": "<= 14", "matmul": "-"}
    rows = [row(f"cold compile, first in a process: {n}", first[n], "ms", "-") for n in COMPILED]
    rows += [row(f"cold compile, later: {n}", later[n], "ms", bounds[n]) for n in COMPILED]
    with tempfile.TemporaryDirectory() as prepared:  # holds what a call asks for before it finds the overlap
        probe("first", *COMPILED, cache=prepared)
        first, later = compile_times("scalar", prepared)
    scalar = {"add": (8, 4), "softmax": (15, 9), "matmul": (10, 5)}
    what = "cold compile of scalar code"
    rows += [row(f"{what}, first in a process: {n}", first[n], "ms", f"<= {scalar[n][0]}") for n in COMPILED]
    return rows + [row(f"{what}, later: {n}", later[n], "ms", f"<= {scalar[n][1]}") for n in COMPILED]


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


def operator_rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "KW_CACHE_DIR": cache}
        command = [sys.executable, str(HERE / "operators.py")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        found = json.loads(done.stdout)
        probe("custom", cache=cache)
        layers = [quiet_probe("mindspore", cache=cache)[0] for _ in range(ROUNDS)]
        programs = [quiet_probe("custom", cache=cache)[0] for _ in range(ROUNDS)]
    return [
        row("custom operator on two tensors, beyond its kernel", found["operator"], "ns", "<= 400"),
        row("gradient of a custom operator, beyond its kernels", found["gradient"], "ns", "<= 3000"),
        row("import kernelwright.mindspore beside NumPy", layers, "ms", "<= 60"),
        row("first call of a custom operator in a new process, from the cache", programs, "ms", "<= 5"),
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


def times_of_modes() -> dict[str, mode_times.Times]:
    """Of `mode_times.py`, which runs apart, because it sets the number of threads."""
    command = [sys.executable, str(HERE / "mode_times.py"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, mode_times.Times] = json.loads(done.stdout)
    return found


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


def scheduler_rows() -> list[Row]:
    times = sorted(scheduler.measure(ROUNDS))
    p95 = times[min(len(times) - 1, int(0.95 * len(times)))]
    return [
        row("scheduler, p50 of the gallery", [statistics.median(times)], "ms", "<= 0.3"),
        row("scheduler, p95 of the gallery", [p95], "ms", "<= 1"),
    ]


def micro_rows() -> list[Row]:
    """What surrounds a kernel: compile time, loading, calls, threads."""
    rows = (
        compile_rows()
        + scheduler_rows()
        + warm_rows()
        + call_rows()
        + operator_rows()
        + safety_rows()
        + core_rows()
    )
    rows += thread_rows()
    rows.insert(0, row("the machine: one short loop of Python, all through the run", pulses, "ms", "-"))
    return rows


def micro_table(rows: list[Row]) -> str:
    lines = ["| what | median | best | unit | target |", "|---|---|---|---|---|"]
    lines += [f"| {w} | {m:.3g} | {b:.3g} | {u} | {t} |" for w, m, b, u, t in rows]
    lines += [
        "",
        "Of whole processes: {kept} samples beside quiet loops, {settled} the calmest of tries that were "
        "not, {dropped} tries not used.".format(**samples),
    ]
    return "\n".join(lines) + "\n"


def report(data: targets.Data, rows: list[Row], judged: list[targets.Judged]) -> str:
    parts = [f"# Bench, {data['date']}, {data['machine']}", ""]
    parts += [f"- skipped: {name}: {why}" for name, why in data["skipped"].items()]
    parts += ["", "## Targets", "", targets.markdown(judged)]
    if rows:
        parts += ["## Around the kernels", "", micro_table(rows)]
        parts += ["## Modes, one thread", "", mode_times.table(data["modes"]), ""]
    return "\n".join([*parts, table.markdown(data).replace("# Gallery,", "## Gallery,", 1)])


def main() -> None:
    if sys.argv[1:] == ["around"]:
        print(micro_table(micro_rows()))
        return
    chosen = gallery.chosen_options()
    rows = [] if chosen.names else micro_rows()
    data = gallery.measure(chosen.names, chosen.rounds, chosen.seconds)
    data["micro"] = {what: median for what, median, *_ in rows}
    data["modes"] = {} if chosen.names else times_of_modes()
    judged = [j for j in targets.judge_all(data) if j.share or not chosen.names]
    text = report(data, rows, judged)
    print(text)
    if not chosen.names:
        stem = gallery.results_stem("bench", data)
        stem.with_suffix(".md").write_text(text)
        data["targets"] = [vars(j) for j in judged]
        stem.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n")
        stem.with_suffix(".svg").write_text(plot.bars([(j.what, j.share) for j in judged if j.share]))
        charts.draw(stem.with_suffix(".json"), charts.measure())
    sys.exit(bool(data["wrong"]))


if __name__ == "__main__":
    main()
