"""third_party/README.md has a row for everything that the lists beside it ask for; what is installed is
pinned with all that it needs, by versions and hashes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "third_party"
HASHED = re.compile(
    r"[\w.-]+==[\w.+]+( ; [^\\]+)? \\\n(    --hash=sha256:[0-9a-f]{64} \\\n)*    --hash=sha256:[0-9a-f]{64}\n"
)


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def missing(lists: dict[str, str], readme: str) -> list[str]:
    """Debian packages, and versions of Python packages, that no row of a table names."""
    rows = [line.lower() for line in readme.splitlines() if line.startswith("| ")]
    out = []
    for name, text in lists.items():
        for line in lines(text):
            parts = line.split()[0].split("|") if name.endswith("apt.txt") else re.split(r"==|;", line)[:2]
            wanted = [w.strip().lower() for w in parts]
            if not any(all(w in row for w in wanted) for row in rows):
                out.append(f"{name}: {line}")
    return out


def unlocked(wanted: str, lock: str) -> list[str]:
    """Packages of a list that its lock does not pin, and what in the lock is no package with hashes."""
    loose = HASHED.sub("", lock)
    pins = {re.split(r"[ ;\\]", line)[0].replace("_", "-") for line in lock.splitlines() if "==" in line}
    asked = [re.split(r"[ ;]", line)[0].replace("_", "-") for line in lines(wanted)]
    return [w for w in asked if w not in pins] + loose.splitlines()


def test_every_dependency_has_a_row() -> None:
    lists = {p.name: p.read_text() for p in [*FOLDER.glob("*apt.txt"), *FOLDER.glob("*requirements.in")]}
    assert len(lists) == 6
    assert missing(lists, (FOLDER / "README.md").read_text()) == []


@pytest.mark.parametrize("name", ["requirements", "bench-requirements", "wheel-requirements"])
def test_everything_installed_is_pinned_with_hashes(name: str) -> None:
    assert unlocked((FOLDER / f"{name}.in").read_text(), (FOLDER / f"{name}.txt").read_text()) == []


@pytest.mark.parametrize("name", ["apt", "bench-apt"])
def test_every_debian_package_has_a_minimal_version(name: str) -> None:
    assert all(
        re.fullmatch(r"\S+ [\d:.]+", line) for line in (FOLDER / f"{name}.txt").read_text().splitlines()
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("apt.txt", "ninja-build 1.11"),
        ("x.in", "numpy==1.0"),
        ("x.in", 'numpy==2.0; python_version < "3.11"'),
    ],
)
def test_reports_a_package_or_version_without_a_row(name: str, line: str) -> None:
    assert missing({name: line}, "| NumPy | 2.1 |\n| Ninja | 1 |") == [f"{name}: {line}"]


def test_reports_what_is_not_pinned() -> None:
    digest = "0" * 64
    lock = f"ml-dtypes==1.0 ; x \\\n    --hash=sha256:{digest} \\\n    --hash=sha256:{digest}\n"
    assert unlocked("ml_dtypes==1.0; x\n", lock) == []
    assert unlocked("ruff==2\n", lock + "mypy==1\n") == ["ruff==2", "mypy==1"]
