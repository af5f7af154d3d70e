"""Generated kernels agree in each mode: CPython or the reference, interpreter, machine code.

KW_FUZZ_SEED gives other programs; the seed stands in the output of a failing test.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).with_name("kw_fuzz.py")
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
SEED = os.environ.get("KW_FUZZ_SEED") or ("20261292" if SANITIZED else "20261122")
PROGRAMS = 150 if SANITIZED else 500
SECONDS = 1800.0  # a limit for busy machines: quiet ones take about 35 s


def test_generated_programs_agree() -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    command = [sys.executable, str(FUZZ), SEED, str(PROGRAMS), "2", str(SECONDS)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, f"KW_FUZZ_SEED={SEED}\n{done.stdout}\n{done.stderr[-3000:]}"
    counted = re.match(r"(\d+) programs", done.stdout)
    assert counted and int(counted[1]) >= PROGRAMS, done.stdout
    for feature in (
        "gather",
        "while",
        "grid",
        "ternary",
        "helper",
        "inside table 2a",
        "overlapping arguments",
        "chain of index arrays",
        "out=",
        "called again with other extents",
        "captured value changed",
        "reduction min",
        "place by local",
        "place by cursor",
        "places beyond the lanes",
        "exact program",
    ):
        assert f"'{feature}'" in done.stdout, feature
    assert "default within bounds" in done.stdout and "fast same" in done.stdout
    assert "KernelIndexError due" in done.stdout and "inside 2a" in done.stdout
