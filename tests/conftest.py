"""What holds for all tests: one fresh disk cache for a session, and IR that is verified after each pass.

With KW_TEST_DEVICE=emulated the machine of all tests has a GPU: the stand-ins of tests/gpu/emulator.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Each pass and each step of a schedule leaves sound IR, and every loop that is planned as vector runs as one:
# else a test ends with E503. Read when kernelwright is imported, as in the processes that tests start.
os.environ.setdefault("KW_DEBUG", "verify=each")
# Most tests run one branch of a kernel; to compile the others would take most of the time of the GPU's tests.
os.environ.setdefault("KW_BACKGROUND", "0")
# A job in the background begins with SIGINT ignored, and so would the processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if os.environ.get("KW_TEST_DEVICE") == "emulated":
    sys.path.insert(0, str(Path(__file__).parent / "gpu" / "emulator"))
    from stand_ins import environment

    os.environ.update(environment(KW_EMULATOR_DEVICES="90,80"))


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
