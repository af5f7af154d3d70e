"""`mindspore.ops.op_info_register`: the module from which older programs import the registration."""

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
    "CustomRegOp",
    "DataType",
    "TBERegOp",
    "custom_info_register",
    "op_info_register",
]
