"""Turns a plain kernel into a text that the reference can run, with bounds or without.

Numbers are wrapped as the reference wants them; functions and numbers that the kernel captures come along.
Merges of types stay as CPython has them. Knows no particular kernel.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any

MODULES = ("np", "math", "kw", "numpy", "kernelwright")


def is_plain(e: ast.expr) -> bool:
    """A constant integer, which counts from the end in a subscript when it is negative."""
    inner = e.operand if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub) else e
    return isinstance(inner, ast.Constant) and type(inner.value) is int


def call(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


class Rewrite(ast.NodeTransformer):
    """Wraps numbers, names powers, and takes functions of modules for words."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return call("L", node) if isinstance(node.value, bool | int | float) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.visit(node.value)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        done = [e if is_plain(e) else self.visit(e) for e in items]
        node.slice = ast.Tuple(done, ast.Load()) if isinstance(node.slice, ast.Tuple) else done[0]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Pow):
            return call("POW", left, right)
        return ast.BinOp(left, node.op, right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        new: ast.stmt = node
        if isinstance(node.op, ast.Pow):
            read = ast.parse(ast.unparse(node.target), mode="eval").body
            new = ast.fix_missing_locations(ast.Assign([node.target], ast.BinOp(read, node.op, node.value)))
        self.generic_visit(new)
        return new

    def visit_Call(self, node: ast.Call) -> ast.expr:
        word = ast.unparse(node.func)
        if word in ("round", "math.floor", "math.ceil", "math.trunc"):
            return call("WHOLE", ast.Constant(word.removeprefix("math.")), self.visit(node.args[0]))
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in MODULES:
            return ast.Name(node.attr, node.ctx)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.decorator_list, node.returns = [], None
        for a in node.args.args:
            a.annotation = None
        node.body = [self.visit(s) for s in node.body if not is_docstring(s)] or [ast.Pass()]
        return node


def is_docstring(s: ast.stmt) -> bool:
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)


def captured(function: types.FunctionType) -> dict[str, Any]:
    """What the function's names mean outside of it."""
    found = inspect.getclosurevars(function)
    return {**found.globals, **found.nonlocals}


def text_of(function: types.FunctionType, wrap: Callable[[Any], Any]) -> tuple[str, dict[str, Any]]:
    """The reference's text of a kernel with its helpers, and the numbers that they capture, wrapped."""
    texts: list[str] = []
    values: dict[str, Any] = {}
    waiting, known = [function], {function.__name__}
    while waiting:
        f = waiting.pop()
        tree = Rewrite().visit(ast.parse(textwrap.dedent(inspect.getsource(f))))
        texts.append(ast.unparse(ast.fix_missing_locations(tree)))
        for name, value in captured(f).items():
            if isinstance(value, types.FunctionType) and name not in known:
                known.add(name)
                waiting.append(value)
            elif isinstance(value, tuple):
                values[name] = tuple(wrap(v) for v in value)
            elif isinstance(value, bool | int | float):
                values[name] = wrap(value)
    return "\n".join(texts), values
