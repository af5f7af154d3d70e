"""Bytes of every text file: line ends, tabs, trailing spaces, and words of the place where it was written.
The same for all file kinds; a Makefile may have its tabs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

MAY_HAVE_TABS = {"Makefile", ".gitmodules"}
# Brackets keep this line from reporting itself.
WORKPLACE = re.compile(r"(?<![\w.])/[w]ork/|\bfarm[-](?:studio|bench)\b", re.IGNORECASE)


def _numbered(files: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    for path, text in files.items():
        for number, line in enumerate(text.split("\n"), 1):
            yield path, number, line


def check_final_newline(files: Mapping[str, str]) -> list[str]:
    return [
        f"{path}:{text.count(chr(10)) + 1}: no newline at the end"
        for path, text in files.items()
        if text and not text.endswith("\n")
    ]


def check_spaces(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, number, line in _numbered(files):
        if line.endswith("\r"):
            found.append(f"{path}:{number}: CRLF")
        elif line != line.rstrip(" \t"):
            found.append(f"{path}:{number}: trailing space")
        elif "\t" in line and PurePosixPath(path).name not in MAY_HAVE_TABS:
            found.append(f"{path}:{number}: tab")
    return found


def check_workplace(files: Mapping[str, str]) -> list[str]:
    return [
        f"{path}:{number}: names the machine it was written on"
        for path, number, line in _numbered(files)
        if WORKPLACE.search(line)
    ]
