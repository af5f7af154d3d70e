"""Ctrl-C during a long kernel: KeyboardInterrupt within a second; with a handler that does not raise it ends.

Each case is a new process that sends itself SIGINT from a thread; seconds are those the process computes for.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import kernelwright as kw

@kw.kernel
def nest(a, n, s):
    for i in range(n):
        for j in range(n):
            s[0] += a[j % 8] * i
    return s

@kw.kernel
def cell(x, n, s):
    for i in range(n):
        s[()] = s[()] * 0.5 + x[()]
    return s

@kw.kernel
def bound_by_data(k, s):
    for i in range(k[0]):
        s[0] = s[0] * 0.5 + 1.0
    return s

@kw.kernel
def triangles(a, n, s):
    for i in range(n):
        for j in range(i):
            for k in range(j):
                s[0] = s[0] * 0.5 + a[k % 8]
    return s

@kw.kernel
def first_dimension(a, n):
    out = output_tensor((1,), a.dtype)
    total = a[0]
    for i in range(n):
        for j in range(n):
            total = total * 0.5 + a[j & 7]
    out[0] = total
    return out

@kw.kernel
def tiny_trips(a, n, s):
    for i in range(n):
        for j in range(2):
            s[0] = s[0] * 0.5 + a[j]
    return s

@kw.kernel
def endless(a, s):
    k = 0
    while True:
        k += 1
        if a[k & 7] > 0:
            continue
        s[0] = k
        break
    return s

A, S = np.ones(8), np.zeros(1)
sent = []

def send(after, times=1):
    def work():
        for _ in range(times):
            time.sleep(after)
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)
    sender = threading.Thread(target=work, daemon=True)
    sender.start()
    return sender

def interrupted(kernel, *args, error=KeyboardInterrupt):
    send(0.3)
    try:
        kernel(*args)
    except error:
        late = time.process_time() - sent[-1]
        print("late" if late > 1.0 else "interrupted", late)
    else:
        print("finished")

def warm_up():
    nest(A, 2, S.copy())
    cell(np.ones(()), 2, np.zeros(()))
    first_dimension(A, 2)
    tiny_trips(A, 2, S.copy())
    triangles(A, 2, S.copy())
    bound_by_data(np.array([2]), S.copy())
"""

LONG = {
    "nest": "interrupted(nest, A, 150_000, S)",
    "cell": "interrupted(cell, np.ones(()), 2**36, np.zeros(()))",
    "bound_by_data": "interrupted(bound_by_data, np.array([2**36]), S)",
    "triangles": "interrupted(triangles, A, 6_000, S)",
    "endless": "interrupted(endless, A, S)",
    "output": "interrupted(first_dimension, A, 150_000)",
    "tiny_trips": "interrupted(tiny_trips, A, 2**35, S)",
    "general_strides": "interrupted(nest, np.ones(16)[::2], 150_000, S)",
    "debug": "interrupted(kw.kernel(debug=True)(nest.__wrapped__), A, 150_000, S)",
    "strict": "interrupted(kw.kernel(fp='strict')(nest.__wrapped__), A, 150_000, S)",
}


def run(body: str, folder: Path, words: str = "") -> str:
    """Output of PROGRAM followed by `body`."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    env |= {"KW_CACHE_DIR": str(folder / "cache"), "KW_DEBUG": words}
    (folder / "program.py").write_text(PROGRAM + body)
    line = [sys.executable, "program.py"]
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, timeout=25, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("case", LONG)
def test_interrupt_within_a_second(case: str, tmp_path: Path) -> None:
    """And the kernel works afterwards."""
    after = "assert nest(A, 3, S.copy()).shape == (1,) and cell(np.ones(()), 1, np.zeros(())) == 1.0"
    assert run(f"warm_up()\n{LONG[case]}\n{after}\n", tmp_path).split()[0] == "interrupted"


def test_interrupt_at_the_first_call(tmp_path: Path) -> None:
    assert run(LONG["nest"], tmp_path).split()[0] == "interrupted"


@pytest.mark.parametrize("case", ["nest", "cell", "bound_by_data", "endless"])
def test_interrupt_of_the_interpreter(case: str, tmp_path: Path) -> None:
    assert run(f"warm_up()\n{LONG[case]}", tmp_path, "interp").split()[0] == "interrupted"


def test_exception_of_a_handler_comes_through(tmp_path: Path) -> None:
    body = """
class Stop(Exception):
    pass

def stop(*_):
    raise Stop("by handler")

signal.signal(signal.SIGINT, stop)
interrupted(nest, A, 150_000, S, error=Stop)
"""
    assert run(body, tmp_path).split()[0] == "interrupted"


def test_handler_that_does_not_raise_lets_the_kernel_finish(tmp_path: Path) -> None:
    body = """
seen = []

def handler(*_):
    seen.append(time.process_time())
    assert nest(A, 3, S.copy())[0] == 9.0  # the same kernel, meanwhile

signal.signal(signal.SIGINT, handler)
n, end = 1_000, 0.0
while not sent or sent[-1] > end - 0.05:  # until a run outlasts its three signals
    sent.clear(), seen.clear()
    sender = send(0.05, times=3)
    result = nest(A, n, S.copy())
    end = time.process_time()
    sender.join()
    assert result[0] == n * n * (n - 1) / 2
    n *= 2
# signals that come close together may be one
assert seen and all(any(0 <= b - a < 1.0 for b in seen) for a in sent), (sent, seen)
assert seen[-1] < end
print("finished")
"""
    assert run(body, tmp_path) == "finished\n"


def test_interrupt_leaves_other_threads_alone(tmp_path: Path) -> None:
    body = """
results = []
def work():
    results.append(first_dimension(A, 30_000)[0])
thread = threading.Thread(target=work)
first_dimension(A, 2)
thread.start()
interrupted(lambda: time.sleep(20))
thread.join()
assert abs(results[0] - 2.0) < 1e-9
"""
    assert run(body, tmp_path).split()[0] == "interrupted"
