"""Makes the arrays and scalars of a program's arguments: contents, layouts, shared memory.

The same program gives equal fresh arguments at each call. Knows nothing of the kernel's text.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from program import Arg, Program
from scalar_types import LIMITS, dtype_of, is_float

SPECIAL = (0.0, -0.0, 0.5, -0.5, 1.0, 2.5, -3.0, 1e-40, 6e-8, 65504.0, 3e38, math.inf, -math.inf, math.nan)


def content(arg: Arg, count: int, sizes: dict[str, int], rng: np.random.Generator) -> np.ndarray:
    """`count` elements, one after the other."""
    dtype = dtype_of(arg.dtype)
    if "index" in arg.content and arg.limit is not None:
        high = max(arg.limit.value(sizes), 1)
        values = rng.integers(0, high, count)
        if arg.content == "bad index" and count:
            values[rng.integers(0, count)] = rng.choice((high, high + 3, -1 if "u" not in arg.dtype else 99))
        return values.astype(dtype)
    if arg.content == "ones":
        return np.ones(count, dtype)
    if arg.dtype == "bool":
        return rng.random(count) < 0.5
    if is_float(arg.dtype):
        values = rng.standard_normal(count) * 2.0
        if arg.content == "special":
            values = np.where(rng.random(count) < 0.5, rng.choice(SPECIAL, count), values)
        if arg.content == "wide":
            values = values * 10.0 ** rng.integers(-8, 12, count)
        with np.errstate(all="ignore"):
            return values.astype(dtype)
    low, high = LIMITS[arg.dtype]
    if arg.content == "small":
        return rng.integers(0 if low == 0 else -9, 10, count).astype(dtype)
    edges = np.array([low, low + 1, 0, 1, high - 1, high, max(low, -1)], dtype)
    values = rng.integers(low, high, count, dtype, endpoint=True)
    return np.where(rng.random(count) < 0.5, rng.choice(edges, count), values).astype(dtype)


def laid_out(arg: Arg, shape: tuple[int, ...], flat: np.ndarray) -> np.ndarray:
    """The elements in an array of the wanted strides."""
    dtype, plain = flat.dtype, flat.reshape(shape)
    if arg.layout in ("C", "same", "shifted") or not shape:
        return plain.copy()
    if arg.layout == "F":
        return np.asfortranarray(plain)
    if arg.layout == "reversed":
        return plain[::-1].copy()[::-1]
    if arg.layout == "step":
        wide = np.zeros((*shape[:-1], shape[-1] * 2 + 1), dtype)
        view = wide[..., 1::2] if shape[-1] else wide[..., :0]
        view[...] = plain
        return view
    if arg.layout == "offset":
        wide = np.zeros(tuple(n + 2 for n in shape), dtype)
        view = wide[tuple(slice(1, 1 + n) for n in shape)]
        view[...] = plain
        return view
    if arg.layout == "broadcast":
        return np.broadcast_to(plain[:1], shape) if shape[0] else plain
    if arg.layout == "unaligned":
        raw = np.zeros(plain.nbytes + 1, np.uint8)[1:]
        view = raw.view(dtype) if dtype.itemsize == 1 else np.frombuffer(raw.data, dtype)
        view = view.reshape(shape)
        view[...] = plain
        return view
    raise ValueError(arg.layout)


def scalar(arg: Arg, rng: np.random.Generator) -> Any:
    """A Python number, or a NumPy scalar."""
    if arg.dtype in ("wb", "wi", "wf"):
        small = arg.content in ("small", "ones")
        whole = int(rng.integers(0, 7)) if small else int(rng.integers(-(2**63), 2**63 - 1))
        return {"wb": bool(rng.integers(2)), "wi": whole, "wf": float(rng.standard_normal())}[arg.dtype]
    return content(arg, 1, {}, rng)[0]


def arguments(p: Program) -> list[Any]:
    """Fresh arguments for a call."""
    made: dict[str, Any] = {}
    for arg in p.args:
        rng = np.random.default_rng([p.seed, arg.number])
        if arg.shape is None:
            made[arg.name] = scalar(arg, rng)
            continue
        shape = tuple(max(d.value(p.sizes), 0) for d in arg.shape)
        if arg.partner:
            made[arg.name] = shared(made, arg, shape, rng)
        else:
            made[arg.name] = laid_out(arg, shape, content(arg, math.prod(shape), p.sizes, rng))
    return list(made.values())


def shared(made: dict[str, Any], arg: Arg, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """The partner itself, or a view one element further on that overlaps it; the partner then moves too."""
    first: np.ndarray = made[arg.partner]
    if arg.layout == "same" or not shape or first.size == 0:
        return first
    row = first.size // shape[0]
    wide = np.concatenate([first.reshape(-1), rng.permutation(first.reshape(-1))[:row]])
    made[arg.partner] = wide[: first.size].reshape(shape)
    return wide[row:].reshape(shape)
