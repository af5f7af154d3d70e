"""The engines of the gallery: how each makes a call of a case that can be timed. Times nothing itself.

An engine's `prepare` gives the call; ValueError says why it has none.
"""

from __future__ import annotations

import ctypes
import functools
import random
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from case import WITH_ALIGNED, WITH_FAST_C, WITH_OUT, Arguments, Array, Case, results_of
from numba_source import numba_function

import kernelwright as kw

HERE = Path(__file__).resolve().parent
COMPILERS = {"gcc": ("gcc",), "clang": ("clang-22", "clang-21", "clang-20", "clang-19", "clang")}
FLAGS = ("-O3", "-march=native", "-std=gnu11", "-fPIC", "-shared")


@dataclass
class Timed:
    """What one call gives, for the check, and what repeated calls cost."""

    result: Any  # None where there is nothing to check
    seconds: Callable[[int], float]  # of so many calls


def repeat(call: Callable[[], Any], loops: int) -> float:
    start = time.perf_counter()
    for _ in range(loops):
        call()
    return time.perf_counter() - start


def timed(call: Callable[[], Any]) -> Timed:
    return Timed(call(), functools.partial(repeat, call))


def typed(case: Case, args: Arguments) -> Arguments:
    """Python floats as numbers of the case's own type."""
    return tuple(case.real(a) if isinstance(a, float) else a for a in args)


def find_compiler(name: str) -> str:
    """The path of the newest one installed, or ""."""
    return next((path for word in COMPILERS[name] if (path := shutil.which(word))), "")


def any_compiler() -> str:
    return find_compiler("gcc") or find_compiler("clang")


@functools.lru_cache
def library(compiler: str, family: str, folder: str, *more: str) -> ctypes.CDLL:
    out = Path(folder) / f"{family}-{Path(compiler).name}{''.join(m for m in more if m.startswith('-ff'))}.so"
    subprocess.run([compiler, *FLAGS, "-o", str(out), str(HERE / f"{family}.c"), *more, "-lm"], check=True)
    return ctypes.CDLL(str(out))


