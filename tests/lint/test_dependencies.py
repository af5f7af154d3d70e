"""third_party/README.md has a row for everything that the lists beside it install, with pinned versions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "third_party"


def missing(lists: dict[str, str], readme: str) -> list[str]:
    """Packages, and versions of Python packages, that no row of a table names."""
    rows = [line.lower() for line in readme.splitlines() if line.startswith("| ")]
    out = []
    for name, text in lists.items():
        for line in text.splitlines():
            words = [w for w in re.split(r"==|;", line) if not line.startswith("#")]
            wanted = [w.strip().lower() for w in words[:2]]
            if wanted and not any(all(w in row for w in wanted) for row in rows):
                out.append(f"{name}: {line}")
    return out


def test_every_dependency_has_a_row() -> None:
    lists = {p.name: p.read_text() for p in FOLDER.glob("*.txt")}
    assert len(lists) == 4
    assert missing(lists, (FOLDER / "README.md").read_text()) == []


@pytest.mark.parametrize("line", ["ninja-build", "numpy==1.0", 'numpy==2.0; python_version < "3.11"'])
def test_reports_a_package_or_version_without_a_row(line: str) -> None:
    assert missing({"apt.txt": line}, "| NumPy | 2.1 |\n| Ninja | 1 |") == [f"apt.txt: {line}"]
