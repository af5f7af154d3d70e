"""The package of a wheel from a finished build: Python files, portable libraries, the extension module."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PATTERNS = ("*.py", "*.pyi", "py.typed", "errors.md", "*.h")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr)


def _extension(tag: str) -> Path:
    """Returns the extension module for this Python; compiles it if the build is for another one."""
    name = f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    if (BUILD / "kernelwright" / name).exists():
        _run("ninja", "-C", str(BUILD), "_core")
        return BUILD / "kernelwright" / name
    folder = BUILD / "wheel" / f"extension-{tag}"
    _run(
        *(
            "cmake",
            "-S",
            str(ROOT / "python"),
            "-B",
            str(folder),
            "-G",
            "Ninja",
            "-DCMAKE_BUILD_TYPE=Release",
        ),
        *(f"-DKW_BUILD={BUILD}", f"-DPython_EXECUTABLE={sys.executable}"),
    )
    _run("ninja", "-C", str(folder))
    return folder / "kernelwright" / name


def staged_package() -> str:
    """Returns the folder of the package, relative to the project; "" if there is no build."""
    if not (BUILD / "build.ninja").exists():
        return ""
    tag = str(sys.implementation.cache_tag)
    _run(
        "ninja",
        "-C",
        str(BUILD),
        "kernelwright",
        "kernelwright_portable",
        "kernelwright_llvm_portable",
        "kw_exported",
    )
    package = BUILD / "wheel" / tag / "kernelwright"
    shutil.rmtree(package, ignore_errors=True)
    source = ROOT / "python" / "kernelwright"
    for pattern in PATTERNS:
        for file in source.rglob(pattern):
            target = package / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    for library in (BUILD / "wheel" / "libraries").glob("*.so"):
        shutil.copy(library, package)
    shutil.copy(_extension(tag), package)
    (package / "lib").mkdir()
    shutil.copy(BUILD / "kernelwright" / "lib" / "libkw_exported.a", package / "lib")
    if strip := shutil.which("strip"):
        _run(strip, "--strip-unneeded", *(str(library) for library in package.glob("*.so")))
    return str(package.relative_to(ROOT))
