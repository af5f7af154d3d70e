"""Generated kernels run every way: `kw_fuzz.py SEED N [WORKERS [SECONDS]]`, or `kw_fuzz.py one SEED`, or
`kw_fuzz.py first SEED N`, which stops soon after the first finding and names it.

Workers of their own count programs and note the seed in work, so that a crash or a hang is a finding as well.
Even seeds run for the machine itself and odd ones for AVX2, pairs of seeds by one thread and by two in turn;
a KW_TARGET that is set stands for all. Loops are worth a thread however short they are. Findings are cut down
and printed; the exit status is 1 when there are any.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

HANG = 60.0  # seconds without a new seed
SHOWN = 6  # findings that are cut down
SHRINK_SECONDS = 40.0
DEFAULT_SHARE = 5  # every fifth program runs in the default mode as well, by either target and thread count


def target_of(seed: int) -> str:
    """What machine code of a program is for."""
    has_both = "avx512f" in Path("/proc/cpuinfo").read_text()
    return ("avx2" if has_both and seed % 2 else "host") + ",grain=0"


def set_threads(seed: int) -> None:
    import kernelwright as kw

    kw.set_threads(1 + seed // 2 % 2)


def worker(first: int, count: int, step: int, seconds: float, last: str) -> None:
    """Judges seeds first, first + step, …; prints tallies and findings as one line of JSON."""
    import generate
    import trial

    warnings.simplefilter("ignore")
    tally: Counter[str] = Counter()
    features: Counter[str] = Counter()
    found: list[tuple[int, str]] = []
    until = time.monotonic() + seconds
    with open(last, "r+b") as file:
        memory = mmap.mmap(file.fileno(), 16)
    done = 0
    for seed in range(first, first + count * step, step):
        if time.monotonic() > until:
            break
        memory[:16] = struct.pack("qq", seed, done)
        try:
            p = generate.program(seed)
            set_threads(seed)
            verdict = trial.judge(p, seed % DEFAULT_SHARE == 0)
        except Exception as e:
            found.append((seed, f"exception of the fuzzer: {e!r}"[:200]))
            done += 1
            continue
        done += 1
        tally.update(verdict.ended)
        features.update(p.features)
        if verdict.complaint:
            found.append((seed, verdict.kind))
    memory[:16] = struct.pack("qq", -1, done)
    print(json.dumps({"done": done, "tally": tally, "features": features, "found": found}))


class Share:
    """The seeds of one worker process, which is started again behind a seed that killed it."""

    def __init__(self, first: int, count: int, step: int, seconds: float, folder: Path) -> None:
        self.next, self.left, self.step = first, count, step
        self.until = time.monotonic() + seconds
        self.last = folder / f"last{first % step}"
        self.total: dict[str, Any] = {"done": 0, "tally": Counter(), "features": Counter(), "found": []}
        self.start()

    def start(self) -> None:
        self.last.write_bytes(struct.pack("qq", self.next, 0))
        left = str(max(self.until - time.monotonic(), 1.0))
        command = [sys.executable, __file__, "worker", str(self.next), str(self.left), str(self.step), left]
        env = {"KW_TARGET": target_of(self.next), **os.environ}
        self.process = subprocess.Popen(
            [*command, str(self.last)], stdout=subprocess.PIPE, text=True, env=env
        )
        self.seen, self.since = (self.next, 0), time.monotonic()

    def poll(self) -> bool:
        """False when all seeds are done."""
        seed, done = struct.unpack("qq", self.last.read_bytes())
        if (seed, done) != self.seen:
            self.seen, self.since = (seed, done), time.monotonic()
        if self.process.poll() is None:
            if time.monotonic() - self.since > HANG:
                self.process.kill()
                self.process.wait()
                return self.lost(seed, done, "hangs")
            return True
        if self.process.returncode:
            return self.lost(seed, done, f"crash, exit status {self.process.returncode}")
        assert self.process.stdout
        report = json.loads(self.process.stdout.read())
        self.total["tally"].update(report["tally"])
        self.total["features"].update(report["features"])
        self.total["found"] += report["found"]
        self.total["done"] += report["done"]
        return False

    def lost(self, seed: int, done: int, why: str) -> bool:
        self.total["found"].append((seed, why))
        self.total["done"] += done + 1
        self.left -= done + 1
        self.next = seed + self.step
        if self.left <= 0:
            return False
        self.start()
        return True


def run(first: int, count: int, workers: int, seconds: float) -> dict[str, Any]:
    """Tallies of `count` programs from a seed on, by an even number of workers."""
    workers += workers % 2
    with tempfile.TemporaryDirectory() as folder:
        counts = [len(range(k, count, workers)) for k in range(workers)]
        shares = [Share(first + k, n, workers, seconds, Path(folder)) for k, n in enumerate(counts) if n]
        working = list(shares)
        while working:
            time.sleep(0.05)
            working = [s for s in working if s.poll()]
    total: dict[str, Any] = {"done": 0, "tally": Counter(), "features": Counter(), "found": []}
    for s in shares:
        for key in total:
            total[key] += s.total[key]
    return total


def explain(seed: int, seconds: float) -> str:
    """The finding of a seed, cut down."""
    os.environ.setdefault("KW_TARGET", target_of(seed))
    import gen_args
    import generate
    import shrink
    import trial

    set_threads(seed)

    warnings.simplefilter("ignore")
    p, kind = shrink.shrink(generate.program(seed), seconds)
    lines = [f"seed {seed}: {kind or 'no failure'}", p.text()]
    lines += [f"{name} = {value!r}" for name, value in p.captured.items() if name in p.text()]
    for n, call in enumerate(p.calls):
        lines.append(f"call {n}: {call}")
        made = gen_args.named(p, call)
        given = gen_args.outputs(p, call, made)
        for arg, value in zip(p.args, made.values(), strict=True):
            over = f" over {arg.partner}" if arg.partner and not call.apart else ""
            lines.append(
                f"{arg.name} = {value!r} of {arg.dtype}, {call.layouts.get(arg.name, arg.layout)}{over}"
            )
        lines += [f"out= of {a.name}: {g!r}" for a, g in zip(p.outputs, given, strict=False) if g is not None]
    if kind and not kind.startswith(("crash", "hangs")):
        try:
            lines.append(trial.judge(p).complaint)
        except Exception as e:
            lines.append(repr(e))
    return "\n".join(lines)


def explain_apart(seed: int) -> str:
    """`explain` in a process of its own."""
    command = [sys.executable, __file__, "one", str(seed), str(SHRINK_SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr[-2000:]


def first_finding(first: int, count: int) -> int:
    """Runs parts that grow, so that a common failure costs few programs."""
    done = 0
    while done < count:
        part = min(max(100, 3 * done), count - done)
        total = run(first + done, part, 2, 1e9)
        if total["found"]:
            print("seed {}: {}".format(*min(tuple(f) for f in total["found"])))
            return 1
        done += total["done"]
    print(f"{done} programs, no finding")
    return 0


def main(first: int, count: int, workers: int = 2, seconds: float = 1e9) -> int:
    begin = time.monotonic()
    total = run(first, count, workers, seconds)
    spent = time.monotonic() - begin
    print(f"{total['done']} programs from seed {first} in {spent:.0f} s")
    print("ended", dict(total["tally"].most_common()))
    print("with", dict(total["features"].most_common()))
    kinds: dict[str, list[int]] = {}
    for seed, kind in total["found"]:
        kinds.setdefault(kind, []).append(seed)
    print(f"findings: {len(total['found'])}, of {len(kinds)} kinds")
    for n, (kind, seeds) in enumerate(sorted(kinds.items(), key=lambda item: -len(item[1]))):
        print(f"\n== {len(seeds)} times {kind}: seeds {' '.join(map(str, seeds[:5]))}")
        if n < SHOWN:
            print(explain_apart(seeds[0]))
    return 1 if total["found"] else 0


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "worker":
        worker(int(rest[0]), int(rest[1]), int(rest[2]), float(rest[3]), rest[4])
    elif what == "one":
        print(explain(int(rest[0]), float(rest[1]) if len(rest) > 1 else SHRINK_SECONDS))
    elif what == "first":
        sys.exit(first_finding(int(rest[0]), int(rest[1])))
    else:
        sys.exit(main(int(what), int(rest[0]), *(int(r) for r in rest[1:2]), *(float(r) for r in rest[2:3])))
