"""`kw explain FILE[:NAME]`: explains the kernels of a file, for given or guessed arguments.

The file is run as a module is, so that its decorators and captured values are real; no kernel is called.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
import runpy
import sys
import textwrap
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ._core import Kernel
from .kernel import kernel

_dtypes = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}
_numbers: dict[str, int | float | bool] = {"int": 3, "float": 0.5, "bool": True}
_guessed_extent = 16


class WrongRequestError(ValueError):
    """The request cannot be fulfilled; the text says why."""


def _dtype(word: str) -> Any:
    if word == "bf16" or word == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise WrongRequestError("bfloat16 needs the package ml_dtypes") from None
        return np.dtype(ml_dtypes.bfloat16)
    try:
        return np.dtype(_dtypes.get(word, word))
    except TypeError:
        known = ", ".join([*_dtypes, "bf16", "bool", *(n for n in _numbers if n != "bool")])
        raise WrongRequestError(f"no type is called '{word}'; the types are {known}") from None


def argument(text: str) -> Any:
    """Returns the argument for "f32[4096, 1024]", "f32" (a NumPy scalar), "int", "2.5" or "True"."""
    text = text.strip()
    if text in _numbers:
        return _numbers[text]
    found = re.fullmatch(r"(\w+)\s*(?:\[(.*)\])?", text)
    if found and not text[0].isdigit() and text not in ("True", "False"):
        word, extents = found[1], found[2]
        if extents is None:
            return _dtype(word).type(0)
        dtype = _dtype(word)
        try:
            return np.empty(tuple(int(n) for n in extents.split(",") if n.strip()), dtype)
        except (ValueError, MemoryError):
            raise WrongRequestError(f"'{text}': expected sizes, as in {word}[4096, 1024]") from None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if isinstance(value, int | float):
        return value
    raise WrongRequestError(
        f"'{text}' is no argument: expected f32[4096, 1024], f32, int, float, bool or a number"
    )


def arguments(text: str) -> list[Any]:
    """Returns the arguments of a list with commas: "f32[4096,1024],f32[1024],3"."""
    parts = re.findall(r"(?:\[[^\]]*\]|[^,\[])+", text)
    return [argument(p) for p in parts]


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


def _annotated(annotation: Any) -> Any:
    """Returns the argument that an annotation requests ("f32[:, :]", int), or None."""
    if isinstance(annotation, type) and annotation.__name__ in _numbers:
        return _numbers[annotation.__name__]
    if not isinstance(annotation, str):
        return None
    annotation = annotation.strip("'\"")
    try:
        return argument(re.sub(r":", str(_guessed_extent), annotation))
    except WrongRequestError:
        return None


def guessed(function: Any) -> list[Any]:
    """Guesses arguments from annotations, defaults, and the use of the parameters. Tensors are float32, or
    int64 if their elements are subscripts. Sizes are Python ints and other scalars Python floats.
    """
    parameters = inspect.signature(function).parameters
    uses = _Uses(list(parameters))
    uses.visit(ast.parse(textwrap.dedent(inspect.getsource(function))))
    out: list[Any] = []
    for name, parameter in parameters.items():
        given = _annotated(parameter.annotation)
        if given is None and parameter.default is not inspect.Parameter.empty:
            given = parameter.default
        if given is None and name in uses.ranks:
            dtype = np.int64 if name in uses.whole else np.float32
            given = np.empty((_guessed_extent,) * uses.ranks[name], dtype)
        out.append(given if given is not None else _numbers["int" if name in uses.whole else "float"])
    return out


def kernels_of(path: str, name: str = "") -> dict[str, Kernel]:
    """Returns the kernels that a file defines, in order, or the kernel of this name, which may be a bare
    function.
    """
    if not Path(path).is_file():
        raise WrongRequestError(f"there is no file '{path}'")
    folder = str(Path(path).resolve().parent)
    sys.path.insert(0, folder)  # as for a program, so that modules next to it are found
    try:
        names = runpy.run_path(path)
    except SystemExit as end:
        raise WrongRequestError(
            f"'{path}' ends itself by sys.exit({end.code if end.code is not None else ''}) when it is run; "
            'do that only under `if __name__ == "__main__":`'
        ) from end
    except Exception as error:
        said = "".join(traceback.format_exception_only(type(error), error)).strip()
        raise WrongRequestError(f"running '{path}' failed: {said}") from error
    finally:
        sys.path.remove(folder)
    found = {n: k for n, k in names.items() if isinstance(k, Kernel) and _is_of(k.__wrapped__, path)}
    if not name:
        if not found:
            raise WrongRequestError(f"'{path}' defines no kernel; name a function as in '{path}:NAME'")
        return dict(sorted(found.items(), key=lambda item: item[1].__wrapped__.__code__.co_firstlineno))
    chosen = names.get(name)
    if isinstance(chosen, Kernel):
        return {name: chosen}
    if inspect.isfunction(chosen):
        return {name: kernel(chosen)}
    known = [*found, *(n for n, f in names.items() if inspect.isfunction(f) and _is_of(f, path))]
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known) or 'none'}"
    raise WrongRequestError(f"'{path}' has no kernel or function '{name}': {hint}")


def _is_of(function: Any, path: str) -> bool:
    return Path(function.__code__.co_filename).resolve() == Path(path).resolve()


def explain_file(request: str, given: str = "") -> Iterator[tuple[str, bool]]:
    """Yields the text for each kernel, and whether it is an explanation rather than an error.

    Executes the file like a program, to get its kernels.
    """
    path, colon, name = request.rpartition(":")
    if not colon or Path(request).is_file():
        path, name = request, ""
    values = arguments(given) if given else None
    note = "" if values is not None else "\n(for guessed arguments; give others by --args)"
    for found in kernels_of(path, name).values():
        try:
            args = values if values is not None else guessed(found.__wrapped__)
            yield f"{found.explain(*args)}{note}", True
        except Exception as error:
            said = str(error) or type(error).__name__
            yield f"kernel {found.__qualname__}\n{said}{note}", False
