"""Generated kernels run every way: `kw_fuzz.py SEED N [WORKERS [SECONDS]]`, or `kw_fuzz.py one SEED`, or
`kw_fuzz.py first SEED N`, which stops soon after the first finding and names it. With `--device gpu-ir` in
front, the interpreter also runs the IR that is scheduled for sm_90; with `--device emulated` the programs
also run on the emulated GPU.

Worker processes count programs and note the seed in work, so that a crash or a hang is a finding as well. A
process compiles for one target: seeds take the targets of the machine in turn, and one thread or two. Every
tenth program runs once more for each other target, by both thread counts; targets with fma must give the same
bits in the default mode. A KW_TARGET that is set stands for all. Loops are worth a thread however short they
are. Findings are cut down and printed; the exit status is 1 when there are any.
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
PIECES = 2  # shares of each target, so that no worker waits long for the last one


def targets() -> tuple[str, ...]:
    """What machine code may be for here; the last one has no fma."""
    has_both = "avx512f" in Path("/proc/cpuinfo").read_text()
    return ("avx512", "avx2", "generic") if has_both else ("host", "host", "generic")


def target_of(seed: int) -> str:
    """What machine code of a program is for."""
    known = targets()
    return os.environ.get("KW_TARGET") or known[seed % len(known)] + ",grain=0"


def note(seed: int, kind: str, target: str) -> None:
    """Prints a finding, so that it outlives a later crash of the process."""
    print(json.dumps([seed, kind, target]), flush=True)


def worker(share: dict[str, Any]) -> None:
    """Judges the seeds of a share; prints each finding and then the tallies as a line of JSON."""
    import generate
    import judge

    warnings.simplefilter("ignore")
    tally: Counter[str] = Counter()
    features: Counter[str] = Counter()
    digests: dict[int, str] = {}
    until = time.monotonic() + share["seconds"]
    with open(share["last"], "r+b") as file:
        memory = mmap.mmap(file.fileno(), 16)
    done = 0
    for seed in range(share["first"], share["stop"], share["step"]):
        if time.monotonic() > until:
            break
        memory[:16] = struct.pack("qq", seed, done)
        done += 1
        if share["again"] and target_of(seed) == share["target"]:
            continue
        try:
            p = generate.program(seed)
            verdict = judge.judge(p)
        except Exception as e:
            note(seed, f"exception of the fuzzer: {e!r}"[:200], share["target"])
            continue
        tally.update(verdict.ended)
        tally.update(verdict.modes)
        features.update(p.features)
        if verdict.complaint:
            note(seed, verdict.kind, share["target"])
        elif seed % 10 == 0:
            digests[seed] = verdict.digest
    memory[:16] = struct.pack("qq", -1, done)
    print(json.dumps({"done": done, "tally": tally, "features": features, "bits": digests}))


class Share:
    """Seeds for one target and their worker, which is started again behind a seed that killed it."""

    def __init__(self, what: dict[str, Any], folder: Path, number: int) -> None:
        self.what = {**what, "last": str(folder / f"last{number}")}
        self.total: dict[str, Any] = {"done": 0, "tally": Counter(), "features": Counter(), "found": []}
        self.bits: dict[str, str] = {}

    def start(self, until: float) -> None:
        self.until = until
        Path(self.what["last"]).write_bytes(struct.pack("qq", self.what["first"], 0))
        self.what["seconds"] = max(until - time.monotonic(), 1.0)
        command = [sys.executable, __file__, "worker", json.dumps(self.what)]
        env = {**os.environ, "KW_TARGET": self.what["target"]}
        # a file: a pipe that is read at the end holds the bits of 10,000 programs, and then its writer waits
        self.said = Path(self.what["last"]).with_suffix(".out")
        with self.said.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out, text=True, env=env)
        self.seen, self.since = (self.what["first"], 0), time.monotonic()

    def poll(self) -> bool:
        """False when all seeds are done."""
        seed, done = struct.unpack("qq", Path(self.what["last"]).read_bytes())
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
        report = json.loads(self.findings()[-1])
        self.total["tally"].update(report["tally"])
        self.total["features"].update(report["features"])
        self.total["done"] += report["done"]
        self.bits |= report["bits"]
        return False

    def findings(self) -> list[str]:
        """Counts what the process that ended has found, and returns its lines."""
        lines = self.said.read_text().splitlines()
        self.total["found"] += [tuple(json.loads(line)) for line in lines if line.startswith("[")]
        return lines

    def lost(self, seed: int, done: int, why: str) -> bool:
        self.findings()
        if seed < 0:  # behind its last program, and its tallies are lost
            self.total["found"].append((seed, f"{why}, as the process ended", self.what["target"]))
            self.total["done"] += done
            return False
        self.total["found"].append((seed, why, self.what["target"]))
        self.total["done"] += done + 1
        self.what["first"] = seed + self.what["step"]
        if self.what["first"] >= self.what["stop"]:
            return False
        self.start(self.until)
        return True


def shares(first: int, count: int) -> list[dict[str, Any]]:
    """All seeds by the target of each, then every tenth seed for the other targets."""
    stop, known, step = first + count, targets(), len(targets()) * PIECES
    out: list[dict[str, Any]] = []
    for s in range(first, min(first + step, stop)):
        out.append({"first": s, "stop": stop, "step": step, "again": False, "target": target_of(s)})
    if "KW_TARGET" not in os.environ:
        tenth = first + -first % 10
        for name in sorted({*known}):
            share = {"first": tenth, "stop": stop, "step": 10, "again": True, "target": name + ",grain=0"}
            out += [share] if tenth < stop else []
    return out


def run(first: int, count: int, workers: int, seconds: float) -> dict[str, Any]:
    """Tallies of `count` programs from a seed on."""
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        all_shares = [Share(what, Path(folder), n) for n, what in enumerate(shares(first, count))]
        waiting, working = list(all_shares), list[Share]()
        while waiting or working:
            while waiting and len(working) < workers:
                working.append(waiting.pop(0))
                working[-1].start(until)
            time.sleep(0.05)
            working = [s for s in working if s.poll()]
    total: dict[str, Any] = {"done": 0, "tally": Counter(), "features": Counter(), "found": []}
    for s in all_shares:
        for key in ("tally", "found", *(() if s.what["again"] else ("done", "features"))):
            total[key] += s.total[key]
    total["found"] += other_bits(all_shares)
    return total


def other_bits(all_shares: list[Share]) -> list[tuple[int, str, str]]:
    """The seeds whose default mode gives other bits for two targets that both have fma."""
    by_seed: dict[str, dict[str, str]] = {}
    for s in all_shares:
        if not s.what["target"].startswith("generic"):
            for seed, bits in s.bits.items():
                by_seed.setdefault(seed, {})[s.what["target"]] = bits
    return [
        (int(seed), f"default: other bits for {' and '.join(by)}", next(iter(by)))
        for seed, by in by_seed.items()
        if len({*by.values()} - {""}) > 1
    ]


def explain(seed: int, seconds: float) -> str:
    """The finding of a seed, cut down."""
    os.environ.setdefault("KW_TARGET", target_of(seed))
    import gen_args
    import generate
    import judge
    import shrink

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
            lines.append(judge.judge(p).complaint)
        except Exception as e:
            lines.append(repr(e))
    return "\n".join(lines)


def explain_apart(seed: int, target: str) -> str:
    """`explain` in a process of its own."""
    command = [sys.executable, __file__, "one", str(seed), str(SHRINK_SECONDS)]
    env = {**os.environ, "KW_TARGET": target}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    return done.stdout + done.stderr[-2000:]


def first_finding(first: int, count: int) -> int:
    """Runs parts that grow, so that a common failure costs few programs."""
    done = 0
    while done < count:
        part = min(max(100, 3 * done), count - done)
        total = run(first + done, part, 2, 1e9)
        if total["found"]:
            print("seed {}: {}, for {}".format(*min(tuple(f) for f in total["found"])))
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
    kinds: dict[str, list[tuple[int, str]]] = {}
    for seed, kind, target in total["found"]:
        kinds.setdefault(kind, []).append((seed, target))
    print(f"findings: {len(total['found'])}, of {len(kinds)} kinds")
    for n, (kind, seeds) in enumerate(sorted(kinds.items(), key=lambda item: -len(item[1]))):
        print(f"\n== {len(seeds)} times {kind}: seeds {' '.join(str(s) for s, _ in seeds[:5])}")
        if n < SHOWN:
            print(explain_apart(*seeds[0]))
    return 1 if total["found"] else 0


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "--device":
        os.environ["KW_FUZZ_DEVICE"], what, *rest = rest
        if rest and os.environ["KW_FUZZ_DEVICE"] == "emulated":
            sys.path.insert(0, str(Path(__file__).parents[1] / "gpu" / "emulator"))
            import stand_ins

            os.environ.update(stand_ins.environment())
    if what == "worker":
        worker(json.loads(rest[0]))
    elif what == "one":
        print(explain(int(rest[0]), float(rest[1]) if len(rest) > 1 else SHRINK_SECONDS))
    elif what == "first":
        sys.exit(first_finding(int(rest[0]), int(rest[1])))
    else:
        sys.exit(main(int(what), int(rest[0]), *(int(r) for r in rest[1:2]), *(float(r) for r in rest[2:3])))
