"""`kw run`: what a program sees of the process it runs in, also in processes that it starts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


def kw_run(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(text)
    command = [sys.executable, "-m", "kernelwright", "run", "program.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=100, check=False)


def test_the_program_is_main_with_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("HERE = 7\n")
    text = "import sys, beside, mindspore.ops\nprint(__name__, sys.argv, beside.HERE, mindspore.ops)\n"
    done = kw_run(tmp_path, text, "--device", "x", "-v")
    assert done.stderr == "" and done.stdout.startswith(
        "__main__ ['program.py', '--device', 'x', '-v'] 7 <module"
    )


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_processes_of_the_program_find_the_layer(tmp_path: Path, method: str) -> None:
    text = f"""\
import multiprocessing
import mindspore as ms

def known(name):
    from mindspore import ops
    return hasattr(ops, name) and ms.Tensor is not None

if __name__ == "__main__":
    with multiprocessing.get_context("{method}").Pool(1) as pool:
        print(pool.map_async(known, ["Custom", "Nothing"]).get(90))
"""
    done = kw_run(tmp_path, text)
    assert (done.stdout, done.stderr) == ("[True, False]\n", "")


def test_processes_of_the_program_run_on_its_device(tmp_path: Path) -> None:
    text = """\
import multiprocessing
import mindspore as ms

def choose(_):
    ms.set_context(device_target="Ascend")

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.map_async(choose, [0]).get(90)
"""
    (tmp_path / "program.py").write_text(text)
    said = []
    for options in ([], ["--device", "cpu"]):
        command = [sys.executable, "-m", "kernelwright", "run", *options, "program.py"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=100, check=True)
        said.append(done.stderr)
    assert said == ["no Ascend device: running on the CPU\n", ""]


def test_tracebacks_begin_in_the_program(tmp_path: Path) -> None:
    done = kw_run(tmp_path, "def f():\n    return 1 / 0\nf()\n")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if "^" not in line]
    assert lines == [
        "Traceback (most recent call last):",
        '  File "program.py", line 3, in <module>',
        "    f()",
        '  File "program.py", line 2, in f',
        "    return 1 / 0",
        "ZeroDivisionError: division by zero",
    ]


@pytest.mark.parametrize(
    ("statement", "last"),
    [
        (
            "import mindspore.dataset",
            "ModuleNotFoundError: mindspore.dataset is not part of kernelwright's MindSpore layer",
        ),
        (
            "import mindspore.op",
            "ModuleNotFoundError: mindspore.op is not part of kernelwright's MindSpore layer; nearby: ops",
        ),
        (
            "from mindspore import dataset",
            "ImportError: mindspore.dataset is not part of kernelwright's MindSpore layer",
        ),
        (
            "from mindspore.ops import Relu",
            "ImportError: mindspore.ops.Relu is not part of kernelwright's MindSpore layer;"
            " nearby: ReLU, relu, gelu",
        ),
        (
            "from mindspore.ops import functional as F; F.softmx",
            "AttributeError: mindspore.ops.functional.softmx is not part of kernelwright's MindSpore layer;"
            " nearby: softmax, log_softmax",
        ),
        (
            "ms.common.dtype.float33",
            "AttributeError: mindspore.common.dtype.float33 is not part of kernelwright's MindSpore layer;"
            " nearby: float32, float_, float64",
        ),
        (
            "ms.float33",
            "AttributeError: mindspore.float33 is not part of kernelwright's MindSpore layer;"
            " nearby: float32, float_, float64",
        ),
        (
            "ms.ops.Relu",
            "AttributeError: mindspore.ops.Relu is not part of kernelwright's MindSpore layer;"
            " nearby: ReLU, relu, gelu",
        ),
        (
            "ms.nn.Sigmod()",
            "AttributeError: mindspore.nn.Sigmod is not part of kernelwright's MindSpore layer;"
            " nearby: Sigmoid",
        ),
    ],
)
def test_what_the_layer_lacks_is_named(tmp_path: Path, statement: str, last: str) -> None:
    done = kw_run(tmp_path, f"import mindspore as ms\n{statement}\n")
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1].split(". Did you mean")[0]  # what some versions of Python add
    assert re.sub(r"\(/.*\)", "(…)", said) == last
    assert "During handling" not in done.stderr and "direct cause" not in done.stderr


def test_modules_that_programs_import(tmp_path: Path) -> None:
    text = """\
import mindspore
import mindspore.nn as nn
import mindspore.ops as ops
from mindspore import Parameter, ParameterTuple, Tensor, context, dtype as mstype, nn, ops
from mindspore.common import dtype
from mindspore.common.api import jit
from mindspore.common.dtype import float32
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor as other
from mindspore.nn import Cell
from mindspore.ops import CustomRegOp, DataType, composite as C, operations as P
from mindspore.ops.composite import GradOperation
from mindspore.ops.composite.multitype_ops.zeros_like_impl import zeros_like
from mindspore.ops.functional import vjp
from mindspore.ops.op_info_register import op_info_register
from mindspore.ops.operations import PyFunc
assert other is Tensor is mindspore.Tensor and dtype.float32 is mstype.float32 is float32
print(P.ReLU()(Tensor([-1.0, 2.0])), ops.ReduceSum()(Tensor([1.0, 2.0])), C.GradOperation)
"""
    done = kw_run(tmp_path, text)
    assert done.stderr == "" and done.stdout.startswith("[0. 2.] 3.0 <class")


DECLARED = """\
import numpy as np
from mindspore import Tensor, ops

def copied(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c

x = Tensor(np.ones(2, np.float32))
for shape in ((2,), [2], lambda s: s):
    for dtype in (np.float32, np.dtype("float32"), lambda d: d, float):
        try:
            print(ops.Custom(copied, shape, dtype, func_type="akg")(x).dtype)
        except TypeError as e:
            print(str(e).split(": ")[-1])
"""


def test_declared_types_are_values_classes_or_functions(tmp_path: Path) -> None:
    done = kw_run(tmp_path, DECLARED)
    wrong = "out_shape and out_dtype declare float64[2], but the kernel returns float32[2]"
    assert (done.stdout.splitlines(), done.stderr) == ((["Float32"] * 3 + [wrong]) * 3, "")


def test_the_device_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'import mindspore as ms\nms.set_context(device_target="Ascend")\nms.set_device("GPU")\nprint(1)\n'
    monkeypatch.setenv("KW_DEVICE", "cpu")
    done = kw_run(tmp_path, text)
    assert (done.stdout, done.stderr) == ("1\n", "")
    monkeypatch.setenv("KW_DEVICE", "tpu")
    done = kw_run(tmp_path, text)
    assert done.returncode == 1
    assert done.stderr == "kw run: DeviceError E501: KW_DEVICE is 'tpu', but must be cpu or gpu\n"
    monkeypatch.setenv("KW_DEVICE", "gpu")
    monkeypatch.setenv("KW_LIBCUDA", str(tmp_path / "none.so"))
    done = kw_run(tmp_path, text)
    assert done.returncode == 1 and done.stderr.startswith("kw run: DeviceError E501: ")


def test_the_layer_without_kw_run_asks_for_the_same_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KW_DEVICE", "tpu")
    command = [sys.executable, "-c", "import kernelwright.mindspore"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "DeviceError: error[E501]: KW_DEVICE is 'tpu', but must be cpu or gpu" in done.stderr
