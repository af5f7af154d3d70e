"""Mutation check, `make mutants [ONLY="name …"]`: builds a scratch copy once for each fault of faults.py and
runs it until something fails: the test or program that caught the fault the last time, then some generated
programs, the C++ tests, 2,000 programs in all, the oracles, the Python tests.
`ONLY=missing` takes those that results.md does not tell to be caught.

Writes results.md; the exit status is 1 when a fault survives or cannot be judged. Touches no file of the tree
but results.md.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fault import Fault
from faults import FAULTS

ROOT = Path(__file__).resolve().parents[2]
SCRATCH = ROOT / "build-mutants"
TREE = SCRATCH / "tree"
PASSED = SCRATCH / "passed.txt"  # hash of the tree that passed every stage without a fault
RESULTS = Path(__file__).with_name("results.md")
SEED, FIRST, PROGRAMS = 20261122, 300, 2000
LEFT_OUT = (
    "tests/lint",
    "tests/mutants",
    "tests/fuzz/test_programs.py",
)  # they judge text, or run programs too


class Broken(Exception):
    """The check itself failed: nothing is known of the fault."""


@dataclass
class Row:
    """What became of a fault: `caught` names a seed or a test and is empty for a survivor."""

    name: str
    caught: str
    seconds: float


@dataclass
class Ended:
    """How a command ended; `status` is None when its time was over."""

    status: int | None
    text: str


def command(args: list[str], seconds: float) -> Ended:
    """Runs in the scratch tree with its build of the package; a time-out ends all that it started."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("KW_", "PYTEST"))}
    env |= {"PYTHONPATH": str(TREE / "build"), "KW_CACHE_DIR": str(SCRATCH / "cache")}
    process = subprocess.Popen(
        args, cwd=TREE, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        out, _ = process.communicate(timeout=seconds)
        return Ended(process.returncode, out.decode(errors="replace"))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, _ = process.communicate()
        return Ended(None, out.decode(errors="replace"))
    except BaseException:
        os.killpg(process.pid, 9)
        raise


def last_match(pattern: str, text: str, otherwise: str) -> str:
    found = re.findall(pattern, text, re.MULTILINE)
    return str(found[-1]) if found else otherwise


def by_programs(seed: int, count: int) -> str:
    """The first generated program that is judged wrong."""
    ended = command([sys.executable, "tests/fuzz/kw_fuzz.py", "first", str(seed), str(count)], 900)
    if ended.status is None:
        return "programs: time-out"
    if ended.status == 1 and (found := re.match(r"seed \d+: .*", ended.text)):
        return found[0]
    if ended.status or f"{count} programs" not in ended.text:
        raise Broken(f"the fuzzer ended with {ended.status}:\n{ended.text[-3000:]}")
    return ""


def by_binary(name: str, tests: str = "*") -> str:
    """The first failing test of a binary, or the one in which it crashed or hung."""
    ended = command([f"build/tests/{name}", "--gtest_fail_fast", f"--gtest_filter={tests}"], 400)
    if ended.status == 0:
        return ""
    test = last_match(r"^\[ RUN      \] (\S+)", ended.text, "")
    if not test:
        raise Broken(f"{name} ended with {ended.status}:\n{ended.text[-3000:]}")
    test = last_match(r"^\[  FAILED  \] (\w+\.\w+)", ended.text, test)
    how = "" if ended.status == 1 else ", time-out" if ended.status is None else f", signal {-ended.status}"
    return f"{name} {test}{how}"


def by_pytest(tests: str = "tests") -> str:
    args = [sys.executable, "-m", "pytest", "-x", "-v", "-p", "no:cacheprovider", "--tb=short", tests]
    ended = command([*args, *(f"--ignore={path}" for path in LEFT_OUT)], 900)
    if tests != "tests" and ended.status in (4, 5):  # it is no longer there
        return ""
    if ended.status == 0:
        return ""
    test = last_match(r"^(?:FAILED|ERROR) (\S+)", ended.text, "")
    test = test or last_match(r"^(tests/\S+::\S+)", ended.text, "")
    if not test:
        raise Broken(f"pytest ended with {ended.status}:\n{ended.text[-3000:]}")
    return test if ended.status == 1 else f"{test}, {'time-out' if ended.status is None else 'crash'}"


STAGES: dict[str, Callable[[], str]] = {  # the sum of their costs is least in this order
    "first programs": lambda: by_programs(SEED, FIRST),
    "C++ tests": lambda: by_binary("kw_unit"),
    "other processors": lambda: by_binary("kw_machine"),
    "more programs": lambda: by_programs(SEED + FIRST, PROGRAMS - FIRST),
    "oracles": lambda: by_binary("kw_oracle"),
    "Python tests": by_pytest,
}
BINARIES = {"kw_unit": "C++ tests", "kw_machine": "other processors", "kw_oracle": "oracles"}


def by_known(caught: str) -> tuple[str, str]:
    """Runs only what a row of results.md names; what caught the fault and its stage, or "" and ""."""
    what, _, rest = caught.partition(" ")
    if what == "seed":
        seed = int(rest.partition(":")[0])
        stage = "first programs" if seed < SEED + FIRST else "more programs"
        return by_programs(seed, 1), stage
    if what in BINARIES:
        return by_binary(what, rest.partition(",")[0]), BINARIES[what]
    if what.startswith("tests/"):
        return by_pytest(re.sub(", (?:crash|time-out)$", "", caught)), "Python tests"
    return "", ""


def sources() -> dict[str, bytes]:
    """The working tree: what git tracks and what it would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    paths = [p for p in listed.stdout.split("\0") if p and (ROOT / p).is_file()]
    return {p: (ROOT / p).read_bytes() for p in paths}


def copy(files: dict[str, bytes]) -> None:
    """Only what differs is written, so that little is built again."""
    listed = SCRATCH / "files.txt"
    before = listed.read_text().splitlines() if listed.exists() else []
    for path in set(before) - set(files):
        (TREE / path).unlink(missing_ok=True)
    for path, data in files.items():
        target = TREE / path
        if target.exists() and target.read_bytes() == data:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod((ROOT / path).stat().st_mode)
    listed.write_text("\n".join(sorted(files)) + "\n")


def build() -> None:
    ended = command(["ninja", "-C", "build", "-j", "2"], 1800)
    if ended.status != 0:
        raise Broken(f"the build fails:\n{ended.text[-3000:]}")


def configure() -> None:
    if (TREE / "build/build.ninja").exists():
        return
    python = f"-DPython_EXECUTABLE={sys.executable}"
    args = ["cmake", "-S", ".", "-B", "build", "-G", "Ninja", python, "-DCMAKE_BUILD_TYPE=Release"]
    if (ended := command(args, 300)).status != 0:
        raise Broken(ended.text)


def digest_of(files: dict[str, bytes]) -> str:
    """Changes with everything that can change what a stage says."""
    out = hashlib.sha256()
    for path in sorted(files):
        if not path.startswith("tests/mutants/") and not path.endswith((".md", "Makefile")):
            out.update(path.encode() + b"\0" + files[path] + b"\0")
    return out.hexdigest()


def expect_sound(digest: str, stages: list[str]) -> None:
    """Without a fault these stages pass; each runs once for a tree."""
    where = command([sys.executable, "-c", "import kernelwright as k; print(k.__file__)"], 60).text.strip()
    if not where.startswith(str(TREE / "build")):
        raise Broken(f"the package comes from {where}, not from the scratch build")
    seen = PASSED.read_text().splitlines() if PASSED.exists() else []
    passed = seen[1:] if seen[:1] == [digest] else []
    for name in stages:
        if name in passed:
            continue
        begin = time.monotonic()
        if caught := STAGES[name]():
            raise Broken(f"without any fault: {caught}")
        print(f"without any fault: {name} pass, {time.monotonic() - begin:.0f} s", flush=True)
        passed.append(name)
        PASSED.write_text("\n".join([digest, *passed]) + "\n")


def judge(fault: Fault, known: str) -> tuple[Row, str]:
    """The row of a fault and the stage that caught it, "" for none; `known` caught it the last time."""
    target = TREE / fault.path
    text = target.read_text()
    begin = time.monotonic()
    target.write_text(fault.applied(text))
    try:
        build()
        caught, name = by_known(known)
        if caught:
            return Row(fault.name, caught, time.monotonic() - begin), name
        for name, stage in STAGES.items():
            if caught := stage():
                return Row(fault.name, caught, time.monotonic() - begin), name
        return Row(fault.name, "", time.monotonic() - begin), ""
    finally:
        target.write_text(text)


def old_rows() -> dict[str, Row]:
    rows = {}
    for line in RESULTS.read_text().splitlines() if RESULTS.exists() else []:
        cells = [c.strip().strip("`") for c in line.strip("|").split("|")]
        if len(cells) == 5 and any(f.name == cells[0] for f in FAULTS):
            rows[cells[0]] = Row(cells[0], "" if cells[3] == "NOTHING" else cells[3], float(cells[4]))
    return rows


def write(rows: dict[str, Row]) -> None:
    """The table of all faults judged so far, in their order."""
    known = [(f, rows[f.name]) for f in FAULTS if f.name in rows]
    caught = [row for _, row in known if row.caught]
    by_seed = sum(row.caught.startswith(("seed", "programs")) for row in caught)
    lines = [
        "# Mutation check: what catches each fault",
        "",
        f"Written by `make mutants`: {len(caught)} of {len(known)} faults are caught, {by_seed} of them by",
        f"one of {PROGRAMS} generated programs from seed {SEED}, the others by a test. A run tries first",
        f"what the row names; if that passes, {FIRST} programs, the C++ tests, the other programs, the",
        "oracles and the Python tests.",
        "A row stays until its fault is judged again. The seconds are those of two busy cores.",
        "",
        "| fault | file | what it breaks | caught by | s |",
        "|---|---|---|---|---|",
    ]
    for fault, row in known:
        found = row.caught.replace("|", "/") or "NOTHING"
        lines.append(f"| {fault.name} | `{fault.path}` | {fault.breaks} | {found} | {row.seconds:.0f} |")
    RESULTS.write_text("\n".join(lines) + "\n")


def judge_all(chosen: list[Fault], rows: dict[str, Row]) -> tuple[set[str], int]:
    """The stages that caught something, and how many faults survive or cannot be judged."""
    used, bad = set(), 0
    for fault in chosen:
        try:
            known = rows[fault.name].caught if fault.name in rows else ""
            rows[fault.name], stage = judge(fault, known)
        except Broken as e:
            bad += 1
            print(f"{fault.name}: cannot be judged: {e}", flush=True)
            continue
        used.add(stage)
        bad += not stage
        row = rows[fault.name]
        print(f"{fault.name}: {row.caught or 'SURVIVES'}, {row.seconds:.0f} s", flush=True)
        write(rows)
    return used - {""}, bad


def main(names: list[str]) -> int:
    rows = old_rows()
    if names == ["missing"]:
        names = [f.name for f in FAULTS if f.name not in rows or not rows[f.name].caught]
    if unknown := set(names) - {f.name for f in FAULTS}:
        print("no such fault:", *sorted(unknown))
        return 1
    SCRATCH.mkdir(exist_ok=True)
    files = sources()
    digest = digest_of(files)
    copy(files)
    try:
        configure()
        build()
        expect_sound(digest, ["first programs", "more programs", "C++ tests"])
        used, bad = judge_all([f for f in FAULTS if not names or f.name in names], rows)
        build()
        expect_sound(digest, [name for name in STAGES if name in used])
        if caught := by_binary("kw_unit"):  # nor has the machine gone bad meanwhile
            raise Broken(f"without any fault, at the end: {caught}")
    except Broken as e:
        print(f"the check itself failed, and {RESULTS.name} tells nothing: {e}")
        return 1
    print(f"faults that survive or cannot be judged: {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
