"""The CUDA text of every corpus kernel is accepted by NVRTC, without a GPU.

KW_TEST_NVRTC=all compiles all of them (`make test-nvrtc`); otherwise a share, chosen by the day.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import warnings

import numpy as np
import nvrtc
import pytest

import corpus
import kernelwright as kw

CASES = corpus.load()
SHARE = 12  # of so many kernels one is compiled
SEED = 0 if os.environ.get("KW_TEST_NVRTC") == "all" else datetime.date.today().toordinal()
OTHERS = ("sm_80", "sm_86", "sm_100", "sm_120")  # a third of the kernels, each for one of them

needs_nvrtc = pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")


def chosen() -> list[tuple[int, corpus.Case]]:
    every = 1 if os.environ.get("KW_TEST_NVRTC") == "all" else SHARE
    return [(n, case) for n, case in enumerate(CASES) if (n + SEED) % every == 0]


@needs_nvrtc
@pytest.mark.parametrize(("n", "case"), chosen(), ids=lambda c: getattr(c, "name", str(c)))
def test_nvrtc_accepts_the_text(n: int, case: corpus.Case) -> None:
    arguments = case.make(np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = kw.kernel(fp=("default", "strict", "fast")[n % 3])(case.fn)
    for device in ("sm_90", *([OTHERS[n // 3 % len(OTHERS)]] if n % 3 == 0 else [])):
        made = nvrtc.compile_text(kernel.cuda(*arguments, device=device), device)
        assert made.code == 0, f"seed {SEED}: {device}\n{made.log}"
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
"""


@needs_nvrtc
def test_ptx_comes_from_nvrtc() -> None:
    """In a process of its own, which finds NVRTC by itself: in this one a stand-in may be open."""
    environment = {k: v for k, v in os.environ.items() if k not in ("KW_LIBCUDA",)}
    done = subprocess.run(
        [sys.executable, "-c", PTX], env=environment, capture_output=True, text=True, check=True
    )
    assert ".target sm_80" in done.stdout and ".entry add_0(" in done.stdout
    # the IR has an fma where it says so, and NVRTC makes no other
    assert "fma.rn.f32" in done.stdout or ("mul.f32" in done.stdout and "add.f32" in done.stdout)
