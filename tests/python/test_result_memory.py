"""The memory of results: aligned, reused, zeroed again where a kernel does not write, NumPy's own to free."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import tracemalloc_domain

import kernelwright as kw
from kernelwright import _core_testing

Array = np.ndarray[Any, Any]
MB = 1 << 20


@kw.kernel
def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c


@kw.kernel
def every_second(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0] // 2):
        c[2 * i] = a[2 * i]
    return c


@kw.kernel
def both(a):
    c = output_tensor(a.shape, a.dtype)
    d = output_tensor(a.shape, "int16")
    for i in range(a.shape[0]):
        c[i] = a[i] + 1
        d[i] = 7
    return c, d


SIZES = [0, 1, 15, 16, 17, 255, 1024, 1025, 20_000, 300_000, MB // 4, 2 * MB // 4, 2 * MB // 4 + 1, 3 * MB]


def ones(n: int) -> Array:
    return np.ones(n, np.float32)


@pytest.mark.parametrize("n", SIZES)
def test_results_are_aligned_and_own_their_data(n: int) -> None:
    for _ in range(2):  # the long way of a call, then the short one
        c = add(ones(n), ones(n))
        assert c.ctypes.data % (2 * MB if c.nbytes >= 2 * MB else 64) == 0
        assert c.flags.owndata and c.flags.writeable and c.flags.c_contiguous and c.base is None
        np.testing.assert_array_equal(c, np.full(n, 2, np.float32))
    first, second = both(ones(n))
    assert first.flags.owndata and second.flags.owndata
    assert not n or (first[-1] == 2 and second[-1] == 7)


@pytest.mark.parametrize("n", SIZES)
def test_reused_memory_is_zero_where_the_kernel_does_not_write(n: int) -> None:
    expected = np.where(np.arange(n) % 2, 0, 3).astype(np.float32)
    if n % 2:
        expected[-1] = 0
    for _ in range(3):
        dirty = add(ones(n), ones(n))
        address = dirty.ctypes.data
        dirty[...] = np.nan
        del dirty
        c = every_second(np.full(n, 3, np.float32))
        assert c.ctypes.data == address
        np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("n", [16, 20_000, 3 * MB])
def test_memory_of_a_result_in_use_is_not_handed_out(n: int) -> None:
    held = [add(np.full(n, k, np.float32), ones(n)) for k in range(8)]
    views = [c[n // 2 :] for c in held]
    del held
    for _ in range(3):
        add(ones(n), ones(n))
    for k, view in enumerate(views):
        np.testing.assert_array_equal(view, np.full(n - n // 2, k + 1, np.float32))


def test_freed_results_are_kept_and_given_back() -> None:
    gc.collect()
    _core_testing.give_back_memory()
    c = add(ones(MB), ones(MB))
    assert _core_testing.kept_memory() == 0
    del c
    assert _core_testing.kept_memory() == 4 * MB
    _core_testing.give_back_memory()
    assert _core_testing.kept_memory() == 0


def test_what_is_kept_is_bounded() -> None:
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    a = ones(16 * MB)
    for n in range(8 * MB, 16 * MB, MB // 2):
        add(a[:n], a[:n])
        assert _core_testing.kept_memory() <= max(most, 32 * MB)
    _core_testing.give_back_memory()


@pytest.mark.parametrize(("before", "after"), [(10, 5), (10, 1000), (1000, 10), (MB, 3 * MB), (3 * MB, 100)])
def test_resize_is_that_of_ordinary_arrays(before: int, after: int) -> None:
    c = add(np.arange(before, dtype=np.float32), np.zeros(before, np.float32))
    c.resize(after, refcheck=False)
    expected = np.arange(before, dtype=np.float32)
    expected.resize(after, refcheck=False)
    np.testing.assert_array_equal(c, expected)
    assert c.flags.owndata


def test_copies_and_pickles_are_ordinary_arrays() -> None:
    c = add(np.arange(50, dtype=np.float32), ones(50))
    again = pickle.loads(pickle.dumps(c))
    copied = c.copy()
    state = c.__reduce__()[2]
    address = c.ctypes.data
    c.__setstate__(state)  # frees its memory and takes another
    target = add(ones(50), ones(50))
    assert target.ctypes.data == address
    np.copyto(target, c)
    for other in (again, copied, target, c):
        np.testing.assert_array_equal(other, np.arange(50, dtype=np.float32) + 1)


def test_results_of_bfloat16_and_of_rank_0() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    c = add(np.ones(100, ml_dtypes.bfloat16), np.ones(100, ml_dtypes.bfloat16))
    assert c.flags.owndata and c.ctypes.data % 64 == 0
    np.testing.assert_array_equal(c.astype(np.float32), np.full(100, 2, np.float32))

    @kw.kernel
    def scalar(a):
        s = output_tensor((), a.dtype)
        s[()] = a[0] + 1
        return s

    s = scalar(ones(3))
    assert s.shape == () and s[()] == 2 and s.flags.owndata


def test_tracemalloc_sees_results() -> None:
    a = ones(50_000)
    only = tracemalloc.Filter(inclusive=True, filename_pattern="*", domain=tracemalloc_domain)

    def traced() -> int:
        return sum(t.size for t in tracemalloc.take_snapshot().filter_traces([only]).traces)

    tracemalloc.start()
    try:
        held = [add(a, a) for _ in range(3)]
        assert traced() == 3 * a.nbytes
        held[0].resize(10, refcheck=False)
        assert traced() == 2 * a.nbytes + 40
        del held
        assert traced() == 0
    finally:
        tracemalloc.stop()


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer ends the process")
def test_a_result_larger_than_memory_is_a_memory_error() -> None:
    @kw.kernel
    def outer(a, b):
        c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                c[i, j] = a[i] * b[j]
        return c

    wide = np.lib.stride_tricks.as_strided(ones(1), (1 << 22,), (0,))
    with pytest.raises(MemoryError, match=r"Unable to allocate 64\.0 TiB for an array with shape"):
        outer(wide, wide)


def test_threads_may_free_the_results_of_others() -> None:
    shared: list[Array] = []
    wrong: list[str] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(300):
            n, k = int(rng.choice([3, 100, 3000, 100_000])), float(rng.integers(100))
            shared.append(add(np.full(n, k, np.float32), ones(n)))
            c = shared.pop(int(rng.integers(len(shared)))) if len(shared) > 10 else None
            if c is not None and not (c == c[0]).all():
                wrong.append(f"seed {seed}: {c}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    shared.clear()
    assert wrong == []


PROGRAM = """
import os, sys, threading
import numpy as np
import kernelwright as kw

