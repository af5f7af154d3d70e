"""`mindspore.ops.operations._inner_ops`: used by tests of dynamic shapes."""

from __future__ import annotations

from typing import Any

from ..primitive import Primitive


class ConvertToDynamic(Primitive):
    """Returns the tensor itself, because shapes need no declaration."""

    def __init__(self, is_dynamic_rank: bool = False) -> None:
        super().__init__()

    def __call__(self, x: Any) -> Any:
        return x
