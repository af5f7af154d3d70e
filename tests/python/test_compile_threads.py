"""Ctrl-C while a kernel compiles, and the line that a slow compilation leaves in the log."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

SLOW = """
import os, signal, sys, threading, time
import numpy as np
import kernelwright as kw

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins without it
numbers = range(800)  # of selections in one loop, which take some 4 s
lines = ["import numpy as np", "def f(x):", "    y = np.zeros(800)", *(f"    m{j} = -1.0" for j in numbers)]
lines += ["    for i in range(x.shape[0]):"]
for j in numbers:
    lines += [f"        if x[i] * {j}.0 > m{j}:", f"            m{j} = x[i] * {j}.0"]
lines += [*(f"    y[{j}] = m{j}" for j in numbers), "    return y", ""]
kernel = kw.kernel("\\n".join(lines))
begin = time.monotonic()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    kernel(np.ones(3))
    print("compiled")
except KeyboardInterrupt:
    print("interrupted")
waited = time.monotonic() - begin
print("at once" if waited < 2 else f"after {waited} s")
print(kernel(np.ones(3))[799])
"""


def test_ctrl_c_ends_the_wait_and_not_the_compilation() -> None:
    env = {**os.environ, "KW_DEBUG": "cache=off", "KW_LOG": "info"}
    done = subprocess.run(
        [sys.executable, "-c", SLOW], capture_output=True, text=True, env=env, check=False, timeout=120
    )
    assert done.stdout == "interrupted\nat once\n799.0\n", done.stdout + done.stderr
    assert done.returncode == 0
    # whoever gave up the wait is told of the compilation by the call that finds it
    assert re.search(r"kernel 'f' .* for \(float64\[:\]\) was compiled in \d+\.\d ms", done.stderr), (
        done.stderr
    )


def test_a_process_that_ends_waits_for_the_compiler() -> None:
    """Its static objects go at the end of the process: a thread in it would crash."""
    program = SLOW.replace("print(kernel(np.ones(3))[799])", "sys.exit(3)")
    env = {**os.environ, "KW_DEBUG": "cache=off"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=False, timeout=120
    )
    assert (done.stdout, done.returncode) == ("interrupted\nat once\n", 3), done.stderr
    assert done.returncode != -signal.SIGSEGV