@kw.kernel
def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c

def good(n=1000):
    return bool((add(np.ones(n), np.ones(n)) == 2).all())

kept = [add(np.ones(n), np.ones(n)) for n in (5, 1000, 600_000)]
"""

ENDINGS = {
    "results in globals": "",
    "results in a cycle": "class C: pass\nc = C(); c.me = c; c.kept = kept",
    "results held by the interpreter": "sys.kept = kept\nimport builtins\nbuiltins.kept = kept",
    "results freed at exit": "import atexit\natexit.register(kept.clear)",
    "a thread that goes on": """
def forever():
    while True:
        good()
threading.Thread(target=forever, daemon=True).start()
good()
""",
    "a thread that runs without the GIL": """
def forever():
    while True:
        good(300_000)
threading.Thread(target=forever, daemon=True).start()
good(300_000)
""",
    "a forked child that frees and makes": """
child = os.fork()
if child == 0:
    kept.clear()
    sys.exit(0 if good() and good(600_000) else 3)
assert os.waitpid(child, 0)[1] == 0
assert all((k == 2).all() for k in kept) and good()
""",
    "children forked while a thread calls": """
stop = []
def busy():
    while not stop:
        good(50_000)
t = threading.Thread(target=busy); t.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0 if good(50_000) else 3)
    assert os.waitpid(child, 0)[1] == 0
stop.append(1); t.join()
""",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_processes_end_well(tmp_path: Path, ending: str) -> None:
    (tmp_path / "program.py").write_text(PROGRAM + ENDINGS[ending] + "\nprint('end')\n")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore::DeprecationWarning", str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**clean, "KW_CACHE_DIR": str(tmp_path / "cache"), "NUMPY_WARN_IF_NO_MEM_POLICY": "1"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
