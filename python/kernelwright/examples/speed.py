"""Measures the kernels of the tour on this machine, and compares them with the machine's limits, NumPy and,
if installed, Numba. All measurements take place in one process and take a few seconds.

`python -m kernelwright.examples.speed`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import kernelwright as kw

from . import kernels

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Case:
    name: str
    shape: tuple[int, int]
    numpy: Callable[..., Array]
    extra: int = 0  # number of rows passed as arguments besides the first array
    flops: bool = False  # limited by arithmetic, not by memory


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _layernorm(x: Array, gain: Array, shift: Array) -> Array:
    mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return np.asarray((x - mean) / np.sqrt(var + np.float32(1e-5)) * gain + shift)


def _stencil(u: Array) -> Array:
    v = np.zeros_like(u)
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    v[1:-1, 1:-1] = np.float32(0.25) * around - u[1:-1, 1:-1]
    return v


_cases = (
    _Case("add", (2048, 2048), lambda a, b: np.asarray(a + b)),
    _Case("softmax", (4096, 1024), _softmax),
    _Case("layernorm", (4096, 1024), _layernorm, extra=2),
    _Case("stencil", (2048, 2048), _stencil),
    _Case("matmul", (512, 512), lambda a, b: np.asarray(a @ b), flops=True),
)


def _best(call: Callable[[], Any], seconds: float) -> float:
    """Returns the time of the shortest of the calls that fit into `seconds`, at least three."""
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def copy_limit(moved: int, seconds: float = 0.15) -> float:
    """Returns the bytes per second of the fastest copy that reads and writes `moved` bytes. Tries NumPy's
    with one thread or with all, and a loop of ours, which can bypass the caches.
    """
    source, target = np.ones(moved // 8, np.float32), np.ones(moved // 8, np.float32)
    one = _best(lambda: np.copyto(target, source), seconds)
    loop = _best(lambda: kernels.copy(source, out=target), seconds)
    threads = kw.threads()
    parts = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        many = _best(lambda: list(pool.map(lambda part: np.copyto(*part), parts)), seconds)
    return 2 * source.nbytes / min(one, many, loop)


def arithmetic_limit(seconds: float = 0.15) -> float:
    """Returns the float32 operations per second of all threads, with independent multiply-adds."""
    x, rounds = np.ones(1 << 14, np.float32), 1 << 8
    return 4 * x.size * rounds / _best(lambda: kernels.multiply_adds(x, rounds), seconds)


def _numba(kernel: kw.Kernel) -> Callable[..., Array] | None:
    """Returns the same loops compiled by njit with float32 numbers; None if Numba is not installed."""
    if importlib.util.find_spec("numba") is None:
        return None
    numba = importlib.import_module("numba")
    text = inspect.getsource(kernel.__wrapped__)
    text = re.sub(r"(?<![\w.])\d+\.\d+(e-?\d+)?", lambda m: f"float32({m[0]})", text[text.index("def ") :])
    text = re.sub(r"output_tensor\(", "empty(", text)
    names = {"exp": math.exp, "sqrt": math.sqrt, "empty": np.empty, "float32": np.float32}
    exec(compile(text, f"<numba {kernel.__name__}>", "exec"), names)
    made: Callable[..., Array] = numba.njit(names[kernel.__name__])
    return made


def arguments(case: _Case) -> tuple[Array, ...]:
    rng = np.random.default_rng(0)
    first = rng.standard_normal(case.shape).astype(np.float32)
    if case.extra:
        return (first, *(rng.standard_normal(case.shape[1]).astype(np.float32) for _ in range(case.extra)))
    return (first, first.T.copy()) if case.name in ("add", "matmul") else (first,)


def rows(seconds: float = 0.15) -> list[tuple[str, ...]]:
    """Returns kernel and shape, speed, share of the limit, ratio to NumPy, to Numba ("-" without it)."""
    out: list[tuple[str, ...]] = []
    for case in _cases:
        kernel, args = getattr(kernels, case.name), arguments(case)
        result = kernel(*args)
        done = (
            2 * math.prod(case.shape) * case.shape[1]
            if case.flops
            else sum(a.nbytes for a in (*args, result))
        )
        ours = _best(lambda: kernel(*args), seconds)  # noqa: B023 (called at once)
        theirs = _best(lambda: case.numpy(*args), seconds)  # noqa: B023
        numba = _numba(kernel)
        ratio = f"{_best(lambda: numba(*args), seconds) / ours:.1f}x" if numba else "-"  # noqa: B023
        unit = "GFLOP/s" if case.flops else "GB/s"
        limit = arithmetic_limit(seconds) if case.flops else copy_limit(done, seconds)
        shape = "x".join(map(str, case.shape))
        speed = f"{done / ours / 1e9:.3g} {unit}"
        out.append(
            (f"{case.name} {shape}", speed, f"{done / ours / limit:.0%}", f"{theirs / ours:.1f}x", ratio)
        )
    return out


def show() -> None:
    """Prints the table."""
    head = ("kernel", "speed", "of the limit", "over NumPy", "over Numba")
    found = rows()
    for cells in (head, *found):
        print(f"{cells[0]:<22}{cells[1]:>14}{cells[2]:>14}{cells[3]:>12}{cells[4]:>12}")
    if all(cells[4] == "-" for cells in found):
        print("(Numba is not installed)")
    print(
        f"Float32, {kw.threads()} threads. The limit of memory is the fastest copy of as many bytes, that of"
        "\narithmetic independent multiply-adds. Numba: njit with one thread; NumPy as it comes."
    )


if __name__ == "__main__":
    show()
