"""`mindspore.Tensor`: an array that prints as MindSpore prints it."""

from __future__ import annotations

from typing import Any

import numpy as np


class Tensor:
    """A NumPy array under MindSpore's name; `asnumpy()` gives the array itself."""

    def __init__(self, input_data: Any, dtype: Any = None) -> None:
        data = input_data._array if isinstance(input_data, Tensor) else input_data
        self._array: np.ndarray[Any, Any] = np.asarray(data, dtype, order="C")

    def asnumpy(self) -> np.ndarray[Any, Any]:
        return self._array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._array.shape)

    @property
    def dtype(self) -> Any:
        return self._array.dtype

    def __str__(self) -> str:
        return str(self._array)

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value={self._array!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self._array if dtype is None else self._array.astype(dtype)
