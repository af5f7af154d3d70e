"""The emulated GPU finds what is planted: each bug has its report, and the program without it has none."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import stand_ins

TEXT = """\
KW_KERNEL(64) set_all(i32 *p, i64 n) {
  i64 i = kw_block(x) * 32 + kw_thread;
  if (i < n) p[i] = 7;
}
KW_KERNEL(64) add_one(const i32 *p, i32 *q) { i64 i = kw_thread; q[i] = p[i] + 1; }
KW_KERNEL(64) past_the_end(i32 *p) { p[kw_thread + 1] = 1; }
KW_KERNEL(64) before_the_begin(const i32 *p, i32 *q) { q[kw_thread] = p[kw_thread - 1]; }
KW_KERNEL(64) all_write_one(i32 *p) { p[0] = (i32)kw_thread; }
KW_KERNEL(64) all_read_what_one_writes(i32 *p) {
  if (kw_thread == 3) p[0] = 1; else if (kw_thread) p[kw_thread] = p[0];
}
KW_KERNEL(64) neighbour(i32 *p) { p[kw_thread] = p[(kw_thread + 1) % 32] + 1; }
KW_KERNEL(64) sum_in_one(i32 *p) { p[0] = p[0] + 1; }
KW_KERNEL(64) read_only(const i32 *p, i32 *q) { q[kw_thread] = p[0]; }
KW_KERNEL(64) straddle(i32 *p) { *(i32 *)((char *)p + 2) = 1; }
KW_KERNEL(64) of_the_host(i32 *p) { p[0] = 1; }
KW_KERNEL(64) wide(i64 *p) { p[kw_thread] = 1; }
KW_KERNEL(64) count(i32 *p) { kw_atomic_add(&p[kw_thread % 2], 1); }
KW_KERNEL(64) count_and_read(i32 *p, i32 *q) { kw_atomic_add(&p[0], 1); q[kw_thread] = p[0]; }
KW_KERNEL(64) count_and_write(i32 *p) { if (kw_thread) kw_atomic_add(&p[0], 1); else p[0] = 3; }
KW_KERNEL(64) count_past_the_end(i32 *p) { kw_atomic_add(&p[31 + kw_thread], 1); }
"""
# Threads that wait for one another. Each thread reads what the one 1, 32 or 0 threads after it wrote.
TEAMS = """\
KW_KERNEL(64) turn(i32 *p, i32 by) {
  KW_SHARED(i32, s, 64);
  s[kw_thread] = (i32)kw_thread;
  if (by == 1) kw_sync_warp(); else if (by) kw_sync();
  p[kw_thread] = s[(kw_thread + by) % 64];
}
KW_KERNEL(64) turn_twice(i32 *p, i32 between) {
  KW_SHARED(i32, s, 64);
  for (i32 k = 0; k < 2; k++) {
    s[kw_thread] = k + (i32)kw_thread;
    kw_sync();
    p[kw_thread] = s[(kw_thread + 32) % 64];
    if (between) kw_sync();
  }
}
KW_KERNEL(64) fold(i32 *p) {
  i32 x = (i32)kw_thread;
  for (i32 o = 16; o; o >>= 1) x = x + kw_shfl_xor(x, o);
  p[kw_thread] = x + kw_shfl(x, 7) + kw_any(kw_thread == 40) + kw_any_warp(kw_thread == 40);
}
KW_KERNEL(64) shared_bins(i32 *p, i32 waits) {
  KW_SHARED(i32, s, 4);
  if (kw_thread < 4) s[kw_thread] = 0;
  if (waits & 1) kw_sync();
  kw_atomic_add(&s[kw_thread % 4], 1);
  if (waits & 2) kw_sync();
  if (kw_thread < 4) p[kw_thread] = s[kw_thread];
}
KW_KERNEL(64) part_waits(i32 *p) { if (kw_thread < 32) kw_sync(); p[kw_thread] = 1; }
KW_KERNEL(64) other_barrier(i32 *p) { if (kw_thread & 1) kw_sync_warp(); else kw_sync_warp(1000); p[0] = 1; }
KW_KERNEL(64) unwritten(i32 *p) { KW_SHARED(i32, s, 64); p[kw_thread] = s[kw_thread]; kw_sync(); }
KW_KERNEL(64) past_shared(i32 *p) { KW_SHARED(i32, s, 32); s[kw_thread] = 1; kw_sync(); p[0] = s[0]; }
KW_KERNEL(64) all_blocks(i32 *p) { kw_sync(); p[kw_thread] = 1; kw_sync(); }
KW_KERNEL(64) no_lane(i32 *p) { p[kw_thread] = kw_shfl(1, 32); }
KW_KERNEL(64) fetch(const i32 *q, i32 *p, i32 bug) {
  KW_SHARED(i32, s, 64);
  for (i32 k = 0; k < 2; k++) {
    kw_copy_async(&s[kw_thread], &q[(kw_thread + k) % 64 + (bug == 6)]);
    if (bug != 1) kw_end_group();
    if (bug != 2) bug == 3 ? kw_wait_groups<1>() : kw_wait_groups<0>();
    if (bug != 4) kw_sync();
    p[kw_thread] = s[(kw_thread + 32) % 64];
    if (bug != 5) kw_sync();
  }
  if (bug == 7) kw_copy_async(&p[kw_thread], &q[kw_thread]);
  if (bug == 8) kw_copy_async(&s[kw_thread], &q[kw_thread]);
  if (bug == 9) kw_copy_async((i64 *)&s[1], (const i64 *)&q[0]);
}
KW_KERNEL(64) much(i32 *p) { KW_SHARED(f64, s, 6145); s[kw_thread] = 1; kw_sync(); p[0] = 1; }
"""


def run(steps: list[Any], seed: int = 0, text: str = TEXT) -> tuple[list[str], str, int]:
    """What the steps print, what the emulator reports, and the exit code."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("raw.py"))],
        input=json.dumps({"text": text, "steps": steps}),
        env={**os.environ, **stand_ins.environment(KW_EMULATOR_SEED=str(seed))},
        capture_output=True,
        text=True,
        check=False,
    )
    reports = [line for line in done.stderr.splitlines() if line.startswith("[emulator]")]
    assert done.returncode <= 0, done.stderr
    return done.stdout.splitlines(), "\n".join(reports), done.returncode


