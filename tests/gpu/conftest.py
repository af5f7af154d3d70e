"""Makes the corpus and the emulator importable, and opens the stand-ins in this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path[:0] = [
    str(Path(__file__).parent),
    str(Path(__file__).parent / "emulator"),
    str(Path(__file__).parents[1] / "kernels"),
]

import nvrtc  # noqa: E402
import stand_ins  # noqa: E402
from device import Device  # noqa: E402

import kernelwright as kw  # noqa: E402


@pytest.fixture(scope="session")
def device() -> Device:
    """The emulated GPU of this process. Driver and NVRTC are opened once in a process, so that tests of
    machines without a GPU run in processes of their own. With KW_TEST_DEVICE=cuda, the first GPU of the
    machine.
    """
    if os.environ.get("KW_TEST_DEVICE") == "cuda":
        assert kw.cuda.why() == ""
        opened = nvrtc.path()
        assert opened
        return Device("libcuda.so.1", opened, kw.cuda.device().arch)
    wanted = stand_ins.environment(KW_EMULATOR_DEVICES="90,80")
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        assert kw.cuda.why() == "", "a test without this fixture has opened the driver in this process"
        probe = kw.kernel("def probe(a):\n    a[0] = 1\n    return a\n")
        probe.ptx("f32[:]")  # opens NVRTC
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return Device(wanted["KW_LIBCUDA"], wanted["KW_NVRTC"], "sm_90")
