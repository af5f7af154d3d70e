"""Libraries and sources in C++ that hold CUDA code: refused before they are loaded, because without a device
their functions return as if all was well and compute nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from custom_cases import first

from kernelwright.mindspore import Tensor, ops

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")

DOUBLE = """
#include <cstdint>

extern "C" int Double(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes,
                      void *stream, void *extra) {
  for (int64_t i = 0; i < shapes[1][0]; ++i) ((float *)params[1])[i] = 2 * ((float *)params[0])[i];
  return 0;
}
"""
CUDA = '__attribute__((section(".nv_fatbin"), used)) const char fat[] = "x";\n'
LIKE_CUDA = """
__attribute__((section(".nv_fatbin2"), used)) const char longer[] = ".nv_fatbin";
__attribute__((section(".nv_fat"), used)) const char shorter[] = "x";
"""


def source(folder: Path, text: str, name: str = "lib.cc") -> Path:
    (folder / name).write_text(text)
    return folder / name


def library(folder: Path, text: str, *, stripped: bool = False) -> Path:
    made = folder / "lib.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", made, source(folder, text)], check=True)
    if stripped:
        subprocess.run(["strip", "-s", made], check=True)
    return made


def doubles(file: str) -> bool:
    """Whether the library's function computes what it should."""
    found = ops.Custom(f"{file}:Double", first, first, func_type="aot")(Tensor(np.ones(3, np.float32)))
    return bool((found.asnumpy() == np.full(3, 2.0)).all())


def refusal(file: str, folder: Path) -> str:
    """The error of a process without a GPU that makes an operator twice."""
    program = (
        "from kernelwright import DeviceError\n"
        "from kernelwright.mindspore import ops\n"
        "for _ in range(2):\n"
        "    try:\n"
        f"        ops.Custom({file + ':Double'!r}, lambda x: x, lambda x: x, func_type='aot')\n"
        "    except DeviceError as e:\n"
        "        print(e)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "KW_LIBCUDA": "/nowhere"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first_text, second = done.stdout[: len(done.stdout) // 2], done.stdout[len(done.stdout) // 2 :]
    assert first_text == second
    return first_text


def refused(file: Path) -> str:
    return (
        f"error[E501]: {file.resolve()} holds CUDA code and there is no CUDA device that runs it\n"
        "      = help: compile it for the CPU, or use a version of it for the CPU\n"
    )


@pytest.mark.parametrize("stripped", [False, True])
def test_a_library_that_holds_cuda_code_is_refused(tmp_path: Path, stripped: bool) -> None:
    made = library(tmp_path, DOUBLE + CUDA, stripped=stripped)
    for file in ("./lib.so", str(made)):
        assert refusal(file, tmp_path) == refused(made)


@pytest.mark.parametrize("name", ["lib.cc", "lib.cpp"])
def test_a_source_that_holds_cuda_code_is_refused(tmp_path: Path, name: str) -> None:
    file = source(tmp_path, DOUBLE + CUDA, name)
    assert refusal(str(file), tmp_path) == refused(file)
    source(tmp_path, DOUBLE, name)
    assert doubles(str(file))


def test_a_library_that_looks_for_others_beside_itself_is_refused_where_it_lies(tmp_path: Path) -> None:
    file = source(tmp_path, DOUBLE + CUDA)
    beside = ["-Wl,-rpath,$ORIGIN", "-o", f"{tmp_path}/lib.so"]
    subprocess.run(["g++", "-shared", "-fPIC", *beside, file], check=True)
    assert refusal(f"{tmp_path}/lib.so", tmp_path) == refused(tmp_path / "lib.so")


@pytest.mark.parametrize("stripped", [False, True])
def test_a_library_without_cuda_code_is_loaded(tmp_path: Path, stripped: bool) -> None:
    assert doubles(str(library(tmp_path, DOUBLE + LIKE_CUDA, stripped=stripped)))


@pytest.mark.parametrize(("offset", "size"), [(40, 8), (58, 2), (60, 2), (62, 2)])
def test_a_library_is_loaded_whatever_its_header_tells_of_its_sections(
    tmp_path: Path, offset: int, size: int
) -> None:
    """The loader reads none: not where they are, how large, how many, nor where their names are."""
    made = library(tmp_path, DOUBLE)
    data = bytearray(made.read_bytes())
    data[offset : offset + size] = bytes(size)
    made.write_bytes(data)
    assert doubles(str(made))
    if offset == 62:
        data[offset : offset + size] = b"\xff" * size
        made.write_bytes(data)
        assert doubles(str(made))


def test_a_library_with_cuda_code_that_is_cut_short_is_said_to_be(tmp_path: Path) -> None:
    made = library(tmp_path, DOUBLE + CUDA)
    whole = made.read_bytes()
    for size in (64, 3000, len(whole) - 1):
        made.write_bytes(whole[:size])
        with pytest.raises(RuntimeError) as e:
            ops.Custom(f"{made}:Double", first, first, func_type="aot")
        assert str(e.value) == (
            f"{made}: the library is cut short: {size} of at least {len(whole)} bytes are there"
        )


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x01" + bytes(60), b".nv_fatbin\0" * 9])
def test_a_file_that_is_no_library_is_said_to_be_none(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "lib.so"
    file.write_bytes(data)
    with pytest.raises(RuntimeError) as e:
        ops.Custom(f"{file}:Double", first, first, func_type="aot")
    assert str(e.value) == (
        f"{file} is no library of this machine. The source file must be a cc/cpp/cu file, but get: {file}"
    )
