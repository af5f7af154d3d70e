"""Guesses arguments for a kernel, where a command is given none."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

import numpy as np

from ..argument_types import annotated

_guessed_extent = 16


class _Uses(ast.NodeVisitor):
    """Finds how a function uses its parameters: the rank of tensors, and which are indices or sizes."""

    def __init__(self, names: list[str]) -> None:
        self.ranks: dict[str, int] = {}
        self.whole: set[str] = set()
        self.names, self._in_index = set(names), False

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        base = node.value.id if isinstance(node.value, ast.Name) else ""
        if base in self.names:
            index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            self.ranks[base] = max(self.ranks.get(base, 0), len(index))
        shape = node.value.value if isinstance(node.value, ast.Attribute) else None
        if isinstance(shape, ast.Name) and shape.id in self.names and isinstance(node.slice, ast.Constant):
            known = node.slice.value
            rank = known + 1 if isinstance(known, int) and known >= 0 else 1
            self.ranks[shape.id] = max(self.ranks.get(shape.id, 0), rank)
        self._whole(node.slice)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        whole = (
            "range",
            "grid",
            "output_tensor",
            "allocate",
            "parallel",
            "vectorize",
            "reduce",
            "unroll",
            "serial",
        )
        for value in node.args:
            if function in whole:
                self._whole(value)
            else:
                self.visit(value)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        target, value = node.targets[0], node.value  # `n, m = a.shape`
        if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Attribute):
            return
        if value.attr == "shape" and isinstance(value.value, ast.Name) and value.value.id in self.names:
            self.ranks[value.value.id] = len(target.elts)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.value, ast.Name):
            self.generic_visit(node)
        elif node.value.id in self.names and node.attr in ("shape", "dtype"):
            self.ranks.setdefault(node.value.id, 1)

    def visit_Name(self, node: ast.Name) -> None:
        if self._in_index and node.id in self.names:
            self.whole.add(node.id)

    def _whole(self, node: ast.AST) -> None:
        before, self._in_index = self._in_index, True
        self.visit(node)
        self._in_index = before


def guessed(function: Any) -> list[Any]:
    """Guesses arguments from annotations, defaults, and the use of the parameters. Tensors are float32, or
    int64 if their elements are subscripts. Sizes are Python ints and other scalars Python floats.
    """
    parameters = inspect.signature(function).parameters
    uses = _Uses(list(parameters))
    uses.visit(ast.parse(textwrap.dedent(inspect.getsource(function))))
    out: list[Any] = []
    for name, parameter in parameters.items():
        given = annotated(parameter.annotation, function.__globals__)
        if given is None and parameter.default is not inspect.Parameter.empty:
            given = parameter.default
        if given is None and name in uses.ranks:
            dtype = np.int64 if name in uses.whole else np.float32
            given = np.empty((_guessed_extent,) * uses.ranks[name], dtype)
        out.append(given if given is not None else 3 if name in uses.whole else 0.5)
    return out
