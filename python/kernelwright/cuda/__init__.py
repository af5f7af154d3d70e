"""GPUs: whether there are any, their streams and their memory.

Kernels run there on `kw.Tensor(x, device="cuda")`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .. import _core

__all__ = [
    "Device",
    "Memory",
    "available",
    "device",
    "device_count",
    "memory",
    "stream",
    "synchronize",
    "trim",
    "why",
]

_DEVICE = re.compile(r"cuda(?::(\d+))?$")
_MOST_DEVICES = 64  # as in the compiled part


@dataclass(frozen=True)
class Device:
    """A GPU: its name, compute capability, the architecture that kernels are compiled for, and the version of
    CUDA that its driver supports."""

    index: int
    name: str
    capability: tuple[int, int]
    arch: str
    driver: tuple[int, int]


@dataclass(frozen=True)
class Memory:
    """Bytes of a GPU: held by arrays of this process, kept for later ones, and free for every process."""

    used: int
    kept: int
    free: int


def available() -> bool:
    """Returns whether kernels can run on "cuda", the first GPU. `why()` tells why not."""
    return not why()


def why() -> str:
    """Returns why kernels cannot run on "cuda": there is no GPU, or it is too old; "" if they can."""
    return _core.cuda_why()


def device_count() -> int:
    """Returns the number of GPUs; 0 without a driver."""
    return _core.cuda_device_count()


def device(index: int = 0) -> Device:
    """Returns what is known of a GPU. Raises DeviceError E501 if there is none with this number."""
    found = _core.cuda_describe(index)
    version = found["driver"]
    return Device(
        index, found["name"], found["capability"], found["arch"], (version // 1000, version % 1000 // 10)
    )


def synchronize(index: int = 0) -> None:
    """Waits until a GPU has done all its work. Raises the fault of a kernel, if one found any."""
    _core.cuda_synchronize(index)


@contextmanager
def stream(handle: int, index: int = 0) -> Iterator[None]:
    """Lets this thread work in a stream of a GPU for the length of a `with` block.

    `handle` is the address of a CUstream, as torch and CuPy give it. Outside, kernels run in the legacy
    default stream. Raises DeviceError E501 if there is no GPU with this number.
    """
    if not 0 <= index < _core.cuda_device_count():
        device(index)  # raises
    before = _core.cuda_set_stream(index, handle)
    try:
        yield
    finally:
        _core.cuda_set_stream(index, before)


def memory(index: int = 0) -> Memory:
    """Returns how much memory of a GPU is used."""
    return Memory(**_core.cuda_memory(index))


def trim(index: int = 0) -> None:
    """Gives memory that is kept for later arrays back to the GPU."""
    _core.cuda_trim(index)


def parse_device(name: str) -> tuple[int, int]:
    """Returns the kind (0: CPU, 1: GPU) and the number of a device from "cpu", "cuda" or "cuda:1".

    Raises ValueError for another name.
    """
    if name == "cpu":
        return 0, 0
    found = _DEVICE.match(name) if isinstance(name, str) else None
    if not found or int(found[1] or 0) >= _MOST_DEVICES:
        raise ValueError(f"there is no device {name!r}; devices are 'cpu', 'cuda' and 'cuda:N'")
    find_nvrtc()
    return 1, int(found[1] or 0)


def find_nvrtc() -> None:
    """Tells the compiled part where packages lie, of which one may hold NVRTC."""
    _core.set_package_folders([p for p in sys.path if p])
