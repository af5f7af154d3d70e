"""Primitives that take elements from one place to another."""

from __future__ import annotations

from typing import Any

from .. import functional
from ..primitive import Primitive, primitive

ExpandDims = primitive("ExpandDims", functional.expand_dims, 2)
Select = primitive("Select", functional.select, 3)
ScatterAdd = primitive("ScatterAdd", functional.scatter_add, 3)
TensorScatterAdd = primitive("TensorScatterAdd", functional.tensor_scatter_add, 3)


class OneHot(Primitive):
    """`ops.OneHot(axis)(indices, depth, on_value, off_value)`."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def __call__(self, indices: Any, depth: int, on_value: Any, off_value: Any) -> Any:
        return functional.one_hot(indices, depth, on_value, off_value, self.axis)


class Split(Primitive):
    """`ops.Split(axis, output_num)`: splits into `output_num` parts of one size."""

    def __init__(self, axis: int = 0, output_num: int = 1) -> None:
        super().__init__()
        self.axis, self.output_num = axis, output_num

    def __call__(self, x: Any) -> Any:
        extent = x.shape[self.axis]
        if extent % self.output_num:
            raise ValueError(f"ops.Split: an extent of {extent} does not make {self.output_num} equal parts")
        return functional.split(x, max(extent // self.output_num, 1), self.axis)
