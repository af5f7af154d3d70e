"""What the figures of a run should reach, as one table: target, measured, whether it holds.

A target is a list of named figures and a bound that all of them must keep; the worst is shown. Measures
nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "gallery"))

import mode_times
import table
from families import CASES
from table import Row, median, ratio

Data = dict[str, Any]  # of gallery.measure, with "micro": {what: median} and "modes" of run.py
Figures = list[tuple[str, float]]

BIG = ("DRAM",)
OUTER = ("cache", *BIG)
NEAR = ("add", "copy", "chain", "broadcast_row", "broadcast_column", "stencil_1d", "stencil_2d")


@dataclass(frozen=True)
class Target:
    what: str
    bound: float
    figures: Callable[[Data], Figures]
    at_most: bool = False  # the bound is an upper one
    peer: str = ""  # whom it is against, where that may be missing
    only: str = ""  # the width of vectors that it was set for
    unit: str = "x"
    micro: tuple[str, ...] = ()  # the figures of run.py that decide


@dataclass(frozen=True)
class Judged:
    what: str
    goal: str
    measured: str
    holds: str
    share: float | None = None  # above 1: better than the bound


def rows_of(
    data: Data, names: tuple[str, ...] | None = None, sizes: tuple[str, ...] | None = None
) -> list[Row]:
    return [
        r
        for r in data["rows"]
        if (names is None or r["kernel"] in names) and (sizes is None or r["size"] in sizes)
    ]


def over(
    other: str, ours: str, *names: str, sizes: tuple[str, ...] | None = None
) -> Callable[[Data], Figures]:
    """How many times as fast as another engine ours is, on each row of these kernels (none: all)."""

    def figures(data: Data) -> Figures:
        out = []
        for r in rows_of(data, names or None, sizes):
            theirs = table.best(r, table.C) if other == "C" else median(r, other)
            mine = table.loops(r, ours) if other == "C" else median(r, ours)
            if (found := ratio(theirs, mine)) is not None:
                out.append((f"{r['kernel']} {r['size']}", found))
        return out

    return figures


def of_kind(indexed: bool, figures: Callable[[Data], Figures]) -> Callable[[Data], Figures]:
    return lambda data: [(n, f) for n, f in figures(data) if CASES[n.split()[0]].indexed == indexed]


def over_numba(data: Data) -> Figures:
    found = [r for row in data["rows"] if (r := table.ratios(row)["over Numba"]) is not None]
    return [(f"geometric mean of {len(found)} rows", table.geometric_mean(found))] if found else []


def around(what: str, bound: float, unit: str, *names: str) -> Target:
    """An upper bound of figures that run.py measures around the kernels."""

    def figures(data: Data) -> Figures:
        return [(n, data["micro"][n]) for n in names if n in data["micro"]]

    return Target(what, bound, figures, at_most=True, unit=unit, micro=names)


def modes_over(freer: str, stricter: str) -> Callable[[Data], Figures]:
    """What a mode takes beside a stricter one, for each kernel of mode_times.py."""
    return lambda data: [(n, mode_times.ratio(times, freer, stricter)) for n, times in data["modes"].items()]


def near_limit(ours: str, out: str, limit: str) -> Callable[[Data], Figures]:
    def figures(data: Data) -> Figures:
        fresh = over(limit, ours, *NEAR, sizes=OUTER)(data)
        given = [(f"{n}, out=", f) for n, f in over(limit, out, *NEAR, sizes=OUTER)(data)]
        return [*fresh, *given]

    return figures


SUMS = ("sum_rows", "sum_columns", "sum_all")
WORK = ("compute",)
NOISE = table.NOISE


def over_clang(what: str, bound: float, kernel: str, sizes: tuple[str, ...] = WORK) -> Target:
    return Target(f"{what} over clang", bound, over("clang", "kw 1", kernel, sizes=sizes), peer="clang")


def by_width(
    what: str, other: str, kernel: str, size: str, avx2: float, avx512: float, peer: str
) -> tuple[Target, Target]:
    """A target with a bound of its own for each width of vectors."""
    figures = over(other, "kw 1", kernel, sizes=(size,))
    return (
        Target(what, avx2, figures, peer=peer, only="AVX2"),
        Target(what, avx512, figures, peer=peer, only="AVX-512"),
    )


TARGETS = (
    Target("kernels over the better of clang and gcc", NOISE, of_kind(False, over("C", "kw 1"))),
    Target(
        "kernels with indices from data, unchecked, over C", NOISE, of_kind(True, over("C", "unchecked 1"))
    ),
    Target("kernels with indices from data, checked, over C", 0.75, of_kind(True, over("C", "kw 1"))),
    Target("two threads over one", NOISE, over("kw 1", "kw 2")),
    Target(
        "add, copy, chain, broadcast, stencil: of the copy, 1 thread",
        0.9,
        near_limit("kw 1", "out 1", "limit 1"),
    ),
    Target("the same with 2 threads", 0.9, near_limit("kw 2", "out 2", "limit 2")),
    Target(
        "these of aligned arrays, 1 thread: of the copy",
        0.9,
        over("limit 1", "aligned 1", *NEAR, sizes=OUTER),
    ),
    Target(
        "these of aligned arrays, 2 threads: of the copy",
        0.9,
        over("limit 2", "aligned 2", *NEAR, sizes=OUTER),
    ),
    Target("transpose 2048: of the copy", 0.5, over("limit 1", "kw 1", "transpose", sizes=("2048",))),
    Target("transpose 4096, 2 threads: of the copy", 0.6, over("limit 2", "kw 2", "transpose", sizes=BIG)),
    Target("cumsum of rows, DRAM: of the copy", 0.6, over("limit 1", "kw 1", "cumsum_rows", sizes=BIG)),
    Target("row, column and full sum: of reading, 1 thread", 0.8, over("limit 1", "kw 1", *SUMS, sizes=BIG)),
    Target("row, column and full sum: of reading, 2 threads", 0.9, over("limit 2", "kw 2", *SUMS, sizes=BIG)),
    Target(
        "sums of aligned arrays, 1 thread: of reading", 0.8, over("limit 1", "aligned 1", *SUMS, sizes=BIG)
    ),
    Target(
        "sums of aligned arrays, 2 threads: of reading", 0.9, over("limit 2", "aligned 2", *SUMS, sizes=BIG)
    ),
    over_clang("n-body", 4, "n_body"),
    Target(
        "n-body, 2 threads, over clang -ffast-math",
        1,
        over("clang-fast", "kw 2", "n_body", sizes=WORK),
        peer="clang",
    ),
    over_clang("Black-Scholes", 10, "black_scholes", ("cache", "DRAM")),
    *by_width("softmax 4096x1024 over oneDNN", "onednn 1", "softmax", "DRAM", 1.3, 1.25, "oneDNN"),
    *by_width("layernorm 4096x1024 over oneDNN", "onednn 1", "layernorm", "DRAM", 1.5, 1.05, "oneDNN"),
    *by_width("exp over libmvec", "gcc-fast", "exponential", "cache", 2, 1.3, "gcc"),
    *by_width("gelu (tanh) over oneDNN", "onednn 1", "gelu", "cache", 3, 2, "oneDNN"),
    over_clang("Floyd-Warshall 512", 4, "floyd_warshall"),
    over_clang("LU 512", 2, "lu"),
    over_clang("mandelbrot", 5, "mandelbrot"),
    over_clang("argmax of rows", 5, "argmax_rows", ("cache", "DRAM")),
    Target("over Numba, the better of serial and prange", 3, over_numba, peer="numba"),
    Target("default over strict", 1 / NOISE, modes_over("default", "strict"), at_most=True),
    Target("fast over default", 1 / NOISE, modes_over("fast", "default"), at_most=True),
    around("scheduler per kernel, p50", 0.3, "ms", "scheduler, p50 of the gallery"),
    around("scheduler per kernel, p95", 1, "ms", "scheduler, p95 of the gallery"),
    around("cold compile, elementwise", 7, "ms", "cold compile, later: add"),
    around("cold compile, softmax", 14, "ms", "cold compile, later: softmax"),
    around("fork-join, hot", 0.7, "us", "fork-join: two empty chunks", "fork-join: 5 us in each chunk"),
    around("fork-join after 50 ms idle", 20, "us", "fork-join: 5 us in each chunk, after 50 ms of rest"),
    around(
        "fork-join, one core busy, p99",
        100,
        "us",
        "fork-join: 20 us in each chunk, a core busy elsewhere, p99",
    ),
)


def judge(target: Target, data: Data) -> Judged:
    goal = f"{'<=' if target.at_most else '>='} {target.bound:g} {target.unit}"
    if target.only and f"{target.only}," not in f"{data['machine']},":
        return Judged(target.what, goal, "-", f"not on this CPU: set for {target.only}")
    found = target.figures(data)
    if not found:
        why = data["skipped"].get(target.peer, "")
        return Judged(target.what, goal, "-", f"not measured: {target.peer} {why}" if why else "not measured")
    name, value = (max if target.at_most else min)(found, key=lambda figure: figure[1])
    holding = [f for _, f in found if (f <= target.bound if target.at_most else f >= target.bound)]
    share = target.bound / value if target.at_most else value / target.bound
    of = f", {len(holding)} of {len(found)}" if len(found) > 1 else ""
    holds = "yes" if len(holding) == len(found) else "no"
    return Judged(target.what, goal, f"{value:.3g} {target.unit} ({name})", holds + of, share)


def judge_all(data: Data) -> list[Judged]:
    return [judge(target, data) for target in TARGETS]


def markdown(found: list[Judged]) -> str:
    lines = ["| target | bound | measured, the worst | holds |", "|---|---|---|---|"]
    lines += [f"| {j.what} | {j.goal} | {j.measured} | {j.holds} |" for j in found]
    return "\n".join(lines) + "\n"
