"""The documents' own programs, unchanged."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import kernelwright as kw

sys.path.insert(0, str(Path(__file__).parent))
import reader

pytestmark = pytest.mark.skipif(not reader.SEEDS.is_dir(), reason="no seed documents beside this checkout")


def test_akg_program_of_document_000_runs_unchanged(tmp_path: Path) -> None:
    (path,) = reader.extract(tmp_path)
    command = [sys.executable, "-m", "kernelwright", "run", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[[2. 2.]\n [4. 4.]]\n"
    assert done.stderr == "no CUDA device: running on the CPU\n"


def _kernels_of_document_002(tmp_path: Path) -> ModuleType:
    """The functions square and square_grad as the document defines them, in a module of their own."""
    text = reader.program("002", "def square_grad")
    assert text is not None
    begin, end = text.index("def square("), text.index("# Backpropagation function")
    path = tmp_path / "document_002.py"
    path.write_text(text[begin:end], encoding="utf-8")
    spec = importlib.util.spec_from_file_location("document_002", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_square_of_document_002_reads_before_writing(tmp_path: Path) -> None:
    square = kw.kernel(fp="strict")(_kernels_of_document_002(tmp_path).square)
    x = np.array([1.0, 4.0, 9.0], np.float32)
    with kw.debug("cache=off"), pytest.warns(kw.UninitializedReadWarning, match="W301"):
        result = square(x)
    np.testing.assert_array_equal(result, square.py(x))


def test_square_grad_of_document_002(tmp_path: Path) -> None:
    square_grad = kw.kernel(fp="strict")(_kernels_of_document_002(tmp_path).square_grad)
    x, dout = np.array([1.0, 4.0, 9.0], np.float32), np.ones(3, np.float32)
    result = square_grad(x, dout)
    np.testing.assert_array_equal(result, square_grad.py(x, dout))
    assert str(result) == "[ 2.  8. 18.]"
