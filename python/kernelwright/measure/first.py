"""Times of a first compilation, and of loading its result from the disk cache, in processes of their own with
a cache of their own: a process that has compiled before is faster, and the user's cache stays as it is.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .. import _core
from .._core import Kernel
from ..errors import KernelError
from ..kernel import kernel as make_kernel
from ..warm.manifest import compile_entry, load
from ..warm.recording import record

_NOT_SHARED = "KW_CACHE_DIR", "KW_CACHE_SHARED", "KW_RECORD", "KW_FROZEN", "KW_LOG"
"""Settings of the program that the processes do not share."""


def print_seconds(manifest: str) -> None:
    """Prints the seconds of the main bodies of a manifest, and whether the cache had all of them."""
    made = [compile_entry(entry) for entry in load(manifest) if entry["body"] == "main"]
    bodies = [version for versions in made for version in versions if version.body == "main"]
    print(sum(v.milliseconds for v in bodies) / 1e3, all(v.was_cached for v in bodies))


def _in_a_process(manifest: Path, cache: Path) -> tuple[float, bool]:
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import print_seconds; "
        f"print_seconds({str(manifest)!r})"
    )
    environment = {k: v for k, v in os.environ.items() if k not in _NOT_SHARED}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "KW_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
    )
    words = done.stdout.split()
    return (float(words[0]), words[1] == "True") if len(words) == 2 else (math.nan, False)


def first_times(kernel: Kernel, arguments: tuple[Any, ...]) -> tuple[float, float]:
    """Returns the seconds of the first compilation of a process, and of loading the same; NaN for what there
    is not: under KW_FROZEN, without the text of the kernel, or without a cache.
    """
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as folder:
        manifest, cache = Path(folder) / "manifest.json", Path(folder) / "cache"
        try:
            with record(str(manifest)):
                made = make_kernel(**_core.options_of(kernel))(_core.function_of(kernel))
                _core.warm(made, arguments, {}, ["host"], [])
        except (KernelError, OSError):
            return math.nan, math.nan
        (compiled, was_cached), (loaded, is_stored) = (_in_a_process(manifest, cache) for _ in range(2))
    return math.nan if was_cached else compiled, loaded if is_stored else math.nan
