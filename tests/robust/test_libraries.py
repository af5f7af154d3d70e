"""Ahead-of-time libraries: odd files and symbols, compilers that hang, and what stands in the cache."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from pathlib import Path

import pytest
from cold import expect, run

SOURCE = """
#include <cstdint>
#include <cstdlib>
extern "C" int data = 3;
extern "C" thread_local int own = 3;
asm(".globl label\\n.data\\nlabel: .long 1\\n.text\\n.globl nowhere\\n.set nowhere, 0x1234\\n");
extern "C" int Double(int n, void **p, int *ranks, int64_t **shapes, const char **types, void *, void *) {
  if (n != 2) abort();
  for (int64_t i = 0; i < shapes[0][0]; ++i) ((float *)p[1])[i] = SCALE * ((float *)p[0])[i];
  return 0;
}
"""
PROGRAM = """
import sys, warnings
import numpy as np
from kernelwright.mindspore import Tensor, ops
import kernelwright.mindspore.ops.compilers as compilers
compilers._timeout = float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
first = lambda *types: types[0]
try:
    op = ops.Custom(sys.argv[1], first, first, "aot")
    print(op(Tensor(np.arange(3, dtype=np.float32))).asnumpy().tolist())
except (RuntimeError, TypeError) as e:
    print(f"{type(e).__name__}: {e}".splitlines()[0], "|", str(e).splitlines()[-1])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "k.cc").write_text(SOURCE.replace("SCALE", "2"))
    (tmp_path / "cache").mkdir(mode=0o700)
    return tmp_path


def said(folder: Path, func: object, *arguments: object, **env: str) -> str:
    done = run(PROGRAM, func, *arguments, env={"KW_CACHE_DIR": str(folder / "cache"), **env}, patience=60)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.strip()


def library(folder: Path, name: str = "k.so") -> Path:
    made = folder / name
    command = ["g++", "-shared", "-fPIC", "-o", made, folder / "k.cc"]
    subprocess.run(command, check=True)
    return made


@pytest.mark.parametrize("kind", ["fifo", "folder", "closed"])
@pytest.mark.parametrize("name", ["odd.so", "odd.cc"])
def test_odd_files(folder: Path, kind: str, name: str) -> None:
    odd = folder / name
    if kind == "fifo":
        os.mkfifo(odd)
    elif kind == "folder":
        odd.mkdir()
    else:
        odd.write_text("")
        odd.chmod(0)
        if os.access(odd, os.R_OK):
            pytest.skip("root reads every file")
    told = "cannot be read: Permission denied" if kind == "closed" else "is no regular file"
    assert said(folder, f"{odd}:F") == f"RuntimeError: {odd} {told} | {odd} {told}"


@pytest.mark.parametrize("how", ["source", "library"])
def test_symbols_that_are_no_functions_of_the_library(folder: Path, how: str) -> None:
    path = library(folder) if how == "library" else folder / "k.cc"
    prefix = "RuntimeError: For 'Custom' on CPU, error occurs when fetching function "
    for name in ("data", "own", "label", "nowhere"):
        assert said(folder, f"{path}:{name}").startswith(
            f"{prefix}'{name}'. Error info: {path}: {name} is data and not a function"
        )
    abort = said(folder, f"{path}:abort")
    assert abort.startswith(f"{prefix}'abort'. Error info: {path}: abort is of another library (")
    assert said(folder, f"{path}:none").startswith(
        f"{prefix}'none'. Error info: {path}: undefined symbol: none"
    )
    assert said(folder, f"{path}:Double") == "[0.0, 2.0, 4.0]"


def test_a_compiler_that_hangs_is_stopped_with_its_children(folder: Path) -> None:
    compiler = folder / "hangs"
    compiler.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! >{folder}/child\nsleep 1000\n")
    compiler.chmod(0o755)
    begin = time.monotonic()
    told = said(folder, f"{folder}/k.cc:Double", 1, CXX=str(compiler))
    assert time.monotonic() - begin < 30
    assert told.startswith(f"RuntimeError: Compilation error in compiling {folder}/k.cc: | the command `")
    assert str(compiler) in told and told.endswith("` was stopped after 1 seconds")
    child = int((folder / "child").read_text())
    for _ in range(100):
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            break
        if state == "Z":  # nobody has asked for it yet
            break
        time.sleep(0.05)
    else:
        pytest.fail("a child of the compiler lives on")


