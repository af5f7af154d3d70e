"""Arguments for measurements from texts with sizes, "f32[4096, 1024], i64[4096], 3", and sweeps of sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..argument_types import ArgumentTypeError, example

_bound = re.compile(r"\s*(\d+)(?:\s*\*\*\s*(\d+))?\s*")


def arguments_with_values(texts: Iterable[str], seed: int = 0) -> tuple[Any, ...]:
    """Returns arguments of the types and sizes that texts name, with random values: floats from 0.1 to 1, and
    integers from 0 that are subscripts of every array among the arguments, as far as its sizes allow.

    Raises ArgumentTypeError, also for sizes that are left open.
    """
    rng = np.random.default_rng(seed)
    out: dict[int, Any] = {}
    for number, text in enumerate(texts):
        if re.search(r"\[[^\]]*:", text):
            raise ArgumentTypeError(f"'{text}' leaves sizes open: measurements need them, as f32[4096, 1024]")
        out[number] = example(text, out)
    arrays = [a for a in out.values() if isinstance(a, np.ndarray)]
    smallest = min((n for a in arrays for n in a.shape), default=1)
    for array in arrays:
        if array.dtype.kind in "iu":
            most = min(smallest, np.iinfo(array.dtype).max)
            array[...] = rng.integers(0, max(most, 1), array.shape)
        elif array.dtype.kind == "b":
            array[...] = rng.random(array.shape) < 0.5
        else:
            array[...] = np.asarray(rng.uniform(0.1, 1.0, array.shape)).astype(array.dtype)
    return tuple(out.values())


def _number(text: str) -> int:
    found = _bound.fullmatch(text)
    if not found:
        raise ArgumentTypeError(f"'{text}' is no size: expected a number, or a power as 2**20")
    power: int = int(found[1]) ** int(found[2] or 1)
    return power


def sweep_of(text: str) -> tuple[str, list[int]]:
    """Returns name and values of a sweep: "n=2**8..2**24" doubles, "n=100..1000+100" adds, "n=1,2,3" lists.

    Raises ArgumentTypeError.
    """
    name, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not name.isidentifier():
        raise ArgumentTypeError(f"'{text}' is no sweep: expected n=2**8..2**24, n=100..1000+100 or n=1,2,3")
    if ".." not in values:
        return name, [_number(value) for value in values.split(",")]
    low, high = values.split("..", 1)
    high, plus, step = high.partition("+")
    first, last = _number(low), _number(high)
    if plus:
        found = list(range(first, last + 1, max(_number(step), 1)))
    else:
        found = [first << k for k in range(64) if 0 < first << k <= last]
    if not found:
        raise ArgumentTypeError(f"'{text}' has no values")
    return name, found


def with_size(text: str, name: str, value: int) -> str:
    """Puts the value of a sweep into the text of an argument: "f32[n, 3]" → "f32[256, 3]", "n" → "256"."""
    return re.sub(rf"\b{re.escape(name)}\b", str(value), text)
