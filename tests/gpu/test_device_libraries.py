"""Ahead-of-time kernels on a GPU: they get pointers to its memory and the stream to work in."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins
from device import Device

import kernelwright as kw
from kernelwright.mindspore import Tensor, context, ops

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")

# Works by the driver's copies, as the emulated GPU runs no machine code. The section makes it code for GPUs.
SOURCE = """
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "custom_aot_extra.h"

__attribute__((section(".nv_fatbin"), used)) const char fat[] = "x";

using Pointer = unsigned long long;

template <class F> F driver(const char *name) {
  static void *library = dlopen(std::getenv("KW_LIBCUDA"), RTLD_NOW);
  return reinterpret_cast<F>(dlsym(library, name));
}
int read(void *to, Pointer from, size_t bytes, void *stream) {
  auto copy = driver<int (*)(void *, Pointer, size_t, void *)>("cuMemcpyDtoHAsync_v2");
  int status = copy(to, from, bytes, stream);
  return status ? status : driver<int (*)(void *)>("cuStreamSynchronize")(stream);
}
int write(Pointer to, const void *from, size_t bytes, void *stream) {
  auto copy = driver<int (*)(Pointer, const void *, size_t, void *)>("cuMemcpyHtoDAsync_v2");
  int status = copy(to, from, bytes, stream);
  return status ? status : driver<int (*)(void *)>("cuStreamSynchronize")(stream);
}

