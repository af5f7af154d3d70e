"""`PyFunc`: a Python function with declared inputs and outputs, called with one tuple of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..custom import Custom
from ..primitive import Primitive


class PyFunc(Primitive):
    """`PyFunc(fn, in_types, in_shapes, out_types, out_shapes)((x1, x2))` returns a tuple."""

    def __init__(
        self,
        fn: Callable[..., Any],
        in_types: Sequence[Any],
        in_shapes: Sequence[Any],
        out_types: Sequence[Any],
        out_shapes: Sequence[Any],
        stateful: bool = True,
    ) -> None:
        super().__init__()
        if len(in_types) != len(in_shapes) or len(out_types) != len(out_shapes):
            raise ValueError("For 'PyFunc', there must be as many types as shapes, of inputs and of outputs")
        self._custom = Custom(fn, tuple(map(tuple, out_shapes)), tuple(out_types), "pyfunc")

    def __call__(self, inputs: Any = ()) -> Any:
        return self._custom(*(inputs if isinstance(inputs, (tuple, list)) else (inputs,)))
