"""The kernels of the gallery on a GPU, beside the rate of a copy, and what a call costs.

`python bench/gpu/device.py [KERNEL ...] [--size DRAM] [--peers] [--tiny]` first measures a copy of 256 MB,
the rate of reading it and that of f32 arithmetic. Then it runs each kernel, in a process of its own, on
inputs that are new to the caches: it takes turns with as many copies of the arguments as 256 MB hold. Results
are compared with NumPy's; their memory held NaN, or -1, before. "GB/s" counts the bytes of arguments and
results once; "of copy" is that rate beside the copy's. Times are medians of rounds that end with a wait for
the device; "+-" is how far a second series of rounds is from the first. With --peers, more columns have
microseconds of other libraries on the same arrays, where they are installed and their result is right
(peers.py).
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kernelwright as kw

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gallery"))

from case import Case, difference
from families import CASES
from peers import Peer, installed

ROTATED = 256 << 20  # bytes; five times the second-level cache of an H100
# besides the sizes of the gallery, which a CPU runs too: many long rows, and few longer ones
LARGE = {
    "softmax": [(16384, 4096), (512, 131072)],
    "layernorm": [(16384, 4096)],
    "sum_rows": [(16384, 4096), (512, 131072)],
    "cumsum_rows": [(16384, 4096)],
}
FAST = {"sum_columns", "cumsum_rows"}  # also with sums in any order: in source order, few threads add


@kw.kernel
def copied(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c


@kw.kernel
def added(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c


@kw.kernel
def greatest(a):
    """Reads all elements and writes one."""
    c = output_tensor((1,), a.dtype)
    c[0] = a[0]
    for i in range(a.shape[0]):
        c[0] = max(c[0], a[i])
    return c


@kw.kernel
def multiplied(a):
    """A chain of 4,096 fused operations for each element; those of other threads fill the pipeline."""
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        x = a[i]
        for _ in range(4096):
            x = x * 0.5 + 0.5
        c[i] = x
    return c


def wait_for_device(_: Any) -> None:
    kw.cuda.synchronize()


def seconds(
    call: Callable[[], Any], rounds: int, least: float, wait: Callable[[Any], None] = wait_for_device
) -> float:
    """The median time of a call, in rounds of at least that many seconds. `wait` takes the last result."""
    wait(call())
    count, times = 1, []
    while len(times) < rounds:
        start = time.perf_counter()
        for _ in range(count):
            result = call()
        wait(result)
        taken = time.perf_counter() - start
        if taken < least and not times and count < 1 << 16:
            count *= 2
        else:
            times.append(taken / count)
    return statistics.median(times)


def size_of(values: Any) -> int:
    """Bytes of the arrays among the values, each once."""
    arrays = {id(a): a for a in values if isinstance(a, (np.ndarray, kw.Tensor))}
    return sum(math.prod(a.shape) * np.dtype(a.dtype).itemsize for a in arrays.values())


def in_turns(function: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> Callable[[], Any]:
    turn = itertools.cycle(arguments)
    return lambda: function(*next(turn))


def move(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(kw.Tensor(v, device="cuda") if isinstance(v, np.ndarray) and v.ndim else v for v in values)


def time_of_peer(
    peer: Peer,
    case: Case,
    arguments: list[tuple[Any, ...]],
    wanted: tuple[Any, ...],
    options: argparse.Namespace,
) -> str:
    """Microseconds; "-" where there is nothing to compare, "wrong" for another result, and "failed"."""
    if (call := peer.prepare(case)) is None:
        return "-"
    try:
        own = [tuple(peer.adopt(a) if isinstance(a, kw.Tensor) else a for a in one) for one in arguments]
        found = call(*own[0])
        results = found if isinstance(found, tuple) else (found,)
        if difference(case, tuple(map(peer.to_numpy, results)), wanted):
            return "wrong"
        return f"{1e6 * seconds(in_turns(call, own), options.rounds, options.least, peer.wait):.1f}"
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        print(f"{peer.name} of {case.name}: {type(error).__name__}: {first}", file=sys.stderr)
        return "failed"


def variants(case: Case, options: argparse.Namespace) -> list[tuple[str, str, Case]]:
    """(name, size, case) of each row of a kernel."""
    size = options.size if options.size in case.sizes else list(case.sizes)[-1]
    out = [(case.name, size, case)]
    if options.size == "DRAM":
        for shape in LARGE.get(case.name, []):
            label = "x".join(map(str, shape))
            out.append((case.name, label, dataclasses.replace(case, sizes={label: shape})))
    if case.name in FAST:
        fast = dataclasses.replace(case, kernel=kw.kernel(fp="fast")(case.kernel.__wrapped__))
        out.append((f"{case.name}, fast", size, fast))
    return out


def poison(results: tuple[Any, ...]) -> None:
    """Fills memory of the sizes of results, which they are given next, with values that are none of them."""
    for r in map(np.asarray, results):
        kw.Tensor(np.full(r.shape, np.nan if r.dtype.kind == "f" else -1).astype(r.dtype), device="cuda")


def row(
    name: str, size: str, case: Case, options: argparse.Namespace, copy_rate: float, peers: list[Peer]
) -> str:
    given = case.arguments(size)
    kept = [a.copy() if isinstance(a, np.ndarray) else a for a in given]  # some are written
    with np.errstate(all="ignore"):
        wanted = case.reference(*kept)
    wanted = wanted if isinstance(wanted, tuple) else (np.asarray(wanted),)
    on_device = move(given)
    poison(wanted)
    found = case.kernel(*on_device)
    results = found if isinstance(found, tuple) else (found,)
    wrong = difference(
        case, tuple(np.asarray(r.numpy() if isinstance(r, kw.Tensor) else r) for r in results), wanted
    )
    moved = size_of(given) + size_of(results)
    copies = 1 if options.tiny else max(2, min(64, ROTATED // max(moved, 1)))
    arguments = [move(given) for _ in range(copies)]
    taken, again = (seconds(in_turns(case.kernel, arguments), options.rounds, options.least) for _ in "ab")
    rate = moved / taken
    others = [time_of_peer(peer, case, arguments, wanted, options) for peer in peers]
    share = f"{rate / copy_rate:8.2f}" if case.limit else "       -"
    spread = f"{100 * abs(again - taken) / taken:4.0f}%"
    figures = [f"{1e6 * taken:10.1f} {spread} {1e-9 * rate:9.1f} {share}", *(f"{o:>9}" for o in others)]
    return f"  {name:20} {size:>10} {' '.join(figures)}  {wrong or 'right'}"


def rows(names: list[str], options: argparse.Namespace, copy_rate: float) -> int:
    """Prints the rows of kernels. Returns how many of them failed."""
    peers = installed() if options.peers else []
    failed = 0
    for name, size, case in [v for n in names for v in variants(CASES[n], options)]:
        try:
            line = row(name, size, case, options, copy_rate, peers)
        except Exception as error:
            line = f"  {name:20} failed: {type(error).__name__}: {str(error).splitlines()[0]}"
        failed += not line.endswith("  right")
        print(line, flush=True)
    return failed


def rows_apart(names: list[str], options: argparse.Namespace, copy_rate: float) -> int:
    """The same with a process for each kernel: none finds what another one has left in memory or caches."""
    given = ["--size", options.size, *(["--peers"] if options.peers else [])]
    failed = 0
    for name in names:
        command = [sys.executable, __file__, name, "--of-copy", str(copy_rate), *given]
        failed += subprocess.run(command, check=False).returncode != 0
    return failed


def ceilings(source: kw.Tensor, options: argparse.Namespace) -> float:
    """Prints what the device can do at best, by kernels that do one thing. Returns the rate of a copy."""
    moved = size_of([source])
    copying = seconds(lambda: copied(source), options.rounds, options.least)
    reading = seconds(lambda: greatest(source), options.rounds, options.least)
    few = kw.Tensor(np.ones(1024 if options.tiny else 1 << 20, np.float32), device="cuda")
    computing = seconds(lambda: multiplied(few), options.rounds, options.least)
    print(
        f"  ceilings: copy {2e-9 * moved / copying:.1f} GB/s, read {1e-9 * moved / reading:.1f} GB/s,"
        f" multiply and add {1e-9 * 2 * 4096 * few.shape[0] / computing:.1f} GFLOP/s (f32)"
    )
    return 2 * moved / copying


def costs_of_calls(options: argparse.Namespace) -> None:
    """What the host needs for a call, when the device has less to do."""
    a, b = (kw.Tensor(np.ones(16384, np.float32), device="cuda") for _ in range(2))
    count = 10 if options.tiny else 1000
    times = []
    for _ in range(options.rounds):
        kw.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            added(a, b)
        times.append((time.perf_counter() - start) / count)
    print(
        f"  a call that adds 64 KB: {1e6 * statistics.median(times):.2f} us, least {1e6 * min(times):.2f} us"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--size", default="DRAM")
    parser.add_argument("--peers", action="store_true", help="PyTorch, CuPy, JAX and Numba besides")
    parser.add_argument(
        "--tiny", action="store_true", help="to see that it runs: small sizes, one round, one process"
    )
    parser.add_argument("--of-copy", type=float, help=argparse.SUPPRESS)  # the rate of a copy: rows alone
    options = parser.parse_args()
    options.rounds, options.least = (1, 0.0) if options.tiny else (7, 0.01)
    if options.tiny:
        options.size = "small"
    names = options.kernels or list(CASES)
    if why := kw.cuda.why():
        sys.exit(f"bench/gpu/device.py: {why}")
    warnings.simplefilter("ignore")
    if options.of_copy:
        sys.exit(1 if rows(names, options, options.of_copy) else 0)
    device = kw.cuda.device()
    source = kw.Tensor(np.ones(1024 if options.tiny else ROTATED // 4, np.float32), device="cuda")
    print(f"{device.name}, {device.arch}, with {size_of([source]) >> 20} MB")
    rate = ceilings(source, options)
    if not options.peers:
        costs_of_calls(options)
    peers = installed() if options.peers else []
    heads = [f"{'us':>10} {'+-':>5} {'GB/s':>9} {'of copy':>8}", *(f"{peer.name:>9}" for peer in peers)]
    print(f"  {'':20} {'size':>10} {' '.join(heads)}", flush=True)
    failed = (rows if options.tiny else rows_apart)(names, options, rate)
    sys.exit(f"{failed} kernels failed, or their results are wrong" if failed else 0)


if __name__ == "__main__":
    main()
