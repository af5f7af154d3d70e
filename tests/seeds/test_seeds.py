"""The documents' own programs, unchanged."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import kernelwright as kw

sys.path.insert(0, str(Path(__file__).parent))
import reader

sys.path.append(str(Path(__file__).parents[1] / "gpu" / "emulator"))

import stand_ins

pytestmark = pytest.mark.skipif(not reader.SEEDS.is_dir(), reason="no seed documents beside this checkout")


MATRIX = "[[2. 2.]\n [4. 4.]]\n"
GRADIENT = "[ 2.  8. 18.]\n"


@dataclass
class Block:
    """A program of a document: how it is found, what it prints, and why a CPU cannot run it."""

    name: str
    number: str
    contains: str
    prints: str = ""
    not_here: str = ""

    def __str__(self) -> str:
        return f"{self.number} {self.name}"


blocks = [
    Block("akg", "000", 'func_type="akg")\n\n    x0', MATRIX),
    Block("tbe", "000", 'func_type="tbe"', not_here="func_type 'tbe' does not run here"),
    Block("aicpu", "000", 'func_type="aicpu"', not_here="func_type 'aicpu' does not run here"),
    Block("aot GPU", "000", 'device_target="GPU")\n\nif __name__', MATRIX, "holds CUDA code"),
    Block("aot CPU", "000", 'device_target="CPU")\n\nif __name__', MATRIX),
    Block("pyfunc", "000", 'func_type="pyfunc"', MATRIX),
    Block("bprop", "000", "ops.GradOperation(sens_param=True)", GRADIENT),
    Block("bprop", "001", "", GRADIENT),
    Block("bprop", "002", "def square_grad", GRADIENT),
]


def _text(block: Block) -> str:
    text = reader.restored_001() if block.number == "001" else reader.program(block.number, block.contains)
    assert text is not None
    return text


def _renamed(text: str) -> str:
    """The program with only the import's name changed."""
    text = re.sub(r"^import mindspore as ", "import kernelwright.mindspore as ", text, flags=re.MULTILINE)
    text = re.sub(r"^import mindspore\.", "import kernelwright.mindspore.", text, flags=re.MULTILINE)
    return re.sub(r"^from mindspore", "from kernelwright.mindspore", text, flags=re.MULTILINE)


def _library(block: Block, folder: Path) -> None:
    """add.so beside the program, compiled as the document says; for the emulated GPU by its own compiler."""
    if block.name == "aot GPU":
        source = reader.program("000", "__global__ void CustomAddKernel", "cpp")
        command = [
            str(stand_ins.HERE / "nvcc.py"),
            "--shared",
            "-Xcompiler",
            "-fPIC",
            "-o",
            "add.so",
            "add.cu",
        ]
        assert "nvcc --shared -Xcompiler -fPIC -o add.so add.cu" in (reader.document("000") or "")
    elif block.name == "aot CPU":
        source = reader.program("000", "size *= shapes[2][i];\n  }\n  for (int i = 0; i < nparam", "cpp")
        command = ["g++", "--shared", "-fPIC", "-o", "add.so", "add.cc"]
    else:
        return
    assert source is not None and ("__global__" in source) == (block.name == "aot GPU")
    (folder / command[-1]).write_text(source, encoding="utf-8")
    subprocess.run(command, cwd=folder, check=True)


@pytest.mark.parametrize("block", [b for b in blocks if not b.not_here], ids=str)
@pytest.mark.parametrize("way", ["kw run", "import renamed"])
def test_programs_print_what_the_documents_say(block: Block, way: str, tmp_path: Path) -> None:
    text = _text(block)
    _library(block, tmp_path)
    path = tmp_path / "program.py"
    path.write_text(text if way == "kw run" else _renamed(text), encoding="utf-8")
    command = [sys.executable, *(["-m", "kernelwright", "run"] if way == "kw run" else []), str(path)]
    environment = {**os.environ, "KW_LIBCUDA": "/nowhere"}  # also where there is a GPU
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == block.prints
    told = done.stderr.splitlines()[:1]
    assert told == (["no CUDA device: running on the CPU"] if 'device_target="GPU"' in text else [])


@pytest.mark.parametrize("block", [b for b in blocks if b.prints], ids=str)
def test_programs_print_the_same_on_a_gpu(block: Block, tmp_path: Path) -> None:
    """On the emulated one, by the program's own target or for the whole program."""
    text = _text(block)
    _library(block, tmp_path)
    environment = {**os.environ, **stand_ins.environment(KW_CACHE_DIR=str(tmp_path / "cache"))}
    for number, (program, options) in enumerate(
        ((text, ["--device", "gpu"]), (text.replace('device_target="CPU"', 'device_target="GPU"'), []))
    ):
        path = tmp_path / f"program_{number}.py"
        path.write_text(program, encoding="utf-8")
        command = [sys.executable, "-m", "kernelwright", "run", *options, str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout == block.prints
        assert "no CUDA device" not in done.stderr


@pytest.mark.parametrize("block", [b for b in blocks if b.not_here], ids=str)
def test_programs_that_are_not_for_a_cpu(block: Block, tmp_path: Path) -> None:
    _library(block, tmp_path)
    path = tmp_path / "program.py"
    path.write_text(_text(block), encoding="utf-8")
    command = [sys.executable, "-m", "kernelwright", "run", "--device", "cpu", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert block.not_here in done.stderr and "= help: " in done.stderr
    if not block.prints:
        pytest.skip(f"{block.number} {block.name}: {block.not_here}, and says what to use instead")


def test_what_the_documents_print() -> None:
    for block in blocks:
        if block.number == "000" and block.prints:
            said = reader.printed("000", block.contains)
            assert said == block.prints
    assert reader.printed("002", "def square_grad") == GRADIENT


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
