"""Price of memory safety: kernels as they come beside the same with `unchecked=True`.

Prints JSON {name: [ratio of a round, …]}, measured in turn in one process. Gathers and scatters read 2^20
random subscripts, more than the second-level cache holds, or few enough for the first.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import kernelwright as kw
from kernelwright.examples import kernels

ROUNDS, SECONDS = 11, 0.06


def gather(x, idx):  # type: ignore[no-untyped-def]
    y = output_tensor(idx.shape, x.dtype)  # type: ignore[name-defined]
    for i in range(idx.shape[0]):
        y[i] = x[idx[i]]
    return y


def scatter(y, idx, x):  # type: ignore[no-untyped-def]
    for i in range(idx.shape[0]):
        y[idx[i]] += x[i]
    return y


def cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    random = np.random.default_rng(0)
    x = random.random(1 << 20, dtype=np.float32)
    small, idx_small = x[: 1 << 12].copy(), random.integers(0, 1 << 12, 1 << 12)
    idx = random.integers(0, 1 << 20, 1 << 20)
    a = random.random((128, 128), dtype=np.float32)
    return {
        "gather, 2^20 of 2^20": (gather, (x, idx)),
        "scatter, 2^20 into 2^20": (scatter, (x.copy(), idx, x)),
        "gather, 2^12 of 2^12 (in the first cache)": (gather, (small, idx_small)),
        "scatter, 2^12 into 2^12 (in the first cache)": (scatter, (small.copy(), idx_small, small)),
        "stencil, 128x128": (kernels.stencil.__wrapped__, (a,)),
        "matmul, 128x128": (kernels.matmul.__wrapped__, (a, a.copy())),
    }


def once(kernel: Callable[..., Any], args: tuple[Any, ...], keep: dict[str, Any]) -> float:
    """Seconds of the fastest call within SECONDS."""
    best, until = float("inf"), time.perf_counter() + SECONDS
    while (start := time.perf_counter()) < until:
        kernel(*args, **keep)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    ratios: dict[str, list[float]] = {}
    for name, (function, args) in cases().items():
        checked, unchecked = kw.kernel(function), kw.kernel(unchecked=True)(function)
        result = checked(*args)
        keep = {} if any(result is a for a in args) else {"out": result}
        unchecked(*args, **keep)
        ratios[name] = [once(checked, args, keep) / once(unchecked, args, keep) for _ in range(ROUNDS)]
    print(json.dumps(ratios))


main()
