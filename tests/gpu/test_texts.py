"""The CUDA text of every corpus kernel is accepted by NVRTC, without a GPU.

KW_TEST_NVRTC=all compiles all of them (`make test-nvrtc`); otherwise a share, chosen by the day.
"""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import nvrtc
import pytest

import corpus
import kernelwright as kw

CASES = corpus.load()
ALL = os.environ.get("KW_TEST_NVRTC") == "all"
SHARE = 1 if ALL else 20  # of so many kernels one is compiled
SEED = 0 if ALL else datetime.date.today().toordinal()
OTHERS = ("sm_80", "sm_86", "sm_100", "sm_120")  # a third of the kernels for each of them
MODES = ("default", "strict", "fast")

needs_nvrtc = pytest.mark.skipif(
    not ALL and not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found"
)


def chosen() -> list[tuple[int, corpus.Case]]:
    return [(n, case) for n, case in enumerate(CASES) if (n + SEED) % SHARE == 0]


def compiled_for(n: int) -> list[tuple[str, str]]:
    """The devices and modes of kernel n: each kernel for sm_90, and each mode for each device."""
    others = [(device, MODES[(n // 3 + k) % 3]) for k, device in enumerate(OTHERS) if (n + k) % 3 == 0]
    return [("sm_90", "default"), ("sm_90", MODES[1 + n % 2]), *others]


def test_a_third_of_the_kernels_for_each_device() -> None:
    every = [one for n in range(len(CASES)) for one in compiled_for(n)]
    for device in OTHERS:
        modes = [mode for other, mode in every if other == device]
        assert abs(len(modes) - len(CASES) / 3) <= 1 and set(modes) == set(MODES)


@needs_nvrtc
@pytest.mark.parametrize(("n", "case"), chosen(), ids=lambda c: getattr(c, "name", str(c)))
def test_nvrtc_accepts_the_text(n: int, case: corpus.Case) -> None:
    arguments = case.make(np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernels = {fp: kw.kernel(fp=fp)(case.fn) for fp in MODES}
    for device, fp in compiled_for(n):
        made = nvrtc.compile_text(kernels[fp].cuda(*arguments, device=device), device)
        assert made.code == 0 and "C75" not in made.log, f"seed {SEED}: {device}, {fp}\n{made.log}"
        assert made.is_elf


def test_every_kernel_has_a_text() -> None:
    for case in CASES:
        arguments = case.make(np.random.default_rng(0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = kw.kernel(case.fn).cuda(*arguments)
        assert f"{case.fn.__name__}_0(" in text, case.name


PTX = """
import kernelwright as kw
add = kw.kernel('''def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i] * 2
    return c
''')
print(add.ptx("f32[:]", "f32[:]", device="sm_80"))
turned = kw.kernel('''def turned(a):
    c = output_tensor((a.shape[1], a.shape[0]), a.dtype)
    for i in range(a.shape[1]):
        for j in range(a.shape[0]):
            c[i, j] = a[j, i]
    return c
''')
print(turned.ptx("f32[:, :]", device="sm_80"))
strict = kw.kernel(fp="strict")('''def strict(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i] * 2.5
    return c
''')
print(strict.ptx("f32[:]", "f32[:]", device="sm_80"))
"""


@needs_nvrtc
def test_ptx_comes_from_nvrtc() -> None:
    """In a process of its own, which finds NVRTC by itself: in this one a stand-in may be open."""
    done = subprocess.run(
        [sys.executable, "-c", PTX], env=nvrtc.environment(), capture_output=True, text=True, check=True
    )
    default, turned, strict = re.split(r"(?=\.entry (?:turned|strict)_0\()", done.stdout)
    assert ".target sm_80" in default and ".entry add_0(" in default
    # the IR has an fma where it says so, and NVRTC makes no other
    assert "fma.rn.f32" in default and "mul" not in re.findall(r"\b(mul|fma)(?:\.rn)?\.f32", default)
    assert (
        "fma" not in strict
        and re.search(r"mul(\.rn)?\.f32", strict)
        and re.search(r"add(\.rn)?\.f32", strict)
    )
    # the driver's assembler would spill rather than tell that it needs more registers
    assert ".minnctapersm 1\n" in turned
