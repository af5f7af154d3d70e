"""Runs the CUDA text of a kernel on the host: each launch thread by thread, in a seeded order.

The text is compiled with shim.inc in place of the device prelude, once for each text (build/emulated).
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright import _core_testing

HERE = Path(__file__).parent
CACHE = HERE.parents[2] / "build" / "emulated"
OPTIONS = ("-O1", "-std=c++17", "-shared", "-fPIC", "-ffp-contract=off", "-w")
KINDS = ("data", "dim", "scalar", "iterator", "slot", "temporary", "call")
PARAMETER = re.compile(r"(\w+): (buf|inout|out|weak|scalar)\((.*)\)$")
SCALARS = {"b1": np.bool_, "f32": np.float32, "f64": np.float64}


@dataclass
class Parameter:
    """One parameter of the IR of a kernel: an array with its symbols, or a scalar."""

    name: str
    kind: str
    dtype: str
    extents: list[str] = field(default_factory=list)
    strides: list[str] = field(default_factory=list)
    is_zeroed: bool = False


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no parentheses."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    return [p for p in (*parts, text[begin:].strip()) if p]


def _parameter(text: str) -> Parameter:
    found = PARAMETER.match(text)
    assert found, text
    name, kind, inside = found.groups()
    words = _split(inside)
    out = Parameter(name, kind, words[0])
    for word in words[1:]:
        if word.startswith("strides="):
            out.strides = _split(word[len("strides=(") : -1])
        elif word.startswith("("):
            out.extents = _split(word[1:-1])
        elif word.startswith("fill="):
            out.is_zeroed = True
    return out


class Program:
    """The launches of a kernel, from its last IR for a GPU."""

    def __init__(self, ir: str, device: str = "sm_90") -> None:
        lines = ir.splitlines()
        head = next(line for line in lines if line.startswith("def "))
        self.parameters = [_parameter(p) for p in _split(head[head.index("(") + 1 : head.rindex(")")])]
        self.dims = _split(self._line(lines, "dims"))
        self.facts = [line.strip()[5:-1] for line in lines if line.startswith("  fact(")]
        returned = next((line for line in reversed(lines) if line.startswith("  return ")), "  return ")
        self.results = [r for r in _split(returned[9:]) if r]
        self.text, self.kernels, self.code = _core_testing.cuda_program(ir, device)
        self.library = _compiled(self.text, [k[0] for k in self.kernels])

    @staticmethod
    def _line(lines: list[str], word: str) -> str:
        line = next(line for line in lines if line.startswith(f"  {word}("))
        return line[len(word) + 3 : -1]

    def symbols(self, arguments: dict[str, Any]) -> dict[str, int]:
        """The values of the extents and strides for these arguments."""
        out: dict[str, int] = {}
        for p in self.parameters:
            array = arguments.get(p.name)
            if p.kind in ("weak", "scalar") or array is None:
                continue
            for d, name in enumerate(p.extents):
                out.setdefault(name, array.shape[d])
            for d, name in enumerate(p.strides):
                out.setdefault(name, array.strides[d] // array.itemsize)
        return out

    def run(self, arguments: dict[str, Any], seed: int) -> tuple[str, int, int, int]:
        """Runs the launches on all arrays, outputs included: (how it ended, site, value, bound)."""
        symbols = self.symbols(arguments)
        dims = [symbols[d] for d in self.dims]
        arrays, scalars = [], []
        for p in self.parameters:
            if p.kind not in ("weak", "scalar"):
                arrays.append(arguments[p.name])
                continue
            scalars.append(_word(arguments[p.name], p.dtype))
        queue = _Queue(self, arrays, dims, scalars, seed)
        temporaries = [k[4] for k in self.kernels]
        how, site, value, bound = _core_testing.run_launches(self.code, temporaries, dims, scalars, queue)
        record = queue.faults
        if record.is_set and how in ("none", "stopped"):
            return "fault", record.key, record.value, record.bound
        return how, site, value, bound


def _word(value: Any, dtype: str) -> int:
    """The bits of a scalar. A float of 16 bits is passed as its word."""
    kind = SCALARS.get(dtype) or np.dtype(f"{'u' * (dtype[0] == 'u')}int{dtype[1:]}").type
    given = np.asarray(value)
    is_word = given.dtype.itemsize == 2 and given.dtype.kind not in "iu" and dtype == "u16"
    return int.from_bytes((given if is_word else given.astype(kind)).tobytes(), "little")


class _Faults(ctypes.Structure):
    _fields_ = (
        ("lock", ctypes.c_uint32),
        ("is_set", ctypes.c_uint32),
        ("call", ctypes.c_uint64),
        ("key", ctypes.c_uint64),
        ("value", ctypes.c_int64),
        ("bound", ctypes.c_int64),
    )


class _Call(ctypes.Structure):
    _fields_ = (
        ("faults", ctypes.c_void_p),
        ("mirror", ctypes.c_void_p),
        ("cancel", ctypes.c_void_p),
        ("number", ctypes.c_uint64),
    )


class _Queue:
    """Runs launches when they are asked for. Its methods are those of LaunchQueue in the core."""

    def __init__(
        self, program: Program, arrays: list[Any], dims: list[int], scalars: list[int], seed: int
    ) -> None:
        self.program, self.arrays, self.dims, self.scalars, self.seed = program, arrays, dims, scalars, seed
        self.slots: dict[int, np.ndarray[Any, Any]] = {}
        self.faults = _Faults()
        self.mirror, self.cancel = ctypes.c_uint64(), ctypes.c_uint32()
        self.call = _Call(
            ctypes.addressof(self.faults), ctypes.addressof(self.mirror), ctypes.addressof(self.cancel), 1
        )

    def reserve(self, slot: int, size: int) -> bool:
        if slot not in self.slots or self.slots[slot].size < size:
            self.slots[slot] = np.full(max(size, 1), 0xCB, np.uint8)
        return True

    def fill(self, slot: int) -> bool:
        self.slots[slot][:] = 0
        return True

    def read(self, slot: int) -> bool:
        return bool(self.slots[slot][0])

    def launch(self, kernel: int, blocks: list[int], temporaries: list[int], iterators: list[int]) -> bool:
        name, _, _, threads, _, params = self.program.kernels[kernel]
        all_threads = threads * int(np.prod(blocks))
        own = [np.full(max(1, size * all_threads), 0xCB, np.uint8) for size in temporaries]
        keep, pointers = [], []
        for kind, index in params:
            what = KINDS[kind]
            if what == "call":
                pointers.append(ctypes.addressof(self.call))
                continue
            if what == "data":
                word = ctypes.c_uint64(self.arrays[index].ctypes.data)
            elif what in ("slot", "temporary"):
                memory = self.slots[index] if what == "slot" else own[index]
                word = ctypes.c_uint64(memory.ctypes.data)
            else:
                values = {"dim": self.dims, "scalar": self.scalars, "iterator": iterators}[what]
                word = ctypes.c_uint64(values[index] & (2**64 - 1))
            keep.append(word)
            pointers.append(ctypes.addressof(word))
        parameters = (ctypes.c_void_p * max(1, len(pointers)))(*pointers)
        size = (ctypes.c_int64 * 4)(*blocks, threads)
        self.program.library[f"{name}_run"](parameters, size, ctypes.c_uint64(self.seed))
        return True


def _compiled(text: str, kernels: list[str]) -> ctypes.CDLL:
    """The text as a library of the host, from build/emulated if it was compiled before."""
    shim = (HERE / "shim.inc").read_text()
    whole = "\n".join([shim, text, *(f"KW_RUN({name})" for name in kernels)])
    key = hashlib.sha256("\n".join([*OPTIONS, whole]).encode()).hexdigest()[:32]
    path = CACHE / f"{key}.so"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            source, made = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
            source.write_text(whole)
            command = [os.environ.get("CXX", "g++"), *OPTIONS, "-o", str(made), str(source)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[:4000]
            made.replace(path)
    return ctypes.CDLL(str(path))
