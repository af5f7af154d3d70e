"""Plots of measurements, as SVG or PNG, on a light or a dark ground. Needs matplotlib."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .bench import Result
from .limits import arithmetic_limit, bandwidth
from .report import sizes_text

_OURS = "#d1495b"
_SHOWN = 0.01  # of our speed; slower peers, as CPython's loops, would lie on the axis
_OTHERS = ("#30638e", "#00798c", "#edae49", "#8d6a9f", "#66a182")


class PlotError(ValueError):
    """A plot cannot be made; the message says why."""


def check_picture(path: str) -> None:
    """Raises PlotError if no picture can be drawn there, so that a measurement need not wait for it."""
    if Path(path).suffix not in (".svg", ".png"):
        raise PlotError(f"'{path}' is no name of a picture: expected .svg or .png")
    if importlib.util.find_spec("matplotlib") is None:
        raise PlotError("plots need matplotlib: pip install 'kernelwright[plots]'")


@contextmanager
def _figure(path: str, dark: bool) -> Iterator[Any]:
    """Yields the axes of a plot, and writes it."""
    check_picture(path)
    from matplotlib import style
    from matplotlib.figure import Figure

    with (
        style.context("dark_background" if dark else "default"),
        style.context({"svg.hashsalt": "kw", "font.size": 10}),
    ):
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        axes = figure.subplots()
        axes.grid(True, which="major", alpha=0.25)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        yield axes
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.endswith(".svg") else None)


def plot_sweep(
    results: Sequence[Result], sizes: Sequence[int], name: str, path: str, dark: bool = False
) -> None:
    """Plots the speed over a size: of the kernel by all threads, its peers, and the limit."""
    first = results[0]
    last = results[-1].share_all
    by_arithmetic = last is not None and last.limit == "arithmetic"
    unit = "GFLOP/s" if by_arithmetic else "GB/s"

    def speed(result: Result, seconds: float) -> float:
        amount = result.work.operations if by_arithmetic else result.work.bytes
        return amount / seconds / 1e9

    fastest = max(speed(r, r.all.median) for r in results)
    with _figure(path, dark) as axes:
        axes.plot(
            sizes,
            [speed(r, r.all.median) for r in results],
            "o-",
            color=_OURS,
            label="kernelwright",
            lw=2,
            zorder=3,
        )
        axes.fill_between(
            sizes,
            [speed(r, r.all.high) for r in results],
            [speed(r, r.all.low) for r in results],
            color=_OURS,
            alpha=0.2,
            lw=0,
        )
        peers = dict.fromkeys(name for r in results for name in r.peers)
        for color, peer in zip(_OTHERS * 3, peers, strict=False):
            timed = [(n, r, r.peers.get(peer)) for n, r in zip(sizes, results, strict=True)]
            points = [(n, speed(r, p.timing.median)) for n, r, p in timed if p and p.timing]
            if points and max(y for _, y in points) > fastest * _SHOWN:
                axes.plot(*zip(*points, strict=True), "o-", color=color, label=peer, ms=4)
        limits = [
            (n, speed(r, r.all.median * r.share_all.of_limit))
            for n, r in zip(sizes, results, strict=True)
            if r.share_all
        ]
        if limits:
            axes.plot(*zip(*limits, strict=True), "--", color="gray", label="limit of this machine")
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(name)
        axes.set_ylabel(unit)
        axes.set_title(f"{first.kernel}, {first.target}, {first.threads} threads", loc="left")
        axes.legend(frameon=False)


def plot_lines(
    path: str,
    title: str,
    name: str,
    unit: str,
    values: Sequence[Any],
    lines: dict[str, list[float]],
    dark: bool = False,
) -> None:
    """Plots one line for each provider of a sweep."""
    with _figure(path, dark) as axes:
        for color, (label, figures) in zip((_OURS, *_OTHERS) * 9, lines.items(), strict=False):
            axes.plot(values, figures, "o-", color=color, label=label, ms=4)
        if all(isinstance(v, int | float) and v > 0 for v in values):
            axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(name)
        axes.set_ylabel(unit)
        axes.set_title(title, loc="left")
        axes.legend(frameon=False)


def draw_roofs(
    axes: Any, memory: dict[str, float], peaks: dict[str, float], intensities: Sequence[float]
) -> None:
    """Draws the limits of a roofline: of memory, in bytes per second by a label, and of arithmetic, in
    operations per second by dtype. `intensities` are those of the kernels, in operations per byte.
    """
    fastest, highest = max(memory.values()), max(peaks.values())
    low = min(*intensities, min(peaks.values()) / fastest) / 4
    high = max(*intensities, highest / min(memory.values())) * 4
    for label, speed in memory.items():
        axes.plot([low, highest / speed], [low * speed / 1e9, highest / 1e9], color="gray", lw=1.2)
        place = (low * 1.2, low * 1.2 * speed / 1e9)
        text = f"{label}: {speed / 1e9:.0f} GB/s"
        axes.annotate(text, place, (10, 0), textcoords="offset points", va="top", color="gray")
    for dtype, peak in peaks.items():
        axes.plot([peak / fastest, high], [peak / 1e9, peak / 1e9], color="gray", lw=1.2)
        text = f"{dtype}: {peak / 1e9:.0f} GFLOP/s"
        axes.annotate(text, (high, peak / 1e9), (0, 3), textcoords="offset points", ha="right", color="gray")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
    axes.set_xlabel("operations per byte")
    axes.set_ylabel("GFLOP/s")


def _memory_roofs(shown: Sequence[Result], threads: int) -> dict[str, float]:
    """Returns the bytes per second that limit the largest of these calls and, if others are in faster caches,
    those that limit the fastest.
    """
    largest = max(shown, key=lambda r: r.work.bytes)
    out = {
        _bytes_text(largest): bandwidth(
            int(largest.work.bytes_read), int(largest.work.bytes_written), threads
        )
    }
    limits = [(r.share_all, r) for r in shown if r.share_all and r.share_all.limit == "memory"]
    shares = [(share.rate, r) for share, r in limits if share.rate > 0]  # it may be unknown
    if shares:
        rate, fastest = max(shares, key=lambda s: s[0])
        if rate > 1.2 * min(out.values()):
            out[_bytes_text(fastest)] = rate
    return out


def _bytes_text(result: Result) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if result.work.bytes >= size:
            return f"{result.work.bytes / size:.3g} {unit}"
    return f"{result.work.bytes:.0f} bytes"


def plot_roofline(results: Sequence[Result], path: str, dark: bool = False) -> None:
    """Plots operations per second over operations per byte, below the limits of memory and arithmetic.

    A kernel whose operations are not known, or that has none, is left out. Raises PlotError if none is left.
    """
    shown = [r for r in results if r.work.operations > 0 and r.work.bytes and r.work.is_exact]
    if not shown:
        raise PlotError("a roofline needs a kernel whose floating-point operations can be counted")
    count = shown[0].threads
    memory = _memory_roofs(shown, count)
    dtypes = [d for d in ("float32", "float64") if any(getattr(r.work, d) for r in shown)]
    peaks = {dtype: arithmetic_limit(dtype, count) for dtype in dtypes}
    at = [r.work.operations / r.work.bytes for r in shown]
    with _figure(path, dark) as axes:
        draw_roofs(axes, memory, peaks, at)
        for color, kernel in zip((_OURS, *_OTHERS) * 9, dict.fromkeys(r.kernel for r in shown), strict=False):
            points = [(x, r) for x, r in zip(at, shown, strict=True) if r.kernel == kernel]
            label = kernel if len(points) > 1 else f"{kernel}({sizes_text(points[0][1])})"
            axes.plot([x for x, _ in points], [r.gigaflops for _, r in points], "o", color=color, label=label)
        lowest = min([axes.get_ylim()[0], *(r.gigaflops for r in shown)])
        axes.set_ylim(lowest / 2, max(peaks.values()) / 1e9 * 2)
        axes.set_title(f"{shown[0].target}, {count} threads", loc="left")
        axes.legend(frameon=False)
