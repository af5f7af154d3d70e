"""CUDA texts on the emulated GPU through the driver's interface alone, as a program of their own.

`python raw.py` reads {"text", "steps"} as JSON and does the steps in order: what a test plants in them, the
stand-in must find.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

from nvrtc import OPTIONS


class Raw:
    """One context, one module, named memory and streams."""

    def __init__(self, text: str, cuda: str = "", nvrtc: str = "", arch: str = "sm_90") -> None:
        self.cuda = ctypes.CDLL(cuda or os.environ["KW_LIBCUDA"])
        self.nvrtc = ctypes.CDLL(nvrtc or os.environ["KW_NVRTC"])
        self.arch = arch
        self.memory: dict[str, ctypes.c_ulonglong] = {}
        self.streams: dict[str, Any] = {"": ctypes.c_void_p(1)}
        self.events: dict[str, ctypes.c_void_p] = {}
        context, self.pool = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.call("cuMemPoolCreate", ctypes.byref(self.pool), bytes(88))
        self.library = ctypes.c_void_p()
        self.call(
            "cuLibraryLoadData",
            ctypes.byref(self.library),
            self.compiled(text),
            *[None] * 2,
            0,
            *[None] * 2,
            0,
        )

    def call(self, function: str, *arguments: Any) -> None:
        result = getattr(self.cuda, function)(*arguments)
        if result:
            print(f"{function}: {result}")
            sys.exit(0)

    def compiled(self, text: str) -> bytes:
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"", 0, None, None)
        words = [f"--gpu-architecture={self.arch}", *OPTIONS]
        options = (ctypes.c_char_p * len(words))(*(w.encode() for w in words))
        failed = self.nvrtc.nvrtcCompileProgram(program, len(words), options)
        self.nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self.nvrtc.nvrtcGetProgramLog(program, log)
        assert not failed, log.value.decode()
        self.nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        self.nvrtc.nvrtcGetCUBIN(program, code)
        return code.raw

    def stream(self, name: str) -> None:
        self.streams[name] = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(self.streams[name]), 1)

    def allocate(self, name: str, size: int) -> None:
        self.memory[name] = ctypes.c_ulonglong()
        self.call(
            "cuMemAllocFromPoolAsync",
            ctypes.byref(self.memory[name]),
            ctypes.c_size_t(size),
            self.pool,
            self.streams[""],
        )

    def write(self, name: str, data: bytes) -> None:
        size = ctypes.c_size_t(len(data))
        self.call("cuMemcpyHtoDAsync_v2", self.memory[name], data, size, self.streams[""])
        self.synchronize()

    def read(self, name: str, size: int) -> bytes:
        """Waits, and copies from the device."""
        buffer = ctypes.create_string_buffer(size)
        source = self.memory[name]
        self.call("cuMemcpyDtoHAsync_v2", buffer, source, ctypes.c_size_t(size), self.streams[""])
        self.synchronize()
        return buffer.raw

    def fill(self, name: str, size: int, stream: str = "") -> None:
        self.call("cuMemsetD8Async", self.memory[name], 1, ctypes.c_size_t(size), self.streams[stream])

    def launch(
        self, kernel: str, blocks: int, threads: int, words: list[Any], stream: str = "", rows: int = 1
    ) -> None:
        """A word is the name of memory, or a number; "name+4" is a place in it. `rows`: blocks in z."""
        function, values = ctypes.c_void_p(), []
        self.call("cuLibraryGetKernel", ctypes.byref(function), self.library, kernel.encode())
        self.call("cuKernelGetFunction", ctypes.byref(function), function)
        for word in words:
            name, _, offset = str(word).partition("+")
            base = self.memory[name].value if name in self.memory else int(name)
            values.append(ctypes.c_ulonglong(base + int(offset or 0)))
        pointers = (ctypes.c_void_p * max(1, len(values)))(*[ctypes.addressof(v) for v in values])
        shape, queue = (blocks, 1, rows, threads, 1, 1), self.streams[stream]
        self.call("cuLaunchKernel", function, *shape, 0, queue, pointers, None)

    def record(self, event: str, stream: str) -> None:
        self.events[event] = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(self.events[event]), 2)
        self.call("cuEventRecord", self.events[event], self.streams[stream])

    def wait(self, stream: str, event: str) -> None:
        self.call("cuStreamWaitEvent", self.streams[stream], self.events[event], 0)

    def synchronize(self, stream: str = "") -> None:
        self.call("cuStreamSynchronize", self.streams[stream])

    def show(self, name: str, count: int, stream: str = "", waits: bool = True) -> None:
        """Prints 32-bit words; without a wait, what is there when the copy was asked for."""
        values = (ctypes.c_int * count)(*[-1] * count)
        self.call(
            "cuMemcpyDtoHAsync_v2",
            values,
            self.memory[name],
            ctypes.c_size_t(4 * count),
            self.streams[stream],
        )
        if waits:
            self.synchronize(stream)
        print(list(values))

    def touch(self, name: str) -> None:
        """Reads device memory from the host."""
        print(ctypes.c_int.from_address(self.memory[name].value).value)


def main() -> None:
    asked = json.load(sys.stdin)
    raw = Raw(asked["text"])
    for step, *arguments in asked["steps"]:
        getattr(raw, step)(*arguments)
    print("done")


if __name__ == "__main__":
    main()
