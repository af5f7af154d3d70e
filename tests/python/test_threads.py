"""Threads: kw.threads, kw.set_threads, KW_THREADS; parallel regions under Ctrl-C, fork, many callers, FTZ.

Regions are written as IR, in which loops say that they are parallel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import _core_testing

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import kernelwright as kw
from kernelwright import _core_testing

HEAD = (
    "# kw-ir 2\\ndef f(a: buf(f64, (n,)), w: inout(f64, (n,))):\\n  fp('strict')\\n  dims(n)\\n"
    "  site('E303', a, 0)\\n"
)
SUMS = HEAD + (
    "  for i in parallel(0, n, 1, chunk=3):\\n    for j in serial(0, n, 1):\\n"
    "      w[i] = w[i] * 0.5 + a[j]\\n  return w\\n"
)
ENDLESS = HEAD + (
    "  for i in parallel(0, 4611686018427387904, 1):\\n    w[i % 2] = cast(f64, i)\\n  return w\\n"
)

def sums():
    w = np.arange(100.0)
    assert _core_testing.run_ir(SUMS, [A, w], [100]) == (0, 0)
    return w.tobytes()

A = 1.0 / (np.arange(100.0) + 3.0)
kw.set_threads(1)
WANT = sums()
kw.set_threads(3)
assert sums() == WANT
"""


@pytest.fixture(autouse=True)
def _same_number_afterwards() -> Iterator[None]:
    before = kw.threads()
    yield
    kw.set_threads(before)


def run(body: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("KW_")} | variables
    line = [sys.executable, "-c", body]
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=60, check=False)


def printed(body: str, **variables: str) -> str:
    done = run(body, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_number_is_the_one_that_was_set() -> None:
    for n in (1, 2, 7, 1024, np.int64(3)):
        kw.set_threads(n)
        assert kw.threads() == n
        assert type(kw.threads()) is int


@pytest.mark.parametrize("n", [2.0, "2", None, True, [2]])
def test_number_is_an_integer(n: object) -> None:
    with pytest.raises(TypeError) as raised:
        kw.set_threads(n)  # type: ignore[arg-type]
    assert str(raised.value) == f"the number of threads is an int, not {type(n).__name__}"


@pytest.mark.parametrize("n", [0, -1, 1025, 2**70])
def test_number_is_from_1_to_1024(n: int) -> None:
    with pytest.raises(ValueError, match=r"^the number") as raised:
        kw.set_threads(n)
    assert str(raised.value) == f"the number of threads is from 1 to 1024, not {n}"


SHOW = "import kernelwright as kw; print(kw.threads())"


def test_environment_gives_the_number() -> None:
    assert printed(SHOW, KW_THREADS="5") == "5"
    assert printed(SHOW, KW_THREADS="") == printed(SHOW)


@pytest.mark.parametrize("text", ["0", "two", "-3", "1.5", "1025"])
def test_bad_number_in_the_environment_is_an_error_at_import(text: str) -> None:
    done = run(SHOW, KW_THREADS=text)
    assert done.returncode == 1
    wrong = "which is no number of threads: give a whole number from 1 to 1024"
    assert done.stderr.splitlines()[-1] == f"ValueError: KW_THREADS is '{text}', {wrong}"


def test_default_follows_the_affinity_mask() -> None:
    one = sorted(os.sched_getaffinity(0))[0]
    assert printed(f"import os; os.sched_setaffinity(0, [{one}]); {SHOW}") == "1"
    assert 1 <= int(printed(SHOW)) <= len(os.sched_getaffinity(0))


def test_children_of_fork_run_regions() -> None:
    body = """
for _ in range(5):
    child = os.fork()
    if child == 0:
        os._exit(0 if sums() == WANT and kw.threads() == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert sums() == WANT
"""
    printed(PROGRAM + body)


def test_children_of_fork_run_kernels() -> None:
    """Of multiprocessing, forked while another thread is in regions."""
    body = """
import multiprocessing

def work(k):
    return sums() == WANT

stop = []
def keep_busy():
    while not stop:
        sums()

busy = threading.Thread(target=keep_busy)
busy.start()
with multiprocessing.get_context("fork").Pool(4) as pool:
    good = pool.map(work, range(16))
stop.append(1)
busy.join()
print(good == [True] * 16)
"""
    assert printed(PROGRAM + body).endswith("True")


def test_thirty_two_threads_call_at_once() -> None:
    body = """
wrong = []
def call():
    for _ in range(4):
        if sums() != WANT:
            wrong.append(1)

callers = [threading.Thread(target=call) for _ in range(32)]
for t in callers:
    t.start()
for t in callers:
    t.join()
print(len(wrong))
"""
    assert printed(PROGRAM + body) == "0"


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_interrupt_during_a_region_comes_within_a_second(threads: int) -> None:
    body = f"""
kw.set_threads({threads})
sent = []
def send():
    time.sleep(0.3)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=send, daemon=True).start()
try:
    _core_testing.run_ir(ENDLESS, [A, np.zeros(100)], [100])
except KeyboardInterrupt:
    late = time.monotonic() - sent[0]
    print("late" if late > 1.0 else "interrupted", late)
assert sums() == WANT
"""
    assert printed(PROGRAM + body).split()[0] == "interrupted"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="sets a register of this processor")
