"""Messages in Python's logging, and KW_LOG."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelwright as kw

PROGRAM = """\
import numpy as np
import kernelwright as kw

@kw.kernel
def twice(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = 2 * x[i]
    return y

twice(np.ones(3))
print("logging" in __import__("sys").modules)
"""
COMPILED = (
    r"\[kw\] INFO kernelwright\.compile: kernel 'twice' \(\S+program\.py:4\) for \(float64\[:\]\) was "
    r"compiled in \d+\.\d ms for \w+\n"
)


def run(folder: Path, **environment: str) -> tuple[str, str]:
    (folder / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env={**os.environ, "KW_CACHE_DIR": str(folder / "cache"), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, done.stderr


def test_compilations_and_the_cache_are_told(tmp_path: Path) -> None:
    out, said = run(tmp_path, KW_LOG="debug")
    assert out == "True\n"
    stored = r"\[kw\] DEBUG kernelwright\.cache: entry [0-9a-f]{32} of kernel 'twice' is stored\n"
    assert re.fullmatch(stored + COMPILED, said), said
    _, said = run(tmp_path, KW_LOG="debug")
    served = r"\[kw\] DEBUG kernelwright\.cache: entry [0-9a-f]{32} serves kernel 'twice'\n"
    assert re.fullmatch(served, said), said
    _, said = run(tmp_path, KW_LOG="info", KW_CACHE_DIR=str(tmp_path / "other"))
    assert re.fullmatch(COMPILED, said), said
    assert run(tmp_path, KW_LOG="debug,compile")[1] == ""


def test_damaged_entries_are_told_where_somebody_asks(tmp_path: Path) -> None:
    def damage() -> None:
        for entry in (tmp_path / "cache").glob("*.kwa"):
            entry.write_bytes(b"?" + entry.read_bytes()[1:])

    assert run(tmp_path) == ("False\n", "")  # nobody asked, so logging is not imported
    damage()
    assert run(tmp_path) == ("False\n", "")
    damage()
    _, said = run(tmp_path, KW_LOG="info,cache")
    unusable = (
        r"\[kw\] INFO kernelwright\.cache: entry [0-9a-f]{32} of kernel 'twice' is unusable: damaged file\n"
    )
    assert re.fullmatch(unusable, said), said


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("loud", "KW_LOG is 'loud', but must begin with one of debug, info, warning, error"),
        (
            "info,parser",
            "KW_LOG is 'info,parser', but the loggers are "
            "kernelwright, kernelwright.cache, kernelwright.compile",
        ),
    ],
)
def test_wrong_settings(setting: str, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import kernelwright"],
        env={**os.environ, "KW_LOG": setting},
        capture_output=True,
        text=True,
    )
    assert done.stderr.splitlines()[-1] == f"ValueError: {message}"


def test_a_program_sets_up_its_own_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="kernelwright.compile"):
        source = f"def f{os.getpid()}(x):\n    x[0] = {os.getpid()}\n    return x\n"
        kw.kernel(source)(np.ones(2))
    assert [r.name for r in caplog.records] == ["kernelwright.compile"]
    assert "was compiled in" in caplog.records[0].getMessage()


def test_a_handler_that_fails_does_not_end_the_call(capsys: pytest.CaptureFixture[str]) -> None:
    class Failing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise KeyError("no")

    logger = logging.getLogger("kernelwright.compile")
    handler = Failing()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    seen = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda found: seen.append(found.exc_type)
    try:
        source = f"def g{os.getpid()}(x):\n    x[0] = {os.getpid()}\n    return x\n"
        assert kw.kernel(source)(np.ones(2))[0] == os.getpid()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
        sys.unraisablehook = hook
    assert seen == [KeyError]


def test_compilations_without_a_call_are_told(tmp_path: Path) -> None:
    """Of a manifest, in the process that compiles, and of operators."""
    run(tmp_path, KW_RECORD=str(tmp_path / "manifest.json"))
    environment = {**os.environ, "KW_CACHE_DIR": str(tmp_path / "second"), "KW_LOG": "info"}
    warm = [sys.executable, "-m", "kernelwright", "warmup", "manifest.json"]
    done = subprocess.run(warm, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert re.search(COMPILED, done.stderr), done.stderr
    operator = "import numpy as np, kernelwright as kw; kw.ops.exp(np.ones(3))"
    done = subprocess.run([sys.executable, "-c", operator], env=environment, capture_output=True, text=True)
    assert "INFO kernelwright.compile: kernel 'exp_loops'" in done.stderr, done.stderr
