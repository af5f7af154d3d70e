"""What editors and type checkers see: the names of the package, the README's examples, calls of kernels."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kernelwright as kw
from kernelwright import lang

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "kernelwright"


def test_the_stub_has_every_public_name() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    found = {alias.asname for n in stub.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    found |= {n.name for n in stub.body if isinstance(n, ast.FunctionDef)}
    found |= {
        n.target.id for n in stub.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }
    assert found == set(dir(kw))
    assert {*kw.__all__, *lang.attributes} < found
    assert all(hasattr(kw, str(name)) for name in found)


def checked(path: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "MYPYPATH": str(PACKAGE.parent), "HOME": str(path.parent)}
    return subprocess.run(
        [*command, str(path)], cwd=path.parent, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def readme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples of the README, one below the other, as a file of a project without settings."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    path = tmp_path_factory.mktemp("readme") / "example.py"
    path.write_text("\n\n".join(block.strip() + "\n" for block in blocks))
    return path


def mypy(path: Path) -> str:
    return checked(path, sys.executable, "-m", "mypy", "--strict").stdout


def test_the_readme_has_no_findings(readme: Path) -> None:
    assert mypy(readme) == "Success: no issues found in 1 source file\n"
    done = checked(readme, sys.executable, "-m", "ruff", "check", "--isolated", "--quiet")
    assert done.stdout == ""


@pytest.mark.skipif(shutil.which("pyright") is None, reason="needs pyright")
def test_the_readme_has_no_findings_of_pyright(readme: Path) -> None:
    done = checked(readme, shutil.which("pyright") or "", "--pythonpath", sys.executable)
    assert "0 errors" in done.stdout


CALLS = """
import kernelwright as kw


@kw.kernel
def scaled(x: list[float], by: int) -> list[float]:
    return x


@kw.kernel(fp="strict")
def strict(x: int) -> int:
    return x


reveal_type(scaled([1.0], 2))
reveal_type(scaled([1.0], by=2, out=[2.0]))
reveal_type(strict)
scaled("x", 2)
scaled([1.0])
strict.warmup("f32[:]", target="avx2")
kw.kernel("def f(x):\\n    return x")(3)
kw.exq
"""


def test_kernels_keep_the_signature_of_their_function(tmp_path: Path) -> None:
    path = tmp_path / "calls.py"
    path.write_text(CALLS)
    lines = [line.split(": ", 1)[1] for line in mypy(path).splitlines()[:-1]]
    assert lines[:3] == [
        'note: Revealed type is "list[float]"',
        'note: Revealed type is "list[float]"',
        'note: Revealed type is "kernelwright._core.Kernel[[x: int], int]"',
    ]
    errors = [line for line in lines[3:] if line.startswith("error: ")]
    assert [re.sub(r".*\[(.*)\]$", r"\1", line) for line in errors] == [
        "call-overload",
        "call-overload",
        "attr-defined",
    ]