def test_workers_flush_subnormals_when_their_caller_does() -> None:
    """Workers that began before the caller changed its mind follow it."""
    body = """
import ctypes, mmap
# ldmxcsr [rdi]; ret
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([0x0F, 0xAE, 0x17, 0xC3]))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
load = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint32))(address)
TINY = HEAD + (
    "  for i in parallel(0, n, 1, chunk=1):\\n    w[i] = a[0] * 1e-308 * 0.01\\n  return w\\n"
)
for word, flushed in ((0x1F80, False), (0x9FC0, True), (0x1F80, False)):
    for _ in range(20):
        w = np.ones(100)
        load(ctypes.byref(ctypes.c_uint32(word)))
        status = _core_testing.run_ir(TINY, [A, w], [100])
        load(ctypes.byref(ctypes.c_uint32(0x1F80)))
        assert status == (0, 0) and ((w == 0.0) == flushed).all(), (w, flushed)
print("same")
"""
    assert printed(PROGRAM + body) == "same"


def test_fault_in_a_region_is_reported() -> None:
    text = (
        "# kw-ir 2\ndef f(w: inout(f64, (n,))):\n  fp('strict')\n  dims(n)\n  site('E303', w, 0)\n"
        "  for i in parallel(0, n, 1):\n    check(i != 70, site=0)\n    w[i] = 1.0\n  return w\n"
    )
    for threads in (1, 2, 3, 8):
        kw.set_threads(threads)
        assert _core_testing.run_ir(text, [np.zeros(100)], [100]) == (1, 70)
        assert _core_testing.run_ir(text, [np.zeros(70)], [70]) == (0, 0)


def test_malformed_ir_is_an_error() -> None:
    with pytest.raises(ValueError, match="malformed IR"):
        _core_testing.run_ir("# kw-ir 2\ndef f(a):\n  dims()\n", [], [])


def test_threads_may_change_while_kernels_run() -> None:
    @kw.kernel
    def twice(a):  # type: ignore[no-untyped-def]
        out = output_tensor(a.shape, a.dtype)  # type: ignore[name-defined]
        for i in range(a.shape[0]):
            out[i] = a[i] * 2.0
        return out

    a = np.arange(1000.0)
    wrong: list[int] = []

    def call() -> None:
        for _ in range(200):
            if not (twice(a) == a * 2.0).all():
                wrong.append(1)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for t in callers:
        t.start()
    for n in range(1, 200):
        kw.set_threads(n % 8 + 1)
    for t in callers:
        t.join()
    assert not wrong
