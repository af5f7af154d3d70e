"""What README.md shows is what the product does: its kernel runs, its error is the one that is raised."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import kernelwright as kw

README = (Path(__file__).parents[2] / "README.md").read_text()
BLUR = """\
import kernelwright as kw
@kw.kernel
def blur(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = 0.5 * (a[i] + a[i + 1])
    return c
"""
FIRST_CHECKS = """
at = np.array([1.0, 2.0])
np.testing.assert_allclose(found, 3 * at * at + np.exp(at), rtol=1e-12)
e = np.exp(x - x.max(1, keepdims=True))
np.testing.assert_allclose(softmax(x), e / e.sum(1, keepdims=True), rtol=1e-5)
"""


def test_the_first_kernel_and_its_gradient(tmp_path: Path) -> None:
    first, second = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    script = tmp_path / "first.py"
    # A process of its own: the example looks for a GPU, which a process does once.
    script.write_text(first + second.replace("kw.grad(", "found = kw.grad(") + FIRST_CHECKS)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_error(tmp_path: Path) -> None:
    (block,) = re.findall(r"```\n(  blur\.py.*?)  ```", README, re.DOTALL)
    script = tmp_path / "blur.py"
    script.write_text(BLUR)
    with pytest.raises(kw.KernelIndexError) as caught:
        runpy.run_path(str(script))["blur"](np.ones(4))
    assert str(caught.value).replace(f"{tmp_path}/", "") == textwrap.dedent(block).rstrip("\n")
