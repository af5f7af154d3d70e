"""`mindspore.ops`: custom operators from loop kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import make_error
from ..kernel import kernel
from .tensor import Tensor

_func_types = ["hybrid", "akg", "tbe", "aicpu", "aot", "pyfunc", "julia"]


def _unsupported(message: str, help_text: str) -> Exception:
    rendered = f"error[E102]: {message}\n      = help: {help_text}"
    return make_error("UnsupportedError", "E102", rendered, message, "", 0, 0, 0, "", "")


class Custom:
    """An operator made of a function in the kernel language (func_type "akg").

    `out_shape` and `out_dtype` are values, or functions of the input shapes and dtypes; results are
    checked against them. Language errors are raised here, type errors by the first call.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        out_shape: Any = None,
        out_dtype: Any = None,
        func_type: str = "hybrid",
    ) -> None:
        if func_type not in _func_types:
            raise ValueError(
                f"For 'Custom', 'func_type': {func_type}, 'func': {func},"
                f" 'func_type' must be one of {_func_types}, but got {func_type}"
            )
        if not callable(func) and not isinstance(func, str):
            raise TypeError(f"For 'Custom', 'func' must be of type function or str, but got {type(func)}")
        if func_type != "akg":
            raise _unsupported(f"func_type {func_type!r} is not available yet", 'use func_type="akg"')
        self._kernel = kernel(func)
        self._kernel.check()
        self._out_shape, self._out_dtype = out_shape, out_dtype

    def __call__(self, *inputs: Any) -> Any:
        arrays = [x.asnumpy() if isinstance(x, Tensor) else x for x in inputs]
        result = self._kernel(*arrays)
        results = result if isinstance(result, tuple) else (result,)
        self._check_results(inputs, results)
        wrapped = tuple(Tensor(r) for r in results)
        return wrapped if isinstance(result, tuple) else wrapped[0]

    def _check_results(self, inputs: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        shapes, dtypes = [list(t.shape) for t in tensors], [t.dtype for t in tensors]
        shape, dtype = _declared(self._out_shape, shapes), _declared(self._out_dtype, dtypes)
        several = len(results) > 1
        if shape is not None:
            declared = [tuple(s) for s in (shape if several else [shape])]
            shapes_found = [r.shape for r in results]
            if declared != shapes_found:
                raise ValueError(
                    f"Custom: out_shape is {_one_or_all(declared)}, but the kernel returns shape"
                    f" {_one_or_all(shapes_found)}"
                )
        if dtype is not None:
            kinds = [np.dtype(d) for d in (dtype if several else [dtype])]
            kinds_found = [r.dtype for r in results]
            if kinds != kinds_found:
                raise TypeError(
                    f"Custom: out_dtype is {_one_or_all(kinds)}, but the kernel returns"
                    f" {_one_or_all(kinds_found)}"
                )


def _declared(declaration: Any, inputs: list[Any]) -> Any:
    """A value as it is, a function of what the inputs have; a class of scalars is a dtype, no function."""
    is_function = callable(declaration) and not isinstance(declaration, type)
    return declaration(*inputs) if is_function else declaration


def _one_or_all(items: list[Any]) -> str:
    return str(items[0]) if len(items) == 1 else ", ".join(map(str, items))
