"""Tensors on the device of the tests: the CPU, or with KW_TEST_DEVICE=emulated the emulated GPU."""

from __future__ import annotations

import os
from typing import Any

import kernelwright as kw

DEVICE = "cuda" if os.environ.get("KW_TEST_DEVICE") == "emulated" else "cpu"


def tensor(x: Any) -> kw.Tensor:
    return kw.Tensor(x, device=DEVICE)
