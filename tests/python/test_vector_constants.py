"""Constants of long bodies in vector registers: the instructions that use them read them themselves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FLAGS = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
PROGRAM = """
import numpy as np, kernelwright as kw
f = kw.kernel('''def f(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = erf(a[i]) + log(a[i])
    return c
''')
f(np.ones(64, np.float32))
print(f.asm())
"""


def constants_read(target: str) -> int:
    environment = {**os.environ, "KW_TARGET": target}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
    )
    return len(re.findall(r"\tvf\w*madd\w+ps\t\.Lconstant", done.stdout))


@pytest.mark.skipif("avx2" not in FLAGS, reason="no AVX2")
def test_products_read_their_constants_with_avx2() -> None:
    assert constants_read("avx2") >= 20


@pytest.mark.skipif("avx512f" not in FLAGS, reason="no AVX-512")
def test_avx512_broadcasts_as_it_reads() -> None:
    assert constants_read("avx512") == 0
