"""A small `mindspore`: its custom-operator interface, and other names that programs of custom operators use.

`kw run` makes `import mindspore` mean this package; `import kernelwright.mindspore as ms` does without.
"""

from typing import Any

from . import common, context, nn, ops
from .common import Parameter, ParameterTuple, Tensor, dtype, jit, ms_function
from .common.dtype import *  # noqa: F403
from .common.dtype import dtype_to_nptype, dtype_to_pytype, pytype_to_dtype
from .common.tensor import tensor
from .context import get_context, set_context, set_device
from .gradients import grad, value_and_grad
from .missing import missing

context.decide_device(None)  # reports a KW_DEVICE that is impossible
__version__ = "2.10.0"  # the version of MindSpore whose interface this is

GRAPH_MODE, PYNATIVE_MODE = context.GRAPH_MODE, context.PYNATIVE_MODE

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "Parameter",
    "ParameterTuple",
    "Tensor",
    "common",
    "context",
    "dtype",
    "dtype_to_nptype",
    "dtype_to_pytype",
    "get_context",
    "grad",
    "jit",
    "ms_function",
    "nn",
    "ops",
    "pytype_to_dtype",
    "set_context",
    "set_device",
    "tensor",
    "value_and_grad",
]


def __getattr__(name: str) -> Any:
    raise missing("mindspore", name, globals())
