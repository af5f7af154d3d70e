"""`mindspore.ops`: custom operators, and the built-in ones as functions and as primitives."""

from typing import Any

from ..gradients import GradOperation, grad, value_and_grad
from ..missing import missing
from . import composite, functional, operations, primitive
from .custom import Custom
from .kernel_decorator import kernel, ms_hybrid, ms_kernel
from .primitive import Primitive, PrimitiveWithInfer
from .reg_info import (
    AiCPURegOp,
    AkgAscendRegOp,
    AkgCpuRegOp,
    AkgGpuRegOp,
    CpuRegOp,
    CustomRegOp,
    DataType,
    TBERegOp,
    custom_info_register,
    op_info_register,
)

__all__ = [
    "AiCPURegOp",
    "AkgAscendRegOp",
    "AkgCpuRegOp",
    "AkgGpuRegOp",
    "CpuRegOp",
    "Custom",
    "CustomRegOp",
    "DataType",
    "GradOperation",
    "Primitive",
    "PrimitiveWithInfer",
    "TBERegOp",
    "composite",
    "custom_info_register",
    "functional",
    "grad",
    "kernel",
    "ms_hybrid",
    "ms_kernel",
    "op_info_register",
    "operations",
    "primitive",
    "value_and_grad",
]


def __getattr__(name: str) -> Any:
    found = getattr(functional, name, None)
    if found is None or name.startswith("_"):
        found = getattr(operations, name, None)
    if found is None or name.startswith("_"):
        raise missing("mindspore.ops", name, {**vars(functional), **vars(operations), **globals()})
    return found
