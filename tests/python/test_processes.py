"""Many processes on one cache, many threads on one kernel, fork and spawn: right, and nothing compiled twice.

Everything runs in new processes; KW_DEBUG=time tells how often something was compiled.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, threading, time
import numpy as np
import kernelwright as kw

@kw.kernel
def scale(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = a[i] * 3.0
    return out

@kw.kernel
def total(a):
    out = output_tensor((1,), a.dtype)
    out[0] = 0.0
    for i in range(a.shape[0]):
        out[0] += a[i]
    return out

A = np.arange(100.0)
"""


def environment(folder: Path, words: str = "") -> dict[str, str]:
    """That of this process with a cache of its own."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    return {**clean, "KW_CACHE_DIR": str(folder / "cache"), "KW_DEBUG": words}


def run(folder: Path, body: str, words: str = "") -> tuple[str, str]:
    """(stdout, stderr) of PROGRAM followed by `body`, which must end well."""
    (folder / "program.py").write_text(PROGRAM + body)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env=environment(folder, words),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def compiled(stderr: str) -> dict[str, int]:
    """How often each kernel was compiled."""
    names = re.findall(r"^\[kw\] (\w+) +emit ", stderr, re.MULTILINE)
    return {name: names.count(name) for name in names}


COLD = """
open(f"ready{sys.argv[1]}", "w").close()
while not os.path.exists("go"):
    time.sleep(0.001)
assert (scale(A) == A * 3.0).all() and total(A)[0] == A.sum()
print("right")
"""


def test_sixteen_cold_processes_share_one_cache(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM + COLD)
    started = [
        subprocess.Popen(
            [sys.executable, "program.py", str(n)],
            cwd=tmp_path,
            env=environment(tmp_path, "time"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(16)
    ]
    until = time.monotonic() + 50
    while len(list(tmp_path.glob("ready*"))) < 16 and time.monotonic() < until:
        time.sleep(0.01)
    (tmp_path / "go").touch()
    said = [p.communicate(timeout=300) for p in started]
    assert [out for out, _ in said] == ["right\n"] * 16, said
    # one process compiles a kernel while the others wait for its entry
    assert compiled("".join(err for _, err in said)) == {"scale": 1, "total": 1}
    names = [p.name for p in (tmp_path / "cache").iterdir()]
    assert len(names) == 2 and all(n.endswith(".kwa") for n in names), names


THREADS = """
start, wrong = threading.Barrier(8), []

def first_call(kernel):
    start.wait()
    for _ in range(3):
        if not (kernel(A) == A * 3.0).all():
            wrong.append(kernel)

def together(kernels):
    threads = [threading.Thread(target=first_call, args=(k,)) for k in kernels]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
"""


def test_threads_compile_one_kernel_once(tmp_path: Path) -> None:
    for words in ("time", "time; cache=off"):
        _, err = run(tmp_path, THREADS + "together([scale] * 8)", words)
        assert compiled(err) == {"scale": 1}, err


def test_threads_compile_different_kernels_once_each(tmp_path: Path) -> None:
    scale = PROGRAM[PROGRAM.index("@kw") : PROGRAM.index("@kw.kernel\ndef total")]
    several = "".join(scale.replace("scale", f"scale{n}") for n in range(8))
    body = "together([scale0, scale1, scale2, scale3, scale4, scale5, scale6, scale7])"
    _, err = run(tmp_path, THREADS + several + body, "time; cache=off")
    assert compiled(err) == {f"scale{n}": 1 for n in range(8)}, err


def test_threads_raise_the_same_error(tmp_path: Path) -> None:
    body = """
@kw.kernel
def wrong_name(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = unknown
    return out

start, found = threading.Barrier(8), []

def call():
    start.wait()
    try:
        wrong_name(A)
    except kw.KernelSyntaxError as e:
        found.append(str(e))

threads = [threading.Thread(target=call) for _ in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert len(found) == 8 and len(set(found)) == 1 and "E103" in found[0], found
"""
    run(tmp_path, body)


def test_threads_with_captures_that_change_see_old_or_new_values(tmp_path: Path) -> None:
    body = """
K = 1.0

@kw.kernel
def times(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = a[i] * K
    return out

stop, wrong = threading.Event(), []

def call():
    while not stop.is_set():
        factor = times(np.ones(3))
        if factor[0] not in (1.0, 2.0, 3.0) or len(set(factor)) != 1:
            wrong.append(factor)

threads = [threading.Thread(target=call) for _ in range(4)]
for t in threads:
    t.start()
for n in range(60):
    K = (1.0, 2.0, 3.0)[n % 3]
    time.sleep(0.005)
    assert times(np.ones(3))[0] == K
stop.set()
for t in threads:
    t.join()
assert not wrong, wrong
"""
    run(tmp_path, body)


@pytest.mark.slow  # sanitizers keep freed memory
def test_captures_that_alternate_do_not_pile_up(tmp_path: Path) -> None:
    """Two values need two compiled versions, however often the global changes between them."""
    body = """
@kw.kernel
def times(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = a[i] * K
    return out

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4

before = 0
for n in range(4000):
    K = (1.0, 2.0)[n % 2]
    assert times(A)[1] == K
    if n == 999:
        before = resident()
print(resident() - before)
"""
    grown = int(run(tmp_path, body)[0])
    assert grown < 4_000, f"{grown} kB more after 3,000 changes"


def test_fork_after_use(tmp_path: Path) -> None:
    body = """
import signal
long = np.ones(30_000_000)
assert total(long)[0] == long.size      # long enough to run in a thread of its own
assert (scale(A) == A * 3.0).all()
child = os.fork()
if child == 0:
    signal.alarm(20)
    good = (scale(A) == A * 3.0).all() and total(long)[0] == long.size
    good = good and scale(A.astype("float32")).dtype == "float32"  # compiles in the child
    os._exit(7 if good else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
assert (scale(A.astype("int32")) == A * 3.0).all()
"""
    run(tmp_path, body)


def test_fork_before_use(tmp_path: Path) -> None:
    body = """
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        os._exit(7 if (scale(A) == A * 3.0).all() else 1)
    children.append(child)
assert [os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children] == [7] * 4
"""
    run(tmp_path, body)
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize("milliseconds", [0, 0.5, 1, 1.5, 2, 4, 6])
def test_fork_while_a_thread_compiles(tmp_path: Path, milliseconds: float) -> None:
    body = f"""
import signal
import kernelwright.source  # a fork keeps the lock that Python holds while a thread imports a module
thread = threading.Thread(target=lambda: scale(A))
thread.start()
time.sleep({milliseconds} / 1000)
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        good = total(A)[0] == A.sum() and (scale(A) == A * 3.0).all()
        os._exit(7 if good else 1)
    children.append(child)
    time.sleep(0.001)
assert [os.waitpid(c, 0)[1] for c in children] == [7 << 8] * 3
thread.join()
"""
    run(tmp_path, body, "cache=off")


def test_spawned_workers_take_kernels_by_name(tmp_path: Path) -> None:
    body = """
import multiprocessing

def work(n):
    return float(total(np.full(n, 2.0))[0])

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(work, range(5)) == [0.0, 2.0, 4.0, 6.0, 8.0]
        assert [r[1] for r in pool.map(scale, [A, A + 1.0])] == [3.0, 6.0]
    print("right")
"""
    assert run(tmp_path, body)[0] == "right\n"
