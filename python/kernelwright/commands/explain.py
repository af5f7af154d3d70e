"""`kw explain FILE[:NAME]`: explains the kernels of a file, for given or guessed arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from .._core import Kernel
from ..argument_types import examples, split
from ..explain import Explanation, HtmlExplanation
from ..explain_html import page, view
from .guess import guessed
from .kernel_files import kernels_of, split_request

T = TypeVar("T", Explanation, HtmlExplanation)


def _explained(
    request: str, given: str, explain: Callable[[Kernel, tuple[object, ...]], T]
) -> Iterator[tuple[Kernel, T | str]]:
    """Yields each kernel with its explanation, or with the text of an error.

    Executes the file like a program, to get its kernels. Raises WrongRequestError and ArgumentTypeError.
    """
    path, name = split_request(request)
    values = tuple(examples(split(given))) if given else None
    for kernel in kernels_of(path, name).values():
        try:
            args = values if values is not None else tuple(guessed(kernel.__wrapped__))
            yield kernel, explain(kernel, args)
        except Exception as error:
            yield kernel, str(error) or type(error).__name__


def explain_file(request: str, given: str = "", device: str = "") -> Iterator[tuple[str, bool]]:
    """Yields the text for each kernel, and whether it is an explanation rather than an error. Raises as
    `_explained`.
    """
    note = "" if given else "\n(for guessed arguments; give others by --args)"
    for kernel, found in _explained(request, given, lambda k, args: k.explain(*args, device=device)):
        if isinstance(found, str):
            yield f"kernel {kernel.__qualname__}\n{found}{note}", False
        else:
            yield f"{found}{note}", True


def write_page(request: str, given: str, output: str, device: str = "") -> int:
    """Writes a page with the kernels of a file; returns the exit status. Raises as `_explained`, and
    OSError.
    """
    parts, worked = [], True
    for kernel, found in _explained(
        request, given, lambda k, args: k.explain(*args, html=True, device=device)
    ):
        if isinstance(found, HtmlExplanation):
            parts.append(found.body)
        else:
            parts.append(view(kernel, None, f"kernel {kernel.__qualname__}", found))
            worked = False
    Path(output).write_text(page("<hr>".join(parts), split_request(request)[0]), encoding="utf-8")
    print(f"{output}: {len(parts)} kernel{'s' if len(parts) > 1 else ''}")
    return 0 if worked else 1
