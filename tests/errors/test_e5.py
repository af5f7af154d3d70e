"""E501 to E509, W501 to W506: devices, the compiler library, internal faults, the cache, exports."""

from __future__ import annotations

import ast
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tarfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostics import check_error, tidy, with_silence

import kernelwright as kw
from kernelwright import DeviceError, _core, _core_testing, export
from kernelwright.mindspore import context
from kernelwright.warm import cache_entries

PROGRAM = """\
import warnings
import numpy as np
import kernelwright as kw

@kw.kernel
def copy(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        print(copy(np.ones(2)).tolist() + copy(np.ones(1, "f4")).tolist())
    except kw.errors.KernelError as e:
        print((type(e).__name__, e.code, e.message, e.filename, e.lineno, e.offset, str(e)))
for w in caught:
    print((w.category.__name__, w.filename, w.lineno, str(w.message)))
"""
RESULT = [1.0, 1.0, 1.0]
CALL = 15  # the line of the program that calls the kernel


def run(program: Path, **environment: str) -> list[Any]:
    """The values that a program prints, one on each line."""
    done = subprocess.run(
        [sys.executable, program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [ast.literal_eval(line) for line in done.stdout.splitlines()]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder that holds a copy of the package without the compiler library."""
    source = Path(_core.__file__).parent
    wanted = tmp_path / "site"
    shutil.copytree(
        source, wanted / "kernelwright", ignore=shutil.ignore_patterns("*_llvm.so", "__pycache__")
    )
    return wanted


NO_GPU = (
    "no CUDA device: KW_LIBCUDA cannot be opened: /nowhere: cannot open shared object file: No such file or"
    " directory"
)


def test_e501_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context.cuda, "available", lambda: False)
    monkeypatch.setattr(context.cuda, "why", lambda: "there is none")
    with pytest.raises(DeviceError) as caught:
        context.decide_device("gpu")
    text = "error[E501]: no CUDA device: there is none\n      = help: use --device cpu"
    check_error(caught.value, DeviceError, text)


def test_device_on_the_command_line(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('ran')\n")
    for device, status, out in (("gpu", 1, ""), ("cpu", 0, "ran\n")):
        command = [sys.executable, "-m", "kernelwright", "run", "--device", device, str(script)]
        environment = {**os.environ, "KW_LIBCUDA": "/nowhere"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (status, out)
        text = f"kw run: DeviceError E501: {NO_GPU}; use --device cpu\n"
        assert done.stderr == (text if status else "")


def test_e502_library(program: Path, package: Path, tmp_path: Path) -> None:
    """Without the compiler library nothing new is compiled, but what is cached runs."""
    cache = str(tmp_path / "cache")
    missing = package / "kernelwright" / "libkernelwright_llvm.so"
    reason = "cannot open shared object file: No such file or directory"
    why = f"cannot open the compiler library: {missing}: {reason}"
    text = f"""\
{program}: error[E502]: {why}
      = help: reinstall kernelwright; cached kernels run without this library"""
    error = ("DeviceError", "E502", why, None, None, None, text)
    assert run(program, PYTHONPATH=str(package), KW_CACHE_DIR=cache) == [error]
    assert run(program, KW_CACHE_DIR=cache) == [RESULT]
    assert run(program, PYTHONPATH=str(package), KW_CACHE_DIR=cache) == [RESULT]


IR = """\
# kw-ir 2
def copy(a: buf(f32, (a_0,)), c: out(f32, (a_0,))):
  fp('default')
  dims(a_0)
  for i in serial(0, a_0, 1):
    c[i] = a[i]
  return c
"""


def test_library_of_another_build(program: Path, package: Path, tmp_path: Path) -> None:
    """Half of an update: the same remedy as for a library that is missing."""
    other = "0" * 32
    name = "libkernelwright_llvm.so"
    library = Path(_core.__file__).with_name(name).read_bytes()
    (package / "kernelwright" / name).write_bytes(library.replace(_core.build_id.encode(), other.encode()))
    why = f"{name} is of another build ({other}) than the core ({_core.build_id})"
    text = f"""\
{program}: error[E502]: {why}
      = help: reinstall kernelwright; cached kernels run without this library"""
    (got,) = run(program, PYTHONPATH=str(package), KW_CACHE_DIR=str(tmp_path / "cache"))
    assert got == ("DeviceError", "E502", why, None, None, None, text)


def test_e503_internal(program: Path, package: Path, tmp_path: Path) -> None:
    """A core that asks LLVM for a machine that there is not."""
    shutil.copy(Path(_core.__file__).with_name("libkernelwright_llvm.so"), package / "kernelwright")
    core = package / "kernelwright" / "libkernelwright.so"
    core.write_bytes(core.read_bytes().replace(b"64-unknown-linux-gnu", b"99-unknown-linux-gnu"))
    (got,) = run(program, PYTHONPATH=str(package), KW_CACHE_DIR=str(tmp_path / "cache"))
    why = got[2]
    pattern = (
        r"LLVM failed on 'copy': LLVM knows no target \w+99-unknown-linux-gnu: .* \(llvm_library.cpp:\d+\)"
    )
    assert re.fullmatch(pattern, why)
    text = f"""\
{program}: error[E503]: {why}
      = help: this is a fault of kernelwright: report it with the output of KW_DEBUG="dump:after=all\""""
    assert got == ("InternalError", "E503", why, None, None, None, text)


def test_llvm_faults_are_contained() -> None:
    """Diagnostics and fatal errors of LLVM come back as text, and the next compilation works."""
    assert _core_testing.llvm_fault(IR, 1) == "provoked diagnostic"
    assert _core_testing.llvm_fault(IR, 2) == "provoked fatal error"
    assert "scalable" in _core_testing.llvm_fault(IR, 3)
    assert _core_testing.llvm_fault(IR, 0) == ""


def frozen_error(shown: str, types: str, note: str) -> tuple[Any, ...]:
    """What the program prints for E507."""
    why = f"kernel 'copy' for ({types}) is in no cache, and KW_FROZEN=1 forbids compiling it"
    text = f"""\
{shown}: error[E507]: {why}
      = note: {note}
      = help: warm the cache up for these types (kw warmup), or run without KW_FROZEN"""
    return ("UnsupportedError", "E507", why, None, None, None, text)


def test_e507_frozen(program: Path, tmp_path: Path) -> None:
    """Names the kernel, its types, and the line by which the nearest entry differs."""
    frozen = {"KW_CACHE_DIR": str(tmp_path / "cache"), "KW_FROZEN": "1"}
    nothing = "no entry is of a kernel 'copy'"
    assert run(program, **frozen) == [frozen_error(str(program), "float64[:]", nothing)]
    text = program.read_text()
    program.write_text(text.replace(' + copy(np.ones(1, "f4")).tolist()', ""))
    assert run(program, KW_CACHE_DIR=frozen["KW_CACHE_DIR"]) == [[1.0, 1.0]]
    (key,) = (path.stem for path in (tmp_path / "cache").glob("*.kwa"))
    assert run(program, **frozen) == [[1.0, 1.0]]
    program.write_text(text)
    differs = (
        f"the nearest entry is {key}; the first line of its key that differs is "
        "`signature 0:f64:1:0:0 outs`, not `signature 0:f32:1:0:0 outs`"
    )
    assert run(program, **frozen) == [frozen_error(str(program), "float32[:]", differs)]
    # for no elements, the other body runs
    program.write_text(text.replace("np.ones(2)", "np.ones(0)"))
    ((_, code, message, *_),) = run(program, **frozen)
    assert code == "E507" and message == (
        "kernel 'copy' for (float64[:]), in its serial and fully checked form, is in no cache, "
        "and KW_FROZEN=1 forbids compiling it"
    )


def test_frozen_needs_no_source(tmp_path: Path) -> None:
    """An image may have bytecode only."""
    (tmp_path / "module.py").write_text(
        "import kernelwright as kw\n\n@kw.kernel\ndef copy(a):\n    return a\n"
    )
    py_compile.compile(str(tmp_path / "module.py"), str(tmp_path / "module.pyc"))
    (tmp_path / "module.py").unlink()
    call = (
        "import numpy as np, module\ntry:\n  module.copy(np.ones(2))\nexcept Exception as e:\n  print(e.code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", call],
        env={**os.environ, "KW_CACHE_DIR": str(tmp_path / "cache"), "KW_FROZEN": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "E507\n", done.stderr


@kw.kernel
def bundled(x):
    x[0] = 9
    return x


@kw.kernel
def double(x, y):
    for i in range(x.shape[0]):
        x[i] = 2 * y[i]
    return x


def test_e508_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(message: str, help_text: str, *types: str, path: str = "libk.so", name: str = "k") -> None:
        with pytest.raises(kw.UnsupportedError) as caught:
            double.export(tmp_path / path, *(types or ("f4[:]", "f4[:]")), name=name)
        text = f"error[E508]: {message}" + (f"\n      = help: {help_text}" if help_text else "")
        check_error(caught.value, kw.UnsupportedError, text)

    cannot = "kernel 'double' cannot be exported:"
    refused(f"{cannot} 'double' is no name of a function in C and C++", 'give one, as name="k"', name="")
    refused(f"{cannot} '2k' is no name of a function in C and C++", 'give one, as name="k"', name="2k")
    refused(
        f"{cannot} an argument that it writes shares memory with another",
        "exported kernels write arrays of their own",
        "f4[:]",
        "=0",
    )
    refused(f"there is no folder '{tmp_path}/no' for libk.so", "", path="no/libk.so")
    refused(f"'{tmp_path}' is a folder", "name a file that ends with .so, as libk.so", path=".")
    with kw.debug("interp"):
        refused(f"{cannot} it is interpreted, so there is no machine code", "unset KW_DEBUG")
    failing = tmp_path / "failing-ld"
    failing.write_text("#!/bin/sh\necho 'no room' >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(export, "_linkers", (str(failing),))
    refused(f"{failing} could not link libk.so: no room", "")
    monkeypatch.setattr(export, "_linkers", ())
    refused("export needs a linker, and there is neither ld.lld nor ld", "install lld or binutils")
    assert [path.name for path in tmp_path.iterdir()] == ["failing-ld"]


def test_e509_bundle(tmp_path: Path) -> None:
    """A bundle with one wrong file is refused whole."""
    bundle = tmp_path / "bundle"
    one, two = (bundle / f"{w.key}.kwa" for w in bundled.warmup("f32[:]"))
    cache_entries.export(str(bundle), [one.stem, two.stem])
    assert set(cache_entries.read_bundle(str(bundle))) == {one.stem, two.stem}
    sound = one.read_bytes()

    def refused(message: str, help_text: str = "export it again", path: Path = bundle) -> None:
        with pytest.raises(kw.KernelValueError) as caught:
            cache_entries.read_bundle(str(path))
        text = f"error[E509]: {message}\n      = help: {help_text}"
        check_error(caught.value, kw.KernelValueError, text)

    again = "export it again, and copy it as binary data"
    one.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    refused(f"the entry {one.stem} of '{bundle}' is damaged", again)
    one.write_bytes(sound[:4] + b"\x01" + sound[5:])
    refused(f"the entry {one.stem} of '{bundle}' is of another version", again)
    one.write_bytes(two.read_bytes())
    refused(f"the entry {one.stem} of '{bundle}' holds that of the key {two.stem}", again)
    one.write_bytes(sound)
    (bundle / "README").write_text("")
    refused(f"'{bundle}' holds 'README', which is no entry", again)
    (bundle / "README").unlink()
    for contents in ("[1]", "{", '{"format": "kernelwright bundle 99"}'):
        (bundle / "bundle.json").write_text(contents)
        refused(f"'{bundle}' is no bundle of this version of kernelwright", "name what export wrote")
    cut, link = tmp_path / "cut.tar", tmp_path / "link.tar"
    cut.write_bytes(b"no archive at all")
    refused(f"'{cut}' is no whole archive: truncated header", path=cut)
    with tarfile.open(link, "w") as archive:
        member = tarfile.TarInfo("../../escape.kwa")
        member.type = tarfile.SYMTYPE
        archive.addfile(member)
    refused(f"'{link}' holds '../../escape.kwa', which is no entry", path=link)


def test_w501_cache_directory(program: Path, tmp_path: Path) -> None:
    """Warned once in a process, at the call; the kernels run all the same."""
    (tmp_path / "file").write_text("")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    problems = {
        "file": "is no directory",
        "open": "can be written by others (chmod 700 it)",
        "file/below": "cannot be made: Not a directory",
    }
    for name, problem in problems.items():
        text = f"""\
warning[W501]: compiled kernels are kept in memory only: {tmp_path / name} {problem}
      = help: set KW_CACHE_DIR to a directory of your own"""
        got = run(program, KW_CACHE_DIR=str(tmp_path / name))
        assert got == [RESULT, ("KernelWarning", str(program), CALL, with_silence(text))]
    assert not list((tmp_path / "open").iterdir())


def test_malformed_cache_size(program: Path) -> None:
    text = """\
warning[W501]: KW_CACHE_SIZE is '1 TB', which is no size: the disk cache keeps up to 1 GiB
      = help: give bytes, or a number with K, M or G: KW_CACHE_SIZE=500M"""
    warning = ("KernelWarning", str(program), CALL, with_silence(text))
    assert run(program, KW_CACHE_SIZE="1 TB") == [RESULT, warning]


def test_no_home_directory(program: Path) -> None:
    nowhere = {"KW_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": ""}
    text = """\
warning[W501]: compiled kernels are kept in memory only: there is no home directory for it
      = help: set KW_CACHE_DIR to a directory of your own"""
    assert run(program, **nowhere) == [RESULT, ("KernelWarning", str(program), CALL, with_silence(text))]


def test_w502_changing_capture() -> None:
    """Warned once for a kernel, at the ninth value of a captured number."""
    scale = 0.0

    @kw.kernel
    def scaled(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] * scale
        return c

    a, found = np.ones(2), []
    for step in range(12):
        scale = step / 4
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                assert scaled(a)[0] == scale
        found += [(step, w) for w in caught]
    ((step, warning),) = found
    code = scaled.__wrapped__.__code__
    assert step == 8 and warning.category is kw.KernelWarning
    assert (warning.filename, warning.lineno) == (code.co_filename, code.co_firstlineno)
    text = """\
FILE: warning[W502]: kernel 'scaled' captures 'scale', whose value keeps changing: it is compiled anew \
for each value, 9 times so far
      = help: pass it as an argument: the code of an argument 'scale' serves all its values"""
    assert tidy(str(warning.message)) == with_silence(text.replace("FILE", code.co_filename))


def test_w506_shared_cache(program: Path, tmp_path: Path) -> None:
    """Directories that others can write are told and not used; the others are."""
    shared, own = tmp_path / "shared", tmp_path / "own"
    assert run(program, KW_CACHE_DIR=str(shared)) == [RESULT]
    frozen = {"KW_CACHE_DIR": str(own), "KW_FROZEN": "1"}
    assert run(program, KW_CACHE_SHARED=f"{shared}:", **frozen) == [RESULT]
    assert not list(own.iterdir())  # nothing is copied
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "file").write_text("")
    problems = {
        "nowhere": "it cannot be read: No such file or directory",
        "open": "others can write it",
        "file": "it is no directory",
    }
    for name, problem in problems.items():
        text = f"""\
warning[W506]: the shared cache {tmp_path / name} is not used: {problem}
      = help: root or you must own it and what is in it, and nobody else may write it"""
        warning = ("KernelWarning", str(program), CALL, with_silence(text))
        got = run(program, KW_CACHE_SHARED=f"{tmp_path / name}:{shared}", **frozen)
        assert got == [RESULT, warning]
    for entry in shared.iterdir():
        entry.chmod(0o666)
    assert run(program, KW_CACHE_SHARED=str(shared), **frozen)[0][1] == "E507"
