"""Reads the variables KW_DEBUG, KW_FROZEN, KW_LOG, KW_RECORD, KW_TARGET and KW_THREADS at import.

A wrong one is a ValueError of `import kernelwright`; the command `kw` says it in a line and ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from . import _core
from ._debug import begin_with


def _problems() -> Iterator[str]:
    """Puts the variables in force, and yields what is wrong with each."""
    if problem := _core.threads_problem():
        yield problem
    _core.threads()  # reads the limit now, so that no call has to
    if problem := begin_with(os.environ.get("KW_DEBUG", "")):
        yield problem
    if problem := _core.target_error():
        yield problem
    frozen = os.environ.get("KW_FROZEN", "")
    if frozen not in ("", "0", "1"):
        yield f"KW_FROZEN is '{frozen}', but must be 0 or 1"
    if setting := os.environ.get("KW_LOG"):
        from ._log import configure

        try:
            configure(setting)
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
