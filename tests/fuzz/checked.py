"""Vectors that refuse the indices which a kernel must refuse, and functions from drawn texts.

Knows nothing of what is drawn; for tests that run a random kernel as a plain function.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np


class Outside(Exception):
    """An index that a kernel must refuse."""


class Checked:
    """A vector of some length; `number` makes what stands for its integers."""

    def __init__(self, values: np.ndarray[Any, Any], number: Callable[[int], int] = int) -> None:
        self.values, self.number, self.shape = values, number, (number(len(values)),)

    def check(self, i: int) -> None:
        if not 0 <= i < self.shape[0]:
            raise Outside

    def __getitem__(self, i: int) -> Any:
        self.check(i)
        value = self.values[i]
        return self.number(value) if self.values.dtype.kind == "i" else value

    def __setitem__(self, i: int, value: Any) -> None:
        self.check(i)
        self.values[i] = value


def define(text: str, path: str) -> Any:
    """The function `f` of a text, which can be read under this path."""
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    space: dict[str, Any] = {}
    exec(compile(text, path, "exec"), space)
    return space["f"]
