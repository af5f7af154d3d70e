"""Style tools: clang-format, ruff and mypy agree with the tree.
A tool is taken from .venv/bin or from beside the running interpreter; a missing one skips its test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import tree
from .cpp_text import is_cpp
from .rules.sizes import is_python

CLANG_FORMAT = ("clang-format", "--dry-run", "-Werror")
RUFF = ("ruff", "check", "--no-cache", "--output-format=concise")
MYPY = ("mypy", "--strict", f"--cache-dir={os.devnull}")


def complaints(command: tuple[str, ...], paths: list[str], folder: Path = tree.ROOT) -> str:
    """What the tool prints when it refuses the files, else nothing; skips where the tool is missing."""
    homes = (tree.ROOT / ".venv" / "bin", Path(sys.executable).parent)
    tool = next((home / command[0] for home in homes if (home / command[0]).exists()), None)
    if tool is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(
        [tool, *command[1:], *paths], cwd=folder, capture_output=True, text=True, check=False
    )
    return (done.stdout + done.stderr or "refused") if done.returncode else ""


def expect_no_complaints(command: tuple[str, ...], paths: list[str]) -> None:
    said = complaints(command, paths) if paths else ""
    assert not said, f"{command[0]}:\n{said}"


def test_clang_format() -> None:
    paths = [path for path in tree.files() if is_cpp(path)]
    if paths and ".clang-format" not in tree.files():
        pytest.fail(".clang-format:1: missing", pytrace=False)
    expect_no_complaints(CLANG_FORMAT, paths)


def test_ruff() -> None:
    expect_no_complaints(RUFF, [path for path in tree.files() if is_python(path)])


def test_mypy() -> None:
    package = "python/kernelwright"
    expect_no_complaints(MYPY, [package] if f"{package}/__init__.py" in tree.files() else [])


def test_reports_clang_format(tmp_path: Path) -> None:
    (tmp_path / ".clang-format").write_text("BasedOnStyle: LLVM\n")
    (tmp_path / "bad.cpp").write_text("int  f( ){return 1;}\n")
    (tmp_path / "good.cpp").write_text("int f() { return 1; }\n")
    assert "bad.cpp:1" in complaints(CLANG_FORMAT, ["bad.cpp"], tmp_path)
    assert complaints(CLANG_FORMAT, ["good.cpp"], tmp_path) == ""


def test_reports_ruff(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import os\n")
    (tmp_path / "good.py").write_text("X = 1\n")
    assert "bad.py:1" in complaints(RUFF, ["--isolated", "bad.py"], tmp_path)
    assert complaints(RUFF, ["--isolated", "good.py"], tmp_path) == ""


def test_reports_mypy(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def f(x):\n    return x\n")
    (tmp_path / "good.py").write_text("def f(x: int) -> int:\n    return x\n")
    assert "bad.py:1" in complaints(MYPY, ["bad.py"], tmp_path)
    assert complaints(MYPY, ["good.py"], tmp_path) == ""
