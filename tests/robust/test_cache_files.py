"""The cache beside writers that are killed, clocks that jump, folders of others, and forged files.

Single faults have their tests in tests/python/test_cache.py.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from artifacts import sections
from cold import SEED, TIMES, expect, run

SCALE = """
import sys
import numpy as np
import kernelwright as kw

def scale(number):
    body = f"    for i in range(a.shape[0]):\\n        a[i] = a[i] * {number}\\n    return a\\n"
    return kw.kernel("def scale(a):\\n" + body)

def check(*numbers):
    for n in numbers:
        assert (scale(n)(np.arange(5.0)) == np.arange(5.0) * n).all(), n
"""

# before what the environment has: the mutation check sets the build that is tested
HERE_FIRST = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))


def cached(folder: Path, program: str, *arguments: object, **env: str) -> str:
    done = run(SCALE + program, *arguments, env={"KW_CACHE_DIR": str(folder), **env})
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def kw(folder: Path, *arguments: str) -> tuple[int, str]:
    program = f"import sys\nfrom kernelwright.cli import main\nsys.exit(main({list(arguments)!r}))"
    done = run(program, env={"KW_CACHE_DIR": str(folder)})
    return done.returncode, done.stdout


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    (tmp_path / "cache").mkdir(mode=0o700)
    return tmp_path / "cache"


def aged(path: Path, seconds: float) -> Path:
    path.touch()
    when = time.time() - seconds
    os.utime(path, (when, when))
    return path


KEY = "0123456789abcdef" * 2


def test_what_killed_writers_left_goes_with_time(cache: Path) -> None:
    old = [aged(cache / f"{KEY}.kwa.{n}", 4000) for n in ("aaaaaa", "bbbbbb")]
    ahead = aged(cache / f"{KEY}.kwa.cccccc", -10_000)
    young = aged(cache / f"{KEY}.kwa.dddddd", 60)
    foreign = aged(cache / "notes.txt", 4000)
    cached(cache, "check(2)")  # the first write of a process looks around
    assert not any(p.exists() for p in [*old, ahead]) and young.exists() and foreign.exists()
    aged(old[0], 4000)
    assert kw(cache, "cache", "prune") == (0, f"1 files removed from {cache}\n")
    assert len(list(cache.glob("*.kwa"))) == 1 and young.exists()
    assert kw(cache, "cache", "clear")[0] == 0
    assert list(cache.iterdir()) == [foreign]


def test_leftovers_count_for_the_cap(cache: Path) -> None:
    aged(cache / f"{KEY}.kwa.aaaaaa", 60).write_bytes(b"x" * 1_000_000)
    cached(cache, "check(2)\ncheck(3)", KW_CACHE_SIZE="900K")
    assert list(cache.glob("*.kwa")) == []


def test_entries_of_the_future_go_first(cache: Path) -> None:
    cached(cache, "check(2)")
    [future] = cache.glob("*.kwa")
    aged(future, -1_000_000)
    cached(cache, "check(3)", KW_CACHE_SIZE=str(int(future.stat().st_size * 1.5)))
    assert not future.exists() and len(list(cache.glob("*.kwa"))) == 1


def test_an_entry_of_the_future_that_is_used_is_of_now(cache: Path) -> None:
    cached(cache, "check(2)")
    [future] = cache.glob("*.kwa")
    aged(future, -1_000_000)
    cached(cache, "check(2)")
    assert abs(future.stat().st_mtime - time.time()) < 100


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777, 0o755])
def test_a_folder_that_others_can_write(tmp_path: Path, mode: int) -> None:
    shared = tmp_path / "shared"
    (shared / "own").mkdir(parents=True, mode=0o700)
    shared.chmod(mode)
    cache = shared / "own" / "cache"
    done = run(SCALE + "check(2)", env={"KW_CACHE_DIR": str(cache)})
    assert done.returncode == 0
    if mode in (0o1777, 0o755):
        assert done.stderr == "" and len(list(cache.iterdir())) == 1
    else:
        assert f"{cache} lies in {shared}, which others can write" in done.stderr
        assert not cache.exists()


def test_a_link_to_a_folder_that_others_can_write(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "cache").mkdir(parents=True, mode=0o700)
    shared.chmod(0o777)
    (tmp_path / "link").symlink_to(shared / "cache")
    done = run(SCALE + "check(2)", env={"KW_CACHE_DIR": str(tmp_path / "link")})
    assert f"{tmp_path}/link lies in {shared}, which others can write" in done.stderr


def test_a_directory_in_the_place_of_an_entry(cache: Path) -> None:
    cached(cache, "check(2)")
    [entry] = cache.glob("*.kwa")
    entry.unlink()
    entry.mkdir()
    cached(cache, "check(2)\ncheck(3)")
    assert len([p for p in cache.glob("*.kwa") if p.is_file()]) == 1 and entry.is_dir()
    assert "1 entries" in kw(cache, "cache", "verify")[1] or kw(cache, "cache", "verify")[0] == 0


FORGE = """
import artifacts, os, sys
from pathlib import Path
path = Path(sys.argv[1])
data = path.read_bytes()
parts = [(t, d.replace(b"scale", b"\\x1b[2J\\xff") if t == 2 else d) for t, d in artifacts.sections(data)]
path.write_bytes(artifacts.entry(artifacts.body(parts), data))
"""


def test_names_do_not_steer_the_terminal(cache: Path) -> None:
    cached(cache, "check(2)")
    [entry] = cache.glob("*.kwa")
    expect(run(FORGE, entry, env={"PYTHONPATH": HERE_FIRST}), "")
    status, said = kw(cache, "cache", "ls")
    assert status == 0 and "\x1b" not in said and "\\x1b[2J" in said


def test_writers_are_killed_at_any_time(cache: Path) -> None:
    rng = random.Random(SEED)
    program = SCALE + "for n in range(200): check(n)"
    env = {**os.environ, "KW_CACHE_DIR": str(cache)}
    for _ in range(4 * TIMES):
        with subprocess.Popen([sys.executable, "-c", program], env=env) as process:
            time.sleep(0.2 + rng.random())
            process.send_signal(signal.SIGKILL)
    cached(cache, "check(*range(20))")
    assert kw(cache, "cache", "verify")[0] == 0


DAMAGE = """
import os, random, sys
from pathlib import Path

folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
check(2)
[path] = folder.glob("*.kwa")
data = path.read_bytes()
rng = random.Random(seed)
for number in range(count):
    changed = bytearray(data)
    kind = number % 4
    if kind == 0:
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del changed[rng.randrange(len(changed)) :]
    elif kind == 2:
        at = rng.randrange(len(changed))
        changed[at : at + 64] = bytes(64)
    else:
        changed += bytes(rng.randrange(256) for _ in range(rng.randrange(1, 100)))
    path.write_bytes(changed)
    check(2)
    assert changed == data or path.read_bytes() == data, number  # it was a miss, and was written anew
print("done")
"""


def test_damaged_entries_are_misses(cache: Path) -> None:
    done = run(SCALE + DAMAGE, cache, 100 * TIMES, SEED, env={"KW_CACHE_DIR": str(cache)}, patience=600)
    expect(done, "done", SEED)


FORGERIES = """
import artifacts, os, random, sys
from pathlib import Path

folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
sys.setrecursionlimit(10_000)
text = '''def gather(a, i, n):
    c = output_tensor((n,), a.dtype)
    for k in range(n):
        c[k] = a[i[k]] + a[k]
    return c
'''
a, good, bad = np.arange(8.0), np.arange(8), np.full(8, 99)
expected = a + a

def calls():
    k = kw.kernel(text)
    for index, n in ((good, 8), (bad, 8), (good, 20)):
        try:
            k(a, index, n)
        except kw.errors.KernelError as e:
            assert len(str(e)) < 1_000_000, "a message of megabytes"
        except MemoryError:
            pass

calls()
stored = {path: path.read_bytes() for path in sorted(folder.glob("*.kwa"))}
assert stored
rng = random.Random(seed)
CODE = 6
WORDS = [bytes.fromhex(w) for w in ("ffffffff", "ffffff7f", "00000080", "00000001")]
for number in range(count):
    path, data = rng.choice(list(stored.items()))
    parts = artifacts.sections(data)
    which = rng.randrange(len(parts))
    tag, part = parts[which]
    if tag in (1, CODE):  # the key, and code: who writes that runs code as you
        continue
    changed = bytearray(part)
    for _ in range(rng.randrange(1, 4)):
        if not changed:
            changed += b"\\0"
        at = rng.randrange(len(changed))
        kind = rng.randrange(4)
        if kind == 0:
            changed[at] = rng.randrange(256)
        elif kind == 1:
            changed[at : at + 4] = rng.choice(WORDS)
        elif kind == 2:
            del changed[at : at + rng.randrange(1, 9)]
        else:
            changed[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
    parts[which] = (tag, bytes(changed))
    path.write_bytes(artifacts.entry(artifacts.body(parts), data))
    os.chmod(path, 0o600)
    print(number, flush=True)
    calls()
    path.write_bytes(data)
    os.chmod(path, 0o600)
"""


def test_forged_entries_are_misses_or_harmless(cache: Path) -> None:
    """Everything but key and code is changed behind a right checksum: no crash, no hang, no huge message."""
    env = {"KW_CACHE_DIR": str(cache), "PYTHONPATH": HERE_FIRST}
    done = run(SCALE + FORGERIES, cache, 400 * TIMES, SEED, env=env, patience=600)
    assert done.returncode == 0, (SEED, done.stdout[-20:], done.stderr[-3000:])


def test_sections_are_read_as_they_are_written(cache: Path) -> None:
    """The forgeries speak the format of today."""
    cached(cache, "check(2)")
    [entry] = cache.glob("*.kwa")
    tags = [tag for tag, _ in sections(entry.read_bytes())]
    assert tags == [1, 2, 3, 4, 5, 6, 8, 9]