extern "C" int DoubleInit(int *, int64_t **shapes, const char **, AotExtra *extra) {
  extra->SetWorkSpace({static_cast<size_t>(shapes[0][0]) * sizeof(float)});
  return 0;
}
// input → workspace → output, each in memory of the device
extern "C" int Double(int count, void **params, int *, int64_t **shapes, const char **, void *stream,
                      void *) {
  if (count != 3) return 3;
  std::vector<float> x(shapes[0][0]);
  size_t bytes = x.size() * sizeof(float);
  Pointer from = reinterpret_cast<Pointer>(params[0]), to = reinterpret_cast<Pointer>(params[1]),
          between = reinterpret_cast<Pointer>(params[2]);
  auto copy = driver<int (*)(Pointer, Pointer, size_t, void *)>("cuMemcpyDtoDAsync_v2");
  if (copy(between, from, bytes, stream) || read(x.data(), between, bytes, stream)) return 4;
  for (float &e : x) e *= 2;
  return write(to, x.data(), bytes, stream);
}
extern "C" int Stream(int, void **params, int *, int64_t **, const char **, void *stream, void *) {
  int64_t number = reinterpret_cast<int64_t>(stream);
  return write(reinterpret_cast<Pointer>(params[1]), &number, sizeof number, stream);
}
extern "C" int Fails(int, void **, int *, int64_t **, const char **, void *, void *) { return 7; }
"""

CUDA_SOURCE = """
#include "factor.h"
__global__ void scale(const float *x, float *y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = FACTOR * x[i];
}
extern "C" int Scale(int, void **params, int *, int64_t **shapes, const char **, void *stream, void *) {
  long n = shapes[0][0];
  scale<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>((float *)params[0], (float *)params[1], n);
  return (int)cudaGetLastError();
}
"""

HALVED = """
extern "C" int Halve(int, void **params, int *, int64_t **shapes, const char **, void *, void *) {
  for (int64_t i = 0; i < shapes[0][0]; i++)
    static_cast<float *>(params[1])[i] = static_cast<float *>(params[0])[i] / 2;
  return 0;
}
"""

X = np.array([1, -2, 3], np.float32)


def first(x: Any) -> Any:
    return x


@pytest.fixture
def source(tmp_path: Path, device: Device, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("KW_LIBCUDA", stand_ins.environment()["KW_LIBCUDA"])
    monkeypatch.setattr(context, "_decided", "gpu")
    (tmp_path / "kernels.cc").write_text(SOURCE)
    return str(tmp_path / "kernels.cc")


def test_kernels_get_memory_of_the_device(source: str) -> None:
    double = ops.Custom(f"{source}:Double", first, first, "aot", bprop=lambda x, out, dout: (dout * 2,))
    rows = kw.Tensor(np.arange(6, dtype=np.float32).reshape(3, 2), device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no copies on the host
        found = double(Tensor(X))
        of_column = double(rows[:, 1])
        by = kw.grad(lambda x: double(x).sum())(Tensor(X))
    assert found.device == "cuda:0" and found.asnumpy().tolist() == (2 * X).tolist()
    assert of_column.numpy().tolist() == [2, 6, 10]
    assert by.device == "cuda:0" and by.numpy().tolist() == [2, 2, 2]


def test_kernels_work_in_the_stream_of_the_call(source: str, device: Device) -> None:
    number = ops.Custom(f"{source}:Stream", (1,), np.int64, "aot")
    handle = device.stream()
    x = Tensor(X)
    with kw.cuda.stream(handle):
        assert number(x).asnumpy().tolist() == [handle]
    assert number(x).asnumpy().tolist() != [handle]


def test_errors_name_the_gpu(source: str) -> None:
    with pytest.raises(RuntimeError) as e:
        ops.Custom(f"{source}:Fails", first, first, "aot")(Tensor(X))
    assert str(e.value) == (
        f"Return value from GPU AOT kernel({source})'s function(Fails) is 7. Any return value not equal to 0"
        " will be treated as user defined error code and we will terminate execution. If termination is not"
        " your purpose, please set return value to 0."
    )
    with pytest.raises(RuntimeError, match=r"For 'Custom' on GPU, error occurs when fetching function 'G'\."):
        ops.Custom(f"{source}:G", first, first, "aot")
    with pytest.raises(TypeError, match=r"AotSymbol \(.*\) runs on CUDA, not on CPU"):
        ops.Custom(f"{source}:Double", first, first, "aot")(kw.Tensor(X))


def test_libraries_for_the_cpu_get_copies(source: str) -> None:
    text = Path(source).read_text()
    at_host = Path(source).with_name("host.cc")
    at_host.write_text("\n".join(line for line in text.splitlines() if "nv_fatbin" not in line) + HALVED)
    halve = ops.Custom(f"{at_host}:Halve", first, first, "aot")
    with pytest.warns(kw.KernelWarning, match="W505"):
        found = halve(Tensor(X))
    assert found.device == "cuda:0" and found.asnumpy().tolist() == (X / 2).tolist()


def fat_binary(*code: tuple[int, int]) -> bytes:
    """The headers of a section as nvcc makes it, with (kind, compute capability) of each code: 1 is PTX, 2 is
    machine code, 8 is none that we know.
    """
    entries = b"".join(
        struct.pack("<HHIQQHHI32x", kind, 0x101, 64, 8, 0, 8, 1, capability) + bytes(8)
        for kind, capability in code
    )
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def with_code(source: str, *sections: bytes) -> str:
    """A source like that one, whose section for GPUs has these bytes."""
    numbers = ", ".join(str(byte) for byte in b"".join(sections))
    old = 'const char fat[] = "x";'
    assert old in SOURCE
    path = Path(source).with_name(f"code{hash(sections) & 0xFFFFFF}.cc")
    path.write_text(SOURCE.replace(old, f"extern const unsigned char fat[] = {{{numbers}}};"))
    return str(path)


@pytest.mark.parametrize(
    ("sections", "runs"),
    [
        ([fat_binary((2, 90)), fat_binary((1, 80))], ["cuda:0", "cuda:1"]),
        ([fat_binary((2, 80))], ["cuda:1"]),  # no other major version
        ([fat_binary((2, 90), (2, 86))], ["cuda:0"]),  # no later minor version
        ([fat_binary((1, 90))], ["cuda:0"]),
        ([fat_binary((2, 120)), fat_binary((8, 120))], ["cuda:0", "cuda:1"]),  # unknown code may be anything
        ([fat_binary((2, 120))[:-9]], ["cuda:0", "cuda:1"]),  # cut short: the loader's concern
        ([fat_binary((2, 120)), bytes(16)], ["cuda:0", "cuda:1"]),  # no header that we know
        ([fat_binary((2, 120), (1, 121))], []),
    ],
)
def test_libraries_without_code_for_a_device_are_refused(
    source: str, sections: list[bytes], runs: list[str]
) -> None:
    """Their launches would fail without a word, and results would be zeros."""
    double = ops.Custom(f"{with_code(source, *sections)}:Double", first, first, "aot")
    for device in ("cuda:0", "cuda:1"):
        x = kw.Tensor(X, device=device)
        if device in runs:
            assert double(x).numpy().tolist() == (2 * X).tolist()
            continue
        with pytest.raises(kw.DeviceError, match=r"E501") as caught:
            double(x)
        assert f", and {device} is an sm_{'80' if device[-1] == '1' else '90'}, which runs none of" in str(
            caught.value
        )


def test_what_a_refused_library_holds_is_told(source: str) -> None:
    file = with_code(source, fat_binary((2, 121), (1, 120)))
    with pytest.raises(kw.DeviceError) as caught:
        ops.Custom(f"{file}:Double", first, first, "aot")(Tensor(X))
    assert str(caught.value) == (
        f"error[E501]: {file} holds CUDA code for sm_121, compute_120, and cuda:0 is an sm_90, which runs"
        " none of it\n"
        "      = help: compile it with -gencode arch=compute_90,code=[sm_90,compute_90]"
    )


@pytest.fixture
def cuda_source(tmp_path: Path) -> Path:
    (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
    (tmp_path / "scale.cu").write_text(CUDA_SOURCE)
    return tmp_path / "scale.cu"


def construct(source: Path, **environment: str) -> str:
    """The error of a process that makes an operator of a CUDA source where there is no GPU."""
    program = (
        "import sys\n"
        "from kernelwright.mindspore import ops\n"
        "try:\n"
        f"    ops.Custom({str(source) + ':Scale'!r}, lambda x: x, lambda x: x, 'aot')\n"
        "except Exception as e:\n"
        "    print(e, end='')\n"
    )
    given = {
        **os.environ,
        "KW_LIBCUDA": "/nowhere",
        "KW_CACHE_DIR": str(source.parent / "cache"),
        **environment,
    }
    done = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


NO_DEVICE = "error[E501]: {} holds CUDA code and there is no CUDA device that runs it\n      = help: {}"


def test_cuda_sources_without_a_device(cuda_source: Path) -> None:
    advice = "set KW_CUDA_ARCH=90, for example, to compile it into the cache all the same"
    assert construct(cuda_source) == NO_DEVICE.format(cuda_source, advice)
    assert construct(cuda_source, KW_CUDA_ARCH="sm_90") == (
        "KW_CUDA_ARCH is 'sm_90', but must be a number as 90, for sm_90"
    )
    assert construct(cuda_source, KW_CUDA_ARCH="90", PATH="/nowhere", CUDA_HOME="") == (
        f"Compilation error in compiling {cuda_source}: nvcc was not found: set CUDACXX or CUDA_HOME, put it"
        " on PATH, or pip install nvidia-cuda-nvcc"
    )


def test_cuda_sources_run_on_the_device(
    source: str, cuda_source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled by the emulated GPU's own stand-in for nvcc."""
    monkeypatch.setenv("CUDACXX", str(stand_ins.HERE / "nvcc.py"))
    monkeypatch.setenv("KW_CACHE_DIR", str(tmp_path / "cache"))
    for name, value in stand_ins.environment().items():
        monkeypatch.setenv(name, value)
    scale = ops.Custom(f"{cuda_source}:Scale", first, first, "aot", bprop=lambda x, out, dout: (dout * 2,))
    for size in (1, 256, 257, 1000):
        x = np.arange(size, dtype=np.float32)
        found = scale(Tensor(x))
        assert found.device == "cuda:0" and found.asnumpy().tolist() == (2 * x).tolist()
    assert kw.grad(lambda x: scale(x).sum())(Tensor(X)).numpy().tolist() == [2, 2, 2]


