"""With KW_TEST_DEVICE=emulated these tests make their tensors on the emulated GPU."""

from __future__ import annotations

import os

import pytest

from kernelwright.mindspore import context


@pytest.fixture(autouse=True)
def device_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.environ.get("KW_TEST_DEVICE") == "emulated":
        monkeypatch.setattr(context, "_decided", "gpu")
