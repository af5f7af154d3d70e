"""What holds for all tests: one fresh disk cache for a session, and IR that is verified after each pass."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

# Each pass and each step of a schedule leaves sound IR, and every loop that is planned as vector runs as one:
# else a test ends with E503. Read when kernelwright is imported, as in the processes that tests start.
os.environ.setdefault("KW_DEBUG", "verify=each")


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache directory of this process and, unless a test names another, of those it starts."""
    before = os.environ.get("KW_CACHE_DIR")
    directory = tmp_path_factory.mktemp("cache")
    os.environ["KW_CACHE_DIR"] = str(directory)
    yield directory
    if before is None:
        del os.environ["KW_CACHE_DIR"]
    else:
        os.environ["KW_CACHE_DIR"] = before
