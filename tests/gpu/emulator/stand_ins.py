"""Builds the stand-ins of the CUDA driver and of NVRTC; tells in which environment they are used."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
BUILT = HERE.parents[2] / "build" / "emulated"
LIBRARY = ("driver.cpp", "memory.cpp", "fibres.cpp", "copies.cpp", "requests.cpp")
HEADERS = ("memory.h", "races.h", "fibres.h", "copies.h", "requests.h", "image.h", "settings.h", "shim.inc")
SOURCES = (*LIBRARY, *HEADERS, "stand_ins.py", "nvrtc.cpp")
COMMON = ("-O1", "-g1", "-std=c++20", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wl,--build-id")


def _compile(folder: Path, output: str, *arguments: str) -> None:
    command = [os.environ.get("CXX", "g++"), *COMMON, "-o", str(folder / output), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


@functools.cache
def stand_ins() -> Path:
    """The folder of libcuda.so.1, libnvrtc.so.13 and shim.inc; named by their sources."""
    texts = b"".join((HERE / name).read_bytes() for name in SOURCES)
    folder = BUILT / hashlib.sha256(texts).hexdigest()[:16]
    if folder.exists():
        return folder
    BUILT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILT) as temporary:
        made = Path(temporary, "made")
        made.mkdir()
        (made / "shim.inc").write_bytes((HERE / "shim.inc").read_bytes())
        sources = [str(HERE / name) for name in LIBRARY]
        _compile(made, "libcuda.so.1", "-Wl,-soname,libcuda.so.1", *sources, "-lpthread", "-ldl")
        _compile(made, "libnvrtc.so.13", "-Wl,-soname,libnvrtc-emulated.so", str(HERE / "nvrtc.cpp"), "-ldl")
        try:
            made.rename(folder)
        except OSError:
            assert folder.exists()  # another process has built them meanwhile
    return folder


def environment(**more: str) -> dict[str, str]:
    """The variables with which a process finds the stand-ins, and `more`."""
    folder = stand_ins()
    (BUILT / "kernels").mkdir(exist_ok=True)
    return {
        "KW_LIBCUDA": str(folder / "libcuda.so.1"),
        "KW_NVRTC": str(folder / "libnvrtc.so.13"),
        "KW_EMULATED_CACHE": str(BUILT / "kernels"),
        **more,
    }
