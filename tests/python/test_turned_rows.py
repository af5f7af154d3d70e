"""Rows turned over in registers: every length of what is left of the lanes, nothing beside the result.

Lanes that do not run write to the row of the first one, before it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("turned_rows.py")


@pytest.mark.parametrize("target", ["host", "avx2", "generic"])
def test_rows_of_every_length(target: str) -> None:
    env = {**os.environ, "KW_TARGET": target}
    command = [sys.executable, str(PROGRAM)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "right\n", done.stderr
