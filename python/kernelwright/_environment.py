"""Puts KW_BACKGROUND, KW_DEBUG, KW_FROZEN, KW_LOG, KW_RECORD, KW_TARGET and KW_THREADS in force; imported if
one is set.

A wrong one is a ValueError of `import kernelwright`; the command `kw` says it in a line and ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from . import _core
from ._debug import begin_with

_levels = ("debug", "info", "warning", "error")
_loggers = ("kernelwright", "kernelwright.cache", "kernelwright.compile")


def _configure_logging(setting: str) -> None:
    """Shows messages on standard error, as KW_LOG=LEVEL[,LOGGER] asks. Raises ValueError for another text."""
    import logging

    level, _, name = (part.strip() for part in setting.partition(","))
    logger = name if not name or name.startswith("kernelwright") else f"kernelwright.{name}"
    if level.lower() not in _levels:
        raise ValueError(f"KW_LOG is '{setting}', but must begin with one of {', '.join(_levels)}")
    if (logger or "kernelwright") not in _loggers:
        raise ValueError(f"KW_LOG is '{setting}', but the loggers are {', '.join(_loggers)}")
    chosen = logging.getLogger(logger or "kernelwright")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[kw] %(levelname)s %(name)s: %(message)s"))
    chosen.addHandler(handler)
    chosen.setLevel(level.upper())
    chosen.propagate = False


def _problems() -> Iterator[str]:
    """Puts the variables in force, and yields what is wrong with each."""
    if problem := _core.threads_problem():
        yield problem
    if problem := begin_with(os.environ.get("KW_DEBUG", "")):
        yield problem
    if problem := _core.target_error():
        yield problem
    for name in ("KW_BACKGROUND", "KW_FROZEN"):
        switch = os.environ.get(name, "")
        if switch not in ("", "0", "1"):
            yield f"{name} is '{switch}', but must be 0 or 1"
    if setting := os.environ.get("KW_LOG"):
        try:
            _configure_logging(setting)
        except ValueError as error:
            yield str(error)
    if path := os.environ.get("KW_RECORD"):
        from .warm.recording import ManifestError, start

        try:
            start(path)
        except (OSError, ManifestError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            yield f"KW_RECORD is '{path}', which cannot be recorded into: {why}"


def _is_command() -> bool:
    """Returns whether this process runs `kw`, or `python -m kernelwright`."""
    module = sys.orig_argv[1:3] == ["-m", "kernelwright"]
    return module or os.path.basename(sys.argv[0] if hasattr(sys, "argv") and sys.argv else "") == "kw"


for _problem in _problems():
    if _is_command():
        print(f"kw: {_problem}", file=sys.stderr)
        raise SystemExit(2)
    raise ValueError(_problem)
