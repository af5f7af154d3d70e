"""Kernels of 20,000 statements, which end; Ctrl-C in them; loops one after the other; what is too long."""

from __future__ import annotations

import pytest
from cold import TIMES, expect, run

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import kernelwright as kw

signal.signal(signal.SIGINT, signal.default_int_handler)
kind, count, delay = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
outer = "def k(a):\\n    o = output_tensor(a.shape, a.dtype)\\n"
head = outer + ("" if kind == "loops" else "    for i in range(a.shape[0]):\\n        t0 = a[i]\\n")
lines = {
    "locals": lambda n: f"        t{n} = t{n - 1} * 0.5 + {n}.0\\n",
    "one local": lambda n: f"        t0 = t0 * 0.5 + {n}.0\\n",
    "stores": lambda n: f"        o[i] = o[i] * 0.5 + {n}.0\\n",
    "branches": lambda n: f"        if t0 > {n}.0:\\n            t0 = t0 * 0.5 + {n}.0\\n",
    "loops": lambda n: f"    for i in range(a.shape[0]):\\n        o[i] = o[i] * 0.5 + {n}.0\\n",
}[kind]
body = "".join(lines(n) for n in range(1, count))
last = f"        o[i] = o[i] + t{count - 1 if kind == 'locals' else 0}\\n" if kind != "loops" else ""
k = kw.kernel(head + body + last + "    return o\\n")
a = np.linspace(0, 20, 5)
if delay >= 0:
    try:
        threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic() + delay
        k(a)
        print("compiled")
    except KeyboardInterrupt:
        print("late" if time.monotonic() - begun > 1 else "interrupted")
else:
    assert np.array_equal(k(a), k.py(a))
    print("right")
"""


@pytest.mark.parametrize(
    ("kind", "count"),
    [("locals", 20_000), ("one local", 20_000), ("stores", 20_000), ("branches", 5000), ("loops", 1100)],
)
def test_long_kernels_are_compiled(kind: str, count: int) -> None:
    if TIMES == 1:
        count = min(count, 5000)
    done = run(PROGRAM.replace("kw.kernel(", "kw.kernel(fp='strict')("), kind, count, -1)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr  # which tells how long it took


@pytest.mark.parametrize("delay", [0.1, 0.5, 1.0][: 1 + TIMES])
def test_ctrl_c_ends_the_wait_for_a_long_kernel(delay: float) -> None:
    expect(run(PROGRAM, "locals", 20_000, delay, env={"KW_DEBUG": "cache=off"}), "interrupted", delay)
