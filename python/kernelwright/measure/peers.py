"""Other implementations of a kernel to time beside it: Numba of the same source, and C by gcc and clang."""

from __future__ import annotations

import ast
import builtins
import ctypes
import importlib
import importlib.util
import inspect
import math
import os
import shutil
import signal
import subprocess
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core, lang
from .._core import Kernel

_compilers = {"gcc": ("gcc",), "clang": ("clang", *(f"clang-{version}" for version in range(24, 13, -1)))}
_flags = ("-O3", "-march=native", "-std=gnu11", "-Werror=implicit-function-declaration", "-fPIC", "-shared")
_c_types: dict[str, Any] = {
    "int": ctypes.c_int64,
    "float": ctypes.c_double,
    "bool": ctypes.c_bool,
}


def _with_words(names: dict[str, Any]) -> dict[str, Any]:
    """Replaces the words of the language among global names by what Numba knows for them, imported from
    kernelwright.lang or not.
    """
    known: dict[str, Any] = {**vars(builtins), **vars(math)}
    known |= dict.fromkeys(("parallel", "serial", "vectorize", "unroll", "reduce"), range)
    known |= {"output_tensor": np.zeros, "allocate": np.zeros, "grid": np.ndindex}
    out = {**known, "np": np, **names}
    for name, value in names.items():
        word = getattr(value, "__name__", name)
        if getattr(lang, word, None) is value and word in known:
            out[name] = known[word]
    return out


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
    free = (cell.cell_contents for cell in function.__closure__ or ())
    names = _with_words(
        {**function.__globals__, **dict(zip(function.__code__.co_freevars, free, strict=True))}
    )
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


class CPeer:
    """A function of C as a peer of a kernel."""

    def __init__(
        self, entry: Any, repeat: Any, results: Sequence[Any], positions: Sequence[int | None]
    ) -> None:
        self._entry, self._repeat = entry, repeat
        self._outputs = [np.empty_like(r) for r, at in zip(results, positions, strict=True) if at is None]
        self._positions = positions
        self._after = [word for output in self._outputs for word in _words(output)]
        self._given: tuple[Any, ...] | None = None
        self._before: list[Any] = []

    def _converted(self, given: tuple[Any, ...]) -> list[Any]:
        # not for each call: what ctypes takes for it is not C's time
        if self._given is None or any(a is not b for a, b in zip(given, self._given, strict=True)):
            self._given, self._before = given, [word for value in given for word in _words(value)]
        return self._before

    def __call__(self, *given: Any) -> Any:
        """Calls once; returns the results in the order of the kernel's."""
        self._entry(*self._converted(given), *self._after)
        outputs = iter(self._outputs)
        found = tuple(next(outputs) if at is None else given[at] for at in self._positions)
        return found[0] if len(found) == 1 else found

    def repeat(self, count: int, *given: Any) -> None:
        """Calls so many times, by a loop of C."""
        self._repeat(ctypes.c_int64(count), *self._converted(given), *self._after)

    def problem(self, given: tuple[Any, ...]) -> str:
        """Returns why a call ends the process, or "". It is tried in a child process."""
        child = os.fork()
        if child == 0:
            try:
                self._entry(*self._converted(given), *self._after)
            finally:
                os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return f"it ends the process by {signal.Signals(-ended).name}" if ended < 0 else ""


def _words(value: Any) -> list[Any]:
    """Returns what C gets for an argument."""
    if isinstance(value, np.ndarray):
        return [ctypes.c_void_p(value.ctypes.data), *(ctypes.c_int64(n) for n in value.shape)]
    if isinstance(value, np.generic):
        dtype: Any = value.dtype
        return [np.ctypeslib.as_ctypes_type(dtype)(value.item())]
    return [_c_types[type(value).__name__](value)]


_c_words: dict[Any, str] = {
    ctypes.c_void_p: "void *",
    ctypes.c_bool: "_Bool",
    ctypes.c_float: "float",
    ctypes.c_double: "double",
    **{getattr(ctypes, f"c_{u}int{n}"): f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)},
}


def _with_loop(source: str, name: str, words: Sequence[Any]) -> str:
    """Returns C that calls a function of a file many times: a call from Python takes longer than a short
    function does. The empty instruction keeps the compiler from doing the work only once.
    """
    types = [_c_words[type(word)] for word in words]
    parameters = "".join(f", {t} a{i}" for i, t in enumerate(types))
    passed = ", ".join(f"a{i}" for i in range(len(types)))
    return (
        f'#include <stdint.h>\n#include "{source}"\n'
        f"void kw_repeat(int64_t count{parameters}) {{\n"
        f"  for (int64_t k = 0; k < count; ++k) {{\n    {name}({passed});\n"
        f'    __asm__ volatile("" ::: "memory");\n  }}\n}}\n'
    )


class CompilerError(ValueError):
    """A C compiler refuses a file; the message holds what it says."""


def c_function(
    compiler: str,
    source: str,
    name: str,
    arguments: Sequence[Any],
    results: Sequence[Any],
    positions: Sequence[int | None],
    folder: str,
) -> CPeer:
    """Returns `name` of a C file as a peer. `positions` says for each result which argument it is, if any.

    C gets, for every argument in turn, a pointer to its elements and its extents (int64_t), or the number
    (int64_t for int, double for float, bool, or the type of NumPy's scalar); then the same for every result
    that is no argument: `void softmax(const float *x, int64_t rows, int64_t columns, float *y, int64_t,
    int64_t)`. Raises CompilerError.
    """
    library, loop = Path(folder) / f"{Path(compiler).name}.so", Path(folder) / "repeat.c"
    fresh = [r for r, at in zip(results, positions, strict=True) if at is None]
    words = [word for value in (*arguments, *fresh) for word in _words(value)]
    loop.write_text(_with_loop(str(Path(source).resolve()), name, words))
    done = subprocess.run(
        [compiler, *_flags, "-o", str(library), str(loop), "-lm"], capture_output=True, text=True
    )
    if done.returncode:
        raise CompilerError(f"{Path(compiler).name} cannot compile '{source}':\n{done.stderr.strip()}")
    made = ctypes.CDLL(str(library))
    if not hasattr(made, name):
        raise CompilerError(f"'{source}' exports no function '{name}': it must not be static")
    entry, repeat = getattr(made, name), made.kw_repeat
    entry.restype = repeat.restype = None
    return CPeer(entry, repeat, results, positions)
