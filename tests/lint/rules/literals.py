"""Numbers of the compiler say why: an integer literal of 16 or more has a comment.
It stands at the end of the literal's line or directly above; widths of types in bits explain themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..cpp_text import is_cpp, strip

FOLDERS = ("compiler/schedule/", "compiler/analysis/", "compiler/codegen/")
SMALLEST = 16
WIDTHS = (16, 32, 64)

_INTEGER = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F']+|\d[\d']*)[uUlLzZ]*(?![\w.'])")
_WIDTH = re.compile(r"bits|bit_width|widest_element")


def _numbers(line: str) -> list[int]:
    return [int(m.group(1).replace("'", ""), 0) for m in _INTEGER.finditer(line)]


def check_literals(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, text in files.items():
        if not is_cpp(path) or not path.startswith(FOLDERS):
            continue
        raw = text.split("\n")
        for number, line in enumerate(strip(text).split("\n")):
            above = raw[number - 1].strip() if number else ""
            if line.lstrip().startswith("#") or "//" in raw[number] or above.startswith("//"):
                continue
            is_width = _WIDTH.search(line)
            for value in _numbers(line):
                if value >= SMALLEST and not (is_width and value in WIDTHS):
                    found.append(f"{path}:{number + 1}: {value}: say what it bounds and why this number")
    return found
