"""One fresh disk cache for a session, named in the environment before kernelwright opens its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


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
