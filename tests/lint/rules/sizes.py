"""How long files, functions and lines may be, with a softer limit that only warns.
C++ functions are found by `cpp_functions`, Python ones by `ast`; line length counts characters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ..cpp_functions import functions
from ..cpp_text import NOT_OURS, is_cpp

FILE_LINES, FILE_WARN = 600, 400
FUNCTION_LINES, FUNCTION_WARN = 80, 50
LINE_CHARACTERS = 110


def is_python(path: str) -> bool:
    return path.endswith((".py", ".pyi")) and not path.startswith(NOT_OURS)


def is_cmake(path: str) -> bool:
    return path.endswith((".cmake", "CMakeLists.txt"))  # also third_party/cmake: those are ours


def check_file_lines(files: Mapping[str, str], limit: int) -> list[str]:
    found: list[str] = []
    for path, text in files.items():
        lines = len(text.splitlines())
        if (is_cpp(path) or is_python(path)) and lines > limit:
            found.append(f"{path}:{lines}: {lines} lines, limit {limit}")
    return found


def _python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield node.name, first, (node.end_lineno or node.lineno) - first + 1


def _function_lengths(path: str, text: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, lines) of every function body in the file."""
    if is_cpp(path):
        yield from ((f.name or "operator", f.line, f.lines) for f in functions(text) if f.defined)
    elif is_python(path):
        yield from _python_functions(text)


def check_function_lines(files: Mapping[str, str], limit: int) -> list[str]:
    found: list[str] = []
    for path, text in files.items():
        try:
            lengths = list(_function_lengths(path, text))
        except SyntaxError as error:
            found.append(f"{path}:{error.lineno}: Python cannot parse it: {error.msg}")
            continue
        found += [
            f"{path}:{line}: {name}: {lines} lines, limit {limit}"
            for name, line, lines in lengths
            if lines > limit
        ]
    return found


def check_line_lengths(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, text in files.items():
        if is_cpp(path) or is_python(path) or is_cmake(path) or path == "README.md":
            for number, line in enumerate(text.splitlines(), 1):
                if len(line) > LINE_CHARACTERS:
                    found.append(f"{path}:{number}: {len(line)} characters, limit {LINE_CHARACTERS}")
    return found
