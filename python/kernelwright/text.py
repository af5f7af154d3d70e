"""Kernels given as text instead of as a function: the text of a module whose last definition is the kernel.

Makes the function and leaves the text where tracebacks and the compiler find it; compiles nothing itself.
"""

from __future__ import annotations

import ast
import io
import textwrap
import types
from collections.abc import Mapping

from . import _core
from ._locks import ForkLock
from ._stack import with_stack
from .errors import KernelSyntaxError, make_error

_one_at_a_time = ForkLock()  # threads give each text a name of its own
_files: dict[str, str] = {}  # of each text the name that stands for its file
_lines: dict[str, list[str]] = {}  # of each such name the text


def lines_of(file: str) -> list[str] | None:
    """The lines of a text that was given; None for real files."""
    return _lines.get(file)


def refusal(code: str, message: str, help_text: str, file: str, line: int) -> KernelSyntaxError:
    """An error at the first character of a line that the compiler has not seen."""
    below = f"      = help: {help_text}"
    rendered = f"{file}:{line}:1: error[{code}]: {message}\n{below}"
    error = make_error("KernelSyntaxError", code, rendered, message, file, line, 1, 1, "", below)
    assert isinstance(error, KernelSyntaxError)
    return error


def check_length(text: str, file: str, line: int) -> None:
    """Raises KernelSyntaxError E122, before anything is spent on a text that is too long for a kernel."""
    if len(text) > _core.max_text:
        message = f"the text has {len(text)} characters, and a kernel has at most {_core.max_text}"
        raise refusal("E122", message, "split the kernel", file, line)


def _last_definition(text: str, file: str) -> str:
    """The name of the kernel, with which the text must end. Raises as `define` does."""
    check_length(text, file, 1)
    tree = with_stack(lambda: ast.parse(text, file))
    last = tree.body[-1] if tree.body else None
    kinds = (
        ast.FunctionDef,
        ast.AsyncFunctionDef,
    )  # an async one is refused with its place, as a function is
    if not isinstance(last, kinds) or last.decorator_list:
        raise ValueError(
            "kernel: the text must end with the `def` of the kernel, undecorated; "
            + (f"its last statement is in line {last.lineno}" if last else "it is empty")
        )
    return last.name


def define(text: str, scope: Mapping[str, object]) -> types.FunctionType:
    """Runs the text, whose imports, constants and helper functions the kernel may use, in a copy of `scope`.

    Whatever stands in it is executed. Raises SyntaxError as CPython does, ValueError when the text does not
    end with a plain `def`.
    """
    import linecache  # late: it brings the tokenizer

    text = textwrap.dedent(text)
    with _one_at_a_time:
        file = _files.get(text, f"<kernel text {len(_files) + 1}>")
        last = _last_definition(text, file)
        _files[text] = file
        # split as Python splits files, at nothing else
        _lines[file] = io.StringIO(text, newline=None).readlines()
        linecache.cache[file] = (len(text), None, _lines[file], file)  # for tracebacks
    names: dict[str, object] = {"__name__": "<kernel text>", **scope}
    exec(with_stack(lambda: compile(text, file, "exec", dont_inherit=True)), names)
    function = names[last]
    assert isinstance(function, types.FunctionType)
    return function
