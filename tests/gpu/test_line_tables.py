"""Kernels with debug_info: their text says which line of the source each of its lines comes from."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device, line_here

import kernelwright as kw


def softened(x):
    s = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s[i] += x[i, j] * halved(x[i, 0])
    return s


FIRST = line_here() - 8  # of the function above


def halved(a):
    return a * 0.5


def kernel(debug_info: bool) -> Any:
    return kw.kernel(debug_info=debug_info)(softened)


def test_each_line_names_its_source() -> None:
    text = kernel(True).cuda("f32[:, :]", device="sm_90")
    assert "#line" not in kernel(False).cuda("f32[:, :]", device="sm_90")
    lines = text[text.index(" softened_0(") :].split("\n}\n")[0].splitlines()
    named = [re.fullmatch(r'#line (\d+) "(.*)"', line) for line in lines[1::2]]
    assert len(named) > 20 and all(named), "each line of a kernel has a directive"
    found = {int(m[1]) for m in named if m and m[2] == __file__}
    assert found >= {FIRST + 2, FIRST + 3, FIRST + 4} and found <= set(range(FIRST, FIRST + 12)), found
    sums = re.findall(rf'#line (\d+) "{re.escape(__file__)}"\n +s_own\[half\b', text)
    assert set(sums) == {str(FIRST + 4)}


@pytest.mark.parametrize("debug_info", [False, True])
def test_results_are_the_same(debug_info: bool, device: Device) -> None:
    x = np.random.default_rng(1).standard_normal((70, 90)).astype("float32")
    found = kernel(debug_info)(kw.Tensor(x, device="cuda")).numpy()
    assert found.tobytes() == kernel(False)(x).tobytes()


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
def test_the_compiler_makes_line_tables_of_the_same_code() -> None:
    plain, named = (
        nvrtc.compile_text(kernel(on).cuda("f32[:, :]", device="sm_90"), "sm_90") for on in (False, True)
    )
    figures = [re.findall(r"Used \d+ registers.*", made.log) for made in (plain, named)]
    assert plain.code == named.code == 0 and figures[0] == figures[1]
    ptx = nvrtc.compile_text(kernel(True).cuda("f32[:, :]", device="sm_90"), "compute_90").ptx
    assert f'"{__file__}"' in ptx
