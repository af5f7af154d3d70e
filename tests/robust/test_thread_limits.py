"""The system gives no threads: the caller does the work of those that would help it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cold import expect, run

PROGRAM = """
import numpy as np
import kernelwright as kw

kw.set_threads(4)

@kw.kernel
def scale(a):
    out = output_tensor(a.shape, a.dtype)
    for i in parallel(a.shape[0]):
        out[i] = sin(a[i]) * 3.0
    return out

@kw.kernel
def total(a, n):
    out = output_tensor((1,), a.dtype)
    t = a[0]
    for i in range(n):
        t = t * 0.5 + a[i & 7]
    out[0] = t
    return out

a = np.linspace(0, 1, 1 << 18)
for _ in range(2):
    assert np.allclose(scale(a), np.sin(a) * 3.0)
    total(a, 200_000_000)
print("done")
"""


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("preload") / "no_threads.so"
    source = Path(__file__).with_name("no_threads.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.parametrize("given", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("cache", ["on", "off"])
def test_work_is_done_without_threads(refusing: Path, tmp_path: Path, cache: str, given: int) -> None:
    env = {
        "LD_PRELOAD": str(refusing),
        "KW_TEST_THREADS": str(given),
        "KW_CACHE_DIR": str(tmp_path),
        **({"KW_DEBUG": "cache=off"} if cache == "off" else {}),
        "OPENBLAS_NUM_THREADS": "1",  # NumPy's own threads would take those that are given
    }
    for _ in range(2):
        expect(run(PROGRAM, env=env), "done", (cache, given))
