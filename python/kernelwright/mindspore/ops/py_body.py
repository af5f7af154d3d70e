"""Python functions as bodies of custom operators (pyfunc)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ..common.tensor import Tensor

if TYPE_CHECKING:
    from .custom import Custom


class PyFuncBody:
    """A Python function of arrays; 0-d tensors come to it as Python numbers. Its results are checked."""

    def __init__(self, custom: Custom) -> None:
        self.custom, self.func = custom, custom.func

    def __call__(self, *args: Any) -> Any:
        def passed(x: Any) -> Any:
            if isinstance(x, np.ndarray):
                return x.item() if x.ndim == 0 else x.copy()
            return tuple(map(passed, x)) if isinstance(x, tuple) else x

        out = self.func(*map(passed, args))
        if self.custom._is_silent():
            if out is not None:
                raise RuntimeError(f"{self.custom.prefix}: This CustomPyfunc must have no outputs, but got 1")
            return np.zeros(1, np.int32)
        given = list(map(_as_tensors, args))
        shapes, dtypes, several = self.custom.declared_types(None, given)
        results = list(out) if several and isinstance(out, (tuple, list)) else [out]
        if len(results) != len(dtypes):
            raise RuntimeError(
                f"{self.custom.prefix}: The output num is: {len(results)}, with {len(dtypes)} expect."
            )
        made = [
            self._checked(r, s, t, i) for i, (r, s, t) in enumerate(zip(results, shapes, dtypes, strict=True))
        ]
        return tuple(made)

    def _checked(self, result: Any, shape: Any, dtype: Any, number: int) -> Any:
        if isinstance(result, _core.Tensor):
            result = result.numpy()
        if result is None or isinstance(result, str):
            raise TypeError(f"{self.custom.prefix}: output {number} is {result!r}, but must be an array")
        array = np.asarray(result)
        is_number = not isinstance(result, (np.ndarray, np.generic))
        if is_number and np.can_cast(array.dtype, dtype, "same_kind"):
            array = array.astype(dtype)
        if shape == (1,) and array.shape == ():
            array = array.reshape(1)
        if array.dtype != dtype or array.shape != shape:
            raise TypeError(
                f"{self.custom.prefix}: output {number} is {array.dtype}{list(array.shape)}, but out_dtype"
                f" and out_shape declare {dtype}{list(shape)}"
            )
        return array


def _as_tensors(x: Any) -> Any:
    """Arrays as tensors over them, also in tuples."""
    if isinstance(x, tuple):
        return tuple(map(_as_tensors, x))
    return Tensor._from_array(x) if isinstance(x, np.ndarray) else x
