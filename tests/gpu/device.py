"""What tests ask of the emulated GPU, and arrays of its memory with any layout."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import kernelwright as kw


class View:
    """A part of the memory of a tensor, as another library would describe it, perhaps with its stream."""

    def __init__(
        self, owner: Any, array: np.ndarray[Any, Any], first: int, stream: int | None = None
    ) -> None:
        self.owner = owner
        address = owner.__cuda_array_interface__["data"][0] + array.__array_interface__["data"][0] - first
        self.description = {
            "shape": array.shape,
            "typestr": array.__array_interface__["typestr"],
            "data": (address, not array.flags.writeable),
            "strides": array.strides,
            "version": 3,
            **({} if stream is None else {"stream": stream}),
        }

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.description


class Capsules:
    """An array of another library that has DLPack alone, and works in a stream that nobody is told."""

    def __init__(self, tensor: Any, stream: int = 1) -> None:
        self.tensor, self.stream, self.streams = tensor, stream, []

    def __dlpack__(self, stream: int | None = None) -> Any:
        self.streams.append(stream)
        with kw.cuda.stream(self.stream):
            return self.tensor.__dlpack__(stream=stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()


def line_here() -> int:
    """The number of the line that calls."""
    return sys._getframe(1).f_lineno


class Count(NamedTuple):
    """Sectors of 32 bytes, or steps of shared memory, and how few could do."""

    needed: int
    least: int

    @property
    def ratio(self) -> float:
        return self.needed / self.least if self.least else 1.0


class Counts(NamedTuple):
    """Of one kernel: sectors that it reads and writes, steps that shared memory reads and writes."""

    read: Count
    written: Count
    shared_read: Count
    shared_written: Count


def total(counted: dict[str, Counts]) -> Counts:
    """The counts of all kernels together."""
    return Counts(
        *(Count(*map(sum, zip(*kind, strict=True))) for kind in zip(*counted.values(), strict=True))
    )


class Device:
    """The stand-in of the driver, or with KW_TEST_DEVICE=cuda the driver."""

    def __init__(self, driver_path: str, nvrtc_path: str, arch: str) -> None:
        self.driver_path, self.nvrtc_path, self.arch = driver_path, nvrtc_path, arch
        self.library = ctypes.CDLL(driver_path)

    @property
    def is_emulated(self) -> bool:
        return hasattr(self.library, "kw_emulator_seed")

    def seed(self, seed: int) -> None:
        """Chooses the orders of threads and streams from now on; 0: as they stand. A GPU has its own."""
        if self.is_emulated:
            self.library.kw_emulator_seed(ctypes.c_ulonglong(seed))

    @contextlib.contextmanager
    def counted(self) -> Iterator[dict[str, Counts]]:
        """Counts what the launches within ask of the memory; the counts are there at the end."""
        out: dict[str, Counts] = {}
        self.library.kw_emulator_count(1)
        try:
            yield out
            kw.cuda.synchronize()
            self.library.kw_emulator_counts.restype = ctypes.c_char_p
            for line in self.library.kw_emulator_counts().decode().splitlines():
                kernel, *numbers = line.split()
                pairs = [Count(*map(int, numbers[i : i + 2])) for i in range(0, len(numbers), 2)]
                out[kernel] = Counts(*pairs)
        finally:
            self.library.kw_emulator_count(0)

    def stream(self, blocking: bool = True) -> int:
        handle = ctypes.c_void_p()
        assert self.library.cuStreamCreate(ctypes.byref(handle), 0 if blocking else 1) == 0
        assert handle.value
        return handle.value

    def capture(self, stream: int, on: bool) -> None:
        self.library.kw_emulator_capture(ctypes.c_void_p(stream), int(on))


def _bounds(a: np.ndarray[Any, Any]) -> tuple[int, int]:
    low: int = a.__array_interface__["data"][0]
    high = low + a.itemsize
    for extent, stride in zip(a.shape, a.strides, strict=True):
        reach = (extent - 1) * stride
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return (low, high) if a.size else (low, low)


class Moved:
    """Arguments on the device, with the layout that they have on the host: views of one memory stay that."""

    def __init__(self, arguments: list[Any]) -> None:
        self.originals = arguments
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        self.regions: list[tuple[int, int, Any]] = []
        spans = sorted(_bounds(a) for a in arrays if a.size)
        merged: list[list[int]] = []
        for low, high in spans:
            if merged and low < merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], high)
            else:
                merged.append([low, high])
        for low, high in merged:
            raw = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low))
            self.regions.append((low, high, kw.Tensor(raw.copy(), device="cuda")))
        self.arguments = [self._move(a) if isinstance(a, np.ndarray) else a for a in arguments]

    def _move(self, a: np.ndarray[Any, Any]) -> Any:
        if a.size == 0 or a.dtype.name == "bfloat16":
            return kw.Tensor(a, device="cuda")
        low = _bounds(a)[0]
        begin, _, tensor = next(r for r in self.regions if r[0] <= low < r[1])
        return View(tensor, a, begin)

    def bring_back(self) -> None:
        """Copies what the device holds into the arrays of the host."""
        for low, high, tensor in self.regions:
            ctypes.memmove(low, tensor.numpy().ctypes.data, high - low)
        for a, moved in zip(self.originals, self.arguments, strict=True):
            if isinstance(moved, kw.Tensor) and isinstance(a, np.ndarray) and a.size and a.flags.writeable:
                a[...] = moved.numpy()

    def on_host(self, result: Any) -> Any:
        """A result of a call; an argument that is returned is the array that it was."""
        for given, array in zip(self.arguments, self.originals, strict=True):
            if given is result:
                return array
        return result.numpy() if isinstance(result, kw.Tensor) else result


def bits(result: Any) -> Any:
    """The bytes of an array or tensor, or of each of several results."""
    if isinstance(result, tuple):
        return tuple(map(bits, result))
    return (result.numpy() if isinstance(result, kw.Tensor) else result).tobytes()
