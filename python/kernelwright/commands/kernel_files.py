"""Kernels of a file, for commands that take FILE[:NAME].

The file is run as a module is, so that its decorators and captured values are real; no kernel is called.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import runpy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._core import Kernel
from ..kernel import kernel


class WrongRequestError(ValueError):
    """The request cannot be fulfilled; the text says why."""


def split_request(request: str) -> tuple[str, str]:
    """Splits "FILE:NAME" into file and name; the name is "" if there is none."""
    path, colon, name = request.rpartition(":")
    return (path, name) if colon and not Path(request).is_file() else (request, "")


@functools.cache
def _names_of(path: str) -> dict[str, Any]:
    """Returns the global names of a file, which is executed once in a process."""
    if not Path(path).is_file():
        raise WrongRequestError(f"there is no file '{path}'")
    folder = str(Path(path).resolve().parent)
    sys.path.insert(0, folder)  # as for a program, so that modules next to it are found
    try:
        return runpy.run_path(path)
    except SystemExit as end:
        raise WrongRequestError(
            f"'{path}' ends itself by sys.exit({end.code if end.code is not None else ''}) when it is run; "
            'do that only under `if __name__ == "__main__":`'
        ) from end
    except Exception as error:
        said = "".join(traceback.format_exception_only(type(error), error)).strip()
        raise WrongRequestError(f"running '{path}' failed: {said}") from error
    finally:
        sys.path.remove(folder)


def function_of(path: str, request: str) -> Callable[..., Any]:
    """Returns the function that a request names: NAME of the file `path`, or FILE:NAME."""
    file, name = split_request(request) if ":" in request else (path, request)
    found = _names_of(file).get(name)
    if not callable(found):
        raise WrongRequestError(f"'{file}' has no function '{name}'")
    return found  # type: ignore[no-any-return]


def kernels_of(path: str, name: str = "") -> dict[str, Kernel]:
    """Returns the kernels that a file defines, in order, or the kernel of this name, which may be a bare
    function.
    """
    names = _names_of(path)
    found = {n: k for n, k in names.items() if isinstance(k, Kernel) and _is_of(k.__wrapped__, path)}
    if not name:
        if not found:
            raise WrongRequestError(f"'{path}' defines no kernel; name a function as in '{path}:NAME'")
        return dict(sorted(found.items(), key=lambda item: item[1].__wrapped__.__code__.co_firstlineno))
    chosen = names.get(name)
    if isinstance(chosen, Kernel):
        return {name: chosen}
    if inspect.isfunction(chosen):
        return {name: kernel(chosen)}
    known = [*found, *(n for n, f in names.items() if inspect.isfunction(f) and _is_of(f, path))]
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known) or 'none'}"
    raise WrongRequestError(f"'{path}' has no kernel or function '{name}': {hint}")


def _is_of(function: Any, path: str) -> bool:
    return Path(function.__code__.co_filename).resolve() == Path(path).resolve()
