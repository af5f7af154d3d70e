"""Warm-up for GPUs that are not there: a cache made without a driver serves a process without NVRTC."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins
from device import Device

import kernelwright as kw

PROGRAM = """\
import numpy as np
import kernelwright as kw

@kw.kernel
def scaled(a: "f64[:]", s: "float"):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * s
    return c

@kw.kernel
def until(a: "f64[:]", limit: "float"):
    while a[0] > limit:
        for i in range(a.shape[0]):
            a[i] = a[i] / 2
    return a

if __name__ == "__main__":
    t = kw.Tensor(np.ones(3), device="cuda")
    print(scaled(t, 2.0).numpy().tolist(), until(scaled(t, 8.0), 1.5).numpy().tolist())
    print(scaled.stats().compiles, until.stats().compiles)
"""
NOWHERE = "/nowhere/libnothing.so"


@pytest.fixture
def run(tmp_path: Path) -> Any:
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(*command: str, **environment: str) -> str:
        given = {"KW_CACHE_DIR": str(tmp_path / "cache"), **stand_ins.environment(), **environment}
        done = subprocess.run(
            [sys.executable, *command],
            env={**os.environ, **given},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_a_warm_cache_needs_no_nvrtc(run: Any) -> None:
    said = run(
        "-m", "kernelwright", "warmup", "program.py", "--device", "sm_80,sm_90,sm_100", KW_LIBCUDA=NOWHERE
    )
    lines = said.splitlines()
    assert [line.split()[1:4] for line in lines[:-1]] == [
        [device, "main", kernel] for kernel in ("scaled", "until") for device in ("sm_80", "sm_90", "sm_100")
    ]
    assert lines[-1].startswith("6 compiled, 0 in the cache, 0 not made; ")
    again = run(
        "-m", "kernelwright", "warmup", "program.py", "--device", "sm_80,sm_90,sm_100", KW_LIBCUDA=NOWHERE
    )
    assert again.splitlines()[-1].startswith("0 compiled, 6 in the cache, 0 not made; ")
    listed = [line.split()[4:] for line in run("-m", "kernelwright", "cache", "ls").splitlines()]
    for device in ("sm_80", "sm_90", "sm_100"):
        assert [device, "scaled(f64[:],", "float)"] in listed
        assert [device, "scaled", "machine", "code"] in listed
    expected = "[2.0, 2.0, 2.0] [1.0, 1.0, 1.0]\n0 0\n"
    assert run("program.py", KW_NVRTC=NOWHERE, KW_FROZEN="1") == expected
    assert run("program.py", KW_NVRTC=NOWHERE, KW_FROZEN="1", KW_EMULATOR_DEVICES="80") == expected
    # what was compiled for 8.0 runs on later devices of version 8
    later = run("program.py", KW_NVRTC=NOWHERE, KW_EMULATOR_DEVICES="89")
    assert later.splitlines()[:-1] == expected.splitlines()[:-1]  # without the count of texts that were made


def test_a_warm_up_replaces_what_another_nvrtc_has_made(run: Any, tmp_path: Path) -> None:
    """A build with another id. A program that compiles nothing goes on with what there is."""
    given = Path(stand_ins.environment()["KW_NVRTC"])
    shutil.copy(given.with_name("shim.inc"), tmp_path)  # which it includes into all texts
    library = bytearray(given.read_bytes())
    note = b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"  # of .note.gnu.build-id, before the id
    library[library.index(note) + len(note)] ^= 1
    other = tmp_path / given.name
    other.write_bytes(library)
    warm = ("-m", "kernelwright", "warmup", "program.py", "--device", "sm_90")
    assert run(*warm).splitlines()[-1].startswith("2 compiled, 0 in the cache, 0 not made; ")
    assert run("program.py", KW_NVRTC=str(other)).endswith("\n0 0\n")
    for compiled, cached in ((2, 0), (0, 2)):
        said = run(*warm, KW_NVRTC=str(other)).splitlines()[-1]
        assert said.startswith(f"{compiled} compiled, {cached} in the cache, 0 not made; ")


def test_what_was_recorded_on_a_device_serves_another_machine(run: Any, tmp_path: Path) -> None:
    run("program.py", KW_RECORD="made.json", KW_CACHE_DIR=str(tmp_path / "other"))
    entries = json.loads((tmp_path / "made.json").read_text())["versions"]
    assert {entry["target"] for entry in entries} == {"sm_90"}
    said = run("-m", "kernelwright", "warmup", "made.json", KW_LIBCUDA=NOWHERE)
    assert said.splitlines()[-1].startswith("2 compiled, 0 in the cache, 0 not made; ")
    assert run("program.py", KW_NVRTC=NOWHERE, KW_FROZEN="1").endswith("\n0 0\n")


def test_wrong_devices(run: Any, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kernelwright", "warmup", "program.py", "--device", "sm_91"],
        env={**os.environ, "KW_CACHE_DIR": str(tmp_path / "cache")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "there is no GPU architecture 'sm_91'; there are: sm_80, sm_86, sm_89, sm_90" in done.stderr
    assert run("-c", "import kernelwright.commands.warmup as w\ntry:\n    w.warm('m.json', '', '', 'sm_90')\n"
               "except Exception as e:\n    print(e)") == (
        "--device is for files of Python: a manifest names its devices itself\n"
    )  # fmt: skip


def test_explain_tells_what_is_launched(run: Any, tmp_path: Path) -> None:
    """Registers are known once a kernel is compiled; no device is needed."""
    asked = ("-m", "kernelwright", "explain", "program.py", "--device", "sm_90", "--args")
    said = run(*asked, "f64[8],3.0", KW_LIBCUDA=NOWHERE)
    assert "  device      sm_90\n  launches    scaled_0 (line 7) computes c: blocks of 256 threads" in said
    assert "i in range(a.shape[0]): grid, a thread for 8 iterations, 2 of them side by side, 256 t" in said
    assert "until_1 (line 14) computes a: blocks of 256 threads, not compiled yet\n" in said
    assert (
        "  host        calls for which a condition fails, or whose arrays overlap, run there on copies\n"
        in said
    )
    assert re.search(r"  steps       grid i by 2048 vector 2 unroll 4 +launched; each block has", said)
    (tmp_path / "serial.py").write_text(
        "import kernelwright as kw\n\n@kw.kernel\ndef prefix(a):\n    for i in range(1, a.shape[0]):\n"
        "        a[i] = a[i - 1] + a[i]\n    return a\n"
    )
    said = run("-m", "kernelwright", "explain", "serial.py", "--device", "sm_80", "--args", "f64[8]")
    expected = r"prefix_0 \(line 5\) computes a: blocks of 128 threads, [\d,]{6} bytes of shared memory, not"
    assert re.search(expected, said)
    assert "one team: no loop is parallel whose bounds the host knows\n" in said
    assert re.search(
        r"not done    line 5: not parallel: i: *\n +iterations of `i` depend on each other", said
    )
    assert "iteration i = 2 reads a[1] (line 6), which iteration i = 1 writes (line 6)" in said
    assert "i in range(1, a.shape[0]): pipelined, copies to shared memory are 2 tiles ahead\n" in said
    (tmp_path / "few.py").write_text(
        "import kernelwright as kw\n\n@kw.kernel\ndef few(a):\n    for i in range(1, 9):\n"
        "        a[i] = a[i - 1] * a[0]\n    return a\n"
    )
    said = run("-m", "kernelwright", "explain", "few.py", "--device", "sm_80", "--args", "f64[9]")
    assert "few_0 (line 5) computes a: 1 thread in a block, not compiled yet\n" in said
    assert "one thread: no loop is parallel whose bounds the host knows\n" in said


def test_explain_tells_which_calls_take_a_launch() -> None:
    sums = kw.kernel(
        "def sums(x, n):\n    s = output_tensor(x.shape[0], x.dtype)\n    for t in range(n):\n"
        "        if n > 3:\n            for i in range(x.shape[0]):\n"
        "                for j in range(x.shape[1]):\n                    s[i] += x[i, j]\n    return s\n"
    )
    told = sums.explain("f32[:, :]", "i64", device="sm_90").versions[0].launches
    assert [launch.condition for launch in told] == [
        "n > 3 and x.shape[1] < 64",
        "n > 3 and x.shape[1] >= 64 and (x.shape[0] < 2048 or x.shape[1] >= 1024)",
        "n > 3 and x.shape[1] >= 64 and x.shape[0] >= 2048 and x.shape[1] < 1024",
    ]
    added = kw.kernel(
        "def added(a, b):\n    c = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n"
        "        for j in range(a.shape[1]):\n            c[i, j] = a[i, j] + b[i, j]\n    return c\n"
    )
    said = str(added.explain("f32[:, :]", "f32[:, :]", device="sm_90"))
    assert "not compiled yet\n                if b.shape[1] == a.shape[1]\n" in said


def test_explain_knows_what_real_nvrtc_made(tmp_path: Path) -> None:
    """The assembler's figures come with the cache."""
    import nvrtc

    if not nvrtc.is_here():
        pytest.skip("libnvrtc.so.13 or .12 was not found")
    program = (
        "from program import scaled\nscaled.warmup(device='sm_90')\n"
        "v = scaled.explain('f64[:]', 'float', device='sm_90').versions[0]\nprint(v.launches)\n"
    )
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {k: v for k, v in os.environ.items() if k not in ("KW_NVRTC", "KW_LIBCUDA")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "KW_CACHE_DIR": str(tmp_path / "cache")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = r"\(Launch\(name='scaled_0', lines=\(\('.*program.py', 7\),\), threads=256, shared_bytes=0,"
    expected += r" registers=(\d+), spilled=0, condition='', stores=\('c',\)\),\)"
    found = re.match(expected, done.stdout)
    assert found and 4 < int(found[1]) < 64


def test_explain_tells_that_matrix_products_are_not_packed() -> None:
    product = kw.kernel(
        "def product(a, b):\n    c = output_tensor((a.shape[0], b.shape[1]), a.dtype)\n"
        "    for i in range(a.shape[0]):\n        for j in range(b.shape[1]):\n"
        "            for k in range(a.shape[1]):\n                c[i, j] += a[i, k] * b[k, j]\n"
        "    return c\n"
    )
    said = str(product.explain("f32[:, :]", "f32[:, :]", device="sm_90"))
    assert "line 6: matrix product:\n" in said
    assert "it runs as any other sum, without tiles in shared memory and without matrix units\n" in said
    assert "matrix product" not in str(product.explain("f32[:, :]", "f32[:, :]"))


def test_tensors_of_a_gpu_can_be_inspected(device: Device) -> None:
    """As the types that they have."""
    kernel = kw.kernel("def f(a, s):\n    for i in range(a.shape[0]):\n        a[i] *= s\n    return a\n")
    a = kw.Tensor(np.ones(4, "float32"), device="cuda")
    assert kernel.cuda(a, 2.0) == kernel.cuda("f32[:]", "float")
    assert kernel.explain(a, 2.0).versions[0].parameters[0] == ("a", "float32[:]")


def test_explain_tells_of_slow_float64() -> None:
    """Most functions of float32 are expanded in float64, for which some GPUs have few units."""
    kernel = kw.kernel(
        "def f(a):\n    c = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n"
        "        c[i] = sin(a[i])\n        c[i] = c[i] + 1\n    return c\n"
    )
    slow = "in which sm_86 is 64 times slower than in float32"
    said = str(kernel.explain("f32[:]", device="sm_86"))
    assert f"line 4: float64:\n                a function of float32 computes in float64, {slow}\n" in said
    assert said.count("float64:") == 1
    said = str(kernel.explain("f64[:]", device="sm_86"))
    assert f"line 5: float64: it computes in float64, {slow}\n" in said
    assert "float64:" not in str(kernel.explain("f64[:]", device="sm_90"))


def test_the_cpu_is_a_device_of_warmup(run: Any) -> None:
    asked = ("-m", "kernelwright", "warmup", "program.py")
    said = run(*asked, "--device", "cpu, sm_80", "--device", "sm_90", KW_LIBCUDA=NOWHERE).splitlines()
    assert {line.split()[1] for line in said[:-1]} == {said[0].split()[1], "sm_80", "sm_90"}
    assert not said[0].split()[1].startswith("sm_") and ", 0 in the cache, 0 not made; " in said[-1]
    assert run(*asked, "--target", "host", KW_LIBCUDA=NOWHERE).splitlines()[-1].startswith("0 compiled, ")


@pytest.mark.parametrize("damage", ["emptied", "cut", "flipped"])
def test_damaged_entries_are_made_again(damage: str, run: Any, tmp_path: Path) -> None:
    """Artifacts and machine code; the checksum of an entry tells."""
    expected = run("program.py").splitlines()[0]
    entries = [f for f in (tmp_path / "cache").rglob("*") if f.is_file() and f.stat().st_size > 200]
    assert len(entries) >= 4
    for entry in entries:
        whole = entry.read_bytes()
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 16]) + whole[middle + 1 :]
        entry.write_bytes({"emptied": b"", "cut": whole[:-7], "flipped": flipped}[damage])
    assert run("program.py").splitlines() == [expected, "1 1"]
    assert run("program.py", KW_NVRTC=NOWHERE, KW_FROZEN="1").splitlines() == [expected, "0 0"]


def test_versions_for_absent_gpus_are_recorded(run: Any, tmp_path: Path) -> None:
    """A script that only warms up makes a manifest of all that it warms."""
    (tmp_path / "script.py").write_text(
        "from program import *\nscaled.warmup('f32[:]', 'f64', device='sm_90')\n"
    )
    path, cache = tmp_path / "m.json", str(tmp_path / "cache2")
    run("script.py", KW_RECORD=str(path), KW_LIBCUDA=NOWHERE)
    said = run("-m", "kernelwright", "warmup", str(path), KW_CACHE_DIR=cache, KW_LIBCUDA=NOWHERE)
    assert " sm_90 " in said and "1 compiled, 0 in the cache" in said
