"""The process ends while daemon threads compile, read the cache, run a kernel or share a pool's region."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from cold import MAKE, SEED, TIMES, expect, run

PROGRAM = (
    MAKE
    + """
import os, sys, threading, time

kw.set_threads(2)

@kw.kernel
def shared(x):
    o = output_tensor(x.shape, x.dtype)
    for i in parallel(x.shape[0]):
        o[i] = sin(x[i]) * 2.0
    return o

chain = kw.kernel(
    "import numpy as np\\ndef k(a, n):\\n    o = np.zeros((1000,), a.dtype)\\n    for j in range(n):\\n"
    "        for i in range(1000):\\n            o[i] = o[i] * 0.5 + a[i]\\n    return o\\n"
)
chain(np.ones(1000), 10)

class Lasts:
    # the interpreter ends for as long as its modules take
    def __del__(self, now=time.perf_counter):
        end = now() + (0.3 if sys_argv[1] == "watched" else 0)
        while now() < end:
            pass

sys_argv = sys.argv
sys.modules["lasts"] = Lasts()

def cube(x):
    return kw.ops.exp(x) * x

a = np.ones(300_000)
serial = make(1, 1)
begun = threading.Event()

def work(what, first):
    number = first
    while True:
        number += 1
        if what == "compile":
            make(number + os.getpid() * 1000, 5)(a[:8])
        elif what == "cache":
            make(number % 5, 2)(a[:8])
        elif what == "run":
            serial(a)
        elif what == "watched":
            begun.set()
            chain(a, 400_000)
        elif what == "gradient":
            kw.grad(cube)(a[:1000])
        else:
            shared(a)
        begun.set()

what, delay = sys.argv[1], float(sys.argv[2])
for number in range(3):
    threading.Thread(target=work, args=(what, 100 * number), daemon=True).start()
begun.wait()
time.sleep(delay)
print("end")
"""
)

rng = random.Random(SEED)


@pytest.mark.parametrize("what", ["compile", "cache", "run", "region", "watched", "gradient"])
def test_daemon_threads_work_while_the_process_ends(tmp_path: Path, what: str) -> None:
    for _ in range(4 * TIMES):
        delay = rng.random() * 0.2
        done = run(PROGRAM, what, delay, env={"KW_CACHE_DIR": str(tmp_path)}, patience=60)
        expect(done, "end", (what, delay))
