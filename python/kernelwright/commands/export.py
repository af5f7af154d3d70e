"""`kw export FILE:NAME`: writes a kernel as a shared library with a C header."""

from __future__ import annotations

from ..argument_types import split
from .kernel_files import WrongRequestError, kernels_of, split_request


def export_file(request: str, types: str, output: str, target: str, name: str) -> int:
    """Executes a file, not as `__main__`, and exports one kernel of it; returns the exit status."""
    path, wanted = split_request(request)
    kernels = kernels_of(path, wanted)
    if len(kernels) > 1:
        raise WrongRequestError(
            f"'{path}' defines {len(kernels)} kernels: name one, as in '{path}:{next(iter(kernels))}'"
        )
    (kernel,) = kernels.values()
    made = kernel.export(output, *split(types), target=target, name=name)
    print(
        f"{made.library} ({made.library.stat().st_size // 1024} KB) and {made.header}: {made.name}_run(…), "
        f"{made.name}_shapes(…), and {made.name}(…) for MindSpore"
    )
    return 0
