"""Ctrl-C during calls on the emulated GPU: KeyboardInterrupt within a second, and the device works on.

Each case is a new process that sends itself SIGINT from a thread once the call is under way.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import stand_ins
from device import Device

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import kernelwright as kw

@kw.kernel
def host_while(a):
    while a[0] < 1e300:
        for i in range(a.shape[0]):
            a[i] = a[i] + 1
    return a

@kw.kernel
def host_for(a, b, n):
    for k in range(n):
        for i in range(1, a.shape[0] - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1])
        for i in range(1, a.shape[0] - 1):
            a[i] = b[i]
    return a, b

@kw.kernel
def device_while(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        x = a[i]
        while x > 0:
            x = x * 1.5 - x * 0.5
        c[i] = x
    return c

CASES = {
    "host_while": lambda t: host_while(t),
    "host_for": lambda t: host_for(t, b, 2**40),
    "device_while": lambda t: device_while(t).numpy(),
    "operator": lambda t: operator(t, b, n=2**40),
}
call = CASES[sys.argv[1]]
operator = kw.register_op("mine::host_for", host_for, attrs=["n"], writes=["a", "b"], outputs=["a", "b"])
t, b = kw.Tensor(np.ones(4), device="cuda"), kw.Tensor(np.ones(4), device="cuda")
host_while(kw.Tensor(np.full(4, 1e301), device="cuda")), host_for(t, b, 1), operator(t, b, n=1)
device_while(kw.Tensor(np.zeros(4), device="cuda")).numpy()

sent = []
def send():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

threading.Timer(1.0, send).start()
try:
    call(t)
    print("no interrupt")
except KeyboardInterrupt:
    print(f"interrupted after {time.perf_counter() - sent[0]:.3f} s")
kw.cuda.synchronize()
print(host_for(kw.Tensor([2.0, 0.0, 4.0], device="cuda"), b, 1)[0].numpy().tolist())
"""


@pytest.mark.parametrize("case", ["host_while", "host_for", "device_while", "operator"])
def test_an_interrupt_ends_a_call(case: str, device: Device) -> None:
    if not device.is_emulated:
        pytest.skip("the stand-ins have a process of their own")
    environment = {**os.environ, **stand_ins.environment()}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, case],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    first, last = done.stdout.splitlines()[:2] or ("", "")
    assert first.startswith("interrupted after ") and last == "[2.0, 3.0, 4.0]", done.stdout + done.stderr
    assert float(first.split()[2]) < 1.0
