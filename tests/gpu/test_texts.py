"""The CUDA text of every corpus kernel is accepted by NVRTC, without a GPU.

KW_TEST_NVRTC=all compiles all of them (`make test-nvrtc`); otherwise a share, chosen by the day.
"""

from __future__ import annotations

import datetime
import os
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

needs_nvrtc = pytest.mark.skipif(nvrtc.library() is None, reason="libnvrtc.so.13 or .12 was not found")


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
        assert made.cubin.startswith(b"\x7fELF")


def test_every_kernel_has_a_text() -> None:
    for case in CASES:
        arguments = case.make(np.random.default_rng(0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = kw.kernel(case.fn).cuda(*arguments)
        assert f"{case.fn.__name__}_0(" in text, case.name
