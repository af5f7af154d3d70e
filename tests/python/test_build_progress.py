"""third_party/cmake/run_ninja.py: a build is never silent, and what fails is shown whole."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "third_party" / "cmake" / "run_ninja.py"
RULES = """\
rule slow
  command = sleep 1 && touch $out
rule bad
  command = echo what went wrong; false
build a: slow
build b: slow a
build c: bad b
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "build.ninja").write_text(RULES)
    return tmp_path


def build(folder: Path, *targets: str, every: float = 0.3) -> subprocess.CompletedProcess[str]:
    program = f"import runpy, sys; sys.argv = {[str(SCRIPT), str(folder), *targets]!r}\n"
    program += f"space = runpy.run_path({str(SCRIPT)!r})\nspace['main'].__globals__['EVERY'] = {every}\n"
    return subprocess.run(
        [sys.executable, "-c", program + "sys.exit(space['main']())"], capture_output=True, text=True
    )


def test_lines_while_steps_run(folder: Path) -> None:
    done = build(folder, "b")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) >= 4
    assert lines[0] == f"building {folder}: 0 done after 0 s"
    assert lines[-1].startswith(f"building {folder}: 1 of 2 after ")
    assert build(folder, "b").stdout == ""  # nothing to do


def test_failures_are_shown(folder: Path) -> None:
    done = build(folder, every=100)
    assert done.returncode == 1
    assert [line.rstrip() for line in done.stdout.splitlines()] == [
        "FAILED: c",
        "echo what went wrong; false",
        "what went wrong",
        "ninja: build stopped: subcommand failed.",
    ]
    missing = build(folder, "none")
    assert missing.returncode == 1 and missing.stdout == "ninja: error: unknown target 'none'\n"


def test_one_line_in_a_terminal(folder: Path) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run([sys.executable, str(SCRIPT), str(folder), "b"], stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = os.read(ours, 10000).decode()
    os.close(ours)
    assert done.returncode == 0 and "\n" not in shown
    assert "\r\033[Kbuilding" in shown and shown.endswith("\r\033[K")
