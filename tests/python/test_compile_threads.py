"""Ctrl-C while a kernel compiles, and the line that a slow compilation leaves in the log."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys

import pytest

from kernelwright import _compile_log

SLOW = """
import os, signal, sys, threading
import numpy as np
import kernelwright as kw

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins without it
sums = "".join(f"        y[{j}] += x[i] * {j}.0\\n" for j in range(900))
text = "def f(x):\\n    y = np.zeros(900)\\n    for i in range(x.shape[0]):\\n" + sums + "    return y\\n"
kernel = kw.kernel("import numpy as np\\n" + text)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    kernel(np.ones(3))
    print("compiled")
except KeyboardInterrupt:
    print("interrupted")
print(kernel(np.ones(3))[899])
"""


def test_ctrl_c_ends_the_wait_and_not_the_compilation() -> None:
    env = {**os.environ, "KW_DEBUG": "cache=off"}
    done = subprocess.run(
        [sys.executable, "-c", SLOW], capture_output=True, text=True, env=env, check=False, timeout=120
    )
    assert done.stdout == "interrupted\n2697.0\n", done.stdout + done.stderr
    assert done.returncode == 0


def test_a_process_that_ends_waits_for_the_compiler() -> None:
    """Its static objects go at the end of the process: a thread in it would crash."""
    program = SLOW.replace("print(kernel(np.ones(3))[899])", "sys.exit(3)")
    env = {**os.environ, "KW_DEBUG": "cache=off"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=False, timeout=120
    )
    assert (done.stdout, done.returncode) == ("interrupted\n", 3), done.stderr
    assert done.returncode != -signal.SIGSEGV


def test_a_slow_compilation_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="kernelwright.compile"):
        _compile_log.slow("f", "model.py", 12, 2.345)
    assert [(r.name, r.getMessage()) for r in caplog.records] == [
        ("kernelwright.compile", "kernel 'f' (model.py:12) was compiled in 2.3 s")
    ]
