"""KW_DEBUG and kw.debug: every word acts, no word changes a byte of an artifact, unknown words are errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import _core_testing

STEPS = (
    "distribute_reductions",
    "split_index_sets",
    "fuse_loops",
    "unroll_small_loops",
    "peel_boundaries",
    "permute_loops",
    "tile_transposed_accesses",
    "strip_mine_column_reductions",
    "separate_sums",
    "unroll_and_jam",
    "vectorize_and_parallelize",
    "version_short_sums",
    "scalar_replacement",
    "unroll_hints",
    "plan_loops",
)
STAGES = (
    "fix_bounds",
    "sink_declarations",
    "mark_orders",
    "lower",
    "simplify",
    "fuse_fma",
    "fill_buffers",
    "guard_bounds",
    "hoist_checks",
    "demote_integers",
    *STEPS,
    "schedule",
    "split_fma",
    "lower_reductions",
    "expand_math",
)
A = np.arange(4.0)


def double_it(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = exp(a[i]) * 2.0 + 1.0
    return out


def add_up(a):
    out = output_tensor((1,), a.dtype)
    for i in range(a.shape[0]):
        out[0] += a[i]
    return out


PROGRAM = """
import os, sys, warnings
import numpy as np
import kernelwright as kw
warnings.simplefilter("ignore")

@kw.kernel
def pick(a, k):
    out = output_tensor(k.shape, a.dtype)
    for i in range(k.shape[0]):
        out[i] = exp(a[k[i]]) * 2.0 + a[0]
    return out

@kw.kernel(fp="strict")
def add_up(a):
    out = output_tensor((1,), a.dtype)
    for i in range(a.shape[0]):
        out[0] += a[i]
    return out

A = np.arange(4.0)
for dtype in ("float32", "float64"):
    a = A.astype(dtype)
    assert pick(a, np.array([1, 2]))[0] > 5 and add_up(a)[0] == 6 and add_up(a[::2])[0] == 2
try:
    pick(A, np.array([4]))
except IndexError:
    pass
