"""`kw explain FILE[:NAME]`: which kernels, with which arguments, and what is said when that cannot be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernelwright import cli
from kernelwright.commands.guess import guessed
from kernelwright.commands.kernel_files import kernels_of

TEXT = """\
import kernelwright as kw
import beside
from kernelwright.examples.kernels import add

@kw.kernel
def gather(x, idx):
    y = output_tensor(idx.shape, x.dtype)
    for i in range(idx.shape[0]):
        y[i] = x[idx[i]]
    return y

@kw.kernel
def scale(a: "f64[:, :]", factor, n, m: int, of=2):
    for i in range(n):
        a[i, 0] = a[i, 0] * factor + m * of
    return a

def plain(a):
    n, m = a.shape
    for i in range(n):
        a[i, 0] += beside.one
    return a
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "beside.py").write_text("one = 1\n")
    (tmp_path / "some.py").write_text(TEXT)
    return str(tmp_path / "some.py")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = cli.main(["explain", *words])
    found = capsys.readouterr()
    return status, found.out, found.err


def heads(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("kernel ", "version "))]


def test_kernels_that_the_file_itself_defines(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = said(capsys, path)
    assert (status, err) == (0, "")
    assert heads(out) == [
        "kernel gather",
        "version (x: float32[:], idx: int64[:])",
        "kernel scale",
        "version (a: float64[:, :], factor: Python float, n: Python int, m: Python int, of: Python int)",
    ]
    assert out.count("\n(for guessed arguments; give others by --args)\n") == 2
    assert "\n\nkernel scale\n" in out and "  schedule    i in range" in out


def test_one_of_them_with_given_arguments(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, f"{path}:gather", "--args", "f16[4, 2],i32[3]")
    assert (status, heads(out)) == (1, ["kernel gather"]) and "error[E201]" in out
    status, out, _ = said(capsys, f"{path}:gather", "--args", "f16[4],i32[3]")
    assert (status, heads(out)) == (0, ["kernel gather", "version (x: float16[:], idx: int32[:])"])
    assert "guessed" not in out
    status, out, _ = said(capsys, f"{path}:plain")
    assert (status, heads(out)) == (0, ["kernel plain", "version (a: float32[:, :])"])


def test_requests_that_cannot_be(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, empty, ends = tmp_path / "bad.py", tmp_path / "empty.py", tmp_path / "ends.py"
    bad.write_text("1 / 0\n")
    ends.write_text("import sys\nsys.exit(0)\n")
    empty.write_text("")
    cases = {
        f"{path}:scal": f"'{path}' has no kernel or function 'scal': did you mean 'scale'?",
        f"{path}:zzz": f"'{path}' has no kernel or function 'zzz': it has gather, scale, plain",
        f"{path}:plane": f"'{path}' has no kernel or function 'plane': did you mean 'plain'?",
        str(tmp_path / "gone.py"): f"there is no file '{tmp_path}/gone.py'",
        str(bad): f"running '{bad}' failed: ZeroDivisionError: division by zero",
        str(ends): f"'{ends}' ends itself by sys.exit(0) when it is run; do that only under "
        '`if __name__ == "__main__":`',
        str(empty): f"'{empty}' defines no kernel; name a function as in '{empty}:NAME'",
    }
    for request, text in cases.items():
        assert said(capsys, request) == (2, "", f"kw explain: {text}\n")


def test_guesses(path: str) -> None:
    x, idx = guessed(kernels_of(path, "gather")["gather"].__wrapped__)
    assert (x.ndim, x.dtype, idx.ndim, idx.dtype) == (1, np.float32, 1, np.int64)


def test_the_command_of_a_checkout(path: str) -> None:
    command = [sys.executable, "-m", "kernelwright", "explain", f"{path}:gather"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("kernel gather\n\nversion (x: float32[:], idx: int64[:])\n")
