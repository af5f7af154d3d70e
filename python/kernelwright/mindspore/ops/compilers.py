"""The compilers of the user's C++ and CUDA sources: finds them, runs them, and keeps what they make."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from ... import _core, cuda, include_paths
from ...errors import DeviceError, placeless_error

_flags = ["-std=c++17", "-O2", "-shared", "-fPIC", "-D_GLIBCXX_USE_CXX11_ABI=0"]
_nvcc_flags = ["-std=c++17", "--shared", "-Xcompiler", "-fPIC", "-O3"]
_timeout = 300.0  # seconds for one run of the compiler


def _compiler() -> list[str]:
    """Returns the words of CXX, as `ccache g++`, with the path of the first one found; a path may have
    spaces.
    """
    value = os.environ.get("CXX", "") or "g++"
    words = [value]
    if shutil.which(value) is None:
        with contextlib.suppress(ValueError):  # unbalanced quotes
            words = shlex.split(value) or ["g++"]
    found = shutil.which(words[0])
    if found is None:
        raise RuntimeError(
            f"the C++ compiler '{words[0]}' is missing: install it, or set CXX to one that is there"
        )
    return [os.path.abspath(found), *words[1:]]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and all processes that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # a process that left the group may hold the pipes
        process.communicate(timeout=5)


def _run(source: str, command: list[str], text: bytes = b"") -> bytes:
    """Returns the output of a compiler for a text. Runs in the source's folder, where the compiler looks for
    headers.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=os.path.dirname(source),
        start_new_session=True,
    ) as process:
        try:
            said, complaints = process.communicate(text, timeout=_timeout)
        except subprocess.TimeoutExpired:
            _stop(process)
            raise RuntimeError(
                f"Compilation error in compiling {source}:\nthe command `{shlex.join(command)}` was stopped "
                f"after {_timeout:g} seconds"
            ) from None
        except BaseException:
            _stop(process)
            raise
    if process.returncode:
        told = complaints.decode(errors="replace")
        ended = f"`{shlex.join(command)}` ended with status {process.returncode}"
        raise RuntimeError(f"Compilation error in compiling {source}:\n{told or ended}")
    return said


def _kept(source: str, parts: Sequence[bytes], make: Callable[[], bytes]) -> bytes:
    """Returns the library that was made of these parts before, or makes it: once, by one process while others
    wait. Keeps it in the cache with the kernels.
    """
    key = f"library\n{hashlib.sha256(bytes(1).join(parts)).hexdigest()}"
    library = _core.find_library(key)
    if library is None and _core.is_frozen():
        raise RuntimeError(f"{source} is in no cache, and KW_FROZEN=1 forbids compiling it")
    if library is None:
        with _core.LibraryLock(key):
            # another process may have stored it meanwhile
            library = _core.find_library(key)
            if library is None:
                library = make()
                _core.store_library(key, os.path.basename(source), library)
    return library


def _includes(source: str) -> list[str]:
    return [f"-I{p}" for p in (*include_paths(), os.path.dirname(source))]


def _numbered(source: str, text: bytes) -> bytes:
    """Returns a text with the name of its file, for messages and __FILE__."""
    shown = source.replace("\\", "\\\\").replace('"', '\\"')
    return f'# 1 "{shown}"\n'.encode() + text.removeprefix(b"\xef\xbb\xbf")


def compile_source(source: str, text: bytes) -> bytes:
    """Returns the library for a C++ or CUDA source with this text, as the bytes of its file.

    Each preprocessed text is compiled once and kept. Raises RuntimeError with the compiler's message.
    """
    if source.endswith(".cu"):
        return _compile_cuda(source, _numbered(source, text))
    compiler = _compiler()
    command = [*compiler, *_flags, *_includes(source), "-E", "-x", "c++", "-"]
    text = _run(source, command, _numbered(source, text))
    version = _run(source, [*compiler, "--version"])
    words = shlex.join([*compiler, *_flags]).encode()
    return _kept(source, [text, version, words], lambda: _compile(source, compiler, text))


def _nvcc(source: str) -> str:
    """Returns the path of nvcc."""
    wanted = os.environ.get("CUDACXX", "")
    home = os.environ.get("CUDA_HOME", "")
    places = [wanted, os.path.join(home, "bin", "nvcc") if home else "", "nvcc"]
    places += [os.path.join(p, "nvidia", "cu13", "bin", "nvcc") for p in sys.path if p]
    found = next((path for place in places if place and (path := shutil.which(place))), None)
    if found is None:
        raise RuntimeError(
            f"Compilation error in compiling {source}: nvcc was not found: set CUDACXX or CUDA_HOME, put it"
            " on PATH, or pip install nvidia-cuda-nvcc"
        )
    return os.path.abspath(found)


def _architectures(source: str) -> list[str]:
    """Returns ["90"] for GPUs of compute capability 9.0: that of KW_CUDA_ARCH, else those of all GPUs."""
    wanted = os.environ.get("KW_CUDA_ARCH", "")
    if wanted:
        if not re.fullmatch(r"\d{2,3}[af]?", wanted):
            raise RuntimeError(f"KW_CUDA_ARCH is {wanted!r}, but must be a number as 90, for sm_90")
        return [wanted]
    found = set()
    for index in range(cuda.device_count()):
        with contextlib.suppress(DeviceError):  # it is too old
            found.add(cuda.device(index).capability)
    if not found:
        raise placeless_error(
            "DeviceError",
            "E501",
            f"{source} holds CUDA code and there is no CUDA device that runs it",
            "set KW_CUDA_ARCH=90, for example, to compile it into the cache all the same",
        )
    return [f"{major}{minor}" for major, minor in sorted(found)]


def _compile_cuda(source: str, text: bytes) -> bytes:
    code = [f"-gencode=arch=compute_{a},code=[sm_{a},compute_{a}]" for a in _architectures(source)]
    compiler = _nvcc(source)
    flags = [*_nvcc_flags, *code, *_includes(source), *shlex.split(os.environ.get("KW_NVCC_FLAGS", ""))]
    version = _run(source, [compiler, "--version"])

    with tempfile.TemporaryDirectory(prefix="kernelwright-") as folder:
        copy, made = os.path.join(folder, os.path.basename(source)), os.path.join(folder, "made.so")
        with open(copy, "wb") as file:
            file.write(text)
        # nvcc compiles for host and device from the source alone, so headers are read twice
        parts = [_run(source, [compiler, *flags, "-E", copy]).replace(folder.encode(), b""), version]
        parts.append(shlex.join([compiler, *flags]).encode())

        def make() -> bytes:
            _run(source, [compiler, *flags, "-o", made, copy])
            if _run(source, [compiler, *flags, "-E", copy]).replace(folder.encode(), b"") != parts[0]:
                raise RuntimeError(
                    f"Compilation error in compiling {source}:\na header changed meanwhile: compile it again"
                )
            with open(made, "rb") as file:
                return file.read()

        return _kept(source, parts, make)


def _compile(source: str, compiler: list[str], text: bytes) -> bytes:
    """Returns the library for a preprocessed text."""
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as folder:
        made = os.path.join(folder, "made.so")
        _run(source, [*compiler, *_flags, "-x", "c++-cpp-output", "-o", made, "-"], text)
        if not os.path.exists(made):
            raise RuntimeError(
                f"Compilation error in compiling {source}:\n`{shlex.join(compiler)}` made no library"
            )
        with open(made, "rb") as file:
            return file.read()
