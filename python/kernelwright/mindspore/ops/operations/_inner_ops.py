"""`mindspore.ops.operations._inner_ops`: what tests of dynamic shapes use."""

from __future__ import annotations

from typing import Any

from ..primitive import Primitive


class ConvertToDynamic(Primitive):
    """The tensor itself: shapes are taken as they come."""

    def __init__(self, is_dynamic_rank: bool = False) -> None:
        super().__init__()

    def __call__(self, x: Any) -> Any:
        return x
