"""The gallery's kernels as Numba takes them: the same loops, their words replaced by Numba's.

Where Numba would compute in float64 what kernels and C compute in float32 (literals, divisions by an extent),
the number is converted, so that all engines do the same work. Compiles nothing.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

import numpy as np


class _Words(ast.NodeTransformer):
    def __init__(self, real: str, parallel: str) -> None:
        self.real, self.parallel = real, parallel

    def _converted(self, node: ast.expr) -> ast.expr:
        return ast.Call(ast.Name(self.real, ast.Load()), [node], [])

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self._converted(node) if isinstance(node.value, float) else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return self._converted(node) if isinstance(node.op, ast.Div) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id in ("output_tensor", "allocate"):
            shape, dtype = node.args
            if isinstance(dtype, ast.Constant):
                dtype = ast.Name(dtype.value, ast.Load())
            return ast.Call(ast.Name("empty", ast.Load()), [shape, dtype], [])
        self.generic_visit(node)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        call = node.iter
        if (
            isinstance(node.target, ast.Name)
            and node.target.id == self.parallel
            and isinstance(call, ast.Call)
        ):
            call.func = ast.Name("prange", ast.Load())
        return node


def numba_text(function: Any, real: str, parallel: str) -> str:
    """The function without its decorator; loops over the variable `parallel` by prange."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    _Words(real, parallel).visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree))


def numba_function(function: Any, real: str, parallel: str) -> Any:
    """Its compilation by njit: serial, or with prange where a loop variable is given."""
    import math

    import numba

    names: dict[str, Any] = {
        name: getattr(math, name) for name in ("exp", "log", "sqrt", "tanh", "erf") if hasattr(math, name)
    }
    for name in ("empty", "float32", "float64", "int32", "int64", "uint8"):
        names[name] = getattr(np, name)
    names["prange"] = numba.prange
    exec(compile(numba_text(function, real, parallel), f"<numba {function.__name__}>", "exec"), names)
    return numba.njit(parallel=bool(parallel))(names[function.__name__])
