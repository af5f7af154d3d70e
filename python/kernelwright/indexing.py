"""Indices of tensors: each step is an operator, so that gradients go through. Writes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .tensor import Tensor, operator


def _all_steps(index: Any, rank: int) -> list[Any]:
    """One step per dimension, an ellipsis replaced by what it stands for."""
    steps = list(index) if isinstance(index, tuple) else [index]
    places = [i for i, s in enumerate(steps) if s is Ellipsis]
    given = sum(s is not None for s in steps) - len(places)
    if given > rank:
        raise IndexError(f"{given} indices for a tensor of {rank} dimensions")
    if len(places) > 1:
        raise IndexError("an index holds more than one ellipsis")
    at = places[0] if places else len(steps)
    if not places:
        steps.append(Ellipsis)
    return [*steps[:at], *[slice(None)] * (rank - given), *steps[at + 1 :]]


def take(x: Tensor, index: Any) -> Any:
    """`x[index]` for integers, None and slices whose step is 1; IndexError and TypeError as NumPy's."""
    if isinstance(index, list):
        index = np.array(index)
    is_array = isinstance(index, (Tensor, np.ndarray)) and len(index.shape) > 0
    if is_array and np.dtype(getattr(index, "numpy_dtype", None) or index.dtype).kind in "iu":
        return operator("gather")(x, index)
    shape: list[int] = []
    dim = 0
    for step in _all_steps(index, len(x.shape)):
        if step is None:
            shape.append(1)
            continue
        extent = x.shape[dim]
        if isinstance(step, slice):
            first, stop, stride = step.indices(extent)
            if stride != 1:
                raise IndexError("slices of tensors have the step 1")
            count = max(stop - first, 0)
            shape.append(count)
        else:
            first, count = _position(step, dim, extent), 1
        if (first, count) != (0, extent):
            x = operator("narrow")(x, dim, first if count else 0, count)
        dim += 1
    return x if tuple(shape) == x.shape else operator("reshape")(x, shape)


def _position(step: Any, dim: int, extent: int) -> int:
    try:
        if isinstance(step, (bool, np.bool_)):
            raise TypeError
        i: int = step.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"an index of a tensor is {type(step).__name__}, but must be int or slice") from None
    if not -extent <= i < extent:
        raise IndexError(f"index {i} is out of range for dimension {dim}, whose extent is {extent}")
    return i % extent
