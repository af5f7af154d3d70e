"""Where files may lie: top level, subfolders, READMEs, header twins, folder size.
Reads paths and, for README lengths, text; knows nothing of what the code says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath

from .includes import BACKEND_FOLDERS, COMPILER, FOLDERS

TOP_FILES = {"CMakeLists.txt", "CMakePresets.json", "pyproject.toml", "Makefile", "README.md", "LICENSE"}
TOP_FOLDERS = {"compiler", "frontend", "runtime", "python", "tests", "bench", "third_party", "docs"}


def _home(module: str) -> str:
    """The folder of a module of FOLDERS, by whose last part FOLDERS names its root."""
    return f"compiler/{module}" if module in COMPILER else {"python": "python/bind"}.get(module, module)


# Subfolders allowed below a folder; a folder that is no key may hold anything.
SUBFOLDERS: dict[str, set[str]] = {
    "compiler": set(COMPILER),
    "python": {"bind", "kernelwright"},
    **{_home(m): set(order) - {PurePosixPath(_home(m)).name} for m, order in FOLDERS.items()},
    "compiler/ir": {"integers"},
    "runtime/exported": {"standalone"},
    **{f"compiler/codegen/{backend}": set(parts) for backend, parts in BACKEND_FOLDERS.items()},
}
WITHOUT_SUBFOLDERS = {
    f"{parent}/{name}" for parent, names in SUBFOLDERS.items() if parent != "python" for name in names
}
SUBFOLDERS.update({folder: set() for folder in WITHOUT_SUBFOLDERS - SUBFOLDERS.keys()})

NEEDS_README = ("compiler", "third_party", "bench")
README_LINES = 150
FOLDER_FILES = 30
FOLDER_HEADERS = ("steps.h", "passes.h", "functions.h")  # one function or family of functions a .cpp
UNCOUNTED = ("tests/", "bench/results")


def check_top_level(files: Mapping[str, str]) -> list[str]:
    entries = sorted({path.split("/")[0] for path in files})
    return [
        f"{entry}:1: not an allowed top-level entry"
        for entry in entries
        if entry not in TOP_FILES | TOP_FOLDERS and not entry.startswith(".")
    ]


def check_subfolders(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    folders = {parent for path in files for parent in PurePosixPath(path).parents}
    for folder in sorted(folders):
        allowed = SUBFOLDERS.get(folder.parent.as_posix())
        if allowed is not None and folder.name not in allowed:
            found.append(f"{folder}:1: not an allowed folder; here belong {sorted(allowed) or 'files only'}")
    return found


def check_readmes(files: Mapping[str, str]) -> list[str]:
    found = [
        f"{folder}/README.md:1: missing"
        for folder in NEEDS_README
        if f"{folder}/README.md" not in files and any(path.startswith(f"{folder}/") for path in files)
    ]
    lines = files.get("README.md", "").count("\n")
    if lines > README_LINES:
        found.append(f"README.md:{lines}: {lines} lines, at most {README_LINES}")
    return found


def check_twins(files: Mapping[str, str]) -> list[str]:
    """Every compiler .cpp has its .h, or begins with the header in which its folder declares functions."""
    found = []
    for path, text in files.items():
        if not path.startswith("compiler/") or not path.endswith(".cpp"):
            continue
        if path.removesuffix(".cpp") + ".h" in files:
            continue
        first = re.search(r'^#include "(.*)"', text, re.MULTILINE)
        own = PurePosixPath("compiler", first[1]) if first else PurePosixPath()
        if own.name not in FOLDER_HEADERS or own.parent != PurePosixPath(path).parent:
            found.append(f"{path}:1: has no header of its name, nor begins with one of its folder")
    return found


def check_folder_sizes(files: Mapping[str, str]) -> list[str]:
    counts = Counter(PurePosixPath(path).parent.as_posix() for path in files)
    return [
        f"{folder}:1: {count} files, at most {FOLDER_FILES}"
        for folder, count in sorted(counts.items())
        if count > FOLDER_FILES and not f"{folder}/".startswith(UNCOUNTED)
    ]
