"""`with kw.debug(...)`: the words of KW_DEBUG for a stretch of a program."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager

from . import _core

_current = ""


def _apply(text: str) -> None:
    error = _core.set_debug(text)
    if error:
        raise ValueError(error)


def begin_with(text: str) -> str:
    """Puts the words of KW_DEBUG in force. Returns what is wrong with them, or ""."""
    global _current
    problem = _core.set_debug(text) if text else ""
    if not problem:
        _current = text
    return problem


@contextmanager
def debug(text: str = "", **words: object) -> Iterator[None]:
    """Sets debug options for a `with` block: the text of KW_DEBUG ("time; dump:after=lower"), or keywords.

    `interp=True` is the word `interp`; `dump_after="lower"` is `dump:after=lower`. Words of the environment
    stay in force. Raises ValueError for unknown words.
    """
    global _current
    parts = [_current, text]
    for key, value in words.items():
        name = key.replace("_", ":", 1) if key.startswith("dump_") else key
        parts.append(name if value is True else f"{name}={value}")
    before, new = _current, ";".join(p for p in parts if p)
    _apply(new)
    _current = new
    try:
        yield
    finally:
        _current = before
        _apply(before)


atexit.register(_core.pass_on_log)  # what the core logged since the last call
