"""Wrong variables KW_…: an error of `import kernelwright`, and one line of the command `kw`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WRONG = {
    "KW_DEBUG": (
        "tiem",
        "KW_DEBUG: unknown word 'tiem'; the words are: dump:after=PASS, dump:dir=DIR, kernel=GLOB, time, "
        "verify=each, interp, interp:TARGET, cache=off, perf:map, perf:jitdump, gdb, wait",
    ),
    "KW_BACKGROUND": ("2", "KW_BACKGROUND is '2', but must be 0 or 1"),
    "KW_FROZEN": ("yes", "KW_FROZEN is 'yes', but must be 0 or 1"),
    "KW_LOG": ("loud", "KW_LOG is 'loud', but must begin with one of debug, info, warning, error"),
    "KW_RECORD": (
        "/no/m.json",
        "KW_RECORD is '/no/m.json', which cannot be recorded into: No such file or directory",
    ),
    "KW_TARGET": (
        "avx3",
        "KW_TARGET: there is no target 'avx3'; the targets are: host, avx512, avx2, generic",
    ),
    "KW_THREADS": (
        "two",
        "KW_THREADS is 'two', which is no number of threads: give a whole number from 1 to 1024",
    ),
}


def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs Python with a wrong value of one variable."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**clean, name: WRONG[name][0]},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_variable_is_an_error_of_the_import(name: str) -> None:
    done = run(name, "-c", "import kernelwright")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"ValueError: {WRONG[name][1]}")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_variable_is_one_line_of_the_command(name: str) -> None:
    done = run(name, "-m", "kernelwright", "doctor")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"kw: {WRONG[name][1]}\n")
