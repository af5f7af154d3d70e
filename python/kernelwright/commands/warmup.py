"""`kw warmup FILE[:NAME]` and `kw warmup MANIFEST`: fills the disk cache before a program runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from .. import _core
from ..argument_types import split
from ..warm.manifest import compile_entry, load
from ..warm.warmup import WarmedVersion, parameter_names
from .colours import coloured
from .kernel_files import WrongRequestError, kernels_of, split_request
from .progress import progress
from .workers import in_processes

Made = tuple[str, list[WarmedVersion], str, str]
"""What was asked for, the versions made, why some could not be made, and why they are not stored; or ""."""


def warm_file(request: str, types: str, target: str, device: str) -> Iterator[Made]:
    """Warms the kernels of a file: for the given types, else for those that their parameters are annotated
    with. Executes the file, not as `__main__`.
    """
    path, name = split_request(request)
    for kernel in kernels_of(path, name).values():
        try:
            made = kernel.warmup(*split(types), target=target or None, device=device or None)
            yield kernel.__qualname__, made, "", _core.cache_problem()
        except Exception as error:
            told = str(error) or type(error).__name__
            if isinstance(error, TypeError) and not types:
                names = parameter_names(kernel)
                types_of_all = ", ".join(["f32[:, :]"] * len(names))
                told += f"\non the command line, for {', '.join(names)}: --args '{types_of_all}'"
            yield kernel.__qualname__, [], told, ""


def warm_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """Warms one version of a manifest, in a worker; returns the versions made, or the problem, and why what
    was made is not in the cache.
    """
    try:
        made = [asdict(version) for version in compile_entry(entry)]
        return {"made": made, "not_stored": _core.cache_problem()}
    except Exception as error:
        return {"problem": str(error) or type(error).__name__}


def warm_manifest(path: str, targets: list[str], jobs: int) -> Iterator[Made]:
    """Compiles what a manifest lists, for the recorded targets or the given ones, in parallel processes.

    Imports nothing of the program that was recorded.
    """
    present = _core.target_class()
    work = [
        {**entry, "target": present if target == "host" else target}
        if target and not entry["target"].startswith("sm_")
        else entry
        for entry in load(path)
        for target in targets or [""]
    ]
    answers = in_processes(f"{__name__}:warm_entry", work, jobs)
    for entry, answer in progress(answers, len(work), "compiling"):
        subject = f"{entry['kernel']}({', '.join(entry['types'])})"
        if isinstance(answer, RuntimeError):
            answer = {"problem": str(answer)}
        made = [WarmedVersion(**row) for row in answer.get("made", [])]
        yield subject, made, answer.get("problem", ""), answer.get("not_stored", "")


def warm(request: str, types: str, target: str, device: str = "", jobs: int = 0) -> int:
    """Runs the command: prints what was made and what could not be; returns the exit status."""
    if request.endswith(".json") and types:
        raise WrongRequestError("--args is for files of Python: a manifest names the types itself")
    if request.endswith(".json") and device:
        raise WrongRequestError("--device is for files of Python: a manifest names its devices itself")
    targets = [name.strip() for name in target.split(",") if name.strip()]
    if request.endswith(".json"):
        made = warm_manifest(request, targets, jobs or len(os.sched_getaffinity(0)))
    else:
        made = warm_file(request, types, ",".join(targets), device)
    failed = compiled = cached = 0
    not_stored = ""
    for subject, versions, problem, lost in made:
        not_stored = not_stored or lost
        if problem:
            failed += 1
            print(coloured(f"{subject}: not made\n{problem}", sys.stderr), file=sys.stderr)
        for v in versions:
            compiled, cached = compiled + (not v.was_cached), cached + v.was_cached
            how = "in the cache" if v.was_cached else f"compiled in {v.milliseconds:.0f} ms"
            print(f"{v.key}  {v.target:<8} {v.body:<6} {subject}  {how}")
    print(f"{compiled} compiled, {cached} in the cache, {failed} not made; {_core.cache_directory()}")
    if not_stored:
        print(f"kw warmup: nothing is stored: {not_stored}", file=sys.stderr)
    return 1 if failed or not_stored else 0
