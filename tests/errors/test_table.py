"""The table of codes: every row has its test in this folder, and its class is what Python expects."""

from __future__ import annotations

import ast
import linecache
import os
import pickle
import re
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from diagnostics import CASES

import kernelwright as kw
from kernelwright import KernelSyntaxError, _core, _core_testing, errors

BUILTINS: dict[str, type[Exception]] = {
    "KernelSyntaxError": SyntaxError,
    "KernelTypeError": TypeError,
    "KernelValueError": ValueError,
    "KernelOverflowError": OverflowError,
    "KernelIndexError": IndexError,
    "KernelAssertionError": AssertionError,
    "KernelZeroDivisionError": ZeroDivisionError,
    "ScheduleError": ValueError,
    "UnsupportedError": NotImplementedError,
    "DeviceError": RuntimeError,
    "InternalError": RuntimeError,
    "KernelWarning": UserWarning,
    "UninitializedReadWarning": UserWarning,
    "HintIgnoredWarning": UserWarning,
}


def found_tests() -> list[str]:
    """The names of all test functions of the folder."""
    found = []
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        tree = ast.parse(path.read_text())
        found += [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in found if name.startswith("test_")]


def test_every_row_has_its_test() -> None:
    rows = [(code, test) for code, _, _, test in _core.codes()]
    coded = [name for name in found_tests() if re.match(r"test_[ew]\d", name)]
    assert sorted(test for _, test in rows) == sorted(coded)
    assert all(test.startswith(f"test_{code.lower()}_") for code, test in rows)
    assert len(set(rows)) == len(rows)
    assert {path.stem for path in CASES.iterdir()} <= {code.lower() for code, _ in rows}


def test_classes() -> None:
    for code, name, title, _ in _core.codes():
        kind = getattr(errors, name)
        assert issubclass(kind, BUILTINS[name])
        assert issubclass(kind, errors.KernelError) == (code[0] == "E")
        assert title and title[0].islower() and not title.endswith(".")
    for name, kind in BUILTINS.items():
        assert issubclass(getattr(errors, name), kind)
        assert getattr(kw, name, None) in (None, getattr(errors, name))


def test_session_cache_is_in_use() -> None:
    assert _core.cache_directory() == os.environ["KW_CACHE_DIR"]
    assert _core.cache_problem() == ""


