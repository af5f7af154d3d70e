"""`kw doctor`: what it finds, and that problems end it with status 1."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright import _core
from kernelwright.commands import doctor


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps a report of this process from opening the driver: a process does so once, for tests/gpu."""
    monkeypatch.setattr(doctor, "_gpus", lambda: ("none", ""))


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kernelwright", "doctor", *words]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True)


def test_a_machine_without_problems(tmp_path: Path) -> None:
    done = run(KW_CACHE_DIR=str(tmp_path / "cache"), KW_THREADS="1")
    lines = {line[:13].strip(): line[14:] for line in done.stdout.splitlines()}
    assert done.returncode == 0 and done.stderr == ""
    assert lines["target"] == _core.target_class() and lines["build"] == _core.build_id
    assert lines["cache"] == f"{tmp_path / 'cache'}: 0 entries, 0 of this build, 0 bytes"
    assert lines["threads"] == "1" and "KW_THREADS=1" in lines["environment"].split()
    assert done.stdout.splitlines()[-1] == "a kernel was compiled and ran: all is well"
    assert not list((tmp_path / "cache").glob("*.kwa"))


def test_json_has_the_same_facts(tmp_path: Path) -> None:
    found = json.loads(run("--json", KW_CACHE_DIR=str(tmp_path / "cache")).stdout)
    assert found["problems"] == [] and found["target"] == _core.target_class()
    assert found["packages"]["numpy"] and found["environment"]["KW_CACHE_DIR"] == str(tmp_path / "cache")


def test_problems_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(KW_CACHE_DIR=str(tmp_path / "file"))
    told = f"the disk cache is not used: {tmp_path / 'file'} is no directory; "
    assert done.returncode == 1
    assert f"problem       {told}set KW_CACHE_DIR to a directory of your own" in done.stdout.splitlines()


@pytest.mark.usefixtures("no_gpu")
def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "rich" else "1.0")
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None if name == "perf" else f"/bin/{name}")
    assert doctor.report()["missing"] == [
        "rich, for progress bars of `kw`: pip install kernelwright[cli]",
        "perf, for profiles of compiled kernels: install linux-perf",
    ]


@pytest.mark.usefixtures("no_gpu")
def test_a_compiler_that_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(device: str) -> str:
        return "DeviceError: no library"

    monkeypatch.setattr(doctor, "_computes", fails)
    assert doctor.doctor(as_json=False) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "problem       kernels cannot be compiled: DeviceError: no library"
