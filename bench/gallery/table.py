"""The gallery's table in Markdown, made of what run.py measured. Measures nothing."""

from __future__ import annotations

import math
import statistics
from typing import Any

Row = dict[str, Any]
OURS = ("kw 1", "kw 2")
C = ("gcc", "clang")
ONEDNN = ("onednn 1", "onednn 2")
NUMBA = ("numba 1", "prange 2")
UNCHECKED = ("unchecked 1", "unchecked 2")
LIMITS = ("limit 1", "limit 2")
NOISE = 0.95  # a ratio from here on counts as reached

COLUMNS = (
    ("kernel", "size", "ours", "ours, 2 threads", "gcc", "clang", "Numba", "Numba prange", "NumPy", "oneDNN")
    + ("over C", "unchecked over C", "over Numba", "over NumPy", "over oneDNN", "of the limit")
)  # fmt: skip


def cells_line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def median(row: Row, engine: str) -> float | None:
    times = row["seconds"].get(engine)
    return statistics.median(times) if times else None


def best(row: Row, engines: tuple[str, ...]) -> float | None:
    return min((t for e in engines if (t := median(row, e)) is not None), default=None)


def loops(row: Row, engine: str) -> float | None:
    """Ours without the price of the call, as C is measured."""
    whole, call = median(row, engine), median(row, "call 1")
    return whole if whole is None or call is None else max(whole - call, 1e-9)


def ratio(other: float | None, ours: float | None) -> float | None:
    """How many times as fast as the other one we are."""
    return other / ours if other is not None and ours is not None else None


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def ratios(row: Row) -> dict[str, float | None]:
    """Against C with one thread and without calls; against Numba and the limit with as many as helped."""
    ours = best(row, OURS)
    limit = median(row, "limit 2") if median(row, "kw 2") is not None else median(row, "limit 1")
    return {
        "over C": ratio(best(row, C), loops(row, "kw 1")),
        "unchecked over C": ratio(best(row, C), loops(row, "unchecked 1")),
        "over Numba": ratio(best(row, NUMBA), ours),
        "over NumPy": ratio(median(row, "numpy"), ours),
        "over oneDNN": ratio(best(row, ONEDNN), ours),
        "of the limit": ratio(limit, ours),
    }


def line(row: Row) -> str:
    shown = [median(row, e) for e in (*OURS, *C, *NUMBA, "numpy")] + [best(row, ONEDNN)]
    return cells_line([row["kernel"], row["size"], *map(duration, shown), *map(times, ratios(row).values())])


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def means(rows: list[Row]) -> list[str]:
    out = []
    for what in ("over C", "over Numba", "over NumPy", "over oneDNN"):
        found = [r for row in rows if (r := ratios(row)[what]) is not None]
        if found:
            out.append(f"{what}: geometric mean {geometric_mean(found):.2f} of {len(found)} rows")
    return out


def behind(rows: list[Row]) -> list[str]:
    """Rows that are slower than C, and rows that two threads make slower."""
    out = []
    over = [(r, ratio) for r in rows if (ratio := ratios(r)["over C"]) is not None]
    slow = [f"{r['kernel']} {r['size']}" for r, ratio in over if ratio < NOISE]
    if over:
        names = f" ({', '.join(slow)})" if slow else ""
        out.append(f"slower than the better of gcc and clang: {len(slow)} of {len(over)} rows{names}")
    both = [(r, median(r, "kw 1"), median(r, "kw 2")) for r in rows]
    lost = [f"{r['kernel']} {r['size']}" for r, one, two in both if one and two and one / two < NOISE]
    if any(two for _, _, two in both):
        out.append(f"slower with 2 threads than with 1: {', '.join(lost) or 'none'}")
    return out


def markdown(data: dict[str, Any]) -> str:
    rows: list[Row] = data["rows"]
    out = [f"# Gallery, {data['date']}, {data['machine']}", ""]
    out += [f"- {name}: {text}" for name, text in data["engines"].items()]
    out += [f"- skipped: {name}: {why}" for name, why in data["skipped"].items()]
    out += [f"- {text}" for text in (*means(rows), *behind(rows))]
    out += [f"- WRONG: {text}" for text in data["wrong"]]
    out += ["", cells_line(list(COLUMNS)), "|---" * len(COLUMNS) + "|", *map(line, rows), ""]
    quiet, busy = (sum(r["samples"][what] for r in rows) for what in ("quiet", "busy"))
    out += [
        f"Medians of {data['rounds']} rounds; ratios above 1: ours is faster. {quiet} samples were taken "
        f"beside quiet loops, {busy} while something else slowed the machine.",
        "",
    ]
    return "\n".join(out)
