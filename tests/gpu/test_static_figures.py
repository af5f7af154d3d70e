"""What ptxas makes of each class of launches: registers, spills, and accesses of 16 bytes.

The ceilings are what NVRTC 13.0 gives, rounded up to the 8 registers that a thread gets at a time. 64 of them
leave room for 1,024 threads of a multiprocessor, 32 for all 2,048.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import nvrtc
import pytest
from test_requests import (
    CASES,
    argmax,
    broadcast,
    chain,
    column_sum,
    cumsum,
    full_sum,
    gather,
    histogram,
    inclusive,
    layernorm,
    permute,
    recurrence,
    row_sum,
    softmax,
    stencil,
    transpose,
)

import kernelwright as kw


class Launch(NamedTuple):
    """Most registers on sm_80 and sm_90, and on sm_100; instructions that load and store 16 bytes."""

    registers: int
    on_sm_100: int
    loads: int = 0
    stores: int = 0


# In the order of the text: where there are several versions, short rows, long rows, then many rows.
TABLE: dict[Callable[..., Any], list[Launch]] = {
    chain: [Launch(32, 32, 4, 2), Launch(32, 32, 2, 1)],  # flat: two vectors of two operands; rows: one
    broadcast: [Launch(32, 32), Launch(32, 32, 2, 1)],
    stencil: [Launch(24, 16, 0, 4), Launch(32, 32), Launch(32, 32, 3, 1)],
    gather: [Launch(32, 32), Launch(32, 32)],
    transpose: [Launch(56, 72, 2, 1)],
    permute: [Launch(56, 80, 2, 1)],
    row_sum: [Launch(40, 56), Launch(32, 32), Launch(32, 32)],
    argmax: [Launch(40, 56), Launch(40, 48, 2, 0), Launch(40, 48, 2, 0)],
    softmax: [Launch(48, 64), Launch(48, 72, 2, 1), Launch(56, 72, 3, 1), Launch(56, 72, 2, 1)],
    layernorm: [Launch(48, 64), Launch(40, 48, 3, 1), Launch(40, 48, 3, 1)],
    # one block of 32 threads combines what others have summed
    full_sum: [Launch(16, 16), Launch(32, 32), Launch(96, 80), Launch(16, 16)],
    column_sum: [Launch(48, 56, 2), Launch(40, 64, 2)],
    cumsum: [Launch(40, 64)],
    inclusive: [Launch(24, 32), Launch(40, 32), Launch(64, 64), Launch(48, 64)],
    recurrence: [Launch(24, 32)],
    histogram: [Launch(32, 32), Launch(32, 32)],
}


def compiled(function: Callable[..., Any], device: str, as_ptx: bool = False) -> Any:
    rng = np.random.default_rng(1)
    text = kw.kernel(function).cuda(*(make(rng) for make in CASES[function]), device=device)
    made = nvrtc.compile_text(text, device.replace("sm_", "compute_") if as_ptx else device)
    assert made.code == 0, made.log
    return made


def test_every_class_has_a_row() -> None:
    assert set(TABLE) == set(CASES)


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("function", TABLE, ids=lambda f: f.__name__)
def test_registers_and_spills(function: Callable[..., Any], device: str) -> None:
    log = compiled(function, device).log
    # ptxas tells of the kernels in an order of its own
    names = re.findall(r"Compiling entry function '(\w+)'", log)
    used = dict(zip(names, map(int, re.findall(r"Used (\d+) registers", log)), strict=True))
    rows = TABLE[function]
    assert len(used) == len(rows), used
    for number, row in enumerate(rows):
        most = row.on_sm_100 if device == "sm_100" else row.registers
        assert used[f"{function.__name__}_{number}"] <= most, used
    assert not re.findall(r"[1-9]\d* bytes (?:spill|stack frame)", log), log


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("function", TABLE, ids=lambda f: f.__name__)
def test_accesses_of_16_bytes(function: Callable[..., Any]) -> None:
    """In each launch. Sums in lanes load single elements, side by side in a warp."""
    kernels = re.split(r"\.visible \.entry ", compiled(function, "sm_90", as_ptx=True).ptx)[1:]
    found = {kernel[: kernel.index("(")]: nvrtc.accesses_of_16_bytes(kernel) for kernel in kernels}
    assert found == {f"{function.__name__}_{n}": (r.loads, r.stores) for n, r in enumerate(TABLE[function])}
