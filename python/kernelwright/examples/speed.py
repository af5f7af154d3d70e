"""Measures the kernels of the tour on this machine, and compares them with the machine's limits, NumPy and,
if installed, Numba. All measurements take place in one process and take a few seconds.

`python -m kernelwright.examples.speed`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
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
    _Case("matmul", (512, 512), lambda a, b: np.asarray(a @ b)),
)


def arguments(case: _Case) -> tuple[Array, ...]:
    rng = np.random.default_rng(0)
    first = rng.standard_normal(case.shape).astype(np.float32)
    if case.extra:
        return (first, *(rng.standard_normal(case.shape[1]).astype(np.float32) for _ in range(case.extra)))
    return (first, first.T.copy()) if case.name in ("add", "matmul") else (first,)


def rows(seconds: float = 0.15) -> list[tuple[str, ...]]:
    """Returns kernel and shape, speed, share of the limit, ratio to NumPy, to Numba ("-" without it)."""
    has_numba = importlib.util.find_spec("numba") is not None
    out: list[tuple[str, ...]] = []
    for case in _cases:
        kernel, args = getattr(kernels, case.name), arguments(case)
        found = kernel.bench(
            *args, peers={"NumPy": case.numpy}, numba=has_numba, python=False, seconds=seconds
        )
        share = found.share_all
        by_arithmetic = share is not None and share.limit == "arithmetic"
        speed = f"{found.gigaflops:.3g} GFLOP/s" if by_arithmetic else f"{found.gigabytes:.3g} GB/s"
        of_limit = f"{share.of_limit:.0%}" if share else "-"
        shape = "x".join(map(str, case.shape))
        over_numba = f"{found.over('Numba'):.1f}x" if has_numba else "-"
        out.append((f"{case.name} {shape}", speed, of_limit, f"{found.over('NumPy'):.1f}x", over_numba))
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
        f"Float32, {kw.threads()} threads. The limit is measured beside each row: the fastest loops that read"
        "\nand write as many bytes, or multiply-adds in registers. Numba: njit, one thread. NumPy as it is."
    )


if __name__ == "__main__":
    show()
