"""Names of compiled functions in perf and GDB: KW_DEBUG=perf:map, perf:jitdump and gdb, and debug_info."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelwright as kw

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))
import corpus

PROGRAM = """\
import os, sys
import numpy as np
import kernelwright as kw

@kw.kernel(unchecked=True, debug_info=len(sys.argv) > 2)
def scatter(x, k):
    for i in range(k.shape[0]):
        x[k[i]] = 2.5
    return x

def helper(x):
    return x * 3

@kw.kernel(debug_info=len(sys.argv) > 2)
def busy(x, n):
    for r in range(n):
        for i in range(x.shape[0]):
            x[i] = helper(x[i]) - x[i] * 2
    return x

if sys.argv[1] == "crash":
    scatter(np.zeros(4), np.array([1 << 44]))
else:
    busy(np.ones(1000), int(sys.argv[1]))
print(os.getpid())
"""
SCATTER = next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if "def scatter" in line) - 1
BUSY = next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if "def busy" in line) - 1


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def run(program: Path, *arguments: str, words: str, **environment: str) -> int:
    """Returns the number of the process."""
    done = subprocess.run(
        [sys.executable, program, *arguments],
        cwd=program.parent,
        env={**os.environ, "KW_DEBUG": words, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def test_a_map_names_kernel_and_line(program: Path) -> None:
    path = Path(f"/tmp/perf-{run(program, '10', words='perf:map')}.map")
    lines = path.read_text().splitlines()
    path.unlink()
    assert lines and all(re.fullmatch(r"[0-9a-f]+ [0-9a-f]+ \S+", line) for line in lines)
    assert f"kw_busy_{BUSY}" in [line.split()[2] for line in lines]


def test_a_dump_holds_the_code(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    process = run(program, "10", words="perf:jitdump", JITDUMPDIR=str(folder))
    data = (folder / f"jit-{process}.dump").read_bytes()
    magic, version, header, machine, _, pid = struct.unpack_from("<6I", data)
    assert (magic, version, header, pid) == (0x4A695444, 1, 40, process) and machine in (62, 183)
    at, found = header, {}
    while at < len(data):
        kind, size = struct.unpack_from("<2I", data, at)
        address, again, length, _ = struct.unpack_from("<4Q", data, at + 24)
        name, code = data[at + 56 : at + size - length], data[at + size - length : at + size]
        assert kind == 0 and address == again and len(code) == length > 0
        found[name.rstrip(b"\0").decode()] = code
        at += size
    assert f"kw_busy_{BUSY}" in found


def test_a_file_that_cannot_be_written_is_logged(program: Path) -> None:
    done = subprocess.run(
        [sys.executable, program, "1"],
        env={**os.environ, "KW_DEBUG": "perf:jitdump", "JITDUMPDIR": "/nowhere"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(r"cannot write /nowhere/jit-\d+\.dump: No such file or directory\n", done.stderr)


@pytest.mark.parametrize("lines", [False, True])
def test_gdb_shows_kernel_and_line_of_a_crash(program: Path, lines: bool) -> None:
    if shutil.which("gdb") is None or "LD_PRELOAD" in os.environ:
        pytest.skip("no gdb, or gdb would run under the sanitizers, too")
    done = subprocess.run(
        ["gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "run", "-ex", "bt 3", "--args"]
        + [sys.executable, str(program), "crash", *(["lines"] if lines else [])],
        env={**os.environ, "KW_DEBUG": "gdb", "KW_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "ptrace" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip("gdb may not trace here")
    assert "SIGSEGV" in done.stdout, done.stdout + done.stderr
    assert re.search(rf"#0 .* (in )?kw_scatter_{SCATTER}", done.stdout), done.stdout
    if lines:
        assert re.search(rf"program\.py:{SCATTER + 3}\b", done.stdout), done.stdout


def test_perf_report_names_the_kernel(program: Path, tmp_path: Path) -> None:
    if shutil.which("perf") is None or "LD_PRELOAD" in os.environ:
        pytest.skip("no perf, or perf would run under the sanitizers, too")
    data = tmp_path / "perf.data"
    recorded = subprocess.run(
        ["perf", "record", "-q", "-e", "cpu-clock", "-o", data, sys.executable, program, "400000"],
        env={**os.environ, "KW_DEBUG": "perf:map", "KW_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if recorded.returncode or not data.exists():
        pytest.skip("perf may not record here")
    report = subprocess.run(
        ["perf", "report", "-i", data, "--stdio"], capture_output=True, text=True, check=True
    ).stdout
    assert f"kw_busy_{BUSY}" in report, report


@pytest.mark.parametrize("case", corpus.load()[::7], ids=lambda c: c.name)
def test_line_tables_change_no_result(case: corpus.Case) -> None:
    plain, described = kw.kernel(case.fn), kw.kernel(debug_info=True)(case.fn)
    wanted, found = (k(*case.make(np.random.default_rng(5))) for k in (plain, described))
    pairs = zip(*((r if isinstance(r, tuple) else (r,)) for r in (wanted, found)), strict=True)
    assert all(a.tobytes() == b.tobytes() for a, b in pairs)


def test_sums_by_several_threads_have_places() -> None:
    @kw.kernel(debug_info=True)
    def total(a):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i]
        b = output_tensor((1,), a.dtype)
        b[0] = s
        return b

    assert total(np.ones(5)).tolist() == [5]
