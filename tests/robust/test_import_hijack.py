"""`kw` runs nothing of the working directory, and `kw run` what Python would run for the same program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KW = Path(sys.executable).with_name("kw")
NAMES = ("argparse", "ast", "kernelwright", "mindspore", "numpy", "re", "runpy", "signal", "sitecustomize")
HOSTILE = "import os\nos.write(2, b'hijacked by ' + __name__.encode() + b'\\n')\n"

pytestmark = pytest.mark.skipif(not KW.exists(), reason="kw is not installed beside this Python")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "hostile"
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(HOSTILE)
    return folder


def kw(hostile: Path, *arguments: object, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [KW, *map(str, arguments)],
        cwd=hostile,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", ["--version", "ops", "cache ls", "cache verify", "--help"])
def test_commands_read_nothing_of_the_working_directory(hostile: Path, command: str) -> None:
    status, said, complaints = kw(hostile, *command.split())
    assert status == 0 and said + complaints and "hijacked" not in complaints


def test_explain_reads_the_folder_of_its_file_alone(hostile: Path, tmp_path: Path) -> None:
    program = tmp_path / "program" / "own.py"
    program.parent.mkdir()
    program.with_name("beside.py").write_text("SCALE = 3.0\n")
    program.write_text(
        "import kernelwright as kw\nfrom beside import SCALE\n\n@kw.kernel\ndef f(a):\n"
        "    for i in range(a.shape[0]):\n        a[i] = a[i] * SCALE\n    return a\n"
    )
    status, said, complaints = kw(hostile, "explain", program, "--args", "f64[4]")
    assert (status, complaints) == (0, "") and "kernel f" in said


@pytest.mark.parametrize("safe", ["", "1"])
def test_run_has_the_path_that_python_gives(hostile: Path, tmp_path: Path, safe: str) -> None:
    program = tmp_path / "program" / "own.py"
    program.parent.mkdir()
    program.with_name("beside.py").write_text("")
    program.write_text("import sys\nprint([p for p in sys.path if not p.endswith('stand_in')])\n")
    env = {"PYTHONSAFEPATH": safe}
    status, said, complaints = kw(hostile, "run", program, **env)
    plain = subprocess.run(
        [sys.executable, program], cwd=hostile, env={**os.environ, **env}, capture_output=True, text=True
    )
    assert (status, said, complaints) == (0, plain.stdout, "")


def test_run_follows_the_link_to_a_program(hostile: Path, tmp_path: Path) -> None:
    for name in ("real", "link"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "beside.py").write_text(f"HERE = {name!r}\n")
    (tmp_path / "real" / "own.py").write_text("import beside\nprint(beside.HERE)\n")
    (tmp_path / "link" / "own.py").symlink_to(tmp_path / "real" / "own.py")
    assert kw(hostile, "run", tmp_path / "link" / "own.py") == (0, "real\n", "")
