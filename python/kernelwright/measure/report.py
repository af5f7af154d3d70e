"""Results of measurements as text for people, and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from .bench import WHOLE, Result, Share
from .tables import duration, significant
from .timing import Timing


def share_text(share: Share | None) -> str:
    """Returns "71 % of the limit (memory, 18.2 GB/s)"; "" without a share. More than 100 % is a fault of the
    measurement.
    """
    if share is None:
        return ""
    text = f"{share.of_limit:.0%}".replace("%", " %")
    unit = "GB/s" if share.limit == "memory" else "GFLOP/s"
    about = (
        [share.limit]
        if math.isnan(share.rate)
        else [f"{share.limit}, {significant(share.rate / 1e9)} {unit}"]
    )
    if share.of_limit > WHOLE:
        about.append("disturbed: measure again")
    return f"{text} of the limit ({'; '.join(about)})"


def sizes_text(result: Result) -> str:
    """Returns the arguments with their sizes: "f32[4096, 1024], 3"."""
    out = []
    for text, shape in zip(result.types, result.shapes, strict=True):
        word, _, strides = text.partition("/")
        if isinstance(shape, tuple) and "[" in word:
            out.append(
                f"{word.split('[')[0]}[{', '.join(map(str, shape))}]{'/' + strides if strides else ''}"
            )
        else:
            out.append(text if isinstance(shape, tuple) else repr(shape))
    return ", ".join(out)


def _run_line(name: str, timing: Timing, result: Result, share: Share | None) -> str:
    work = result.work
    rates = [f"{significant(work.bytes / timing.median / 1e9)} GB/s"] if work.bytes else []
    if work.operations > 0:
        rates.append(f"{significant(work.operations / timing.median / 1e9)} GFLOP/s")
    cells = [f"  {name:<12}{duration(timing.median):>9} ± {timing.spread / 2:.0%}", *rates]
    return "   ".join([*cells, *filter(None, [share_text(share)])]).replace("%", " %").replace("  %", " %")


def text_of(result: Result) -> str:
    """Returns a result as a paragraph."""
    threads = f"{result.threads} thread{'s' if result.threads > 1 else ''}"
    lines = [f"{result.kernel}({sizes_text(result)})   {result.target}, {threads}"]
    parts = [
        f"compiled in {duration(result.compiled)}",
        f"from the disk cache in {duration(result.loaded)}",
        f"a call with minimal arguments takes {duration(result.call)}",
    ]
    lines.append("  " + ", ".join(p for p in parts if not p.endswith(" -")))
    lines.append(_run_line("1 thread", result.one, result, result.share_one))
    if result.threads > 1:
        lines.append(_run_line(threads, result.all, result, result.share_all))
    lines += [_peer_line(name, result) for name in result.peers]
    work = result.work
    if work.unknown:
        lines.append(f"  operations are not counted: {work.unknown}")
    lines += [
        f"  {what} at most, so they have no share of the limit: {why}"
        for what, why in (("operations", work.at_most_operations), ("bytes", work.at_most_bytes))
        if why
    ]
    if result.share_one is None and work.is_exact and (work.bytes or work.operations):
        lines.append(
            "  too short for a share of the limit: most of a run is the call from Python, which times of C "
            "do not include"
        )
    return "\n".join(lines)


def _peer_line(name: str, result: Result) -> str:
    peer = result.peers[name]
    if peer.timing is None:
        return f"  {name:<12}{peer.problem}"
    speed = f"kw is {significant(result.over(name, threads=1))}x as fast"
    if result.threads > 1:
        speed += f" with 1 thread, {significant(result.over(name))}x with {result.threads}"
    wrong = "" if peer.agrees else "   its result differs"
    return f"  {name:<12}{duration(peer.timing.median):>9}   {speed}{wrong}"


def table_of(results: Sequence[Result]) -> list[list[str]]:
    """Returns a table, the head first: one row for each result."""
    peers = list(dict.fromkeys(name for r in results for name in r.peers))
    rows = [
        [
            "kernel",
            "arguments",
            "1 thread",
            "all",
            "GB/s",
            "GFLOP/s",
            "of the limit",
            *(f"over {p}" for p in peers),
        ]
    ]
    for r in results:
        share = r.share_all
        rows.append(
            [
                r.kernel,
                sizes_text(r),
                duration(r.one.median),
                duration(r.all.median),
                significant(r.gigabytes),
                significant(r.gigaflops),
                f"{share.of_limit:.0%} {share.limit}" if share else "-",
                *(f"{significant(r.over(p))}x" if p in r.peers and r.peers[p].timing else "-" for p in peers),
            ]
        )
    return rows


def csv_of(results: Sequence[Result]) -> str:
    """Returns the figures as CSV, times in seconds; an empty cell is a figure that there is not."""
    peers = list(dict.fromkeys(name for r in results for name in r.peers))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "kernel",
            "arguments",
            "target",
            "threads",
            "compiled",
            "loaded",
            "call",
            "one",
            "all",
            "bytes",
            "operations",
            "of_limit",
            "limit",
            *peers,
        ]
    )
    for r in results:
        share = r.share_all
        figures = [r.compiled, r.loaded, r.call, r.one.median, r.all.median, r.work.bytes, r.work.operations]
        figures.append(share.of_limit if share else math.nan)
        times = [r.peers[p].timing if p in r.peers else None for p in peers]
        figures_text = ["" if math.isnan(f) else f"{f:.6g}" for f in figures]
        writer.writerow(
            [
                r.kernel,
                sizes_text(r),
                r.target,
                r.threads,
                *figures_text,
                share.limit if share else "",
                *("" if t is None else f"{t.median:.6g}" for t in times),
            ]
        )
    return out.getvalue()
