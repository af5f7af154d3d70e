"""`kw bench`."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.measure.peers import find_compilers

PROGRAM = """\
import kernelwright as kw
import numpy as np

@kw.kernel
def scaled(x: "f32[1000]", by: "2.5"):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = x[i] * by
    return y

@kw.kernel
def needs(x):
    return x

def by_numpy(x, by):
    return x * np.float32(by)
"""

C_SOURCE = """\
#include <stdint.h>
void scaled(const float *x, int64_t n, double by, float *y, int64_t m) {
  for (int64_t i = 0; i < n; i++) y[i] = x[i] * (float)by;
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernels.py").write_text(PROGRAM)
    (tmp_path / "scaled.c").write_text(C_SOURCE)
    return tmp_path


def command(folder: Path, *words: str) -> tuple[int, str, str]:
    line = [sys.executable, "-m", "kernelwright", "bench", "--seconds", "0.002", *words]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_one_kernel_with_peers(folder: Path) -> None:
    code, out, said = command(
        folder, "kernels.py:scaled", "--numpy", "by_numpy", "--c", "scaled.c", "--json", "out.json"
    )
    assert code == 0, said
    assert out.startswith("scaled(f32[1000], 2.5)   ")
    (found,) = json.loads((folder / "out.json").read_text())
    assert found["kernel"] == "scaled" and found["types"] == ["f32[:]", "float"]
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)]
    assert {"NumPy", "CPython", *compilers} <= set(found["peers"])
    assert all(peer["agrees"] for peer in found["peers"].values())
    assert found["peers"]["NumPy"]["timing"]["median"] > 0


def test_a_sweep_with_pictures(folder: Path) -> None:
    files = ("--csv", "out.csv", "--plot", "out.svg", "--roofline", "roof.png", "--dark")
    code, out, said = command(
        folder, "kernels.py:scaled", "--args", "f32[n], 2.0", "--sweep", "n=64..256", *files
    )
    assert code == 0, said
    assert [line.split("  ")[1] for line in out.splitlines()[1:]] == [
        f"f32[{n}], 2.0" for n in (64, 128, 256)
    ]
    assert len(list(csv.reader((folder / "out.csv").open()))) == 4
    assert (folder / "out.svg").read_bytes() and (folder / "roof.png").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("kernels.py",), "'kernels.py' defines 2 kernels: name one, as in 'kernels.py:scaled'"),
        (
            ("kernels.py:needs",),
            "needs() needs the argument 'x': give all in order, as --args \"f32[4096,1024],3\"",
        ),
        (("kernels.py:scaled", "--args", "f32[8],2.5,3"), "scaled() has 2 parameters, but --args names 3"),
        (
            ("kernels.py:scaled", "--plot", "x.pdf", "--sweep", "n=1"),
            "'x.pdf' is no name of a picture: expected .svg or .png",
        ),
        (("kernels.py:scaled", "--json", "no/x.json"), "there is no folder 'no' for x.json"),
        (("kernels.py:scaled", "--csv", "."), "'.' cannot be written"),
        (("kernels.py:scaled", "--c", "no.c"), "there is no file 'no.c'"),
        (("kernels.py:scaled", "--seconds", "-1"), "--seconds is -1, but must be above 0"),
        (
            ("kernels.py:scaled", "--sweep", "n=1..8"),
            "no argument has a size 'n' for --sweep n=1..8",
        ),
        (("kernels.py:scaled", "--numpy", "no"), "'kernels.py' has no function 'no'"),
        (("kernels.py:scaled", "--plot", "x.svg"), "--plot draws a sweep: add --sweep, as n=2**8..2**24"),
        (
            ("kernels.py:scaled", "--args", "f32[:], 1"),
            "'f32[:]' leaves sizes open: measurements need them, as f32[4096, 1024]",
        ),
        (
            ("kernels.py:scaled", "--sweep", "n"),
            "'n' is no sweep: expected n=2**8..2**24, n=100..1000+100 or n=1,2,3",
        ),
    ],
)
def test_wrong_requests(folder: Path, words: tuple[str, ...], message: str) -> None:
    code, _, said = command(folder, *words)
    assert (code, said) == (2, f"kw bench: {message}\n")


