"""`python -m kernelwright.errors`: the codes of all diagnostics; `… errors E301` explains one with examples.

Reads errors.md beside the package, which tests keep equal to what the compiler says.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import _core

_PAGE = Path(__file__).parent.parent / "errors.md"


def sections() -> dict[str, str]:
    """Returns the section of errors.md about each code."""
    parts = re.split(r"^## (?=[EVW]\d)", _PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {part.split(":", 1)[0]: part.rstrip("\n") for part in parts}


def main(arguments: Sequence[str]) -> int:
    """Lists the codes, or prints the given ones; returns the exit status."""
    if not arguments:
        for code, class_name, title, _ in _core.codes():
            print(f"{code}  {class_name:<24} {title}")
        print("\n`python -m kernelwright.errors CODE` shows a kernel that causes it and one that does not.")
        return 0
    known, status = sections(), 0
    for argument in arguments:
        text = known.get(argument.upper())
        if text is None:
            print(f"no diagnostic has the code {argument!r}; without a code all are listed", file=sys.stderr)
            status = 1
        else:
            print(text)
    return status


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the end of `… | head` is not an error
    sys.exit(main(sys.argv[1:]))
