"""`mindspore.ops.composite`."""

from typing import Any

from ...gradients import GradOperation
from ...missing import missing
from . import multitype_ops

__all__ = ["GradOperation", "multitype_ops"]


def __getattr__(name: str) -> Any:
    raise missing("mindspore.ops.composite", name, globals())
