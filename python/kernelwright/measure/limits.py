"""The limits of this machine, measured: how fast memory and caches deliver as many bytes as a kernel moves,
and how fast multiply-adds run.

Loops of our own, compiled as kernels are, so that a limit uses the same instructions and threads as what it
limits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._threads import threads_set_to
from ..kernel import kernel
from .timing import Candidate, Timing, time_calls

_PART = 512 << 10
"""Bytes that lie in the caches of one core of most machines, and that loops as cheap as these move by one
thread: they use more from 1 MB on (measured on avx2).
"""

_MOST_STREAMS = 8
"""Arrays that one loop reads at most; beyond, an output is a ninth of what is moved."""

_READ = """\
def read(a):
    s = output_tensor((1,), a.dtype)
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i]
    s[0] = total
    return s
"""

_FILL = """\
def fill(size):
    b = output_tensor((size,), "float32")
    for i in range(size):
        b[i] = 1.0
    return b
"""


@functools.cache
def _loops(name: str) -> Any:
    return kernel({"read": _READ, "fill": _FILL}[name])


@functools.cache
def _streams(count: int) -> Any:
    """Returns the kernel that writes sums of `count` elements of an array, from as many places."""
    terms = " + ".join(f"a[i + {k} * size]" if k else "a[i]" for k in range(count))
    return kernel(f"""\
def streams(a, size):
    b = output_tensor((size,), a.dtype)
    for i in range(size):
        b[i] = {terms}
    return b
""")


@functools.cache
def _multiply_adds(dtype: str) -> Any:
    """Returns a kernel whose iterations are independent chains of multiply-adds in registers.

    Ten chains fill two units of four cycles, and leave room in sixteen registers; 24 steps make the loads
    and stores of an iteration a twentieth of its instructions.
    """
    chains, steps = range(10), range(24)
    lines = [
        "def multiply_adds(x, a, b):",
        "    y = output_tensor(x.shape, x.dtype)",
        "    for i in range(x.shape[0]):",
    ]
    lines += [f"        t{k} = x[i] + {k}" for k in chains]
    lines += [f"        t{k} = t{k} * a + b" for _ in steps for k in chains]
    lines.append(f"        y[i] = {' + '.join(f't{k}' for k in chains)}\n    return y")
    return kernel("\n".join(lines))


@dataclass(frozen=True)
class Calculator(Candidate):
    """A loop of so many operations."""

    operations: float = 0


def calculator(dtype: str, threads: int) -> Calculator:
    """Returns independent multiply-adds, each of which counts two, on "float32" or "float64" for `threads`
    threads.
    """
    x = np.ones(threads << 15, dtype)
    y = np.empty_like(x)
    run = _multiply_adds(dtype)
    counted = _core.count(run, (x, 0.5, 0.25), {})
    return Calculator(lambda: run(x, 0.5, 0.25, out=y), operations=float(counted[dtype]))


@functools.cache
def arithmetic_limit(dtype: str, threads: int) -> float:
    """Returns the operations per second of `threads` threads on "float32" or "float64"."""
    loop = calculator(dtype, threads)
    with threads_set_to(threads):
        timing = time_calls({"": loop}, 0.2)[""]
    return loop.operations / timing.least


@dataclass(frozen=True)
class Mover(Candidate):
    """A loop that moves so many bytes."""

    bytes: int = 0


def _by_each(mover: Mover, threads: int) -> Mover:
    """Returns what as many threads move that each run the loop: the time of one."""

    def repeat(count: int) -> None:
        with threads_set_to(1):
            for _ in range(count):
                mover.call()

    return Mover(mover.call, repeat=repeat, bytes=threads * mover.bytes)


def memory_movers(bytes_read: int, bytes_written: int, threads: int = 1) -> dict[str, Mover]:
    """Returns loops that move about as many bytes, and read and write in about the same ratio. Their arrays
    are together as large as those of the kernel, so they are in the same caches.

    A kernel that computes more than these loops uses threads for fewer bytes than they do, so loops over the
    part of each of `threads` threads are among them, where it lies in the caches of one core.
    """
    out = _whole_movers(bytes_read, bytes_written)
    if threads > 1 and (bytes_read + bytes_written) // threads <= _PART:
        parts = _whole_movers(bytes_read // threads, bytes_written // threads)
        out |= {f"{name}, {threads} parts": _by_each(mover, threads) for name, mover in parts.items()}
    return out


def _whole_movers(bytes_read: int, bytes_written: int) -> dict[str, Mover]:
    total, item = max(bytes_read + bytes_written, 4), 4
    ratio = bytes_read / bytes_written if bytes_written else math.inf
    out: dict[str, Mover] = {}
    for count in sorted({math.floor(min(ratio, _MOST_STREAMS)), math.ceil(min(ratio, _MOST_STREAMS))} - {0}):
        size = max(total // item // (count + 1), 1)
        a, b, run = np.ones(count * size, np.float32), np.empty(size, np.float32), _streams(count)
        moved = item * (count + 1) * size
        out[f"{count} streams"] = Mover(lambda a=a, n=size, f=run: f(a, n), bytes=moved)  # type: ignore[misc]
        if count == 1:
            out["copy"] = Mover(lambda a=a, b=b: np.copyto(b, a), bytes=moved)  # type: ignore[misc]
    size = max(total // item, 1)
    if ratio > _MOST_STREAMS:
        whole, read = np.ones(size, np.float32), _loops("read")
        out["read"] = Mover(lambda: read(whole), bytes=item * size)
    if ratio < 1:
        filled, fill = np.empty(size, np.float32), _loops("fill")
        out["fill"] = Mover(lambda: fill(size), bytes=item * size)
        out["NumPy's fill"] = Mover(lambda: filled.fill(1), bytes=item * size)
    return out


def best_rate(movers: Mapping[str, Mover], timings: Mapping[str, Timing]) -> float:
    """Returns the bytes per second of the fastest loop."""
    return max(mover.bytes / timings[name].median for name, mover in movers.items())


def bandwidth(bytes_read: int, bytes_written: int, threads: int) -> float:
    """Returns the bytes per second of the fastest loops that read and write as many bytes."""
    movers = memory_movers(bytes_read, bytes_written, threads)
    with threads_set_to(threads):
        return best_rate(movers, time_calls(movers, 0.2))
