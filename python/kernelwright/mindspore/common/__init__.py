"""`mindspore.common`."""

from typing import Any

from ..missing import missing
from . import api, dtype, parameter, tensor
from .api import jit, ms_function
from .dtype import *  # noqa: F403
from .parameter import Parameter, ParameterTuple
from .tensor import Tensor

__all__ = [
    "Parameter",
    "ParameterTuple",
    "Tensor",
    "api",
    "dtype",
    "jit",
    "ms_function",
    "parameter",
    "tensor",
]


def __getattr__(name: str) -> Any:
    raise missing("mindspore.common", name, globals())