NVCC = shutil.which("nvcc")


@pytest.mark.skipif(NVCC is None, reason="no nvcc")
def test_cuda_sources_are_compiled_once(cuda_source: Path) -> None:
    """Again only if the source, a header, the flags or the compiler differ. No process runs them here."""
    log = cuda_source.with_name("log")
    counting = cuda_source.with_name("counting-nvcc")
    counting.write_text(f'#!/bin/sh\ncase "$*" in *" -o "*) echo >>{log};; esac\nexec {NVCC} "$@"\n')
    counting.chmod(0o755)
    advice = "compile it for the CPU, or use a version of it for the CPU"

    def compiled(**environment: str) -> int:
        before = len(log.read_text()) if log.exists() else 0
        told = construct(cuda_source, KW_CUDA_ARCH="90", CUDACXX=str(counting), **environment)
        assert told == NO_DEVICE.format(cuda_source, advice)
        return (len(log.read_text()) if log.exists() else 0) - before

    assert [compiled(), compiled()] == [1, 0]
    cuda_source.with_name("factor.h").write_text("#define FACTOR 3\n")
    assert [compiled(), compiled()] == [1, 0]
    assert compiled(KW_NVCC_FLAGS="-DMORE=1") == 1
    cuda_source.write_text("int f() { return x; }\n")
    told = construct(cuda_source, KW_CUDA_ARCH="90")
    assert told.startswith(f"Compilation error in compiling {cuda_source}:\n")
    assert f"{cuda_source.name}(1): error: " in told