"""


def run(folder: Path, program: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A new process with the given KW_ variables only, in `folder`."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    line = [sys.executable, "program.py"]
    (folder / "program.py").write_text(program)
    return subprocess.run(line, cwd=folder, env=clean | env, capture_output=True, text=True, check=False)


def test_debug_words_change_no_byte(tmp_path: Path) -> None:
    found = []
    for n, words in enumerate(
        ("", "time; dump:after=all; verify=each", f"dump:after=all; dump:dir={tmp_path}")
    ):
        cache = tmp_path / f"cache{n}"
        done = run(tmp_path, PROGRAM, KW_CACHE_DIR=str(cache), KW_DEBUG=words)
        assert done.returncode == 0, done.stderr
        assert (done.stderr != "") == (n == 1)
        found.append({p.name: p.read_bytes() for p in cache.iterdir()})
    assert len(found[0]) >= 5
    assert found[0] == found[1] == found[2]


def test_same_entries_whatever_else_the_process_does(tmp_path: Path) -> None:
    found = []
    for n, seed in enumerate(("0", "4711")):
        cache = tmp_path / f"cache{n}"
        folder = tmp_path / ("here" * (n + 1))
        folder.mkdir()
        done = run(folder, "\n" * n + PROGRAM, KW_CACHE_DIR=str(cache), PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        found.append({p.name: p.read_bytes() for p in cache.iterdir()})
    assert found[0] == found[1]


def fresh(words: str, function: Any = double_it, **more: object) -> np.ndarray[Any, Any]:
    """The first call of a new kernel under debug words, without the disk cache."""
    with kw.debug("cache=off; " + words, **more):
        return kw.kernel(function)(A)


def test_dump_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    fresh("dump:after=all")
    said = capfd.readouterr().err
    assert re.findall(r"^# after (\w+)$", said, re.MULTILINE)[: len(STAGES)] == list(STAGES)
    for text in re.split(r"^# after \w+\n", said, flags=re.MULTILINE)[1:]:
        printed, error, same = _core_testing.round_trip(text)
        assert error == "" and same and printed == text


def test_dump_after_one_pass(capfd: pytest.CaptureFixture[str]) -> None:
    fresh("dump:after=fuse_fma; dump:after=lower")
    said = capfd.readouterr().err
    assert re.findall(r"^# after (\w+)$", said, re.MULTILINE) == ["lower", "fuse_fma"]


def test_unknown_pass_is_an_error(tmp_path: Path) -> None:
    late = "legalise_types bound_trips settle_vector_loops count_threads mark_recurrences unroll_inner_loops"
    late += " if_convert guard_operations check_all_bounds track_writes order_loops rfactor_sums scan_loops"
    late += " privatize_bins fold_fills map_grids cache_rows stage_chains unroll_loads form_launches"
    passes = (*STAGES, *late.split(), "emit", "all")
    text = f"KW_DEBUG: dump:after= names no pass 'unrol'; the passes are: {', '.join(passes)}"
    with pytest.raises(ValueError, match=r"^KW_DEBUG: dump:after=") as raised, kw.debug(dump_after="unrol"):
        pass
    assert str(raised.value) == text
    done = run(tmp_path, "import kernelwright", KW_DEBUG="dump:after=lower; dump:after=unrol")
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == f"ValueError: {text}"


def test_dump_equals_the_stages_of_ir(tmp_path: Path) -> None:
    fresh(f"dump:after=lower; dump:dir={tmp_path}")
    with kw.debug("cache=off"):
        (dumped,) = tmp_path.iterdir()
        assert dumped.read_text() == kw.kernel(double_it).ir(A)


def test_dump_into_a_directory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fresh(f"dump:after=all; dump:dir={tmp_path}")
    assert capfd.readouterr().err == ""
    files = [re.fullmatch(r"double_it\.(main-[0-9a-f]{8})\.(\w+)\.kwir", p.name) for p in tmp_path.iterdir()]
    assert set(STAGES) <= {m[2] for m in files if m} and len({m[1] for m in files if m}) == 1 and all(files)
    for path in tmp_path.iterdir():
        assert _core_testing.round_trip(path.read_text())[1:] == ("", True)


def test_dump_makes_its_directory(tmp_path: Path) -> None:
    fresh(f"dump:after=lower; dump:dir={tmp_path}/new/one")
    (file,) = (tmp_path / "new" / "one").iterdir()
    assert file.name.startswith("double_it.main-") and file.name.endswith(".lower.kwir")


def test_each_version_has_its_own_dumps(tmp_path: Path) -> None:
    """Types, options and bodies, and other kernels of the same name."""

    def other() -> Any:
        def double_it(a):
            out = output_tensor(a.shape, a.dtype)
            for i in range(a.shape[0]):
                out[i] = a[i]
            return out

        return double_it

    with kw.debug("cache=off", dump_after="lower", dump_dir=tmp_path):
        for kernel in (kw.kernel(double_it), kw.kernel(double_it, fp="strict"), kw.kernel(other())):
            for array in (A, A.astype(np.float32), A[:0]):
                kernel(array)
    names = {p.name for p in tmp_path.iterdir()}
    assert len(names) == 9
    assert len({n for n in names if re.fullmatch(r"double_it\.plain-[0-9a-f]{8}\.lower\.kwir", n)}) == 3


def test_dump_after_a_pass_of_debug_kernels(tmp_path: Path) -> None:
    with kw.debug("cache=off", dump_after="track_writes", dump_dir=tmp_path):
        kw.kernel(debug=True)(double_it)(A)
    assert [p.name.split(".")[2] for p in tmp_path.iterdir()] == ["track_writes"]


def test_dump_into_an_unusable_directory_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """And says so once for all stages."""
    assert fresh("dump:after=all; dump:dir=/proc/nowhere").shape == A.shape
    told = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert told == ["cannot write dumps into /proc/nowhere: No such file or directory"]


@pytest.mark.parametrize(
    ("glob", "names"),
    [
        ("double*", {"double_it"}),
        ("*", {"double_it", "add_up"}),
        ("add_up", {"add_up"}),
        ("a*p", {"add_up"}),
        ("x", set()),
    ],
)
@pytest.mark.filterwarnings("ignore::kernelwright.UninitializedReadWarning")
def test_kernel_glob(glob: str, names: set[str], capfd: pytest.CaptureFixture[str]) -> None:
    fresh(f"time; dump:after=lower; kernel={glob}")
    fresh(f"time; dump:after=lower; kernel={glob}", add_up)
    said = capfd.readouterr().err
    assert set(re.findall(r"^\[kw\] (\w+)", said, re.MULTILINE)) == names
    assert set(re.findall(r"^def (\w+)", said, re.MULTILINE)) == names


def test_time_of_each_stage(capfd: pytest.CaptureFixture[str]) -> None:
    fresh("time")
    lines = capfd.readouterr().err.splitlines()
    found = [re.fullmatch(r"\[kw\] double_it +(\w+) +(\d+\.\d{3}) ms", line) for line in lines]
    times = {m[1]: float(m[2]) for m in found if m}
    assert len([m for m in found if m]) == len(lines)
    assert {*STAGES, "emit", "total"} <= times.keys()
    assert times["emit"] <= times["total"]


def test_interp_needs_no_llvm(tmp_path: Path) -> None:
    show = "print('_llvm.so' in open('/proc/self/maps').read())"
    for words, llvm in (("interp", "False"), ("", "True")):
        done = run(tmp_path, PROGRAM + show, KW_CACHE_DIR=str(tmp_path / "cache"), KW_DEBUG=words)
        assert done.stdout == f"{llvm}\n", done.stderr


@pytest.mark.filterwarnings("ignore::kernelwright.UninitializedReadWarning")
def test_interp_gives_the_same_bits() -> None:
    for function in (double_it, add_up):
        expected = fresh("", function)
        assert fresh("interp", function).tobytes() == expected.tobytes()
        assert fresh("verify=each", function).tobytes() == expected.tobytes()


def test_cache_off_touches_no_directory(tmp_path: Path) -> None:
    done = run(tmp_path, PROGRAM, KW_CACHE_DIR=str(tmp_path / "cache"), KW_DEBUG="cache=off")
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "cache").glob("*")) == []


UNKNOWN = (
    *("tiem", "time=1", "dump", "dump:after", "dump:after=", "dump:dir=", "verify", "verify=all", "kernel="),
    *("interp=yes", "cache", "cache=on", "perf", "perf:", "gdb=1", "a=b=c"),
)


@pytest.mark.parametrize("word", UNKNOWN)
def test_unknown_words_are_errors(word: str) -> None:
    with pytest.raises(ValueError, match="unknown word") as raised, kw.debug(f"cache=off; {word}"):
        pass
    assert repr(word) in str(raised.value) and "dump:after=PASS" in str(raised.value)


def test_a_lesser_target_has_entries_and_code_of_its_own(tmp_path: Path) -> None:
    program = PROGRAM + "\nprint(sorted({w for w in pick.asm().split() if w.startswith(('%zmm', '%ymm'))}))"
    cache = tmp_path / "cache"
    done = run(tmp_path, program, KW_CACHE_DIR=str(cache), KW_TARGET="generic")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    before = len(list(cache.rglob("*.kwa")))
    assert run(tmp_path, PROGRAM, KW_CACHE_DIR=str(cache), KW_TARGET="host").returncode == 0
    assert len(list(cache.rglob("*.kwa"))) > before


@pytest.mark.parametrize(
    "text", ["", ";", " ; ;", "time ;", " verify = each ", "kernel=*;kernel=x", "dump:after = all"]
)
def test_spaces_and_empty_words_are_allowed(text: str) -> None:
    with kw.debug(text):
        pass


def test_keywords_are_words(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fresh("", dump_after="lower", time=True, kernel="double*")
    said = capfd.readouterr().err
    assert said.count("# after ") == 1 and "emit" in said
    fresh("dump:after=lower", dump_dir=tmp_path)
    assert [p.name.split(".")[2] for p in tmp_path.iterdir()] == ["lower"]
    with pytest.raises(ValueError, match="unknown word 'interp=maybe'"), kw.debug(interp="maybe"):
        pass


def test_nested_blocks_add_and_restore(capfd: pytest.CaptureFixture[str]) -> None:
    def speaks() -> set[str]:
        kw.kernel(double_it)(A)
        return set(re.findall(r"^(\[kw\]|# after)", capfd.readouterr().err, re.MULTILINE))

    with kw.debug("cache=off"):
        assert speaks() == set()
        with kw.debug("time"):
            assert speaks() == {"[kw]"}
            with kw.debug(dump_after="lower"):
                assert speaks() == {"[kw]", "# after"}
            assert speaks() == {"[kw]"}
            with pytest.raises(ValueError, match="unknown word"), kw.debug("nonsense"):
                pass
            assert speaks() == {"[kw]"}
        with pytest.raises(KeyError), kw.debug("time"):
            raise KeyError
        assert speaks() == set()


def test_words_of_the_environment_stay_in_force(tmp_path: Path) -> None:
    body = "\nsys.stderr.write('--')\nwith kw.debug('verify=each'):\n    add_up(A.astype('int64'))\n"
    done = run(tmp_path, PROGRAM + body, KW_CACHE_DIR=str(tmp_path / "cache"), KW_DEBUG="time")
    assert done.returncode == 0, done.stderr
    assert "emit" in done.stderr.split("--")[1]


def test_interp_acts_on_kernels_in_use_and_ends_with_its_block(tmp_path: Path) -> None:
    body = """
llvm = lambda: "_llvm.so" in open("/proc/self/maps").read()
add_up = kw.kernel(add_up.__wrapped__)
with kw.debug("interp"):
    add_up(A)
assert not llvm()
add_up(A)
assert llvm(), "still interpreted after the block"
with kw.debug("interp; dump:after=lower"):
    add_up(A)
"""
    program = PROGRAM[: PROGRAM.index("for dtype in")] + body
    done = run(tmp_path, program, KW_CACHE_DIR=str(tmp_path / "cache"), KW_DEBUG="cache=off")
    assert done.returncode == 0, done.stderr
