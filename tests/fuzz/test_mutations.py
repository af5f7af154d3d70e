"""Mutated kernels and mutated IR never crash the core: they are accepted, or refused by a diagnostic.

KW_FUZZ_SEED gives other mutants; the seed stands in the output of a failing test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SEED = os.environ.get("KW_FUZZ_SEED") or "20261121"
SLOWER = 15 if "asan" in os.environ.get("LD_PRELOAD", "") else 1  # and so many mutants fewer
SECONDS = 60.0
FEED = Path(__file__).with_name("feed.py")


def feed(kind: str, count: int, folder: Path) -> dict[str, int]:
    """Feeds mutants in a new process, checks that no promise was broken, and returns how many ended how."""
    count //= SLOWER
    last = folder / "last"
    env = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    env |= {"KW_CACHE_DIR": str(folder / "cache"), "KW_DEBUG": "cache=off"}
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1"
    command = [sys.executable, str(FEED), kind, SEED, str(count), str(SECONDS), str(last)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    where = f"KW_FUZZ_SEED={SEED}"
    at = last.read_text().split("\0")[0] if last.exists() else ""
    assert done.returncode == 0, f"exit status {done.returncode}, {where}\n{done.stderr[-3000:]}\nat\n{at}"
    report: dict[str, Any] = json.loads(done.stdout)
    print(where, report["tally"])
    shown = [f"{n} times: {key}\n{text}" for key, n, text in report["complaints"]]
    assert not shown, f"{where}\n" + "\n".join(shown)
    tally: dict[str, int] = report["tally"]
    assert sum(tally.values()) == count, f"only {sum(tally.values())} of {count} in {SECONDS} s"
    return tally


def test_mutated_texts(tmp_path: Path) -> None:
    tally = feed("text", 10_000, tmp_path)
    assert tally["accepted"] > 500 // SLOWER and len(tally) > 15 // min(SLOWER, 2), tally


def test_mutated_ir(tmp_path: Path) -> None:
    tally = feed("ir", 5_000, tmp_path)
    assert tally["accepted"] > 100 // SLOWER, tally


def test_mutated_kernels_run_alike_by_interpreter_and_machine_code(tmp_path: Path) -> None:
    tally = feed("run", 1_500, tmp_path)
    assert tally["ok"] > 300 // SLOWER and tally["KernelIndexError"] > 50 // SLOWER, tally
