"""C++ source as the lint sees it: comments and literals blanked, includes listed.
A scanner, not a parser: lengths and lines never change, so every offset is still true.
Finding functions is in `cpp_functions`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

SUFFIXES = (".h", ".cpp")
NOT_OURS = ("third_party/", "tests/golden/", "tests/seeds/")

_LEXEME = re.compile(
    r"""
      (?P<include> ^[ \t]*\#[ \t]*include[ \t]*(?:"[^"\n]*"|<[^>\n]*>) )
    | (?P<comment> //(?:\\\n|[^\n])* | /\*.*?(?:\*/|\Z) )
    | (?P<raw>     (?<!\w)(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)" )
    | (?P<string>  "(?:\\.|[^"\\\n])*" )
    | (?P<number>  (?<!\w)\d(?:'?\w|\.)* )
    | (?P<char>    '(?:\\.|[^'\\\n])+' )
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([\"<])([^\">\n]*)[\">]", re.MULTILINE)


@dataclass(frozen=True)
class Include:
    line: int
    path: str
    quoted: bool


def is_cpp(path: str) -> bool:
    """True for the C++ files that follow the house rules."""
    return path.endswith(SUFFIXES) and not path.startswith(NOT_OURS)


def blank(text: str) -> str:
    """Spaces in place of every character but the line ends."""
    return re.sub(r"[^\n]", " ", text)


def _without_literal(match: re.Match[str]) -> str:
    text = match.group()
    if match.lastgroup in ("include", "number"):
        return text
    return blank(text) if match.lastgroup == "comment" else f'"{blank(text[1:-1])}"'


@cache
def strip(text: str) -> str:
    """`text` with comments and the insides of literals blanked; include lines stay."""
    return _LEXEME.sub(_without_literal, text)


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def includes(text: str) -> list[Include]:
    """Include lines outside comments and strings (generated CUDA text does not count)."""
    clean = strip(text)
    return [Include(line_of(clean, m.start(2)), m[2], m[1] == '"') for m in _INCLUDE.finditer(clean)]


def resolve(path: str, include: str, files: Mapping[str, str]) -> str | None:
    """The file that `include` names in `path`: a neighbour, or a path from its module's folder."""
    if "/" not in include:
        candidates = [(PurePosixPath(path).parent / include).as_posix()]
    else:
        candidates = [f"compiler/{include}", include]
        if include.startswith("bind/"):
            candidates.append(f"python/{include}")
        if path.startswith(("tests/", "bench/")):
            candidates += [f"tests/{include}", f"bench/{include}"]
    return next((candidate for candidate in candidates if candidate in files), None)
