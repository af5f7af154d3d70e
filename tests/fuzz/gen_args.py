"""Makes the arrays and scalars of a program's arguments: contents, layouts, shared memory.

The same program gives equal fresh arguments at each call. Knows nothing of the kernel's text.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from program import Arg, Call, Program
from scalar_types import LIMITS, dtype_of, is_float

EXACT = (0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.0, 3.0, -3.0, 0.25, -0.0)
FACTORS = (1.0, 1.0, 1.0, 1.0, -1.0, -1.0, 2.0, 0.5)
LAYOUTS = ("F", "reversed", "step", "offset", "broadcast", "broadcast last", "unaligned")
SPECIAL = (0.0, -0.0, 0.5, -0.5, 1.0, 2.5, -3.0, 1e-40, 6e-8, 65504.0, 3e38, math.inf, -math.inf, math.nan)


def content(arg: Arg, count: int, sizes: dict[str, int], rng: np.random.Generator) -> np.ndarray:
    """`count` elements, one after the other."""
    dtype = dtype_of(arg.dtype)
    if "index" in arg.content and arg.limit is not None:
        high = max(arg.limit.value(sizes), 1)
        values = rng.integers(0, high, count)
        if arg.content == "bad index" and count:
            far = (-1, -high - 1, -high) if "u" not in arg.dtype else (99, 100, 101)
            values[rng.integers(0, count)] = rng.choice((high, *far, *2 * (LIMITS[arg.dtype][1] // 2,)))
        if arg.content == "sorted index":
            values.sort()
        return values.astype(dtype)
    if arg.content == "ones":
        return np.ones(count, dtype)
    if arg.dtype == "bool":
        return rng.random(count) < 0.5
    if arg.content in ("exact", "unit", "factor") and is_float(arg.dtype):
        return few_bits(arg.content, count, rng).astype(dtype)
    if arg.content == "factor":
        return rng.choice((1, 1, -1, 2), count).astype(dtype)
    if is_float(arg.dtype):
        values = rng.standard_normal(count) * 2.0
        if arg.content == "special":
            values = np.where(rng.random(count) < 0.5, rng.choice(SPECIAL, count), values)
        if arg.content == "wide":
            values = values * 10.0 ** rng.integers(-8, 12, count)
        with np.errstate(all="ignore"):
            return values.astype(dtype)
    low, high = LIMITS[arg.dtype]
    if arg.content in ("small", "exact"):
        return rng.integers(0 if low == 0 else -9, 10, count).astype(dtype)
    edges = np.array([low, low + 1, 0, 1, high - 1, high, max(low, -1)], dtype)
    values = rng.integers(low, high, count, dtype, endpoint=True)
    return np.where(rng.random(count) < 0.5, rng.choice(edges, count), values).astype(dtype)


def few_bits(content: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers whose sums, or whose products, are exact in any order."""
    if content == "unit":
        return rng.integers(0, 8, count) / 8
    return rng.choice(EXACT if content == "exact" else FACTORS, count)


def laid_out(arg: Arg, shape: tuple[int, ...], flat: np.ndarray) -> np.ndarray:
    """The elements in an array of the wanted strides."""
    dtype, plain = flat.dtype, flat.reshape(shape)
    if arg.layout not in LAYOUTS or not shape:
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
    if arg.layout == "broadcast last":
        return np.broadcast_to(plain[..., :1], shape) if shape[-1] else plain
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
        small = arg.content in ("small", "ones", "exact")
        whole = int(rng.integers(0, 7)) if small else int(rng.integers(-(2**63), 2**63 - 1))
        part = float(rng.choice(EXACT)) if arg.content == "exact" else float(rng.standard_normal())
        return {"wb": bool(rng.integers(2)), "wi": whole, "wf": part}[arg.dtype]
    return content(arg, 1, {}, rng)[0]


def arguments(p: Program, call: Call | None = None) -> list[Any]:
    """Fresh arguments for a call, by default the first one."""
    return list(named(p, call or p.calls[0]).values())


def named(p: Program, call: Call) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for arg in p.args:
        layout = call.layouts.get(arg.name, arg.layout)
        arg = replace(arg, layout=layout, content=call.contents.get(arg.name, arg.content))
        rng = np.random.default_rng([p.seed, arg.number, call.salt])
        if arg.shape is None:
            made[arg.name] = scalar(arg, rng)
            continue
        shape = tuple(max(d.value(call.sizes), 0) for d in arg.shape)
        if arg.partner and not call.apart:
            made[arg.name] = shared(made, arg, shape, rng)
        else:
            made[arg.name] = laid_out(arg, shape, content(arg, math.prod(shape), call.sizes, rng))
    return made


def shared(made: dict[str, Any], arg: Arg, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """A view of the partner, or one that overlaps it in part; the partner then moves into a wider array."""
    first: np.ndarray = made[arg.partner]
    if arg.layout == "same" or not shape or first.size == 0:
        return first.reshape(shape) if first.size == 0 else first
    if arg.layout == "turned":
        return first[::-1]
    if arg.layout == "transposed":
        return first.T
    row = first.size // shape[0]
    more = rng.permutation(np.concatenate([first.reshape(-1)] * 2))
    if arg.layout == "every other":
        wide = np.concatenate([first.reshape(-1), more])[: 2 * first.size]
        made[arg.partner] = wide[: first.size].reshape(first.shape)
        return wide.reshape(2 * shape[0], *shape[1:])[::2]
    by = row * (min(7, shape[0]) if "far" in arg.layout else 1)
    wide = np.concatenate([more[:by], first.reshape(-1), more[by : 2 * by]])
    made[arg.partner] = wide[by : by + first.size].reshape(first.shape)
    start = 0 if "before" in arg.layout else 2 * by
    return wide[start : start + first.size].reshape(shape)


def outputs(p: Program, call: Call, made: dict[str, Any]) -> list[Any]:
    """What out= gets, an array or None for each output, with wrong values in it; may move arguments."""
    given = []
    for arg in p.outputs:
        layout = call.out.get(arg.name)
        if layout is None or arg.shape is None:
            given.append(None)
            continue
        shape = tuple(max(d.value(call.sizes), 0) for d in arg.shape)
        rng = np.random.default_rng([p.seed, arg.number, call.salt])
        word, _, other = layout.partition(" ")
        if word == "over":
            given.append(made[other])
        elif word == "beside":
            given.append(shared(made, replace(arg, layout="shifted", partner=other), shape, rng))
        else:
            wrong = content(replace(arg, content="special"), math.prod(shape), call.sizes, rng)
            given.append(laid_out(replace(arg, layout=layout), shape, wrong))
    return given


def spilled(layout: str, view: np.ndarray) -> bool:
    """Whether memory around a view of laid_out, which was zero, was written."""
    if layout not in ("step", "offset") or view.base is None or view.size == 0:
        return False
    kept = view.copy()
    view[...] = 0
    found = bool(view.base.astype(bool).any())
    view[...] = kept
    return found
