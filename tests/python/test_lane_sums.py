"""Sums in lanes on every target that this machine runs, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("lane_sums.py")


@pytest.mark.parametrize("target", ["host", "avx2,grain=4", "generic,grain=0"])
def test_machine_code_sums_as_the_interpreter_does(target: str) -> None:
    seed = int(os.environ.get("KW_TEST_SEED", "11"))
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(seed), "24"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "KW_TARGET": target},
    )
    if "cannot run code for" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, f"seed {seed}\n{done.stdout}{done.stderr}"
