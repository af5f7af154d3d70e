"""Indexing of tensors. Each step is an operator, so that gradients pass through. Writes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .tensor import Tensor, operator


def _is_array(step: Any) -> bool:
    return isinstance(step, (Tensor, np.ndarray)) and len(step.shape) > 0


def _array_of(step: Any) -> Any:
    """Returns a list, or an array of more than one number, as an array; None for other steps.

    Raises TypeError for arrays of neither integers nor booleans.
    """
    if isinstance(step, list):
        step = np.array(step, np.int64 if not step else None)
    if not _is_array(step):
        return None
    dtype = step.numpy_dtype if isinstance(step, Tensor) else step.dtype
    if dtype.kind not in "iub":
        raise TypeError(f"an index of a tensor is an array of {dtype}, but must be of integers or booleans")
    return step.numpy() if dtype.kind == "b" and isinstance(step, Tensor) else step


def _dimensions_of(step: Any) -> int:
    """Returns the number of dimensions that a step indexes."""
    is_mask = isinstance(step, np.ndarray) and step.dtype.kind == "b"
    return 0 if step is None else step.ndim if is_mask else 1


def _all_steps(index: Any, rank: int) -> list[Any]:
    """Returns the steps for all dimensions, with the ellipsis expanded and lists converted to arrays."""
    given_steps = index if isinstance(index, tuple) else [index]
    steps = [s if (a := _array_of(s)) is None else a for s in given_steps]
    places = [i for i, s in enumerate(steps) if s is Ellipsis]
    given = sum(map(_dimensions_of, steps)) - len(places)
    if given > rank:
        raise IndexError(f"{given} indices for a tensor of {rank} dimensions")
    if len(places) > 1:
        raise IndexError("an index holds more than one ellipsis")
    _check_arrays(steps)
    at = places[0] if places else len(steps)
    if not places:
        steps.append(Ellipsis)
    return [*steps[:at], *[slice(None)] * (rank - given), *steps[at + 1 :]]


def _check_arrays(steps: list[Any]) -> None:
    """Raises IndexError for more than one array, and for integers separated from the array: there NumPy
    changes the order of dimensions.
    """
    arrays = sum(map(_is_array, steps))
    if arrays > 1:
        raise IndexError("an index of a tensor holds more than one array")
    chosen = [i for i, s in enumerate(steps) if not (s is None or s is Ellipsis or isinstance(s, slice))]
    if arrays and chosen[-1] - chosen[0] >= len(chosen):
        raise IndexError("an index of a tensor holds an array and an integer that do not stand side by side")


def _beside(x: Tensor, positions: Any) -> Any:
    """Returns positions as an array in the memory in which the tensor lies."""
    if x.device == "cpu" or (isinstance(positions, Tensor) and positions.device == x.device):
        return positions
    return Tensor(positions, device=x.device)


def take(x: Tensor, index: Any) -> Any:
    """Returns `x[index]` for integers, None, slices, and one array of integers or booleans.

    With integers and slices of step 1 it may share memory with x. Raises IndexError and TypeError like NumPy.
    """
    shape: list[int] = []
    dim = 0  # dimension of x, which the previous steps have reduced
    for step in _all_steps(index, len(x.shape)):
        if step is None:
            shape.append(1)
        elif _is_array(step):
            x, step = _where(x, step, dim)
            x = operator("gather")(x, _beside(x, step), dim)
            shape += step.shape
            dim += len(step.shape)
        elif isinstance(step, slice) and step.step not in (None, 1):
            rows = np.arange(*step.indices(x.shape[dim]))
            x = operator("gather")(x, _beside(x, rows), dim)
            shape.append(len(rows))
            dim += 1
        else:
            first, count = _stretch(step, dim, x.shape[dim])
            if (first, count) != (0, x.shape[dim]):
                x = operator("narrow")(x, dim, first if count else 0, count)
            if isinstance(step, slice):
                shape.append(count)
            dim += 1
    return x if tuple(shape) == x.shape else operator("reshape")(x, shape)


def _where(x: Tensor, step: Any, dim: int) -> tuple[Any, Any]:
    """Returns x and positions from 0 on in its dimension `dim`. A mask gives the positions where it is true,
    in x with the mask's dimensions merged into one.
    """
    array = step.numpy() if isinstance(step, Tensor) else step
    if array.dtype.kind != "b":
        extent = x.shape[dim]
        wrong = array[(array < -extent) | (array >= extent)]
        if wrong.size:
            raise _out_of_range(int(wrong.flat[0]), dim, extent)
        return x, np.where(array < 0, array + extent, array) if array.size and array.min() < 0 else step
    over = x.shape[dim : dim + array.ndim]
    if array.shape != over:
        raise IndexError(f"a mask of the shape {array.shape} for dimensions of the shape {over}")
    if array.ndim > 1:
        x = operator("reshape")(x, [*x.shape[:dim], array.size, *x.shape[dim + array.ndim :]])
    return x, np.flatnonzero(array)


def _out_of_range(i: int, dim: int, extent: int) -> IndexError:
    return IndexError(f"index {i} is out of range for dimension {dim}, whose extent is {extent}")


def _stretch(step: Any, dim: int, extent: int) -> tuple[int, int]:
    """Returns the first position of an integer or a slice of step 1, and the number of positions."""
    if not isinstance(step, slice):
        return _position(step, dim, extent), 1
    first, stop, _ = step.indices(extent)
    return first, max(stop - first, 0)


def _position(step: Any, dim: int, extent: int) -> int:
    try:
        if isinstance(step, (bool, np.bool_)):
            raise TypeError
        i: int = step.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"an index of a tensor is {type(step).__name__}, but must be int or slice") from None
    if not -extent <= i < extent:
        raise _out_of_range(i, dim, extent)
    return i % extent
