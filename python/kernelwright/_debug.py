"""`with kw.debug(...)`: the words of KW_DEBUG for a stretch of a program."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager

from . import _core

_current = os.environ.get("KW_DEBUG", "")


def _apply(text: str) -> None:
    error = _core.set_debug(text)
    if error:
        raise ValueError(error)


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
if _current:
    _apply(_current)
if wrong := _core.target_error():
    raise ValueError(wrong)
if os.environ.get("KW_FROZEN", "") not in ("", "0", "1"):
    raise ValueError(f"KW_FROZEN is '{os.environ['KW_FROZEN']}', but must be 0 or 1")
if setting := os.environ.get("KW_LOG"):
    from ._log import configure

    configure(setting)
if path := os.environ.get("KW_RECORD"):
    from .warm.recording import ManifestError, start

    try:
        start(path)
    except (OSError, ManifestError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"KW_RECORD is '{path}', which cannot be recorded into: {why}") from None
