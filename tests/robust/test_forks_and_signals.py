"""Forks beside threads that compile and run, and signals at any time: right results, or an exception."""

from __future__ import annotations

from pathlib import Path

import pytest
from cold import MAKE, TIMES, expect, run

HEAD = (
    MAKE
    + """
import os, signal, sys, threading, time

kw.set_threads(2)

def check(k, a):
    assert np.allclose(k(a), k.py(a), rtol=1e-12)

a = np.linspace(0, 1, 50)
large = np.ones(200_000)
"""
)

FORKS = (
    HEAD
    + """
what, count = sys.argv[1], int(sys.argv[2])
running = True
steady = make(1, 3)
steady(large)

def work(first):
    number = first
    while running:
        number += 1
        make(number, 3)(a) if what == "compile" else steady(large)

threads = [threading.Thread(target=work, args=(1000 * n,), daemon=True) for n in range(1, 3)]
for t in threads:
    t.start()
for number in range(count):
    time.sleep(0.01)
    child = os.fork()
    if not child:
        signal.alarm(60)  # a child that hangs dies
        check(steady, a)
        check(make(5000 + number, 3), a)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, number
running = False
for t in threads:
    t.join()
print("done")
"""
)


@pytest.mark.parametrize("what", ["compile", "run"])
def test_children_of_a_process_with_busy_threads(tmp_path: Path, what: str) -> None:
    env = {"KW_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    expect(run(FORKS, what, 20 * TIMES, env=env, patience=60 + 60 * TIMES), "done", what)


HELD = (
    HEAD
    + """
import kernelwright._stack, kernelwright.text
from kernelwright import mindspore as ms
import kernelwright.mindspore.gradients, kernelwright.mindspore.ops.custom

locks = [kernelwright.text._one_at_a_time, kernelwright._stack._one_at_a_time,
         ms.ops.custom._making, ms.gradients._weights_in_use]
held, done = threading.Event(), threading.Event()

def hold():
    with locks[0], locks[1], locks[2], locks[3]:
        held.set()
        done.wait()

def use_all():
    check(make(1, 3), a)
    assert kernelwright._stack.with_stack(lambda: 3, always=True) == 3
    double = ms.ops.Custom(lambda x: x * 2, lambda s: s, lambda t: t, "pyfunc")
    assert double(ms.Tensor(np.ones(3))).asnumpy().tolist() == [2.0] * 3
    w = ms.Parameter(ms.Tensor(np.ones(3, np.float32)))
    found = ms.ops.value_and_grad(lambda x: x * w, None, w)(ms.Tensor(np.ones(3, np.float32)))[1]
    assert found.asnumpy().tolist() == [1.0] * 3

def ends_in_child(work):
    child = os.fork()
    if not child:
        signal.alarm(60)
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

holder = threading.Thread(target=hold)
holder.start()
held.wait()
ends_in_child(use_all)
done.set()
holder.join()
with locks[0], locks[1], locks[2], locks[3]:  # a thread that forks keeps what it holds
    ends_in_child(use_all)
use_all()
print("done")
"""
)


def test_a_child_does_not_wait_for_locks_of_threads_that_it_does_not_have(tmp_path: Path) -> None:
    expect(run(HELD, env={"KW_CACHE_DIR": str(tmp_path)}), "done")


SIGNALS = (
    HEAD
    + """
class Alarm(Exception):
    pass

def on_alarm(*_):
    raise Alarm

signal.signal(signal.SIGALRM, on_alarm)
caught = 0
slow = make(2, 40)
for number in range(int(sys.argv[1])):
    signal.setitimer(signal.ITIMER_REAL, 0.0005 + 0.0007 * (number % 29))
    try:
        make(100 + number, 10)(a)
        for _ in range(50):
            slow(large)
    except Alarm:
        caught += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
check(make(100, 3), a)
check(slow, a)
assert caught > 0
print("done")
"""
)


def test_signal_handlers_that_raise_at_any_time() -> None:
    done = run(SIGNALS, 60 * TIMES, env={"KW_DEBUG": "cache=off"}, patience=60 + 60 * TIMES)
    # Python prints an alarm that meets a finalizer, which cannot raise it, to stderr
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
