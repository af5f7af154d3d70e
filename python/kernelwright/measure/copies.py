"""Copies of arguments that a call takes for the same types: same strides, same views."""

from __future__ import annotations

from typing import Any

import numpy as np


def copy_of(array: Any) -> Any:
    """Returns a copy of an array with the same strides."""
    if array.flags.c_contiguous:
        return np.array(array, copy=True, order="C")
    steps = [(n - 1) * s if n else 0 for n, s in zip(array.shape, array.strides, strict=True)]
    first = -sum(step for step in steps if step < 0)
    memory = np.empty(first + sum(step for step in steps if step > 0) + array.itemsize, np.uint8)
    out = np.ndarray(array.shape, array.dtype, memory, first, array.strides)
    out[...] = array
    return out


def copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns the arguments with a copy in place of each array; what was the same array stays so."""
    copies: dict[int, Any] = {}
    return tuple(copies.setdefault(id(a), copy_of(a)) if isinstance(a, np.ndarray) else a for a in arguments)
