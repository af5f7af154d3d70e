"""The two pictures of the README: how many times as fast the loops are as other compilers make them, and a
roofline. Both are drawn from committed results.

    charts.py [BENCH.json]     draws results/speedups.svg from a run of run.py, the last one if none is given,
                               and results/roofline.svg from the last roofline-*.json
    charts.py measure          measures the gallery for a roofline and writes results/roofline-DATE-CPU.json
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "gallery"))

import gallery
import table
from families import CASES

import kernelwright as kw
from kernelwright.measure.bench import bench
from kernelwright.measure.limits import arithmetic_limit, bandwidth
from kernelwright.measure.plots import draw_roofs

RESULTS = Path(__file__).resolve().parent / "results"
COLOURS = {"over C": "#30638e", "over Numba": "#edae49", "over NumPy": "#d1495b"}
NAMES = {"over C": "gcc, clang -O3", "over Numba": "Numba", "over NumPy": "NumPy"}
SECONDS = 0.1  # for each time of the roofline


def largest_rows(rows: list[table.Row]) -> list[table.Row]:
    """The last, largest size of each kernel that has a peer in C."""
    by_kernel = {row["kernel"]: row for row in rows if table.ratios(row)["over C"] is not None}
    return sorted(by_kernel.values(), key=lambda row: table.ratios(row)["over C"] or 0.0)


def figure(height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    made = Figure(figsize=(9.6, height), layout="constrained")
    axes = made.subplots()
    axes.grid(True, which="major", alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return made, axes


def save(made: Any, path: Path) -> None:
    import matplotlib

    # the same figures make the same file, and texts stay texts
    with matplotlib.rc_context({"svg.hashsalt": "kw", "svg.fonttype": "none"}):
        made.savefig(path, metadata={"Date": None})
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


def draw_speedups(data: dict[str, Any], path: Path) -> None:
    """One column for each kernel: the time of each peer over ours."""
    rows = largest_rows(data["rows"])
    made, axes = figure(4.4)
    for what, colour in COLOURS.items():
        found = [(i, r) for i, row in enumerate(rows) if (r := table.ratios(row)[what]) is not None]
        mean = table.geometric_mean([r for _, r in found])
        label = f"over {NAMES[what]}: {mean:.1f} times as fast (geometric mean)"
        axes.plot(*zip(*found, strict=True), "o", color=colour, ms=4.5, label=label)
        axes.axhline(mean, color=colour, lw=1, ls=":")
    axes.axhline(1, color="gray", lw=1)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}×")
    axes.set_xticks(range(len(rows)), [row["kernel"] for row in rows], rotation=90, fontsize=7)
    axes.set_xlim(-1, len(rows))
    axes.set_title(f"Naive loops, largest sizes; {data['machine']}, {data['date']}", loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=9)
    save(made, path)


def measured_roofline() -> dict[str, Any]:
    """The gallery's kernels whose operations can be counted, and the limits of the machine."""
    threads, rows = kw.threads(), []
    for case in CASES.values():
        size = list(case.sizes)[-1]
        found = bench(case.kernel, case.arguments(size), python=False, seconds=SECONDS)
        if not found.work.operations > 0 or not found.work.is_exact or not found.work.bytes:
            continue
        work = {name: getattr(found.work, name) for name in ("float32", "float64", "bytes")}
        rows.append({"kernel": case.name, "size": size, "seconds": found.all.median, **work})
        print(f"{case.name} {size}: {found.gigaflops:.3g} GFLOP/s", flush=True)
    large = 96 << 20  # bytes, above the caches of most machines
    limits = {"memory": bandwidth(2 * large // 3, large // 3, threads)}
    limits |= {dtype: arithmetic_limit(dtype, threads) for dtype in ("float32", "float64")}
    return {"threads": threads, "limits": limits, "rows": rows}


def draw_roofline(data: dict[str, Any], path: Path) -> None:
    """Operations per second over operations per byte, below the limits of memory and arithmetic."""
    limits, made, axes = data["limits"], *figure(5.0)
    points = []
    for row in data["rows"]:
        operations = row["float32"] + row["float64"]
        points.append((operations / row["bytes"], operations / row["seconds"] / 1e9, row))
    memory = {"memory beyond the caches": limits["memory"]}
    peaks = {dtype: limits[dtype] for dtype in ("float32", "float64")}
    draw_roofs(axes, memory, peaks, [p[0] for p in points])
    for x, y, row in points:
        axes.plot(x, y, "o", color="#d1495b" if row["float32"] >= row["float64"] else "#30638e", ms=4)
        axes.annotate(row["kernel"], (x, y), (3, 2), textcoords="offset points", fontsize=6)
    title = f"The gallery by {data['threads']} threads; {data['machine']}, {data['date']}"
    axes.set_title(title, loc="left", fontsize=10)
    save(made, path)


def newest(pattern: str) -> Path:
    found = sorted(RESULTS.glob(pattern))
    if not found:
        sys.exit(f"there is no {RESULTS}/{pattern}: run make bench")
    return found[-1]


def measure() -> Path:
    """Writes a roofline's figures; returns the file."""
    data = {"date": str(datetime.date.today()), "machine": gallery.machine(), **measured_roofline()}
    path = gallery.results_stem("roofline", data).with_suffix(".json")
    path.write_text(json.dumps(data, indent=1) + "\n")
    return path


def draw(speedups: Path, roofline: Path) -> None:
    draw_speedups(json.loads(speedups.read_text()), RESULTS / "speedups.svg")
    draw_roofline(json.loads(roofline.read_text()), RESULTS / "roofline.svg")


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        print(measure())
    else:
        draw(Path(sys.argv[1]) if sys.argv[1:] else newest("bench-*.json"), newest("roofline-*.json"))