@kw.kernel
def prints(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = print(a[0])
    return c


def syntax_error() -> KernelSyntaxError:
    with pytest.raises(KernelSyntaxError) as caught:
        prints(np.ones(2))
    return caught.value


def test_python_draws_the_caret() -> None:
    """A KernelSyntaxError fills what Python shows of a SyntaxError: the line, and the caret under it."""
    error = syntax_error()
    help_line = "      = help: debug with `kernel.py(...)`, which runs under CPython"
    assert error.msg == f"[E101] print is not part of the kernel language\n{help_line}"
    assert error.text == "    c[0] = print(a[0])"
    assert (error.end_lineno, error.offset, error.end_offset) == (error.lineno, 12, 23)
    assert (
        "".join(traceback.format_exception_only(error))
        == f"""\
  File "{__file__}", line {error.lineno}
    c[0] = print(a[0])
           ^^^^^^^^^^^
kernelwright.errors.KernelSyntaxError: [E101] print is not part of the kernel language
{help_line}
"""
    )


def test_errors_can_be_pickled() -> None:
    error = syntax_error()
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is KernelSyntaxError and str(copy) == str(error)
    assert (copy.code, copy.lineno, copy.offset) == (error.code, error.lineno, error.offset)


def test_at_most_twenty() -> None:
    names = "".join(f"    x{n} = u{n}\n" for n in range(30))
    rendered = _core_testing.compile_text(f"def k(a):\n{names}    return a\n", [("float32", 1)])
    assert rendered.count("error[E103]") == 20


@pytest.mark.parametrize(
    "around",
    [
        "if a[{n}] > 0:",
        "if a[{n}] > 0:\n            pass\n        else:",
        "for j in range(2):",
        "for j, k in grid((2, 3)):",
        "while a[0] > {n}:",
        "for j in const_range(2):",
        "for j in range(3):\n            if a[j] > 1: break\n        if a[0] > 1:",
    ],
)
def test_nothing_is_looked_at_behind_the_twentieth(around: str) -> None:
    """The twentieth error leaves all blocks around it, whatever these are."""
    body = "".join(f"        {around.format(n=n)}\n            v[0] = 1\n" for n in range(30))
    text = f"def k(a, v):\n    for i in range(3):\n{body}    return a\n"
    rendered = _core_testing.compile_text(text, [("float32", 1), ("float32", 1)])
    assert rendered.count("error[E207]") == 20


def test_one_message_for_one_fault() -> None:
    """What follows from a faulty name is not reported again."""
    faulty = "def k(a):\n    x = u\n    y = x + 1\n    a[0] = y\n    a[1] = x * y\n    return a\n"
    rendered = _core_testing.compile_text(faulty, [("float32", 1)])
    assert rendered.count("error[") == 1


@kw.kernel
def scales_nothing(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] *= a[0]
    return c


def test_warnings_carry_the_code() -> None:
    """And a whole text of one, which the helpers of other tests put together."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scales_nothing(np.ones(1))
    (warning,) = (w.message for w in caught)
    code = scales_nothing.__wrapped__.__code__
    assert [getattr(warning, n, None) for n in ("code", "filename", "lineno", "offset")] == [
        "W301",
        code.co_filename,
        code.co_firstlineno + 3,
        5,
    ]
    line = code.co_firstlineno + 3
    text = f"""\
{code.co_filename}:{line}:5: warning[W301]: 'c' may be read here before it is written
{line:>5} |     c[0] *= a[0]
      |     ^~~~
      = note: unwritten elements are zero
      = help: write 'c' first; where zero is meant, say so: `c = np.zeros(...)`
      = silence: warnings.filterwarnings("ignore", message=".*W301")"""
    assert str(warning) == text


TWENTY_FIVE = "".join(f"        c[i] = a[i] + missing_{n}\n" for n in range(25))
MANY = f"""\
import numpy as np
import kernelwright as kw

@kw.kernel
def many(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
{TWENTY_FIVE}    return c

many(np.ones(2))
"""


def test_twenty_errors_of_one_call(tmp_path: Path) -> None:
    """Python itself draws the first with its caret; the others follow in full."""
    program = tmp_path / "many.py"
    program.write_text(MANY)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    shown = done.stderr[done.stderr.rindex('  File "') :].splitlines()
    place, line, caret, message = shown[:4]
    assert (place, line) == (f'  File "{program}", line 8', "    c[i] = a[i] + missing_0")
    assert caret.rstrip("^") == " " * line.index("missing_0")  # how wide depends on the version of Python
    said = "[E103] undeclared variable: name 'missing_0' is not defined"
    assert message == f"kernelwright.errors.KernelSyntaxError: {said}"
    heads = [line for line in shown if f"{program}:" in line]
    text = "{}:{}:23: error[E103]: undeclared variable: name 'missing_{}' is not defined"
    assert heads == [text.format(program, 8 + n, n) for n in range(1, 20)]
    assert shown.count("      |                       ^~~~~~~~~") == 9  # those with one digit
    assert shown.count("      |                       ^~~~~~~~~~") == 10


def test_what_stands_below_the_caret() -> None:
    """`msg` holds the notes and helps of the first error and all of the others, cut nowhere."""
    text = "def k(a):\n    a[0] = {0} | 1\n    a[1] = sum(a)\n    return a\n"
    space: dict[str, object] = {}
    name, source = "<below the caret>", text.format("missing")
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), space)
    with pytest.raises(KernelSyntaxError) as caught:
        kw.kernel(space["k"])(np.ones(2))  # type: ignore[arg-type]
    _, _, _, *rest = str(caught.value).split("\n")
    said = "[E103] undeclared variable: name 'missing' is not defined"
    assert caught.value.msg.split("\n") == [said, *rest]
    assert rest[1:] == [
        f"{name}:3:12: error[E101]: sum is not part of the kernel language",
        "    3 |     a[1] = sum(a)",
        "      |            ^~~~~~",
        "      = help: write a loop that adds: `for i in range(n): s += a[i]`",
    ]
