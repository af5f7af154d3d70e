"""Where the text of a kernel comes from: files that change, cells with magics, `python -c`, standard input,
the prompt.
"""

from __future__ import annotations

import importlib
import os
import pty
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import kernelwright as kw

KERNEL = """
import numpy as np
import kernelwright as kw
{helper}
@kw.kernel
def scale(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = {body}
    return y
"""
CALL = "print(scale(np.arange(3.0)))\n"
ENV = {**os.environ, "KW_DEBUG": "cache=off"}


def module_of(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(path.parent))
    return importlib.import_module(path.stem)


def write(path: Path, body: str, helper: str = "") -> None:
    path.write_text(KERNEL.format(body=body, helper=helper))
    later = time.time() + len(body)
    os.utime(path, (later, later))


def test_an_edit_of_the_file_changes_nothing_until_it_is_reloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "edited_kernels.py"
    write(path, "x[i] * 2")
    module = module_of(path, monkeypatch)
    old = module.scale
    write(path, "x[i] * 30 + 1  # longer")
    np.testing.assert_array_equal(old(np.arange(3.0)), [0, 2, 4])
    new = importlib.reload(module).scale
    np.testing.assert_array_equal(new(np.arange(3.0)), [1, 31, 61])
    path.unlink()
    np.testing.assert_array_equal(old(np.arange(3, dtype="float32")), [0, 2, 4])
    np.testing.assert_array_equal(new(np.arange(3, dtype="float32")), [1, 31, 61])


def test_an_edited_file_is_explained_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "explained_kernels.py"
    write(path, "x[i] * 2")
    scale = module_of(path, monkeypatch).scale
    scale(np.arange(3.0))
    called, other = str(scale.explain()), str(scale.explain(np.arange(3)))
    assert "line 8: i in range(x.shape[0])" in called and "line 8: i in range(x.shape[0])" in other
    write(path, "x[i] if i > 0 else x[x.shape[0] - 1]", "# moved\n")
    assert (str(scale.explain()), str(scale.explain(np.arange(3)))) == (called, other)


def test_a_helper_of_the_same_file_comes_from_the_same_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "helped_kernels.py"
    write(path, "twice(x[i])", "def twice(v):\n    return v * 2\n")
    module = module_of(path, monkeypatch)
    write(path, "twice(x[i])", "# moved\n\n\ndef twice(v):\n    return v * 20\n")
    np.testing.assert_array_equal(module.scale(np.arange(3.0)), [0, 2, 4])


def test_a_helper_of_another_file_is_copied_at_the_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "helper_of_kernels.py"
    other.write_text("def twice(v):\n    return v * 2\n")
    path = tmp_path / "kernels_with_helper.py"
    write(path, "twice(x[i])", "from helper_of_kernels import twice\n")
    module = module_of(path, monkeypatch)
    np.testing.assert_array_equal(module.scale(np.arange(3.0)), [0, 2, 4])
    other.write_text("def twice(v):\n    return v * 2000\n")
    np.testing.assert_array_equal(module.scale(np.arange(3, dtype="float32")), [0, 2, 4])


@pytest.mark.parametrize("magic", ["", "%%time\n", "%%timeit -n1 -r1\n"])
def test_cells_with_magics(magic: str) -> None:
    pytest.importorskip("IPython")
    program = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
result = shell.run_cell({(magic + KERNEL.format(body="x[i] * 2", helper="") + CALL)!r})
result.raise_error()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=ENV, check=False
    )
    assert "[0. 2. 4.]" in done.stdout, done.stdout + done.stderr


def test_a_command() -> None:
    program = KERNEL.format(body="x[i] * 2", helper="") + CALL
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=ENV, check=False
    )
    assert (done.stdout, done.stderr) == ("[0. 2. 4.]\n", "")


def test_a_script_on_standard_input(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(KERNEL.format(body="x[i] * 2", helper="") + CALL)
    with script.open() as file:
        done = subprocess.run(
            [sys.executable], stdin=file, capture_output=True, text=True, env=ENV, check=False
        )
    assert (done.stdout, done.stderr) == ("[0. 2. 4.]\n", "")


def test_a_script_from_a_pipe_is_told_what_to_do() -> None:
    program = KERNEL.format(body="x[i] * 2", helper="") + CALL
    done = subprocess.run(
        [sys.executable], input=program, capture_output=True, text=True, env=ENV, check=False
    )
    said = (
        "KernelSyntaxError: [E120] the source text of kernel 'scale' cannot be found: it came from standard"
        " input, which Python does not keep\n"
        '      = help: define it in a file or a notebook cell, or give its text: kw.kernel("""def …""")\n'
    )
    assert said in done.stderr, done.stderr


def test_the_prompt() -> None:
    """A terminal, as `python` without arguments sees it."""
    lines = [line for line in KERNEL.format(body="x[i] * 2", helper="").splitlines() if line]
    text = "\n".join([*lines, "", CALL, "exit()", ""])
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-q"], {**ENV, "TERM": "dumb"})
    os.write(terminal, text.encode())
    seen = b""
    try:
        while piece := os.read(terminal, 4096):
            seen += piece
    except OSError:  # the terminal is gone with its process
        pass
    os.waitpid(pid, 0)
    os.close(terminal)
    assert b"[0. 2. 4.]" in seen, seen.decode()


TYPED = """
import readline, sys
sys.ps1 = ">>> "
readline.clear_history()
for line in {typed!r}.splitlines():
    readline.add_history(line)
exec(compile({text!r}, "<stdin>", "exec"))
try:
    print(scale(np.arange(3.0)))
except SyntaxError as e:
    print(e)
"""
NOT_KEPT = """\
<stdin>:{line}:1: error[E120]: the source text of kernel 'scale' cannot be found: it came from standard \
input, which Python does not keep
      = help: define it in a file or a notebook cell, or give its text: kw.kernel(\"""def …\""")
"""


@pytest.mark.parametrize(
    ("after", "shown"),
    [
        ("scale", "[0. 2. 4.]\n"),
        ("def other(x): return x", NOT_KEPT),
        ("@kw.kernel\ndef scale(x):\n    return x", NOT_KEPT),
    ],
    ids=["a call", "a function", "a kernel of the same name"],
)
def test_the_definition_that_was_typed_last_counts_where_it_is_the_one_that_runs(
    after: str, shown: str
) -> None:
    pytest.importorskip("readline")
    imports, _, text = KERNEL.format(body="x[i] * 2", helper="").partition("@")
    program = imports + TYPED.format(typed=f"{imports}@{text}{after}", text="@" + text)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=ENV, check=False
    )
    assert (done.stdout, done.stderr) == (shown.format(line=1), "")


def test_threads_give_texts_at_the_same_time() -> None:
    """Each has a name of its own, by which its lines are found."""
    wrong: list[int] = []

    def work(first: int) -> None:
        for number in range(first, first + 40):
            text = f"def k(a):\n    for i in range(a.shape[0]):\n        a[i] = {number}\n    return a\n"
            if kw.kernel(text)(np.zeros(3))[0] != number:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == [] and not any(t.is_alive() for t in threads)
