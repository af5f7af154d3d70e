"""Kernels given as text instead of a function: the text of a module whose last definition is the kernel.

Makes the function and stores the text where tracebacks and the compiler find it; compiles nothing itself.
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

_one_at_a_time = ForkLock()  # gives each text its own name, also from several threads
_files: dict[str, str] = {}  # the file name that represents each text
_lines: dict[str, list[str]] = {}  # the lines of each such file name


def lines_of(file: str) -> list[str] | None:
    """Returns the lines of a given text; None for real files."""
    return _lines.get(file)


def refusal(code: str, message: str, help_text: str, file: str, line: int) -> KernelSyntaxError:
    """Returns an error at the first character of a line that the compiler has not seen."""
    below = f"      = help: {help_text}"
    rendered = f"{file}:{line}:1: error[{code}]: {message}\n{below}"
    error = make_error("KernelSyntaxError", code, rendered, message, file, line, 1, 1, "", below)
    assert isinstance(error, KernelSyntaxError)
    return error


def check_length(text: str, file: str, line: int) -> None:
    """Raises KernelSyntaxError E122 for a text that is too long, before any work on it."""
    if len(text) > _core.max_text:
        message = f"the text has {len(text)} characters, and a kernel has at most {_core.max_text}"
        raise refusal("E122", message, "split the kernel", file, line)


def _last_definition(text: str, file: str) -> str:
    """Returns the name of the kernel, with which the text must end. Raises like `define`."""
    check_length(text, file, 1)
    tree = with_stack(lambda: ast.parse(text, file))
    last = tree.body[-1] if tree.body else None
    kinds = (
        ast.FunctionDef,
        ast.AsyncFunctionDef,
    )  # an async one is refused with its location, as a function is
    if not isinstance(last, kinds) or last.decorator_list:
        raise ValueError(
            "kernel: the text must end with the `def` of the kernel, undecorated; "
            + (f"its last statement is in line {last.lineno}" if last else "it is empty")
        )
    return last.name


def define(text: str, scope: Mapping[str, object]) -> types.FunctionType:
    """Runs the text, whose imports, constants and helper functions the kernel may use, in a copy of `scope`.

    Executes everything in the text. Raises SyntaxError like CPython, and ValueError if the text does not end
    with a plain `def`.
    """
    import linecache  # late: it brings the tokenizer

    text = textwrap.dedent(text)
    with _one_at_a_time:
        file = _files.get(text, f"<kernel text {len(_files) + 1}>")
        last = _last_definition(text, file)
        _files[text] = file
        # splits only where Python splits files
        _lines[file] = io.StringIO(text, newline=None).readlines()
        linecache.cache[file] = (len(text), None, _lines[file], file)  # for tracebacks
    names: dict[str, object] = {"__name__": "<kernel text>", **scope}
    exec(with_stack(lambda: compile(text, file, "exec", dont_inherit=True)), names)
    function = names[last]
    assert isinstance(function, types.FunctionType)
    return function
