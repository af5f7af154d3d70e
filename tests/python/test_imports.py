"""What an import costs, and what the shipped libraries promise to the loader: no LLVM, few symbols."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright import _core

PACKAGE = Path(_core.__file__).resolve().parent
CORE = Path(_core.__file__).resolve()
LIBRARY = PACKAGE / "libkernelwright.so"
LLVM_LIBRARY = PACKAGE / "libkernelwright_llvm.so"
LIBRARIES = (CORE, LIBRARY, LLVM_LIBRARY)

HEAVY = set(
    "inspect ast dis tokenize linecache textwrap dataclasses enum importlib.metadata multiprocessing"
    " subprocess threading asyncio concurrent unittest json pickle argparse logging ctypes socket"
    " shutil tempfile typing_extensions mpmath ml_dtypes kernelwright.source kernelwright.lang"
    " kernelwright.cli kernelwright.mindspore".split()
)


def python(code: str, folder: Path) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    env |= {"KW_CACHE_DIR": str(folder / "cache")}
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, env=env, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def tool(*command: str | Path) -> str:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout


def test_import_brings_nothing_heavy_beside_numpy(tmp_path: Path) -> None:
    code = "import sys, numpy; a = set(sys.modules); import kernelwright; print(*set(sys.modules) - a)"
    new = set(python(code, tmp_path).split())
    print("imported beside numpy:", *sorted(new))
    assert "kernelwright._core" in new and not new & HEAVY


def test_import_touches_no_cache_and_maps_no_llvm(tmp_path: Path) -> None:
    code = "import kernelwright; print('_llvm.so' in open('/proc/self/maps').read())"
    assert python(code, tmp_path) == "False\n"
    assert not (tmp_path / "cache").exists()


def test_making_kernels_reads_and_compiles_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, kernelwright as kw\n"
        "def f(a):\n    return nonsense\n"
        "k = [kw.kernel(f), kw.kernel(fp='strict')(f)]\n"
        "print('inspect' in sys.modules, 'kernelwright.source' in sys.modules, k[0].__name__)"
    )
    assert python(code, tmp_path).split()[1:] == ["False", "f"]
    assert not (tmp_path / "cache").exists()


def test_import_starts_no_thread_and_no_signal_handler(tmp_path: Path) -> None:
    code = (
        "import numpy, os\n"
        "def state():\n"
        "    named = ('SigBlk', 'SigIgn', 'SigCgt')\n"  # SigQ counts signals of all processes of the user
        "    signals = [x for x in open('/proc/self/status') if x.startswith(named)]\n"
        "    return len(os.listdir('/proc/self/task')), signals\n"
        "a = state(); import kernelwright; b = state(); print('same' if a == b else (a, b))"
    )
    assert python(code, tmp_path) == "same\n"


def test_stubs_name_what_the_core_has() -> None:
    stub = (PACKAGE / "_core.pyi").read_text()
    named = set(re.findall(r"^(?:(?:def|class) )?(\w+)(?:\(|:)", stub, re.MULTILINE)) - {"from"}
    assert named == {name for name in vars(_core) if not name.startswith("_")}


@pytest.mark.tools
@pytest.mark.parametrize("library", [CORE, LIBRARY], ids=lambda p: p.name.split(".")[0])
def test_only_the_llvm_library_holds_llvm(library: Path) -> None:
    assert "LLVM" not in tool("ldd", library) and "_llvm" not in tool("ldd", library)
    assert not re.findall(r"\b_ZNK?4llvm\w+|\bLLVM[A-Z]\w+", tool("nm", "-D", library))


@pytest.mark.tools
@pytest.mark.parametrize(
    ("library", "expected"), [(CORE, "PyInit__core"), (LLVM_LIBRARY, "kw_llvm_compile")], ids=["core", "llvm"]
)
def test_exported_symbols(library: Path, expected: str) -> None:
    lines = tool("nm", "-D", "--defined-only", library).splitlines()
    symbols = [line.split()[-2:] for line in lines]  # weak ones are templates of the C++ library
    assert [name for kind, name in symbols if kind not in "WVu"] == [expected], symbols[:20]


@pytest.mark.tools
def test_llvm_library_exports_nothing_else() -> None:
    assert tool("nm", "-D", "--defined-only", LLVM_LIBRARY).split()[2:] == ["kw_llvm_compile"]


@pytest.mark.tools
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda p: p.name.split(".")[0])
def test_libraries_are_loaded_safely(library: Path) -> None:
    segments = tool("readelf", "-lW", library)
    stack = re.search(r"GNU_STACK.*?\s([RWE ]{3})\s+0x", segments)
    assert stack and "E" not in stack[1], "executable stack"
    loads = re.findall(r"LOAD .*?\s([RWE ]{3})\s+0x", segments)
    assert loads and not [flags for flags in loads if "W" in flags and "E" in flags]
    dynamic = tool("readelf", "-dW", library)
    assert "TEXTREL" not in dynamic
    for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
        assert set(path.split(":")) == {"$ORIGIN"}, path


@pytest.mark.tools
def test_libraries_need_only_the_system() -> None:
    allowed = re.compile(
        r"lib(?:c|m|stdc\+\+|gcc_s|pthread|dl|rt|z|zstd|xml2|asan|kernelwright)\.so|ld-linux"
    )
    for library in LIBRARIES:
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", tool("readelf", "-dW", library))
        foreign = [name for name in needed if not allowed.match(name)]
        assert not foreign, f"{library.name} needs {foreign}"
