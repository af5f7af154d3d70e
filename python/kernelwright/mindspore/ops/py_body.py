"""Python functions as bodies of custom operators (pyfunc)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from .argument_patterns import as_tensors

if TYPE_CHECKING:
    from .custom import Custom


class PyFuncBody:
    """Runs a Python function of arrays and checks its results. It gets 0-d tensors as Python numbers."""

    def __init__(self, custom: Custom) -> None:
        self.custom, self.func = custom, custom.func

    def __call__(self, *args: Any) -> Any:
        def passed(x: Any) -> Any:
            if isinstance(x, np.ndarray):
                return x.item() if x.ndim == 0 else x.copy()
            return tuple(map(passed, x)) if isinstance(x, tuple) else x

        out = self.func(*map(passed, args))
        if self.custom.kind.is_silent(self.custom):
            if out is not None:
                raise RuntimeError(f"{self.custom.prefix}: This CustomPyfunc must have no outputs, but got 1")
            return np.zeros(1, np.int32)
        given = list(map(as_tensors, args))
        shapes, dtypes, several = self.custom.declared_types(None, given)
        if not several and isinstance(out, tuple) and len(out) == 1:
            out = out[0]
        is_list_of_outputs = isinstance(out, (tuple, list)) if several else isinstance(out, tuple)
        results = list(out) if is_list_of_outputs else [out]
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
        if not isinstance(result, (np.ndarray, np.generic)):
            array = _fitted(array, dtype)
        if shape == (1,) and array.shape == ():
            array = array.reshape(1)
        if array.dtype != dtype or array.shape != shape:
            raise TypeError(
                f"{self.custom.prefix}: output {number} is {array.dtype}{list(array.shape)}, but out_dtype"
                f" and out_shape declare {dtype}{list(shape)}"
            )
        return array


def _fitted(numbers: Any, dtype: Any) -> Any:
    """Converts Python numbers to a dtype that holds their values. Returns them unchanged if it does not, or
    if it is an integer dtype and they are not integers.
    """
    if numbers.dtype.kind not in "biuf" or (numbers.dtype.kind == "f" and dtype.kind in "biu"):
        return numbers
    with np.errstate(all="ignore"):
        made = numbers.astype(dtype)
        if dtype.kind in "biu":
            fits = np.array_equal(made.astype(object), numbers.astype(object))
        else:
            fits = np.array_equal(np.isfinite(made), np.isfinite(numbers))
    return made if fits else numbers
