"""The script for a machine with a GPU runs: here on the stand-ins, with little to do in each stage."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import stand_ins

import kernelwright as kw

STAGES = (
    "machine prelude emulated gallery peers launches "
    "teams sums schedules tiles vectors atomics operators device sanitizer profile"
).split()


def test_each_stage_ends_well(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        **stand_ins.environment(KW_EMULATOR_DEVICES="90,80"),
        "KW_TEST_DEVICE": "emulated",
        "KW_DEVICE_TINY": "1",
        "KW_DEVICE_BUILD": str(Path(kw.__file__).parents[1]),
        "PYTHON": sys.executable,
    }
    script = Path(__file__).with_name("device_run.sh")
    done = subprocess.run(
        [script, tmp_path], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    told = (tmp_path / "summary.txt").read_text().splitlines()
    texts = "\n".join(f.read_text()[-2000:] for f in tmp_path.glob("*.txt"))
    assert done.returncode == 0 and all(": ended well after " in line for line in told), texts
    assert [line.partition(":")[0] for line in told] == STAGES
    gallery = (tmp_path / "gallery.txt").read_text()
    assert "Emulated GPU 0, sm_90, with " in gallery and gallery.count("  right") == 2
    launches = (tmp_path / "launches.txt").read_text()
    assert re.findall(r"(driver|runtime|graph).* \d+\.\d\d +\d+\.\d\d\n", launches) == [
        "driver",
        "runtime",
        "graph",
    ], launches
    compared = (tmp_path / "peers.txt").read_text()
    assert compared.count("  right") == 1 and "  add  " in compared
    for stage in STAGES[1:3] + STAGES[6:-2]:
        assert " passed" in (tmp_path / f"{stage}.txt").read_text(), stage


def test_the_build_without_llvm(tmp_path: Path) -> None:
    """What the script builds on a machine with a GPU: all but the file that differs is what others build."""
    root = Path(__file__).resolve().parents[2]
    options = [
        "-DKW_LLVM=OFF",
        "-DKW_TESTS=OFF",
        "-DKW_BENCH=ON",
        f"-DPython_EXECUTABLE={sys.executable}",
        "-DKW_CCACHE=",
    ]
    configured = subprocess.run(
        ["cmake", "-S", root, "-B", tmp_path, "-G", "Ninja", *options], capture_output=True, text=True
    )
    assert configured.returncode == 0, configured.stderr
    file = "CMakeFiles/kw_codegen.dir/compiler/codegen/llvm_library.cpp.o"
    made = subprocess.run(["ninja", "-C", tmp_path, file], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout
    rules = (tmp_path / "build.ninja").read_text()
    assert "KW_WITHOUT_LLVM" in rules and "kw_llvm" not in rules
    assert "build bench/kw_launches: " in rules and "kw_bench" not in rules


def test_a_stage_that_fails(tmp_path: Path) -> None:
    """It is told once, and the others run; so does a stage that has no time left."""
    environment = {"KW_DEVICE_BUILD": str(tmp_path), "PYTHON": "false", "KW_DEVICE_TINY": "1"}
    script = Path(__file__).with_name("device_run.sh")

    def summary(**more: str) -> tuple[int, list[str]]:
        told = tmp_path / "out" / "summary.txt"
        done = subprocess.run(
            [script, told.parent], env={**os.environ, **environment, **more}, capture_output=True, timeout=60
        )
        return done.returncode, re.sub(r"after \d+ s", "after N s", told.read_text()).splitlines()

    code, told = summary()
    assert code == 1 and told[:-2] == [f"{stage}: ended with 1 after N s" for stage in STAGES[:-2]]
    assert len(told) == len(STAGES)  # the tools of the last two may be missing, which is no failure
    late = [f"{stage}: not run, because no time was left" for stage in STAGES]
    assert summary(KW_DEVICE_DEADLINE="1") == (1, late)
