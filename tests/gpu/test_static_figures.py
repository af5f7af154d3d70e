"""What ptxas makes of each class of launches: registers, spills, and accesses of 16 bytes.

The ceilings are what NVRTC 13.0 gives, rounded up to the 8 registers that a thread gets at a time. 40 of them
leave room for 1,536 threads of a multiprocessor, 32 for all 2,048. Threads with rows of their own have more.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
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
    chain: [Launch(32, 32, 8, 4), Launch(32, 32, 2, 1)],  # flat: four vectors of two operands; rows: one
    broadcast: [Launch(32, 32), Launch(32, 32, 2, 1)],
    stencil: [Launch(24, 16, 0, 4), Launch(32, 32), Launch(32, 32, 3, 1)],
    gather: [Launch(24, 24), Launch(24, 24)],
    transpose: [Launch(38, 38, 4, 4), Launch(32, 40)],  # tiles of vectors, and of elements
    permute: [Launch(40, 40, 4, 4), Launch(40, 40), *[Launch(32, 32)] * 3],  # then small matrices
    row_sum: [Launch(40, 56), Launch(32, 32), Launch(32, 32)],
    argmax: [Launch(40, 56), Launch(40, 40, 2, 0), Launch(40, 40, 2, 0)],
    softmax: [Launch(48, 64), Launch(40, 40, 2, 1), Launch(40, 40, 3, 1), Launch(48, 48, 2, 1)],
    layernorm: [Launch(48, 64), Launch(40, 40, 3, 1), Launch(40, 40, 3, 1)],
    full_sum: [Launch(16, 16), Launch(32, 32), Launch(32, 40)],  # one block combines what others have summed
    column_sum: [Launch(48, 56, 2), Launch(40, 64, 2)],
    cumsum: [Launch(40, 64)],
    inclusive: [Launch(32, 32, 1, 0), Launch(40, 32), Launch(64, 64), Launch(40, 40)],
    recurrence: [Launch(32, 40, 1, 0)],
    histogram: [Launch(32, 32), Launch(24, 24)],
}


def compiled(text: str, device: str) -> Any:
    made = nvrtc.compile_text(text, device)
    assert made.code == 0, made.log
    return made


def text_of(function: Callable[..., Any], device: str) -> str:
    rng = np.random.default_rng(1)
    return kw.kernel(function).cuda(*(make(rng) for make in CASES[function]), device=device)


def test_every_class_has_a_row() -> None:
    assert set(TABLE) == set(CASES)


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("function", TABLE, ids=lambda f: f.__name__)
def test_registers_and_spills(function: Callable[..., Any], device: str) -> None:
    head, *kernels = re.split(r"(?m)^(?=KW_(?:TEAM_)?KERNEL\()", text_of(function, device))
    used = []
    for kernel in kernels:  # each is a unit of its own
        log = compiled(head + kernel, device).log
        assert not re.findall(r"[1-9]\d* bytes (?:spill|stack frame)", log), log
        used += map(int, re.findall(r"Used (\d+) registers", log))
    most = [row.on_sm_100 if device == "sm_100" else row.registers for row in TABLE[function]]
    assert len(used) == len(most) and all(u <= m for u, m in zip(used, most, strict=True)), used


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("function", TABLE, ids=lambda f: f.__name__)
def test_accesses_of_16_bytes(function: Callable[..., Any]) -> None:
    """In each launch. Sums in lanes load single elements, side by side in a warp."""
    kernels = re.split(r"\.visible \.entry ", compiled(text_of(function, "sm_90"), "compute_90").ptx)[1:]
    found = {kernel[: kernel.index("(")]: nvrtc.accesses_of_16_bytes(kernel) for kernel in kernels}
    assert found == {f"{function.__name__}_{n}": (r.loads, r.stores) for n, r in enumerate(TABLE[function])}


# A row of bytes: a thread has the least of 16 side by side.
SPILLS = """
import kernelwright as kw
text = '''def least_of(x):
    low = output_tensor((x.shape[0],), "int64")
    for i in range(x.shape[0]):
        least = int8(0)
        at = -1
        for j in range(x.shape[1]):
            if x[i, j] <= least:
                at = j
                least = x[i, j]
        low[i] = at
    return low
'''
least_of = kw.kernel(text)
least_of.warmup("i8[:, :]", device="sm_90")
for launch in least_of.explain("i8[:, :]", device="sm_90").versions[0].launches:
    print(launch.registers, launch.spilled)
"""


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
def test_kernels_have_the_registers_that_they_need(tmp_path: Path) -> None:
    """With at most 40, ptxas would spill. In a process of its own, which finds NVRTC by itself."""
    done = subprocess.run(
        [sys.executable, "-c", SPILLS],
        env={**nvrtc.environment(), "KW_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(found) == 3 and all(spilled == 0 for _, spilled in found)
    assert max(registers for registers, _ in found) > 48
