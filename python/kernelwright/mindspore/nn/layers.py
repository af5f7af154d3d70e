"""The layers that programs of custom operators build on: Dense, activations, containers, losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...tensor import operator
from ..common.parameter import Parameter
from ..common.tensor import Tensor
from ..ops.losses import check_options, cross_entropy
from .cell import Cell


class Dense(Cell):
    """x Wᵀ + b with W (out_channels, in_channels), uniform in ±1/sqrt(in_channels) from the start."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        activation: Any = None,
    ) -> None:
        super().__init__()
        bound = 1 / np.sqrt(in_channels)

        def first(init: Any, *shape: int) -> Any:
            if isinstance(init, Tensor):
                return init
            if isinstance(init, np.ndarray):
                return init
            if init not in (None, "ones", "zeros", "uniform"):
                raise ValueError(
                    f"For 'Dense', the initial value {init!r} is not available here: give a Tensor"
                )
            if init in ("ones", "zeros"):
                return np.full(shape, float(init == "ones"), np.float32)
            return np.random.uniform(-bound, bound, shape).astype(np.float32)

        self.weight = Parameter(first(weight_init, out_channels, in_channels), "weight")
        self.bias = Parameter(first(bias_init, out_channels), "bias") if has_bias else None
        self.activation = (
            {"relu": ReLU, "tanh": Tanh, "sigmoid": Sigmoid}[activation]()
            if isinstance(activation, str)
            else activation
        )

    def construct(self, x: Any) -> Any:
        rows = x if len(x.shape) > 1 else x.reshape(1, -1)
        out = operator("matmul")(rows, self.weight, False, True)
        if self.bias is not None:
            out = out + self.bias
        if self.activation is not None:
            out = self.activation(out)
        return out if len(x.shape) > 1 else out.reshape(-1)


class SequentialCell(Cell):
    """Cells one after the other."""

    def __init__(self, *cells: Any) -> None:
        super().__init__()
        listed = cells[0] if len(cells) == 1 and isinstance(cells[0], (list, tuple)) else cells
        for i, cell in enumerate(listed):
            setattr(self, str(i), cell)

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, index: int) -> Cell:
        return list(self._cells.values())[index]

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells.values())

    def construct(self, x: Any) -> Any:
        for cell in self._cells.values():
            x = cell(x)
        return x


class CellList(SequentialCell):
    """Cells in a list; the owner calls them."""

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("a CellList is called cell by cell")


def _activation(name: str, op: str) -> type[Cell]:
    def construct(self: Cell, x: Any) -> Any:
        return operator(op)(x)

    return type(name, (Cell,), {"construct": construct, "__doc__": f"The operator {op} as a cell."})


ReLU, Tanh, Sigmoid = (
    _activation("ReLU", "relu"),
    _activation("Tanh", "tanh"),
    _activation("Sigmoid", "sigmoid"),
)
GELU = _activation("GELU", "gelu")


class Flatten(Cell):
    """Merges all dimensions but the first into one."""

    def construct(self, x: Any) -> Any:
        return x.reshape(x.shape[0], -1)


def _reduced(loss: Any, reduction: str) -> Any:
    functions: dict[str, Callable[[Any], Any]] = {
        "mean": lambda t: t.mean(),
        "sum": lambda t: t.sum(),
        "none": lambda t: t,
    }
    return functions[reduction](loss)


class MSELoss(Cell):
    """The squared differences, reduced."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def construct(self, logits: Any, labels: Any) -> Any:
        difference = logits - labels
        return _reduced(difference * difference, self.reduction)


class CrossEntropyLoss(Cell):
    """`ops.cross_entropy` of logits (n, classes) and labels (n)."""

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        check_options("nn.CrossEntropyLoss", reduction, label_smoothing)
        self.weight, self.ignore_index, self.reduction = weight, ignore_index, reduction

    def construct(self, logits: Any, labels: Any) -> Any:
        return cross_entropy(logits, labels, self.weight, self.ignore_index, self.reduction)
