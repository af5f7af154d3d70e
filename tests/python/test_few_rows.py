"""Few iterations around many are shared by all threads, and give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("few_rows.py")


@pytest.mark.parametrize("target", ["host,grain=0", "host,grain=12", "generic,grain=0"])
def test_any_number_of_threads_gives_the_same_bits(target: str) -> None:
    env = {**os.environ, "KW_TARGET": target}
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr
