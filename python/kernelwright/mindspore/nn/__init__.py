"""`mindspore.nn`: cells, and the layers that programs of custom operators build on."""

from typing import Any

from ..missing import missing
from .cell import Cell
from .layers import (
    GELU,
    CellList,
    CrossEntropyLoss,
    Dense,
    Flatten,
    MSELoss,
    ReLU,
    SequentialCell,
    Sigmoid,
    Tanh,
)

__all__ = [
    "GELU",
    "Cell",
    "CellList",
    "CrossEntropyLoss",
    "Dense",
    "Flatten",
    "MSELoss",
    "ReLU",
    "SequentialCell",
    "Sigmoid",
    "Tanh",
]


def __getattr__(name: str) -> Any:
    raise missing("mindspore.nn", name, globals())
