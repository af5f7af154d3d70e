"""Compiles CUDA texts by a real NVRTC through its C interface, without a GPU.

NVRTC runs in a process of its own (`python nvrtc.py`), because a stand-in may be open in the tests' process.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import re
import site
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# -default-device and --fmad=false are part of what the texts mean; unused words of the prelude are no news
OPTIONS = ("-default-device", "--std=c++17", "--fmad=false", "--ptxas-options=-v", "--diag-suppress=177,186")
ATTEMPTS = ("-DKW_RESIDENT=1536", "-DKW_RESIDENT=1280", "-DKW_RESIDENT=1")


@dataclass(frozen=True)
class Compiled:
    """The result of one compilation: 0 and a cubin, or an error and its log. `ptx`: for "compute_90"."""

    code: int
    log: str
    is_elf: bool
    ptx: str = ""


def environment() -> dict[str, str]:
    """Returns the environment without the stand-ins: KW_TEST_DEVICE=emulated sets KW_NVRTC to one of them."""
    hidden = {"KW_LIBCUDA", *(["KW_NVRTC"] if os.environ.get("KW_TEST_DEVICE") == "emulated" else [])}
    return {name: value for name, value in os.environ.items() if name not in hidden}


def candidates() -> list[str]:
    """Where NVRTC may lie: KW_NVRTC, the wheel nvidia-cuda-nvrtc, a CUDA toolkit."""
    wheels = [Path(p) / "nvidia" for p in site.getsitepackages()]
    folders = [f for w in wheels for f in (w / "cuda_nvrtc/lib", w / "cu13/lib")]
    folders += [Path("/usr/local/cuda/lib64"), Path("/usr/local/cuda/lib")]
    found = [str(f) for d in folders if d.is_dir() for f in sorted(d.glob("libnvrtc.so.1[23]"), reverse=True)]
    given = environment().get("KW_NVRTC")
    return [given] if given else [*found, "libnvrtc.so.13", "libnvrtc.so.12"]


def path() -> str | None:
    """The first of the candidates that can be opened."""
    for candidate in candidates():
        try:
            ctypes.CDLL(candidate)
        except OSError:
            continue
        return candidate
    return None


def _compile(nvrtc: ctypes.CDLL, text: str, arch: str) -> Compiled:
    """Attempts as the product does, until nothing spills."""
    for definition in ATTEMPTS:
        made = _attempt(nvrtc, text, arch, definition)
        if made.code or not re.search(r"[1-9]\d* bytes spill stores", made.log):
            break
    return made


def _attempt(nvrtc: ctypes.CDLL, text: str, arch: str, definition: str) -> Compiled:
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    minimal = ["--minimal"] if (major.value, minor.value) >= (12, 4) else []
    lines = ["--generate-line-info"] if "\n#line " in text else []
    words = [f"--gpu-architecture={arch}", *OPTIONS, definition, *minimal, *lines]
    options = (ctypes.c_char_p * len(words))(*(w.encode() for w in words))
    code = nvrtc.nvrtcCompileProgram(program, len(words), options)

    def read(what: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
        return buffer.raw

    log = read("ProgramLog").rstrip(b"\0").decode()
    if arch.startswith("compute_"):
        out = Compiled(code, log, False, "" if code else read("PTX").rstrip(b"\0").decode())
    else:
        out = Compiled(code, log, not code and read("CUBIN").startswith(b"\x7fELF"))
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return out


@functools.cache
def _worker() -> subprocess.Popen[str] | None:
    """The process with NVRTC; None if there is no NVRTC."""
    worker = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout
    return worker if worker.stdout.readline() == "ready\n" else None


def is_here() -> bool:
    return _worker() is not None


def compile_text(text: str, arch: str) -> Compiled:
    """Compiles one translation unit for an architecture such as "sm_90"."""
    worker = _worker()
    assert worker and worker.stdin and worker.stdout
    print(json.dumps([text, arch]), file=worker.stdin, flush=True)
    return Compiled(*json.loads(worker.stdout.readline()))


def expect_accepted(text: str, arch: str) -> None:
    """Compiles a text, and expects that no register spills."""
    made = compile_text(text, arch)
    assert made.code == 0 and "0 bytes spill" in made.log, made.log


def accesses_of_16_bytes(ptx: str, space: str = "global") -> tuple[int, int]:
    """How many instructions load and store four words at once. Copies to shared memory are loads."""
    words = r"\.v4\.(?:f32|b32|u32)"
    loads, stores = (len(re.findall(rf"{verb}\.{space}(?:\.nc)?{words}", ptx)) for verb in ("ld", "st"))
    return loads + len(re.findall(rf"cp\.async\.cg\.shared\.{space} .*, 16;", ptx)), stores


def main() -> None:
    found = path()
    nvrtc = ctypes.CDLL(found) if found else None
    print("ready" if nvrtc else "missing", flush=True)
    for line in sys.stdin if nvrtc else ():
        made = _compile(nvrtc, *json.loads(line))
        print(json.dumps([made.code, made.log, made.is_elf, made.ptx]), flush=True)


if __name__ == "__main__":
    main()