def find_onednn() -> tuple[str, ...]:
    """How to compile with what its wheels put beside this Python, or ()."""
    prefix = Path(sys.prefix)
    if not (prefix / "lib/libdnnl.so").exists() or not (prefix / "include/oneapi/dnnl/dnnl.h").exists():
        return ()
    return (f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-ldnnl")


def prepare_kw(case: Case, args: Arguments, wanted: tuple[Array, ...], unchecked: bool) -> Timed:
    if unchecked and not case.indexed:
        raise ValueError("has no subscripts that come from data")
    kernel = kw.kernel(case.kernel.__wrapped__, unchecked=True) if unchecked else case.kernel
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return timed(functools.partial(kernel, *args))


def prepare_call(case: Case, args: Arguments, wanted: tuple[Array, ...]) -> Timed:
    """A kernel with the same arguments that stores one number: what our call costs without its loops."""
    names = ", ".join(f"a{n}" for n in range(len(args)))
    kernel = kw.kernel(
        f"def idle({names}):\n    c = output_tensor((1,), float32)\n    c[0] = 0.0\n    return c\n"
    )
    return Timed(None, timed(functools.partial(kernel, *args)).seconds)


def prepare_out(case: Case, args: Arguments, wanted: tuple[Array, ...]) -> Timed:
    """Ours, with its result in memory that has been written before."""
    if case.name not in WITH_OUT:
        raise ValueError("is not measured with out=")
    return timed(functools.partial(case.kernel, *args, out=np.zeros_like(wanted[0])))


def prepare_aligned(case: Case, args: Arguments, wanted: tuple[Array, ...]) -> Timed:
    """Ours, of arrays that begin at a line of the caches as our results do; NumPy's begin 16 bytes behind."""
    if case.name not in WITH_ALIGNED:
        raise ValueError("is not measured with aligned arguments")
    return timed(functools.partial(case.kernel, *copies_at(lambda: 0, args)))


def prepare_placed(case: Case, args: Arguments, wanted: tuple[Array, ...]) -> Timed:
    """Ours, of arrays that begin at random lines of pages: each call places them anew."""
    return timed(functools.partial(case.kernel, *copies_at(lambda: 64 * random.randrange(64), args)))


def prepare_fast_c(
    case: Case, args: Arguments, wanted: tuple[Array, ...], compiler: str, folder: str
) -> Timed:
    """C whose sums and functions need not be exact."""
    if case.name not in WITH_FAST_C:
        raise ValueError("is not measured with -ffast-math")
    return prepare_c(case, args, wanted, compiler, folder, "-ffast-math")


def prepare_c(
    case: Case, args: Arguments, wanted: tuple[Array, ...], compiler: str, folder: str, *more: str
) -> Timed:
    results = tuple(np.empty_like(w) for w in wanted)
    words: list[Any] = []
    number = ctypes.c_float if case.real is np.float32 else ctypes.c_double
    for value in (*args, *results, *case.extents(*args)):
        if isinstance(value, np.ndarray):
            words.append(ctypes.c_void_p(value.ctypes.data))
        else:
            words.append(number(value) if isinstance(value, float) else ctypes.c_long(value))
    functions = library(compiler, case.family, folder, *more)
    nothing = library(compiler, "nothing", folder).nothing
    function = getattr(functions, case.name)
    function.restype = nothing.restype = None
    function(*words)
    call, idle = functools.partial(function, *words), functools.partial(nothing, *words)
    price = min(repeat(idle, 1000) for _ in range(20)) / 1000

    def seconds(loops: int, keep: Any = (args, results)) -> float:
        """What the call through ctypes costs is taken off: as measured beside it where it matters, since the
        clock of the machine changes.
        """
        took = repeat(call, loops)
        return took - (repeat(idle, loops) if took < 50 * price * loops else price * loops)

    return Timed(results, seconds)


def prepare_numba(case: Case, args: Arguments, wanted: tuple[Array, ...], parallel: bool) -> Timed:
    if parallel and not case.parallel:
        raise ValueError("has no loop whose order is free")
    function = numba_function(
        case.kernel.__wrapped__, np.dtype(case.real).name, case.parallel if parallel else ""
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return timed(functools.partial(function, *typed(case, args)))


def prepare_numpy(case: Case, args: Arguments, wanted: tuple[Array, ...]) -> Timed:
    if not case.numpy:
        raise ValueError("is no operation of NumPy")
    return timed(functools.partial(case.reference, *args))


def prepare_onednn(
    case: Case, args: Arguments, wanted: tuple[Array, ...], compiler: str, folder: str
) -> Timed:
    results = tuple(np.empty_like(w) for w in wanted)
    arrays = [a for a in (*args, *results) if isinstance(a, np.ndarray)]
    extents = arrays[0].shape
    functions = library(compiler, "onednn", folder, *find_onednn())
    functions.prepare.restype = ctypes.c_void_p
    data = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    words = (ctypes.c_long * len(extents))(*extents)
    made = functions.prepare(case.name.encode(), data, words, len(extents))
    if not made:
        raise ValueError("is no operation of oneDNN")

    def seconds(loops: int, keep: Any = arrays) -> float:
        start = time.perf_counter()
        if status := functions.run(ctypes.c_void_p(made), ctypes.c_long(loops)):
            raise RuntimeError(f"oneDNN says {status}")
        return time.perf_counter() - start

    seconds(1)
    return Timed(results, seconds)


def prepare_limit(
    case: Case, args: Arguments, wanted: tuple[Array, ...], compiler: str, folder: str, threads: int
) -> Timed:
    """The time of the fastest copy (or read) of as many bytes as the case reads and writes."""
    if not case.limit:
        raise ValueError("is not bound by the bytes it moves")
    moved = moved_bytes(args, wanted) if case.limit == "copy" else moved_bytes(args, ())
    step = 256 * threads
    each = max(step, (moved // 2 if case.limit == "copy" else moved) // step * step)
    buffers = [aligned(each) for _ in range(2)]
    move = library(compiler, "limits", folder).move
    move.restype = ctypes.c_long

    def seconds_of(kind: int, loops: int) -> float:
        start = time.perf_counter()
        where = (ctypes.c_void_p(b.ctypes.data) for b in buffers)
        move(*where, ctypes.c_long(each), ctypes.c_long(loops), ctypes.c_long(threads), kind)
        return time.perf_counter() - start

    kinds = [0, 1] if case.limit == "copy" else [2]
    return Timed(None, lambda loops: min(seconds_of(kind, loops) for kind in kinds))


def aligned(size: int) -> Array:
    raw = np.ones(size + (4 << 20), np.uint8)
    skip = -raw.ctypes.data % (2 << 20)
    return raw[skip : skip + size]


def copies_at(begin: Callable[[], int], args: Arguments) -> Arguments:
    """The arguments, arrays as copies that begin so many bytes behind an aligned address."""

    def copied(a: Array) -> Array:
        skip = begin()
        copy = aligned(skip + a.nbytes)[skip:].view(a.dtype).reshape(a.shape)
        copy[...] = a
        return copy

    return tuple(copied(a) if isinstance(a, np.ndarray) else a for a in args)


def moved_bytes(args: Arguments, results: Any) -> int:
    return sum(a.nbytes for a in (*args, *results_of(results)) if isinstance(a, np.ndarray))
