"""The disk cache: a file per entry, served without LLVM or source; damage is a miss; memory works without it.

Everything runs in new processes with directories of their own.
"""

from __future__ import annotations

import os
import pwd
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, warnings
import numpy as np
import kernelwright as kw
import kernelwright.source
from kernelwright import _core

def scaled(k):
    @kw.kernel
    def scale(a):
        out = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            out[i] = a[i] * k
        return out
    return scale

A = np.arange(5.0)

def check(*factors):
    for k in factors:
        assert (scaled(k)(A) == A * k).all(), k

if os.getuid() == 0 and "KW_TEST_USER" in os.environ:
    os.setuid(int(os.environ["KW_TEST_USER"]))
"""
ENTRY = re.compile(r"[0-9a-f]{32}\.kwa")
Done = subprocess.CompletedProcess[str]


def start(*command: str, folder: Path, **env: str) -> Done:
    """A new Python in `folder`; the cache is `folder`/cache unless `env` says otherwise."""
    full = {k: v for k, v in os.environ.items() if not k.startswith(("KW_", "XDG_"))}
    full |= {"KW_CACHE_DIR": str(folder / "cache"), **env}
    env = {k: v for k, v in full.items() if v}
    line = [sys.executable, *command]
    return subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300)


def run(folder: Path, body: str, **env: str) -> str:
    """Output of PROGRAM followed by `body`; it must end well and say nothing on stderr."""
    (folder / "program.py").write_text(PROGRAM + body)
    done = start("program.py", folder=folder, **env)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def entries(folder: Path) -> list[Path]:
    """The entries of the cache, least recently used first; there is nothing else in it."""
    found = sorted((folder / "cache").iterdir(), key=lambda p: p.stat().st_mtime)
    assert all(ENTRY.fullmatch(p.name) for p in found), found
    return found


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that other users can read; the one of pytest they cannot."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_entry_is_one_private_file(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0, 2.0)")
    (entry,) = entries(tmp_path)
    assert entry.read_bytes()[:4] == b"KWA1"
    assert entry.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_second_process_needs_neither_llvm_nor_source(tmp_path: Path) -> None:
    show = "print('_llvm.so' in open('/proc/self/maps').read(), 'kernelwright.source' in sys.modules)"
    program = PROGRAM.replace("import kernelwright.source\n", "")
    (tmp_path / "program.py").write_text(program + f"check(2.0)\n{show}")
    assert start("program.py", folder=tmp_path).stdout == "True True\n"
    before = [(p.name, p.read_bytes()) for p in entries(tmp_path)]
    (tmp_path / "program.py").write_text(program + f"os.unlink(__file__)\ncheck(2.0)\n{show}")
    done = start("program.py", folder=tmp_path)
    assert done.stdout == "False False\n", done.stderr
    assert [(p.name, p.read_bytes()) for p in entries(tmp_path)] == before


def test_sourceless_module_is_served(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(PROGRAM)
    first = start("-c", "import module; module.check(3.0)", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    start("-m", "compileall", "-b", "module.py", folder=tmp_path)
    (tmp_path / "module.py").unlink()
    assert (tmp_path / "module.pyc").exists()
    second = start("-c", "import module; module.check(3.0)", folder=tmp_path)
    assert second.returncode == 0, second.stderr


DAMAGE = """
import random
seed, path = int(sys.argv[1]), sys.argv[2]
rng, whole = random.Random(seed), open(path, "rb").read()
for n in range(int(sys.argv[3])):
    data = bytearray(whole)
    if n % 4 == 3:
        data = data[: rng.randrange(len(data))]
    else:
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    open(path, "wb").write(data)
    try:
        check(2.0)
        assert open(path, "rb").read() == whole, "the entry was not written anew"
    except BaseException as e:
        sys.exit(f"damage {n} of seed {seed}: {e!r}")
