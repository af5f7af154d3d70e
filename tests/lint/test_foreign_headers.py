"""Foreign headers: each library is visible in one place only.
LLVM in codegen/llvm, isl in tests, pybind11 and Python.h in python/bind, NumPy in its dispatcher;
CUDA nowhere.
"""

from __future__ import annotations

import pytest

from . import tree
from .rules import includes


def test_foreign_headers() -> None:
    tree.expect_clean(includes.check_foreign(tree.files()))


REFUSED = [
    ("compiler/driver/compile.cpp", "<llvm/IR/Module.h>"),
    ("compiler/codegen/backend.cpp", '"llvm/IR/Module.h"'),
    ("tests/codegen/emit_test.cpp", "<llvm-c/Core.h>"),
    ("compiler/schedule/directives/legal.cpp", "<isl/map.h>"),
    ("runtime/calls/call.cpp", "<pybind11/pybind11.h>"),
    ("python/bind/module.cpp", "<numpy/arrayobject.h>"),
    ("runtime/tensor.h", "<Python.h>"),
    ("runtime/cuda/driver.cpp", "<cuda.h>"),
    ("compiler/codegen/cuda/text.cpp", "<nvrtc.h>"),
    ("runtime/ops/gemm.cpp", "<cublas_v2.h>"),
    ("runtime/ops/gemm.cpp", "<cuda/std/span>"),
    ("compiler/support/text.cpp", "<format>"),
    ("tests/support/text_test.cpp", "<expected>"),
]
ALLOWED = [
    ("compiler/codegen/llvm/emit.cpp", "<llvm/IR/Module.h>"),
    ("tests/schedule/oracle.cpp", "<isl/map.h>"),
    ("python/bind/module.cpp", "<pybind11/pybind11.h>"),
    ("python/bind/dispatch/numpy.cpp", "<numpy/arrayobject.h>"),
    ("python/bind/dispatch/dispatch.cpp", "<Python.h>"),
    ("runtime/calls/call.cpp", "<vector>"),
]


@pytest.mark.parametrize(("path", "header"), REFUSED)
def test_reports_foreign_header(path: str, header: str) -> None:
    tree.expect_reported(includes.check_foreign({path: f"// one\n#include {header}\n"}), f"{path}:2: ")


@pytest.mark.parametrize(("path", "header"), ALLOWED)
def test_accepts_foreign_header(path: str, header: str) -> None:
    tree.expect_clean(includes.check_foreign({path: f"#include {header}\n"}))


def test_own_cuda_prototypes_live_below_cuda() -> None:
    sample = {
        "runtime/cuda/cuda_api.h": "",
        "runtime/cuda/stream.cpp": '#include "cuda_api.h"\n',
        "runtime/cuda_types.h": "",
        "runtime/device.cpp": '#include "runtime/cuda/cuda_api.h"\n#include "cuda_types.h"\n',
        "compiler/codegen/cuda/text.cpp": 'auto head = R"(\n#include <cuda_fp16.h>\n)";\n',
    }
    tree.expect_reported(includes.check_foreign(sample), "device.cpp:2: includes cuda_types.h")
