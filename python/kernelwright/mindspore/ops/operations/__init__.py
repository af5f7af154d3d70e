"""`mindspore.ops.operations`: the built-in operators as primitives."""

from typing import Any

from ...missing import missing
from .. import primitive as _primitive
from ..custom import Custom
from ..primitive import (
    Argmax,
    BatchMatMul,
    BroadcastTo,
    Cast,
    Concat,
    Gather,
    LayerNorm,
    LogSoftmax,
    MatMul,
    Primitive,
    PrimitiveWithInfer,
    Reshape,
    Softmax,
    Transpose,
)
from .array_ops import ExpandDims, OneHot, ScatterAdd, Select, Split, TensorScatterAdd
from .nn_ops import Conv2D, MaxPool
from .py_func import PyFunc

globals().update(_primitive.classes)

__all__ = [
    "Argmax",
    "BatchMatMul",
    "BroadcastTo",
    "Cast",
    "Concat",
    "Conv2D",
    "Custom",
    "ExpandDims",
    "Gather",
    "LayerNorm",
    "LogSoftmax",
    "MatMul",
    "MaxPool",
    "OneHot",
    "Primitive",
    "PrimitiveWithInfer",
    "PyFunc",
    "Reshape",
    "ScatterAdd",
    "Select",
    "Softmax",
    "Split",
    "TensorScatterAdd",
    "Transpose",
    *_primitive.classes,
]


def __getattr__(name: str) -> Any:
    raise missing("mindspore.ops.operations", name, globals())