def test_a_compiler_of_several_words(folder: Path) -> None:
    (folder / "two words").write_text('#!/bin/sh\nexec "$@"\n')
    (folder / "two words").chmod(0o755)
    assert said(folder, f"{folder}/k.cc:Double", CXX=f"'{folder}/two words' g++ -O1") == "[0.0, 2.0, 4.0]"


def test_the_words_of_the_compiler_are_in_the_key(folder: Path) -> None:
    (folder / "k.cc").write_text(SOURCE.replace("SCALE", "FACTOR").replace("#include <cstdlib>", ""))
    (folder / "k.cc").write_text(
        "#include <cstdlib>\n#ifdef __FAST_MATH__\n#define FACTOR 3\n#else\n"
        "#define FACTOR 2\n#endif\n" + (folder / "k.cc").read_text()
    )
    func = f"{folder}/k.cc:Double"
    assert said(folder, func, CXX="g++") == "[0.0, 2.0, 4.0]"
    assert said(folder, func, CXX="g++ -ffast-math") == "[0.0, 3.0, 6.0]"
    source = SOURCE.replace("SCALE", "2")
    (folder / "k.cc").write_text(source)
    for cxx in ("g++", "g++ -O0", "g++ -DUNUSED"):  # the same text behind the preprocessor
        said(folder, func, CXX=cxx)
    assert len(stored(folder)) == 5


def test_odd_texts_and_places_of_sources(folder: Path) -> None:
    odd = folder / 'a "quoted" \\ folder'
    odd.mkdir()
    (odd / "k.cc").write_bytes(b"\xef\xbb\xbf" + SOURCE.replace("SCALE", "2").encode())  # as some editors do
    assert said(folder, f"{odd}/k.cc:Double") == "[0.0, 2.0, 4.0]"


def test_odd_values_of_cxx(folder: Path) -> None:
    (folder / "two words").write_text('#!/bin/sh\nexec g++ "$@"\n')
    (folder / "two words").chmod(0o755)
    assert said(folder, f"{folder}/k.cc:Double", CXX=f"{folder}/two words") == "[0.0, 2.0, 4.0]"
    assert said(folder, f"{folder}/k.cc:Double", CXX="g++ '") == (
        "RuntimeError: the C++ compiler 'g++ '' is missing: install it, or set CXX to one that is there | "
        "the C++ compiler 'g++ '' is missing: install it, or set CXX to one that is there"
    )


CLOSES = """
import os, sys
import numpy as np
from kernelwright.mindspore import Tensor, ops
first = lambda *types: types[0]
for path in sys.argv[1:]:
    op = ops.Custom(path + ":Double", first, first, "aot")
    print(op(Tensor(np.arange(3, dtype=np.float32))).asnumpy().tolist(), end=" ")
    os.closerange(3, 4096)  # as a program that becomes a daemon
    sys.modules[path] = op  # keeps it loaded
"""


def test_a_program_that_closes_all_files(folder: Path) -> None:
    made = []
    for factor in (2, 3, 4):
        (folder / "k.cc").write_text(SOURCE.replace("SCALE", str(factor)))
        made.append(library(folder, f"k{factor}.so"))
    expect(run(CLOSES, *made), "[0.0, 2.0, 4.0] [0.0, 3.0, 6.0] [0.0, 4.0, 8.0]")


def stored(folder: Path) -> list[Path]:
    return sorted((folder / "cache").glob("*.kwa"))


