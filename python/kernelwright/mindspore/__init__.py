"""A small `mindspore`: enough of its custom-operator interface to run programs unchanged (`kw run`).

Glue only.
"""

from . import context, ops
from .context import set_context
from .tensor import Tensor

GRAPH_MODE, PYNATIVE_MODE = context.GRAPH_MODE, context.PYNATIVE_MODE

__all__ = ["GRAPH_MODE", "PYNATIVE_MODE", "Tensor", "context", "ops", "set_context"]


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"mindspore.{name} is not part of kernelwright's MindSpore layer")