MEMORY = [["allocate", "p", 128], ["fill", "p", 128], ["allocate", "q", 128]]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_programs_without_bugs_have_no_reports(seed: int) -> None:
    steps = [
        *MEMORY,
        ["launch", "set_all", 1, 32, ["p", 32]],
        ["launch", "add_one", 1, 32, ["p", "q"]],
        ["launch", "neighbour", 1, 1, ["q"]],
        ["launch", "sum_in_one", 1, 1, ["q"]],
        ["launch", "read_only", 1, 32, ["p", "q"]],
        ["launch", "count", 1, 32, ["q"]],
        ["show", "q", 3],
    ]
    assert run(steps, seed) == (["[23, 23, 7]", "done"], "", 0)


@pytest.mark.parametrize(
    ("kernel", "words", "threads", "report"),
    [
        (
            "past_the_end",
            ["p"],
            32,
            "thread 31: out of bounds write of 4 bytes: byte 128 of memory of 128 bytes",
        ),
        ("before_the_begin", ["p", "q"], 32, "thread 0: out of bounds read of 4 bytes: "),
        (
            "set_all",
            ["p", 64],
            64,
            "thread 32: out of bounds write of 4 bytes: byte 128 of memory of 128 bytes",
        ),
        ("wide", ["p"], 17, "thread 16: out of bounds write of 8 bytes: byte 128 of memory of 128 bytes"),
        ("all_write_one", ["p"], 2, "thread 1: race: threads 0 and 1 write at byte 0 of memory of 128 bytes"),
        (
            "all_read_what_one_writes",
            ["p"],
            32,
            "thread 3: race: thread 3 writes what another thread reads at byte 0",
        ),
        ("neighbour", ["p"], 32, "thread 1: race: thread 1 writes what another thread reads at byte 4"),
        ("sum_in_one", ["p"], 2, "thread 1: race: thread 0 writes and thread 1 reads at byte 0"),
        (
            "count_and_read",
            ["p", "q"],
            2,
            "thread 1: race: thread 1 writes what another thread reads at byte 0",
        ),
        ("count_and_write", ["p"], 2, "thread 1: race: threads 0 and 1 write at byte 0"),
        ("count_past_the_end", ["p"], 2, "thread 1: out of bounds write of 4 bytes: byte 128"),
        ("count", ["q"], 1, "thread 0: read of memory that was never written at byte 0"),
        ("add_one", ["q", "p"], 1, "thread 0: read of memory that was never written at byte 0"),
        ("straddle", ["p"], 1, "thread 0: misaligned access of 4 bytes"),
        ("wide", ["p+4"], 1, "thread 0: misaligned access of 8 bytes"),
        (
            "of_the_host",
            [4096],
            1,
            "thread 0: out of bounds write of 4 bytes: an address of the host, or of nobody",
        ),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_bugs_of_kernels_are_reported(
    kernel: str, words: list[Any], threads: int, report: str, seed: int
) -> None:
    steps = [*MEMORY, ["launch", kernel, 1, threads, words], ["synchronize"]]
    out, said, _ = run(steps, seed)
    assert out == ["cuStreamSynchronize: 700"]
    kind = next(k for k in ("out of bounds", "race", "never written", "misaligned") if k in report)
    # another order of the threads finds the same bug at another place
    wanted = f"[emulator] kernel {kernel}, {report}" if seed == 0 else kind
    assert wanted in said


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_threads_wait_for_one_another(seed: int) -> None:
    steps = [
        ["allocate", "p", 256],
        ["launch", "turn", 1, 64, ["p", 32]],
        ["show", "p", 64],
        ["launch", "turn_twice", 1, 64, ["p", 1]],
        ["show", "p", 64],
        ["launch", "fold", 1, 64, ["p"]],
        ["show", "p", 64],
        ["launch", "shared_bins", 1, 64, ["p", 3]],
        ["show", "p", 4],
    ]
    turned = [(k + 32) % 64 for k in range(64)]
    first, second = sum(range(32)), sum(range(32, 64))
    expected = [turned, [k + 1 for k in turned], [2 * first + 1] * 32 + [2 * second + 2] * 32, [16] * 4]
    assert run(steps, seed, TEAMS) == ([*map(str, expected), "done"], "", 0)


@pytest.mark.parametrize(
    ("kernel", "words", "blocks", "report"),
    [
        ("turn", ["p", 1], 1, "thread 31: read of memory that was never written at byte 128"),
        ("turn_twice", ["p", 0], 1, "thread 31: race: thread 63 writes and thread 31 reads at byte 252"),
        ("shared_bins", ["p", 2], 1, "thread 4: race: threads 0 and 4 write at byte 0"),
        ("shared_bins", ["p", 1], 1, "race: thread 3 accesses what atomic operations change at byte 12"),
        ("part_waits", ["p"], 1, "thread 0: waits at line [0-9]+ for thread 32, which has ended"),
        ("other_barrier", ["p"], 1, "thread 1: waits at line [0-9]+, thread 0 at line 1000"),
        ("unwritten", ["p"], 1, "read of memory that was never written at byte 0"),
        ("past_shared", ["p"], 1, "out of bounds write of 4 bytes: byte 128 of memory of 128 bytes"),
        ("all_blocks", ["p"], 2, "thread 127: race: threads 63 and 127 write at byte 252"),
        ("no_lane", ["p"], 1, "exchange with lane 32 of 32"),
        ("much", ["p"], 1, "more shared memory than 48 KB"),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_bugs_of_barriers_are_reported(
    kernel: str, words: list[Any], blocks: int, report: str, seed: int
) -> None:
    steps = [["allocate", "p", 256], ["launch", kernel, blocks, 64, words], ["synchronize"]]
    out, said, _ = run(steps, seed, TEAMS)
    assert out == ["cuStreamSynchronize: 700"]
    if seed == 0:
        assert re.search(report, said), said


UNDER_WAY = "accesses byte [0-9]+ of memory of 256 bytes before a copy to it has ended"


@pytest.mark.parametrize(
    ("bug", "report"),
    [
        (1, UNDER_WAY),
        (2, UNDER_WAY),
        (3, UNDER_WAY),
        (4, "thread 0: read of memory that was never written at byte 128"),
        (5, "thread 31: race: thread 63 writes and thread 31 reads at byte 252"),
        (6, "thread 63: out of bounds read of 4 bytes: byte 256 of memory of 256 bytes"),
        (7, "an asynchronous copy to memory that is not shared"),
        (8, "ends before its copies to shared memory"),
        (9, "misaligned access of 8 bytes"),
    ],
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bugs_of_copies_are_reported(bug: int, report: str, seed: int) -> None:
    steps: list[Any] = [["allocate", "p", 256], ["allocate", "q", 256], ["fill", "q", 256]]
    steps += [["launch", "fetch", 1, 64, ["q", "p", bug]], ["synchronize"]]
    out, said, _ = run(steps, seed, TEAMS)
    assert out == ["cuStreamSynchronize: 700"]
    if seed == 0:
        assert re.search(report, said), said


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_copies_without_bugs(seed: int) -> None:
    steps: list[Any] = [["allocate", "p", 256], ["allocate", "q", 256], ["fill", "q", 256]]
    steps += [["launch", "fetch", 1, 64, ["q", "p", 0]], ["show", "p", 2]]
    assert run(steps, seed, TEAMS) == ([str([0x01010101] * 2), "done"], "", 0)


def test_errors_stay() -> None:
    steps = [*MEMORY, ["launch", "past_the_end", 1, 32, ["p"]], ["show", "p", 1, "", False], ["synchronize"]]
    out, _, _ = run(steps)
    assert out == ["[-1]", "cuStreamSynchronize: 700"]


def test_a_grid_that_is_too_small_shows_in_the_numbers() -> None:
    steps = [*MEMORY, ["launch", "set_all", 1, 16, ["p", 32]], ["show", "p", 32]]
    out, said, _ = run(steps)
    assert out[0] == str([7] * 16 + [0x01010101] * 16) and said == ""


def test_launches_that_a_device_refuses() -> None:
    for blocks, threads, result in ((1, 65, 701), (0, 32, 1), (1, 0, 1)):
        out, _, _ = run([*MEMORY, ["launch", "set_all", blocks, threads, ["p", 32]]])
        assert out == [f"cuLaunchKernel: {result}"]


def test_memory_of_nobody_is_refused() -> None:
    out, _, _ = run([*MEMORY, ["fill", "p", 129]])
    assert out == ["cuMemsetD8Async: 1"]


def test_the_host_cannot_touch_device_memory() -> None:
    out, said, code = run([*MEMORY, ["synchronize"], ["touch", "p"]])
    assert (out, said, code) == ([], "", -signal.SIGSEGV)


def test_a_copy_is_not_there_before_a_wait() -> None:
    out, _, _ = run([*MEMORY, ["show", "p", 1, "", False], ["synchronize"]])
    assert out == ["[-1]", "done"]


TWO_STREAMS = [
    *MEMORY,
    ["synchronize"],
    ["stream", "a"],
    ["stream", "b"],
    ["launch", "add_one", 1, 32, ["p", "q"], "a"],
]


def test_a_missing_event_shows() -> None:
    """Work of another stream runs when it is asked for, not before."""
    missing = [*TWO_STREAMS, ["launch", "add_one", 1, 32, ["q", "p"], "b"], ["synchronize", "b"]]
    out, said, _ = run(missing)
    assert out == ["cuStreamSynchronize: 700"] and "read of memory that was never written" in said
    with_event = [*TWO_STREAMS, ["record", "e", "a"], ["wait", "b", "e"], *missing[-2:], ["show", "p", 1]]
    assert run(with_event)[0] == [str([0x01010101 + 2]), "done"]
