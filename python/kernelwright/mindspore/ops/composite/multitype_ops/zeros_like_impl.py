"""`zeros_like` of tensors, of numbers and of tuples of them."""

from __future__ import annotations

from typing import Any

from ..... import _core
from .....tensor import operator


def zeros_like(x: Any) -> Any:
    """Returns zeros in the structure of x."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(zeros_like, x))
    return operator("zeros_like")(x) if isinstance(x, _core.Tensor) else type(x)(0)
