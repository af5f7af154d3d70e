"""Colours of texts in terminals: errors in the form of compilers, and explanations.

Off where the output is no terminal, under NO_COLOR (no-color.org), and for TERM=dumb.
"""

from __future__ import annotations

import os
import re
from typing import IO

_BOLD, _RED, _YELLOW, _GREEN, _BLUE, _CYAN = "1", "1;31", "1;33", "32", "34", "36"

# patterns of whole lines or of words, and the colours of their groups; the first that matches a line counts
_lines: list[tuple[re.Pattern[str], tuple[str, ...]]] = [
    (re.compile(r"(.*?)(error\[\w+\])(:.*)"), (_BOLD, _RED, _BOLD)),
    (re.compile(r"(.*?)(warning\[\w+\])(:.*)"), (_BOLD, _YELLOW, _BOLD)),
    (re.compile(r"(\s+=)( (?:note|help|silence):)(.*)"), (_BLUE, _BOLD, "")),
    (re.compile(r"(\s*\|)(\s*\^~*.*)"), (_BLUE, _RED)),
    (re.compile(r"(\s*\d+ \|)(.*)"), (_BLUE, "")),
    (re.compile(r"(kernel |version )(.*)"), (_BOLD, _BOLD)),
    (re.compile(r"(  (?! )[a-z ]{11} )(.*)"), (_CYAN, "")),
]
_words = [
    (re.compile(r"\b(vector(?:ized)?|parallel)\b"), _GREEN),
    (re.compile(r"\b(serial|not (?:vectorized|parallelized)|checked at run time)\b"), _YELLOW),
]


def are_wanted(stream: IO[str]) -> bool:
    """Returns whether texts for this stream get colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _painted(text: str, colour: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if colour and text else text


def _line(text: str) -> str:
    for pattern, colours in _lines:
        if found := pattern.fullmatch(text):
            parts = [
                _painted(part, c) if c else _plain(part)
                for part, c in zip(found.groups(), colours, strict=True)
            ]
            return "".join(parts)
    return _plain(text)


def _plain(text: str) -> str:
    for pattern, colour in _words:
        text = pattern.sub(lambda m, c=colour: _painted(m[0], c), text)  # type: ignore[misc]
    return text


def coloured(text: str, stream: IO[str]) -> str:
    """Returns an error or an explanation in colours, if they are wanted for the stream."""
    if not are_wanted(stream):
        return text
    return "\n".join(_line(line) for line in text.split("\n"))
