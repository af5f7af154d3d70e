"""Kernels behind a condition of the host are compiled when a call takes their side."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import stand_ins
from device import Device

import kernelwright as kw

PROGRAM = '''\
import sys
import numpy as np
import kernelwright as kw

@kw.kernel
def row_sums(x):
    """A block sums each of a few rows, a warp each of many."""
    s = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s[i] += x[i, j]
    return s

if __name__ == "__main__":
    for rows in (3, 5, 3000, 2048, 3):
        x = np.ones((rows, 80), "float32")
        same = bool((row_sums(kw.Tensor(x, device="cuda")).numpy() == 80.0).all())
        print(rows, same, file=sys.stderr, flush=True)
'''


def test_a_side_is_compiled_when_it_is_taken(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    given = {"KW_CACHE_DIR": str(tmp_path / "cache"), "KW_LOG": "info"}
    done = subprocess.run(
        [sys.executable, "program.py"],
        env={**os.environ, **stand_ins.environment(**given)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    told = [
        "made" if "a kernel of 'row_sums' was compiled" in line else line
        for line in done.stderr.splitlines()
        if "a kernel of" in line or line.endswith(("True", "False"))
    ]
    assert told == ["made", "3 True", "5 True", "made", "3000 True", "2048 True", "3 True"]


def doubled_sums(x, s):
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
        s[i] = 2.0 * total
    return s


def test_threads_that_need_it_at_once(device: Device) -> None:
    kernel = kw.kernel(doubled_sums)
    few, many = (np.ones((rows, 65), "float32") for rows in (3, 2100))
    kernel(kw.Tensor(few, device="cuda"), kw.Tensor(np.zeros(3, "float32"), device="cuda"))
    right = []

    def call() -> None:
        s = kw.Tensor(np.zeros(2100, "float32"), device="cuda")
        right.append(bool((kernel(kw.Tensor(many, device="cuda"), s).numpy() == 130.0).all()))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert right == [True] * 8


def test_not_while_a_stream_is_captured(device: Device) -> None:
    if not device.is_emulated:
        pytest.skip("the stand-in tells what it captures")

    @kw.kernel
    def kept_sums(x, s):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                s[i] += x[i, j]
        return s

    def tensors(rows: int) -> tuple[kw.Tensor, kw.Tensor]:
        x, s = np.ones((rows, 65), "float32"), np.zeros(rows, "float32")
        return kw.Tensor(x, device="cuda"), kw.Tensor(s, device="cuda")

    kept_sums(*tensors(3))
    few, many = tensors(3), tensors(2100)
    kw.cuda.synchronize()
    handle = ctypes.c_void_p(device.stream())
    assert handle.value
    with kw.cuda.stream(handle.value):
        device.capture(handle.value, True)
        try:
            kept_sums(*few)
            with pytest.raises(kw.DeviceError) as error:
                kept_sums(*many)
        finally:
            device.capture(handle.value, False)
        assert "error[E506]: cuLibraryLoadData: a stream that is captured allows no compilation" in str(
            error.value
        )
        assert (kept_sums(*many).numpy() == 65.0).all()


def test_a_thread_without_a_context_compiles_first(device: Device) -> None:
    """It is asked whether its default stream is captured, which belongs to a context."""
    text = "def shrunk(a):\n    for i in range(a.shape[0]):\n        a[i] = a[i] - 1\n    return a\n"
    t = kw.Tensor(np.ones(3), device="cuda")
    thread = threading.Thread(target=lambda: kw.kernel(text)(t))
    thread.start()
    thread.join()
    assert np.array_equal(t.numpy(), [0, 0, 0])


def test_nothing_is_compiled_for_a_stream_that_is_captured(device: Device) -> None:
    if not device.is_emulated:
        pytest.skip("the stand-in tells what it captures")
    text = "def grown(a):\n    for i in range(a.shape[0]):\n        a[i] = a[i] + 1\n    return a\n"
    grown = kw.kernel(text)
    stream = device.stream(blocking=False)
    with kw.cuda.stream(stream):
        t = kw.Tensor(np.ones(3), device="cuda")
        kw.cuda.synchronize()
        device.capture(stream, True)
        with pytest.raises(kw.DeviceError) as caught:
            grown(t)
        device.capture(stream, False)
    assert str(caught.value).startswith(
        "error[E506]: cuLibraryLoadData: a stream that is captured allows no "
    )
    assert grown.stats().compiles == 0
    assert np.array_equal(grown(t).numpy(), [2, 2, 2])


BACKGROUND = '''
import os, pathlib, sys, time
import numpy as np
import kernelwright as kw
from program import row_sums

def wait_for(is_there, what):
    end = time.monotonic() + 60
    while not is_there():
        assert time.monotonic() < end, what
        time.sleep(0.01)

x = kw.Tensor(np.ones((3, 80), "float32"), device="cuda")
row_sums(x)
if sys.argv[1] == "wait":
    entries = lambda: {p.name for p in pathlib.Path(os.environ["KW_CACHE_DIR"]).rglob("*.kwa")}
    wanted = set(sys.argv[2].split())
    wait_for(lambda: wanted <= entries(), "not all sides were compiled")
'''


def test_other_sides_are_compiled_in_the_background(tmp_path: Path) -> None:
    """What a program has not called yet is in the cache; one that ends before that ends well."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "other.py").write_text(BACKGROUND)

    def run(*command: str, **given: str) -> str:
        environment = {**os.environ, **stand_ins.environment(**given), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, *command],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stderr

    warm, own = tmp_path / "warm", tmp_path / "own"
    warming = ("warmup", "program.py:row_sums", "--args", "f32[:,:]", "--device", "sm_90")
    run("-m", "kernelwright", *warming, KW_CACHE_DIR=str(warm))
    entries = " ".join(p.name for p in warm.rglob("*.kwa"))
    assert len(entries.split()) > 3
    assert run("other.py", "leave", KW_CACHE_DIR=str(own), KW_BACKGROUND="1") == ""
    run("other.py", "wait", entries, KW_CACHE_DIR=str(own), KW_BACKGROUND="1")
    told = run("program.py", KW_CACHE_DIR=str(own), KW_FROZEN="1")
    assert told.count("True") == 5
