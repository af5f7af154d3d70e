"""`mindspore.jit` and its older names: programs run eagerly here, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Returns the function itself; options are accepted."""
    return fn if fn is not None else lambda function: function


ms_function = jit
