"""Kernels in other processes: how pickle, multiprocessing and joblib find a kernel or make it again.

A kernel is pickled by its qualified name, like functions. A kernel of `__main__` needs more if the worker's
`__main__` is another program. Then the pickle also names the script or module to run, or holds the kernel
with its source text. Compiles nothing; the worker's disk cache serves what this process compiled. Loading a
pickle executes its contents, also that of a kernel: the script that it names, or the text in it.
"""

from __future__ import annotations

import functools
import importlib
import linecache
import os
import pickle
import sys
import types
from typing import Any

from . import _core, capture
from ._core import Kernel

# how a worker gets names that its own `__main__` lacks: ("script", path), ("module", name) or ("value",
# bytes)
Way = tuple[str, Any]


def reduce(kernel: Kernel) -> tuple[Any, ...]:
    """Implements `Kernel.__reduce__`; raises TypeError if the name of the kernel refers to something else."""
    module, name = kernel.__module__, kernel.__qualname__
    target: Any = sys.modules.get(module)
    for part in name.split("."):
        target = getattr(target, part, None)
    if target is not kernel:
        raise TypeError(
            f"cannot pickle kernel {name}: it is not found as {module}.{name}; define it at module level"
        )
    return (find, (module, name, _way(kernel) if module == "__main__" else None))


def find(module: str, name: str, way: Way | None = None) -> Any:
    """Returns the kernel of a qualified name, for unpickling."""
    target: Any = importlib.import_module(module)
    if way and not hasattr(target, name.split(".")[0]):
        if way[0] == "value":
            return _of_value(way[1])
        target = _run(*way)
    for part in name.split("."):
        target = getattr(target, part)
    return target


def _way(kernel: Kernel) -> Way | None:
    main = sys.modules["__main__"]
    spec, script = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None and spec.name != "__main__":  # python -m
        return ("module", spec.name)
    if script:
        return ("script", os.path.abspath(script))
    value = _to_value(kernel)  # a notebook or a prompt
    return ("value", value) if value else None


@functools.cache
def _run(how: str, what: str) -> types.SimpleNamespace:
    """Runs the sender's program once, under a name that is not "__main__", as multiprocessing does."""
    import runpy

    run = runpy.run_module if how == "module" else runpy.run_path
    return types.SimpleNamespace(**run(what, run_name="__mp_main__"))


def _to_value(kernel: Kernel) -> bytes | None:
    """Returns a pickle that remakes the kernel, by cloudpickle, which joblib and others install; None without
    it.
    """
    names = ("cloudpickle", "joblib.externals.cloudpickle")
    cloudpickle = next((sys.modules[name] for name in names if name in sys.modules), None)
    if cloudpickle is None:
        return None
    function = _core.function_of(kernel)
    called = [f for f, *_ in capture.describe(function, function.__code__)[3]]
    files = {f.__code__.co_filename for f in (function, *called)}
    texts = {file: linecache.getlines(file) for file in files if not os.path.exists(file)}
    try:
        value = cloudpickle.dumps((function, _core.options_of(kernel), texts))
        assert isinstance(value, bytes)
        return value
    except Exception as e:
        if str(e).startswith("cannot send kernel"):
            raise  # an error of a kernel that this one calls
        raise pickle.PicklingError(
            f"cannot send kernel {kernel.__qualname__} to another process with all that it captures: {e}; "
            "define it in a module of its own and import it"
        ) from e


@functools.lru_cache(maxsize=64)
def _of_value(value: bytes) -> Kernel:
    function, options, texts = pickle.loads(value)
    for file, lines in texts.items():
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    kernel = Kernel(function, **options)
    functools.update_wrapper(kernel, function)
    return kernel