@pytest.mark.skipif(NVCC is None, reason="no nvcc")
def test_cuda_sources_are_compiled_for_all_present_devices(source: str, cuda_source: Path) -> None:
    """The emulated GPUs run no machine code, which the function itself tells."""
    scale = ops.Custom(f"{cuda_source}:Scale", first, first, "aot")
    for device in ("cuda:0", "cuda:1"):
        with pytest.raises(RuntimeError, match=r"GPU AOT kernel\(.*scale\.cu\)'s function\(Scale\) is \d+\."):
            scale(kw.Tensor(X, device=device))


@pytest.mark.skipif(NVCC is None, reason="no nvcc")
def test_what_nvcc_makes_is_read(source: str, cuda_source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KW_CUDA_ARCH", "90")
    monkeypatch.setenv("KW_NVCC_FLAGS", "-gencode=arch=compute_120,code=sm_120")
    scale = ops.Custom(f"{cuda_source}:Scale", first, first, "aot")
    with pytest.raises(RuntimeError, match=r"function\(Scale\) is \d+\."):
        scale(kw.Tensor(X, device="cuda:0"))
    with pytest.raises(
        kw.DeviceError, match=r"CUDA code for sm_90, sm_120, compute_90, and cuda:1 is an sm_80"
    ):
        scale(kw.Tensor(X, device="cuda:1"))


def test_where_nvcc_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDACXX, CUDA_HOME, PATH, and the wheel nvidia-cuda-nvcc, in this order."""
    from kernelwright.mindspore.ops import compilers

    places = [tmp_path / "wanted", tmp_path / "home/bin/nvcc", tmp_path / "path/nvcc",
              tmp_path / "site/nvidia/cu13/bin/nvcc"]  # fmt: skip
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("#!/bin/sh\n")
        place.chmod(0o755)
    monkeypatch.setenv("CUDACXX", str(places[0]))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    for place in places:
        assert compilers._nvcc("add.cu") == str(place)
        place.unlink()
    with pytest.raises(RuntimeError) as caught:
        compilers._nvcc("add.cu")
    assert str(caught.value) == (
        "Compilation error in compiling add.cu: nvcc was not found: set CUDACXX or CUDA_HOME, put it on PATH,"
        " or pip install nvidia-cuda-nvcc"
    )