def test_compiled_libraries_are_entries_of_the_cache(folder: Path) -> None:
    func, compiler = f"{folder}/k.cc:Double", folder / "cc"
    compiler.write_text(
        f'#!/bin/sh\n[ ! -e {folder}/reads ] || case "$*" in *" -o "*) exit 1 ;; esac\nexec g++ "$@"\n'
    )
    compiler.chmod(0o755)
    assert said(folder, func, CXX=str(compiler)) == "[0.0, 2.0, 4.0]"
    [entry] = stored(folder)
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    program = "from kernelwright.cli import main; main(['cache', 'ls'])"
    ls = run(program, env={"KW_CACHE_DIR": str(entry.parent)})
    assert entry.stem in ls.stdout and ls.stdout.rstrip().endswith("  k.cc")
    assert list((folder / "cache").iterdir()) == [entry]
    (folder / "reads").touch()  # from now on the compiler only reads the text
    assert said(folder, func, CXX=str(compiler)) == "[0.0, 2.0, 4.0]"


@pytest.mark.parametrize("damage", ["cut", "flipped", "replaced", "writable"])
def test_an_entry_that_others_changed_is_not_loaded(folder: Path, damage: str) -> None:
    func = f"{folder}/k.cc:Double"
    said(folder, func)
    [entry] = stored(folder)
    sound = entry.read_bytes()
    if damage == "cut":
        entry.write_bytes(sound[: len(sound) // 2])
    elif damage == "flipped":
        entry.write_bytes(bytes([*sound[:5000], sound[5000] ^ 1, *sound[5001:]]))
    elif damage == "replaced":
        (folder / "k.cc").write_text(SOURCE.replace("SCALE", "3"))
        said(folder, func)
        [other] = [e for e in stored(folder) if e != entry]
        entry.write_bytes(other.read_bytes())
        (folder / "k.cc").write_text(SOURCE.replace("SCALE", "2"))
    else:
        entry.chmod(0o666)
    assert said(folder, func) == "[0.0, 2.0, 4.0]"


def test_a_cache_that_kernels_refuse_keeps_no_libraries(folder: Path) -> None:
    (folder / "cache").chmod(0o777)
    assert said(folder, f"{folder}/k.cc:Double", TMPDIR=str(folder)) == "[0.0, 2.0, 4.0]"
    assert sorted(p.name for p in folder.iterdir()) == ["cache", "k.cc"] and not stored(folder)


def test_what_is_compiled_is_what_was_read(folder: Path) -> None:
    """The source changes while the compiler runs: the library is of the text that names it."""
    (folder / "cc").write_text(
        f"#!/bin/sh\ng++ \"$@\"\nstatus=$?\nsed -i 's/2 \\*/5 */' {folder}/k.cc\nexit $status\n"
    )
    (folder / "cc").chmod(0o755)
    func = f"{folder}/k.cc:Double"
    assert said(folder, func, CXX=f"{folder}/cc") == "[0.0, 2.0, 4.0]"
    assert said(folder, func, CXX=f"{folder}/cc") == "[0.0, 5.0, 10.0]"


PLACES = """
import os, sys
import kernelwright.mindspore.ops.aot as aot
from kernelwright.mindspore import ops
first = lambda *types: types[0]
read = aot._read
def read_and_swap(path):
    found = read(path)
    os.replace(sys.argv[2], sys.argv[1])
    return found
aot._read = read_and_swap
import numpy as np
from kernelwright.mindspore import Tensor
op = ops.Custom(sys.argv[1] + ":Double", first, first, "aot")
print(op(Tensor(np.arange(3, dtype=np.float32))).asnumpy().tolist())
"""


def test_a_library_that_is_swapped_behind_the_check(folder: Path) -> None:
    good = library(folder, "good.so")
    (folder / "k.cc").write_text(SOURCE.replace("SCALE", "66"))
    evil = library(folder, "evil.so")
    done = run(PLACES, good, evil, env={"MS_CUSTOM_AOT_WHITE_LIST": str(folder)})
    expect(done, "[0.0, 2.0, 4.0]")


@pytest.mark.parametrize(
    ("cxx", "told"),
    [("false", "` ended with status 1"), ("sh -c 'exit 0'", "sh -c 'exit 0'` made no library")],
)
def test_compilers_that_say_nothing(folder: Path, cxx: str, told: str) -> None:
    said_of = said(folder, f"{folder}/k.cc:Double", CXX=cxx)
    assert said_of.startswith("RuntimeError: Compilation error in compiling") and said_of.endswith(told)
