"""The kernels of the gallery on a GPU, beside the rate of a copy, and what a call costs.

`python bench/gpu/device.py [KERNEL ...] [--size DRAM] [--tiny]` first measures a copy of 256 MB, the rate of
reading it and that of f32 arithmetic. Then it runs each kernel on inputs that are new to the caches: it takes
turns with as many copies of the arguments as 256 MB hold. "GB/s" counts the bytes of arguments and results
once; "of copy" is that rate beside the copy's.
Times are medians of rounds that end with a wait for the device. "torch" and "compiled" are eager PyTorch and
torch.compile (Triton) on the same arrays, where PyTorch is installed.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
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

ROTATED = 256 << 20  # bytes; five times the second-level cache of an H100

try:
    import torch
except ImportError:
    torch = None

# what a user of PyTorch would write
PEERS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sum_all": lambda x: x.sum(),
    "sum_rows": lambda x: x.sum(1),
    "sum_columns": lambda x: x.sum(0),
    "max_rows": lambda x: x.amax(1),
    "argmax_rows": lambda x: x.argmax(1),
    "softmax": lambda x: torch.softmax(x, 1),
    "log_softmax": lambda x: torch.log_softmax(x, 1),
    "transpose": lambda x: x.T.contiguous(),
    "exponential": lambda x: torch.exp(x),
    "cumsum_rows": lambda x: torch.cumsum(x, 1),
    "matvec": lambda a, x: a @ x,
    "gather": lambda x, at: x[at],
}


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


def seconds(call: Callable[[], Any], rounds: int, least: float) -> float:
    """The median time of a call, in rounds of at least that many seconds."""
    call()
    kw.cuda.synchronize()
    count, times = 1, []
    while len(times) < rounds:
        start = time.perf_counter()
        for _ in range(count):
            call()
        kw.cuda.synchronize()
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


def row(case: Case, options: argparse.Namespace, copy_rate: float) -> str:
    size = options.size if options.size in case.sizes else list(case.sizes)[-1]
    given = case.arguments(size)
    kept = [a.copy() if isinstance(a, np.ndarray) else a for a in given]  # some are written
    with np.errstate(all="ignore"):
        wanted = case.reference(*kept)
    wanted = wanted if isinstance(wanted, tuple) else (np.asarray(wanted),)
    found = case.kernel(*move(given))
    results = found if isinstance(found, tuple) else (found,)
    wrong = difference(
        case, tuple(np.asarray(r.numpy() if isinstance(r, kw.Tensor) else r) for r in results), wanted
    )
    moved = size_of(given) + size_of(results)
    copies = 1 if options.tiny else max(2, min(64, ROTATED // max(moved, 1)))
    arguments = [move(given) for _ in range(copies)]
    taken = seconds(in_turns(case.kernel, arguments), options.rounds, options.least)
    rate = moved / taken
    peers = ["-", "-"]
    if torch is not None and case.name in PEERS:
        tensors = [
            tuple(torch.from_dlpack(a) if isinstance(a, kw.Tensor) else a for a in one) for one in arguments
        ]
        peer = PEERS[case.name]
        for k, function in enumerate((peer, torch.compile(peer))):
            peers[k] = f"{1e6 * seconds(in_turns(function, tensors), options.rounds, options.least):.1f}"
    share = f"{rate / copy_rate:8.2f}" if case.limit else "       -"
    figures = f"{1e6 * taken:10.1f} {1e-9 * rate:9.1f} {share} {peers[0]:>9} {peers[1]:>9}"
    return f"  {case.name:20} {size:>8} {figures}  {wrong or 'right'}"


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
    parser.add_argument("--tiny", action="store_true", help="to see that it runs: small sizes, one round")
    options = parser.parse_args()
    options.rounds, options.least = (1, 0.0) if options.tiny else (7, 0.01)
    if options.tiny:
        options.size = "small"
    if why := kw.cuda.why():
        sys.exit(f"bench/gpu/device.py: {why}")
    warnings.simplefilter("ignore")
    device = kw.cuda.device()
    source = kw.Tensor(np.ones(1024 if options.tiny else ROTATED // 4, np.float32), device="cuda")
    print(f"{device.name}, {device.arch}, with {size_of([source]) >> 20} MB")
    rate = ceilings(source, options)
    costs_of_calls(options)
    heads = f"{'us':>10} {'GB/s':>9} {'of copy':>8} {'torch':>9} {'compiled':>9}"
    print(f"  {'':20} {'size':>8} {heads}", flush=True)
    for name in options.kernels or CASES:
        try:
            print(row(CASES[name], options, rate), flush=True)
        except Exception as error:
            print(f"  {name:20} failed: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)


if __name__ == "__main__":
    main()
