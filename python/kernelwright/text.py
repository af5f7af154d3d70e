"""Kernels given as text instead of as a function: the text of a module whose last definition is the kernel.

Makes the function and leaves the text where tracebacks and the compiler find it; compiles nothing itself.
"""

from __future__ import annotations

import ast
import linecache
import textwrap
import types
import zlib
from collections.abc import Mapping


def define(text: str, scope: Mapping[str, object]) -> types.FunctionType:
    """Runs the text, whose imports, constants and helper functions the kernel may use, in a copy of `scope`.

    Raises SyntaxError as CPython does, ValueError when the text does not end with a plain `def`.
    """
    text = textwrap.dedent(text)
    file = f"<kernel text {zlib.crc32(text.encode()):08x}>"
    tree = ast.parse(text, file)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.FunctionDef) or last.decorator_list:
        raise ValueError(
            "kernel: the text must end with the `def` of the kernel, undecorated; "
            + (f"its last statement is in line {last.lineno}" if last else "it is empty")
        )
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, object] = {"__name__": "<kernel text>", **scope}
    exec(compile(tree, file, "exec"), names)
    function = names[last.name]
    assert isinstance(function, types.FunctionType)
    return function