def test_a_c_file_that_does_not_compile(folder: Path) -> None:
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    (folder / "scaled.c").write_text("void scaled( {}")
    code, _, said = command(folder, "kernels.py:scaled", "--c", "scaled.c")
    assert (
        code == 2 and said.startswith("kw bench: gcc cannot compile 'scaled.c':\n") and "scaled.c:1" in said
    )
    (folder / "scaled.c").write_text("void other(void) {}")
    code, _, said = command(folder, "kernels.py:scaled", "--c", "scaled.c")
    assert code == 2 and "scaled" in said.splitlines()[1] + said.splitlines()[2]


def test_a_c_function_that_is_static(folder: Path) -> None:
    if not find_compilers():
        pytest.skip("no compiler")
    (folder / "scaled.c").write_text(C_SOURCE.replace("void scaled", "static void scaled"))
    code, _, said = command(folder, "kernels.py:scaled", "--c", "scaled.c")
    assert (code, said) == (2, "kw bench: 'scaled.c' exports no function 'scaled': it must not be static\n")


def test_annotations_that_type_checkers_know_have_sizes(folder: Path) -> None:
    (folder / "typed.py").write_text(
        "from __future__ import annotations\nfrom typing import Annotated\nimport numpy as np\n"
        "from numpy.typing import NDArray\nimport kernelwright as kw\n\n@kw.kernel\n"
        "def scaled(x: Annotated[NDArray[np.float32], 'f32[100]'], by: float):\n"
        "    for i in range(x.shape[0]):\n        x[i] = x[i] * by\n    return x\n"
    )
    code, out, said = command(folder, "typed.py")
    assert code == 0 and out.startswith("scaled(f32[100], 0.5)   "), said


def test_a_c_function_that_crashes_ends_nothing(folder: Path) -> None:
    if not find_compilers():
        pytest.skip("no compiler")
    (folder / "scaled.c").write_text(C_SOURCE.replace("for (", "*(volatile int *)0 = 1;\n  for ("))
    code, out, _ = command(folder, "kernels.py:scaled", "--c", "scaled.c", "--no-python")
    assert code == 0 and "it ends the process by SIGSEGV" in out and "CPython" not in out


def test_a_c_function_works_in_place(folder: Path) -> None:
    if not find_compilers():
        pytest.skip("no compiler")
    (folder / "halved.c").write_text(
        "void halved(double *x, int64_t n) {\n  for (int64_t i = 0; i < n; i++) x[i] /= 2;\n}\n"
    )
    (folder / "inplace.py").write_text(
        "import kernelwright as kw\n\n@kw.kernel\ndef halved(x):\n    for i in range(x.shape[0]):\n"
        "        x[i] = x[i] / 2\n    return x\n\ndef by_numpy(x):\n    x /= 2\n"
    )
    words = ("--args", "f64[100]", "--c", "halved.c", "--numpy", "by_numpy", "--json", "out.json")
    code, _, said = command(folder, "inplace.py", *words)
    assert code == 0, said
    (found,) = json.loads((folder / "out.json").read_text())
    assert all(peer["agrees"] for peer in found["peers"].values()), found["peers"]


def test_strides_and_views_are_kept(folder: Path) -> None:
    code, out, said = command(folder, "kernels.py:scaled", "--args", "f32[100]/any,f32", "--json", "out.json")
    assert code == 0, said
    assert out.startswith("scaled(f32[100]/any, 0.0)   ")
    (folder / "sums.py").write_text(
        "import kernelwright as kw\n\n@kw.kernel\ndef sums(x, y):\n    for i in range(x.shape[0]):\n"
        "        x[i] = x[i] + y[i]\n    return x\n"
    )
    code, out, said = command(folder, "sums.py", "--args", "f64[100],=0")
    assert code == 0 and out.startswith("sums(f64[100], =0)   "), out + said
