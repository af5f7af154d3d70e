"""`kw explain FILE[:NAME]`: explains the kernels of a file, for given or guessed arguments."""

from __future__ import annotations

from collections.abc import Iterator

from ..argument_types import examples, split
from .guess import guessed
from .kernel_files import kernels_of, split_request


def explain_file(request: str, given: str = "") -> Iterator[tuple[str, bool]]:
    """Yields the text for each kernel, and whether it is an explanation rather than an error.

    Executes the file like a program, to get its kernels. Raises WrongRequestError and ArgumentTypeError.
    """
    path, name = split_request(request)
    values = examples(split(given)) if given else None
    note = "" if values is not None else "\n(for guessed arguments; give others by --args)"
    for found in kernels_of(path, name).values():
        try:
            args = values if values is not None else guessed(found.__wrapped__)
            yield f"{found.explain(*args)}{note}", True
        except Exception as error:
            said = str(error) or type(error).__name__
            yield f"kernel {found.__qualname__}\n{said}{note}", False
