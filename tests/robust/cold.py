"""New processes for programs that end badly where kernelwright does: under limits, with signals, at exit.

`make test` runs few of each; `make robust` sets KW_ROBUST, by which their numbers are multiplied.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

# The beginning of programs that make kernels, as many as they ask for. The log of slow compiles is off: on a
# busy machine any compile may take longer than the second that it tolerates.
MAKE = """
import logging
import numpy as np
import kernelwright as kw

logging.getLogger("kernelwright.compile").setLevel(logging.ERROR)

def make(number, lines):
    body = "".join(f"        t = sin(t) * 0.5 + {number}.0\\n" for _ in range(lines))
    return kw.kernel(
        "def k(a):\\n    o = output_tensor(a.shape, a.dtype)\\n    for i in range(a.shape[0]):\\n"
        f"        t = a[i]\\n{body}        o[i] = t\\n    return o\\n"
    )
"""
TIMES = int(os.environ.get("KW_ROBUST", "1"))
SEED = int(os.environ.get("KW_TEST_SEED", "1"))
PATIENCE = 120.0  # seconds; a process that takes longer hangs


def run(
    program: str | Path,
    *arguments: object,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    first: Callable[[], None] | None = None,
    patience: float = PATIENCE,
) -> subprocess.CompletedProcess[str]:
    """A program, given as its text or its file, run by this Python to its end.

    `env` is added to the environment; `first` runs in the new process. TimeoutExpired for one that hangs.
    """
    given = [str(program)] if isinstance(program, Path) else ["-c", program]
    return subprocess.run(
        [sys.executable, *given, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        preexec_fn=first,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=patience,
        check=False,
    )


def expect(done: subprocess.CompletedProcess[str], said: str, what: object = "") -> None:
    """The process ended well and printed this and nothing else; `what` tells which one it was."""
    found = (done.returncode, done.stdout.strip(), done.stderr.strip())
    assert found == (0, said, ""), (what, found)
