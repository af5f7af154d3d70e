"""How large classes may be: methods and fields, of the product's C++ and Python.
A struct without methods is data, and may have as many fields as it needs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ..cpp_classes import Class, classes
from ..cpp_text import is_cpp

METHODS, FIELDS = 40, 16
PRODUCT = ("compiler/", "frontend/", "runtime/", "python/")


def _target_names(node: ast.AST) -> Iterator[str]:
    """The attributes of `self` that an assignment anywhere in `node` binds."""
    for part in ast.walk(node):
        is_bound = isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
        if is_bound and isinstance(part.value, ast.Name) and part.value.id == "self":
            yield part.attr


def python_classes(text: str) -> list[Class]:
    out = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ClassDef):
            continue
        methods = [m for m in node.body if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef))]
        declared = {
            m.target.id for m in node.body if isinstance(m, ast.AnnAssign) and isinstance(m.target, ast.Name)
        }
        out.append(Class(node.name, node.lineno, len(methods), len(declared.union(_target_names(node)))))
    return out


def check_classes(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, text in files.items():
        if not path.startswith(PRODUCT):
            continue
        every = classes(text) if is_cpp(path) else python_classes(text) if path.endswith(".py") else ()
        for c in every:
            if c.methods > METHODS:
                found.append(f"{path}:{c.line}: {c.name}: {c.methods} methods, limit {METHODS}")
            if c.methods and c.fields > FIELDS:
                found.append(f"{path}:{c.line}: {c.name}: {c.fields} fields, limit {FIELDS}")
    return found
