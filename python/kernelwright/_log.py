"""Messages of the core in Python's logging: the loggers `kernelwright.cache` and `kernelwright.compile`.

The core imports this module when it has messages and somebody may read them.
"""

from __future__ import annotations

import logging

_levels = ("debug", "info", "warning", "error")
_loggers = ("kernelwright", "kernelwright.cache", "kernelwright.compile")


def emit(records: list[tuple[str, int, str]]) -> None:
    """Logs messages: (area, level, text) each."""
    for area, level, text in records:
        logging.getLogger(f"kernelwright.{area}").log(level, "%s", text)


def configure(setting: str) -> None:
    """Shows messages on standard error, as KW_LOG=LEVEL[,LOGGER] asks. Raises ValueError for another text."""
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
