"""Other implementations of a kernel to time beside it: Numba of the same source, and C by gcc and clang."""

from __future__ import annotations

import ast
import ctypes
import importlib
import importlib.util
import inspect
import math
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .._core import Kernel

_compilers = {"gcc": ("gcc",), "clang": ("clang", *(f"clang-{version}" for version in range(24, 13, -1)))}
_flags = ("-O3", "-march=native", "-std=gnu11", "-fPIC", "-shared")
_c_types: dict[str, Any] = {
    "int": ctypes.c_int64,
    "float": ctypes.c_double,
    "bool": ctypes.c_bool,
}


def _grid(*sizes: int) -> Any:
    return np.ndindex(sizes)


def numba_function(kernel: Kernel) -> Callable[..., Any] | str:
    """Returns the kernel's source compiled by `njit`, or why it cannot be: a text.

    The words of the language are bound to NumPy and `math`; numbers stay what they are in Python, so float32
    arithmetic with them is float64, as Numba's users get it.
    """
    if importlib.util.find_spec("numba") is None:
        return "Numba is not installed"
    numba = importlib.import_module("numba")
    function = _core.function_of(kernel)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return "the kernel has no source file"
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        return "the kernel's source is no function"
    definition.decorator_list = []
    definition.returns = None
    for argument in definition.args.args:
        argument.annotation = None
    names = {**vars(math), **vars(importlib.import_module("builtins"))}
    names |= {**function.__globals__, "np": np, "output_tensor": np.zeros, "allocate": np.zeros}
    names |= dict(
        zip(function.__code__.co_freevars, (c.cell_contents for c in function.__closure__ or ()), strict=True)
    )
    for word in ("parallel", "serial", "vectorize", "unroll", "reduce"):
        names.setdefault(word, range)
    exec(compile(ast.fix_missing_locations(tree), f"<numba {kernel.__name__}>", "exec"), names)
    made: Callable[..., Any] = numba.njit(names[definition.name])
    return made


def find_compilers() -> dict[str, str]:
    """Returns the paths of gcc and clang, as far as they are installed."""
    found = {
        name: next((path for word in words if (path := shutil.which(word))), "")
        for name, words in _compilers.items()
    }
    return {name: path for name, path in found.items() if path}


def c_function(
    compiler: str, source: str, name: str, arguments: Sequence[Any], results: Sequence[Any], folder: str
) -> Callable[..., Any] | str:
    """Returns a function that calls `name` of a C file, or why there is none: a text.

    C gets, for every argument in turn, a pointer to its elements and its extents (int64_t), or the number
    (int64_t, double, bool, or the type of NumPy's scalar); then, for every result in turn, a pointer and the
    extents: `void softmax(const float *x, int64_t rows, int64_t columns, float *y, int64_t, int64_t)`.
    """
    library = Path(folder) / f"{Path(compiler).name}.so"
    command = [compiler, *_flags, "-o", str(library), source, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return f"{Path(compiler).name} failed: {(done.stderr.strip().splitlines() or ['?'])[0]}"
    try:
        entry = getattr(ctypes.CDLL(str(library)), name)
    except AttributeError:
        return f"{source} has no function '{name}'"
    entry.restype = None
    outputs = [np.empty_like(r) for r in results]

    def words(value: Any) -> list[Any]:
        if isinstance(value, np.ndarray):
            return [ctypes.c_void_p(value.ctypes.data), *(ctypes.c_int64(n) for n in value.shape)]
        if isinstance(value, np.generic):
            dtype: Any = value.dtype
            return [np.ctypeslib.as_ctypes_type(dtype)(value.item())]
        return [_c_types[type(value).__name__](value)]

    after = [word for output in outputs for word in words(output)]
    before: dict[tuple[int, ...], list[Any]] = {}

    def call(*given: Any) -> Any:
        # converted once: what ctypes takes for it is not C's time
        key = tuple(map(id, given))
        if key not in before:
            before[key] = [word for value in given for word in words(value)]
        entry(*before[key], *after)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return call
