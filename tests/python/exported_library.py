"""Calls an exported library as a program without kernelwright does: through its C functions alone."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


class ExportedError(Exception):
    """A function of the library returned a code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message


def _pointers(values: Sequence[Any]) -> Any:
    return (ctypes.c_void_p * max(len(values), 1))(*values)


class Library:
    """`arguments`: arrays, NumPy scalars in the type of the parameter, or None for what is not used."""

    def __init__(self, path: Path, name: str) -> None:
        self._run = getattr(ctypes.CDLL(str(path)), f"{name}_run")
        self._shapes = getattr(ctypes.CDLL(str(path)), f"{name}_shapes")

    @staticmethod
    def _words(arrays: Sequence[Any]) -> tuple[Any, Any, Any, list[Any]]:
        """Returns data, shapes and strides, and what keeps them alive."""
        kept: list[Any] = []
        data, shapes, strides = [], [], []
        for a in arrays:
            if isinstance(a, np.ndarray):
                shape = np.array(a.shape, "i8")
                steps = np.array(a.strides, "i8") // a.itemsize
                kept += [a, shape, steps]
                data.append(a.ctypes.data)
                shapes.append(shape.ctypes.data)
                strides.append(steps.ctypes.data)
            else:
                number = np.array(a) if a is not None else None
                kept.append(number)
                data.append(None if number is None else number.ctypes.data)
                shapes.append(None)
                strides.append(None)
        return _pointers(data), _pointers(shapes), _pointers(strides), kept

    @staticmethod
    def _check(code: int, message: Any) -> None:
        if code:
            raise ExportedError(code, message.value.decode())

    def shapes(self, arguments: Sequence[Any], ranks: Sequence[int]) -> list[tuple[int, ...]]:
        """Returns the shapes of the results."""
        data, shapes, _, kept = self._words(arguments)
        found = [np.full(rank, -1, "i8") for rank in ranks]
        message = ctypes.create_string_buffer(300)
        code = self._shapes(data, shapes, _pointers([f.ctypes.data for f in found]), message, 300)
        self._check(code, message)
        del kept
        return [tuple(f.tolist()) for f in found]

    def run(self, arguments: Sequence[Any], outputs: Sequence[np.ndarray], with_strides: bool = True) -> None:
        data, shapes, strides, kept = self._words([*arguments, *outputs])
        message = ctypes.create_string_buffer(300)
        code = self._run(data, shapes, strides if with_strides else None, message, 300)
        self._check(code, message)
        del kept


def as_scalars(values: Sequence[Any]) -> list[Any]:
    """Replaces Python's numbers by what an exported kernel takes for them: int64, float64 and bool."""
    kinds: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}
    return [kinds[type(v)](v) if type(v) in kinds else v for v in values]
