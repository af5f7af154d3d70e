"""The tree under test: which files belong to it and their text.
Everything is found from this file's own location; git decides what belongs to the tree,
a plain walk does where there is no git. Knows no rule.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED_FOLDERS = {".git", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".cache"}


def belongs(path: str) -> bool:
    """False for build folders at the top and for caches anywhere."""
    folders = path.split("/")[:-1]
    if folders and folders[0].startswith("build"):
        return False
    return not SKIPPED_FOLDERS.intersection(folders)


def git_files(root: Path) -> list[str]:
    """Tracked files and new ones that are not ignored; empty where git or the repository is missing."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [path for path in done.stdout.split("\0") if path]


def walked_files(root: Path) -> list[str]:
    """Every file below `root`, skipping build folders and caches."""
    found: list[str] = []
    for folder, subfolders, names in os.walk(root):
        inside = Path(folder).relative_to(root)
        subfolders[:] = [name for name in subfolders if belongs((inside / name / "any").as_posix())]
        found += [(inside / name).as_posix() for name in names]
    return found


def list_files(root: Path) -> list[str]:
    """Paths relative to `root`, sorted; no links, no submodules, no files deleted but still in the index."""
    paths = {path for path in git_files(root) or walked_files(root) if belongs(path)}
    return sorted(path for path in paths if (root / path).is_file() and not (root / path).is_symlink())


@cache
def files() -> dict[str, str]:
    """Every text file of the tree; binary files map to the empty text, so that layout still sees them."""
    return {path: decode((ROOT / path).read_bytes()) for path in list_files(ROOT)}


def decode(data: bytes) -> str:
    try:
        return "" if b"\0" in data else data.decode("utf-8")
    except UnicodeDecodeError:
        return ""


def expect_clean(violations: Iterable[str]) -> None:
    """Fail with every violation on its own line."""
    listed = sorted(violations)
    assert not listed, f"{len(listed)} violation(s)\n" + "\n".join(listed)


def expect_reported(violations: Iterable[str], *fragments: str) -> None:
    """Self-test of a checker: exactly one violation for each fragment, in any order."""
    listed = list(violations)
    missing = [fragment for fragment in fragments if not any(fragment in line for line in listed)]
    assert not missing, f"missing {missing} in {listed}"
    assert len(listed) == len(fragments), listed