"""


def test_thousand_damaged_entries_are_misses(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0)")
    (entry,) = entries(tmp_path)
    seed = random.randrange(2**32)
    print("seed", seed)
    (tmp_path / "program.py").write_text(PROGRAM + DAMAGE)
    count = 60 if "asan" in os.environ.get("LD_PRELOAD", "") else 1000
    done = start("program.py", str(seed), str(entry), str(count), folder=tmp_path)
    assert done.returncode == 0 and done.stderr == "", f"seed {seed}: {done.stderr}"


def test_entry_of_another_key_is_a_miss(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0)\nos.utime(next(os.scandir('cache')), (0, 0))\ncheck(3.0)")
    two, three = entries(tmp_path)
    data = two.read_bytes()
    two.write_bytes(three.read_bytes())
    run(tmp_path, "check(2.0)")
    assert two.read_bytes() == data


def test_entry_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0)")
    (entry,) = entries(tmp_path)
    entry.chmod(0o666)
    run(tmp_path, "check(2.0)\nassert '_llvm.so' in open('/proc/self/maps').read()")
    assert entry.stat().st_mode & 0o777 == 0o600


WARNED = """
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    check(2.0, 3.0, 2.0)
    scaled(4.0)(A.astype("float32"))
assert [w.category for w in seen] == [kw.KernelWarning], [str(w.message) for w in seen]
print(seen[0].message)
"""


def _no_home(folder: Path) -> dict[str, str]:
    return {"KW_CACHE_DIR": "", "HOME": ""}


def _read_only(folder: Path) -> dict[str, str]:
    (folder / "cache").mkdir(mode=0o500)
    if os.getuid() == 0:
        os.chown(folder / "cache", 65534, 65534)
        return {"KW_TEST_USER": "65534"}
    return {}


def _writable_by_group(folder: Path) -> dict[str, str]:
    (folder / "cache").mkdir()
    (folder / "cache").chmod(0o770)
    return {}


def _file_in_its_place(folder: Path) -> dict[str, str]:
    (folder / "cache").write_text("")
    return {}


def _below_a_file(folder: Path) -> dict[str, str]:
    (folder / "file").write_text("")
    return {"KW_CACHE_DIR": str(folder / "file" / "cache")}


def _of_another_user(folder: Path) -> dict[str, str]:
    if os.getuid() != 0:
        pytest.skip("only root can give a directory away")
    (folder / "cache").mkdir(mode=0o700)
    os.chown(folder / "cache", 65534, 65534)
    return {}


def _not_a_place_for_files(folder: Path) -> dict[str, str]:
    return {"KW_CACHE_DIR": "/proc"}


PROBLEMS = (
    _no_home,
    _read_only,
    _writable_by_group,
    _file_in_its_place,
    _below_a_file,
    _of_another_user,
    _not_a_place_for_files,
)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.__name__.strip("_"))
def test_unusable_directory_means_memory_and_one_warning(problem: type, shared: Path) -> None:
    env = problem(shared)
    text = run(shared, WARNED, **env)
    assert "[W501]" in text and "KW_CACHE_DIR" in text
    assert not list(shared.rglob("*.kwa*"))


def test_directory_that_others_may_write_is_not_read(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0)")
    (tmp_path / "cache").chmod(0o770)
    compiled = "\nprint('_llvm.so' in open('/proc/self/maps').read())"
    assert run(tmp_path, WARNED + compiled).endswith("True\n")


def test_relative_directory_stays_where_the_process_began(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    run(tmp_path, "check(2.0)\nos.chdir('elsewhere')\ncheck(3.0, 4.0)", KW_CACHE_DIR="cache")
    assert len(entries(tmp_path)) == 3


def test_no_warning_when_the_cache_is_off(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0)", **_file_in_its_place(tmp_path), KW_DEBUG="cache=off")


def test_places_of_the_directory(tmp_path: Path) -> None:
    home, xdg, own = (tmp_path / name for name in ("home", "xdg", "own"))
    wanted = {
        own: {"KW_CACHE_DIR": str(own), "XDG_CACHE_HOME": str(xdg), "HOME": str(home)},
        xdg / "kernelwright": {"KW_CACHE_DIR": "", "XDG_CACHE_HOME": str(xdg), "HOME": str(home)},
        home / ".cache" / "kernelwright": {"KW_CACHE_DIR": "", "HOME": str(home)},
    }
    for place, env in wanted.items():
        assert not place.exists()
        said = run(tmp_path, "check(2.0)\nprint(_core.cache_directory())", **env)
        assert said == f"{place}\n" and len(list(place.iterdir())) == 1


def test_tilde_is_a_home_directory(tmp_path: Path) -> None:
    show = "check(2.0)\nprint(_core.cache_directory())"
    home = {"HOME": str(tmp_path / "home")}
    for place in ("~", "~/zz", "~/z~/~"):
        said = run(tmp_path, show, KW_CACHE_DIR=place, **home)
        assert said == f"{tmp_path}/home{place[1:]}\n"
    assert run(tmp_path, show, KW_CACHE_DIR=f"{tmp_path}/~").startswith(f"{tmp_path}/~")
    where = "print(_core.cache_directory(), _core.cache_problem())"
    root = pwd.getpwuid(0)
    assert run(tmp_path, where, KW_CACHE_DIR=f"~{root.pw_name}").split()[0] == root.pw_dir
    for unknown in ({"KW_CACHE_DIR": "~no.such.user/x"}, {"KW_CACHE_DIR": "~/x", "HOME": ""}):
        assert run(tmp_path, where, **unknown) == " there is no home directory for it\n"
    assert [p.name for p in tmp_path.glob("~*")] == ["~"]  # the one that was asked for by its path


def test_least_recently_used_entries_go_first(tmp_path: Path) -> None:
    day = 86400.0
    for age, k in ((9, 2.0), (8, 3.0), (7, 4.0), (6, 5.0)):
        known = set(entries(tmp_path)) if (tmp_path / "cache").exists() else set()
        run(tmp_path, f"check({k})")
        (new,) = set(entries(tmp_path)) - known
        os.utime(new, times=(time.time() - age * day,) * 2)
    two, three, four, five = entries(tmp_path)
    run(tmp_path, "check(2.0)")  # a use: the oldest becomes the newest
    size = max(p.stat().st_size for p in (two, three, four, five))
    run(tmp_path, "check(6.0)", KW_CACHE_SIZE=str(3 * size + size // 2))
    left = entries(tmp_path)
    assert two in left and five in left and len(left) == 3
    assert three not in left and four not in left


@pytest.mark.parametrize(("cap", "left"), [("0", 0), ("1k", 0), ("1M", 2), ("1g", 2), ("", 2)])
def test_sizes_are_read(cap: str, left: int, tmp_path: Path) -> None:
    run(tmp_path, "check(2.0)")
    run(tmp_path, "check(3.0)", KW_CACHE_SIZE=cap)
    assert len(entries(tmp_path)) == left


@pytest.mark.parametrize("cap", ["much", "-1", "10 M", "5T", "1kb", "2,5G"])
def test_malformed_size_is_told_once(cap: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM + "check(2.0)\ncheck(3.0)")
    done = start("program.py", folder=tmp_path, KW_CACHE_SIZE=cap)
    text = f"KernelWarning: warning[W501]: KW_CACHE_SIZE is '{cap}', which is no size"
    assert done.returncode == 0 and done.stderr.count("warning[W501]") == 1 and text in done.stderr
    assert len(entries(tmp_path)) == 2


def test_leftovers_are_harmless(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0)")
    (entry,) = entries(tmp_path)
    names = (f"{entry.name}.Xa3b9c", ".kwa", "z" * 32 + ".kwa", "notes.txt", entry.name[:-1])
    for name in names:
        (entry.parent / name).write_bytes(b"half an entry")
    (entry.parent / ("a" * 32 + ".kwa")).mkdir()
    count = "\nprint(len([e for e in _core.cache_list() if e[4] == 'sound']))"
    assert run(tmp_path, "check(2.0, 3.0)" + count) == "2\n"
    assert run(tmp_path, "_core.cache_clear()\ncheck(2.0)" + count) == "1\n"
    assert not (entry.parent / names[0]).exists()


def cli(folder: Path, *words: str) -> Done:
    return start("-m", "kernelwright", "cache", *words, folder=folder)


def test_command_lists_verifies_and_clears(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0, 3.0)")
    one, two = entries(tmp_path)
    listed = cli(tmp_path, "ls")
    assert listed.returncode == 0, listed.stderr
    for entry in (one, two):
        (line,) = [x for x in listed.stdout.splitlines() if x.startswith(entry.stem)]
        assert "scale" in line and str(entry.stat().st_size) in line
    good = cli(tmp_path, "verify")
    assert good.returncode == 0 and "2" in good.stdout, good.stderr
    one.write_bytes(one.read_bytes()[:-1] + b"?")
    bad = cli(tmp_path, "verify")
    assert bad.returncode == 1 and one.stem in bad.stdout + bad.stderr
    assert not one.exists() and two.exists()
    sound = two.read_bytes()
    two.write_bytes(sound[:4] + b"\x01" + sound[5:])
    other = cli(tmp_path, "verify")
    last = "1 entries are of another version of kernelwright and are left alone"
    assert other.returncode == 0 and other.stdout.splitlines()[-1] == last, other.stderr
    assert "(of another version)" in cli(tmp_path, "ls").stdout
    two.write_bytes(sound)
    assert cli(tmp_path, "verify").returncode == 0
    cleared = cli(tmp_path, "clear")
    assert cleared.returncode == 0 and "1" in cleared.stdout
    assert entries(tmp_path) == []


def test_verify_judges_by_the_bytes_and_tells_wrong_modes(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0, 3.0)")
    folder, (one, two) = tmp_path / "cache", entries(tmp_path)
    folder.chmod(0o770)
    open_to_others = cli(tmp_path, "verify")
    problem = f"the cache is not used as it should be: {folder} can be written by others (chmod 700 it)"
    assert open_to_others.returncode == 1 and open_to_others.stdout.splitlines() == [
        problem,
        "2 entries are sound, 0 were damaged",
    ]
    for word in ("ls", "prune"):
        assert cli(tmp_path, word).stderr.splitlines()[0] == f"kw cache: {problem}"
    folder.chmod(0o700)
    one.chmod(0o666)
    shown = cli(tmp_path, "verify")
    assert shown.returncode == 1 and shown.stdout.splitlines() == [
        f"{one.stem}  not private: not used before it is yours alone (chmod 600 {one})",
        "1 entries are sound, 0 were damaged",
        "1 entries have the wrong mode and are left alone",
    ]
    assert f"{one.stem} " in cli(tmp_path, "ls").stdout and "(not private)" in cli(tmp_path, "ls").stdout
    one.write_bytes(one.read_bytes()[:-1] + b"?")
    assert f"{one.stem}  damaged: removed" in cli(tmp_path, "verify").stdout
    assert not one.exists() and two.exists()
    two.chmod(0o000)
    if os.getuid() != 0:
        assert f"{two.stem}  not readable: not used (chmod 600 {two})" in cli(tmp_path, "verify").stdout
    two.chmod(0o600)
    assert cli(tmp_path, "verify").stdout == "1 entries are sound, 0 were damaged\n"


def test_verify_is_no_use(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0)")
    (entry,) = entries(tmp_path)
    os.utime(entry, times=(1e9, 1e9))
    assert cli(tmp_path, "verify").returncode == cli(tmp_path, "ls").returncode == 0
    assert entry.stat().st_mtime == 1e9


def test_command_on_an_empty_cache(tmp_path: Path) -> None:
    for word in ("ls", "verify", "clear"):
        done = cli(tmp_path, word)
        assert done.returncode == 0, done.stderr


def test_entry_of_absurd_size_is_a_miss(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0)")
    (entry,) = entries(tmp_path)
    os.truncate(entry, 1 << 40)
    run(tmp_path, "check(2.0)")
    assert entry.stat().st_size < 1 << 20


def test_pipe_by_the_name_of_an_entry_is_a_miss(tmp_path: Path) -> None:
    run(tmp_path, "check(2.0)")
    (entry,) = entries(tmp_path)
    entry.unlink()
    os.mkfifo(entry)
    run(tmp_path, "check(2.0)")
    assert entry.is_file()
