"""Arguments of a call of a custom operator: which are tensors, tuples of tensors, or attributes, and what
infer functions get for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _core
from ..common import dtype as mstype
from ..common.tensor import Tensor


class TensorSpec:
    """The shape and dtype of a tensor, for inference without a tensor."""

    def __init__(self, told: tuple[str, tuple[int, ...]]) -> None:
        self.numpy_dtype, self.shape = told


def typed_tuple(told: Any) -> tuple[TensorSpec, ...]:
    return tuple(map(TensorSpec, told))


def _is_tensor(x: Any) -> bool:
    return isinstance(x, (_core.Tensor, TensorSpec))


def form_of(x: Any) -> str:
    if isinstance(x, _core.Tensor):
        return "tensor"
    if isinstance(x, (tuple, list)) and x and all(isinstance(t, _core.Tensor) for t in x):
        return "tuple"
    if isinstance(x, (tuple, list)) and any(isinstance(t, _core.Tensor) for t in x):
        other = next(type(t).__name__ for t in x if not isinstance(t, _core.Tensor))
        raise TypeError(
            f"an input of a custom operator is a {type(x).__name__} of tensors and of {other}, but must hold"
            " tensors alone"
        )
    if isinstance(x, np.ndarray):
        raise TypeError("an input of a custom operator is an array, but must be a Tensor: Tensor(array)")
    return "attribute"


def tensors_in(args: Sequence[Any]) -> list[Any]:
    out = []
    for x in args:
        if isinstance(x, (tuple, list)):
            out += tensors_in(x)
        elif _is_tensor(x):
            out.append(x)
    return out


def values_in(args: Sequence[Any]) -> list[Any]:
    """Returns the arguments that are neither tensors nor tuples of tensors."""
    return [x for x in args if not _is_tensor(x) and not tensors_in([x])]


def as_tensors(x: Any) -> Any:
    """Returns arrays as tensors over their memory, also in tuples."""
    if isinstance(x, tuple):
        return tuple(map(as_tensors, x))
    return Tensor._from_array(x) if isinstance(x, np.ndarray) else x


def shape_of(x: Any) -> Any:
    """Returns a shape as infer functions get it: a list of extents; [] for other objects; None for None."""
    if _is_tensor(x):
        return list(x.shape)
    if isinstance(x, (tuple, list)):
        return type(x)(shape_of(item) for item in x)
    return None if x is None else []


def type_of(x: Any) -> Any:
    if _is_tensor(x):
        return mstype.tensor_type(x.numpy_dtype)
    if isinstance(x, (tuple, list)):
        return type(x)(type_of(item) for item in x)
    return mstype.scalar_type(x)


def ordered(pattern: Any, args: Sequence[Any]) -> Sequence[Any]:
    """Returns inputs first, then attributes, as operators of the registry take them."""
    if "attribute" not in pattern:
        return args
    inputs = [x for form, x in zip(pattern, args, strict=True) if form != "attribute"]
    return inputs + [x for form, x in zip(pattern, args, strict=True) if form == "attribute"]


def places(inputs: list[int], attributes: list[int]) -> list[int]:
    """Returns, for each argument of the call, its index among inputs and attributes."""
    order = inputs + attributes
    return [order.index(i) for i in range(len(order))]


def name_part(text: str) -> str:
    """Returns a name for the registry: letters, digits and underscores, of bounded length."""
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in text)[:48]
