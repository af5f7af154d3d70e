"""E120 and E121: kernels whose text is missing, or was not what Python had compiled when they were made."""

from __future__ import annotations

import importlib.util
import linecache
import py_compile
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from diagnostics import Check, calls, check_error, checks, raises

import kernelwright as kw
from kernelwright import KernelIndexError, KernelSyntaxError

ONES = np.ones(4, np.float32)
TEXT = "def bare(a):\n    return a\n"


def executed(path: str, text: str = TEXT) -> kw.Kernel:
    """A kernel from text that was given to exec under a file's name."""
    space: dict[str, Any] = {}
    exec(compile(text, path, "exec"), space)
    return kw.kernel(space["bare"])


NO_SOURCE = """
    FILE:@1:1: error[E120]: the source text of kernel 'bare' cannot be found
          = help: define it in a file or a notebook cell, or give its text: kw.kernel(\"""def …\""")
    """
FROM_STRING = NO_SOURCE.replace("found\n", "found: it came from a string, which Python does not keep\n")
FROM_STDIN = FROM_STRING.replace("a string", "standard input")
EDITED = """
    FILE:@1:1: error[E121]: the text at this place is not what kernel 'bare' was compiled from
          = help: restart Python: the file was edited before it was imported; for exec, give the text: \
kw.kernel(\"""def …\""")
    """


@pytest.mark.parametrize(
    "case",
    [
        calls(executed("<string>"), (ONES,), KernelSyntaxError, FROM_STRING, id="exec"),
        checks(executed("<string>"), KernelSyntaxError, FROM_STRING),
        calls(executed("<stdin>"), (ONES,), KernelSyntaxError, FROM_STDIN, id="standard input"),
        calls(executed("nowhere.py"), (ONES,), KernelSyntaxError, NO_SOURCE, id="missing file"),
        calls(executed("/dev/null"), (ONES,), KernelSyntaxError, NO_SOURCE, id="no regular file"),
        calls(executed(__file__, "\n" * 9999 + TEXT), (ONES,), KernelSyntaxError, NO_SOURCE, id="short file"),
    ],
)
def test_e120_no_source(case: Check) -> None:
    case()


class Edited:
    """The file edited.py and its imports."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "edited.py"

    def write(self, text: str) -> None:
        self.path.write_text(f"import kernelwright as kw\n\n\n{text}")

    def load(self) -> ModuleType:
        """Imports the file as it is."""
        spec = importlib.util.spec_from_file_location("edited", self.path)
        assert spec and spec.loader
        made = importlib.util.module_from_spec(spec)
        sys.modules["edited"] = made
        spec.loader.exec_module(made)
        return made

    def load_stale(self, old: str, new: str) -> ModuleType:
        """Compiles the file, edits it and runs what was compiled, as an import does that an editor meets."""
        text = self.path.read_text()
        made = ModuleType("edited")
        code = compile(text, str(self.path), "exec", dont_inherit=True)
        self.edit(old, new)
        sys.modules["edited"] = made
        exec(code, made.__dict__)
        return made

    def edit(self, old: str, new: str) -> None:
        text = self.path.read_text()
        assert old in text
        self.path.write_text(text.replace(old, new, 1))


@pytest.fixture
def edited(tmp_path: Path) -> Iterator[Edited]:
    made = Edited(tmp_path)
    yield made
    sys.modules.pop("edited", None)
    linecache.checkcache(str(made.path))


DOUBLES = """\
@kw.kernel
def bare(a):
    "{}"  # a text of its own keeps the cache out of the way
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * 2  # twice
    return c
"""
EDITS = {
    "constant": ("* 2", "* 3"),
    "operator": ("* 2", "+ 2"),
    "kind of a constant": ("* 2", "* 2.0"),
    "name of the parameter": ("def bare(a)", "def bare(b)"),
    "name of the kernel": ("def bare", "def clad"),
    "syntax": ("a[i] * 2", "a[i] *"),
    "another function before": ("@kw.kernel", "def first():\n    pass\n\n\n@kw.kernel"),
    "fewer lines before": ("\n\n@kw", "@kw"),
}


@pytest.mark.parametrize("name", EDITS)
def test_e121_edited_before_the_kernel_was_made(edited: Edited, name: str) -> None:
    edited.write(DOUBLES.format(name))
    made = edited.load_stale(*EDITS[name])
    raises(lambda: made.bare(ONES), made.bare, KernelSyntaxError, EDITED)
    raises(made.bare.check, made.bare, KernelSyntaxError, EDITED)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_after_the_kernel_was_made_stops_nothing(edited: Edited, name: str) -> None:
    edited.write(DOUBLES.format(f"{name}, made before"))
    made = edited.load()
    edited.edit(*EDITS[name])
    made.bare.check()
    assert made.bare(ONES).tolist() == [2.0] * 4
    edited.path.unlink()
    assert made.bare(np.ones(4)).tolist() == [2.0] * 4


def test_stale_bytecode(edited: Edited) -> None:
    """A .pyc that Python is told to believe."""
    edited.write(DOUBLES.format("stale .pyc"))
    py_compile.compile(
        str(edited.path), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    edited.edit("* 2", "* 3")
    made = edited.load()
    assert made.bare.py(ONES).tolist() == [2.0] * 4
    raises(lambda: made.bare(ONES), made.bare, KernelSyntaxError, EDITED)


def test_a_file_that_is_no_python(edited: Edited) -> None:
    """An edit to an encoding that there is not."""
    edited.write(DOUBLES.format("encoding"))
    made = edited.load_stale("import", "# coding: no-such-encoding\nimport")
    raises(lambda: made.bare(ONES), made.bare, KernelSyntaxError, NO_SOURCE)


def test_remarks_may_change(edited: Edited) -> None:
    for old, new in (
        ("# twice", "# two times"),
        ("@kw", "# a remark\n@kw"),
        ("@kw.kernel", "@kw.kernel  # fast"),
    ):
        edited.write(DOUBLES.format(f"not for {new}".replace("\n", " ")))
        made = edited.load_stale(old, new)
        assert made.bare(ONES).tolist() == [2.0] * 4


def test_compiled_kernels_need_no_text(edited: Edited) -> None:
    """What is compiled runs, whoever compiled it; another dtype needs the text."""
    edited.write(DOUBLES.format("first call"))
    assert edited.load().bare(ONES).tolist() == [2.0] * 4
    made = edited.load_stale("* 2", "* 3")
    assert made.bare(ONES[:3]).tolist() == [2.0] * 3
    raises(lambda: made.bare(np.ones(4)), made.bare, KernelSyntaxError, EDITED)
    assert edited.load().bare(ONES).tolist() == [3.0] * 4


CALLS = """\
import helper_of_e1


@kw.kernel
def bare(a):
    a[0] = helper_of_e1.twice(a[0])
    return a
"""


def test_an_edited_helper_of_another_file(edited: Edited, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text is read when the kernel is first called."""
    monkeypatch.syspath_prepend(str(edited.path.parent))
    helper = edited.path.parent / "helper_of_e1.py"
    helper.write_text("def twice(v):\n    return v * 2\n")
    edited.write(CALLS)
    made = edited.load()
    helper.write_text("def twice(v):\n    return v * 2000\n")
    with pytest.raises(KernelSyntaxError) as caught:
        made.bare(ONES.copy())
    text = EDITED.replace("'bare'", "'twice'").replace("FILE:@1", f"{helper}:1")
    check_error(caught.value, KernelSyntaxError, textwrap.dedent(text))


FACTORY = """\
def bare(k):
    @kw.kernel(fp="strict")
    def scaled(a):
        return a
    return scaled
"""


def test_a_function_that_makes_kernels(edited: Edited) -> None:
    """CPython compiles `kw.kernel(…)` otherwise where kw is a module, inside nested functions too."""
    edited.write(FACTORY)
    kernel = kw.kernel(edited.load().bare)
    expected = """
        FILE:@2:5: error[E101]: a nested function is not part of the kernel language
           @2 |     @kw.kernel(fp="strict")
              |     ^
              = help: define it outside of the kernel
        """
    raises(lambda: kernel(ONES), kernel, KernelSyntaxError, textwrap.dedent(expected))


GATHERS = """\
@kw.kernel
def bare(a, b):
    c = output_tensor(b.shape, a.dtype)
    for i in range(b.shape[0]):
        c[i] = a[b[i]]
    return c
"""
OUTSIDE = """
    FILE:@5:18: error[E303]: index 9 is out of range for dimension 0 of 'a', whose extent is 4 (valid 0..3)
       @5 |         c[i] = a[b[i]]
          |                  ^~~~
    """


def test_lines_after_remarks(edited: Edited) -> None:
    """The edited file is imported again, and its kernel is found in the cache."""
    edited.write(GATHERS)
    made = edited.load_stale("@kw", "# a remark\n@kw")
    assert made.bare(ONES, np.array([1])).tolist() == [1.0]
    again = edited.load()
    raises(lambda: again.bare(ONES, np.array([9])), again.bare, KernelIndexError, OUTSIDE)


def test_file_of_another_kernel() -> None:
    """Text given to exec under the name of a file that holds something else."""
    kernel = executed(__file__)
    raises(lambda: kernel(ONES), kernel, KernelSyntaxError, EDITED)


def test_lines_of_another_kernel() -> None:
    """The same of a text that `linecache` holds, as it does those of cells."""
    linecache.cache["<cell>"] = (len(TEXT), None, ["def bare(a):\n", "    return 1\n"], "<cell>")
    kernel = executed("<cell>")
    raises(lambda: kernel(ONES), kernel, KernelSyntaxError, EDITED)
    del linecache.cache["<cell>"]
    raises(lambda: kernel(ONES), kernel, KernelSyntaxError, NO_SOURCE)


@kw.kernel
def asserts(a):
    assert a.shape[0] > 1
    return a


REWRITTEN = """
    FILE:@1:1: error[E121]: pytest has rewritten the `assert` in kernel 'asserts': its code is not its text
          = help: move the kernel to a module that pytest does not rewrite, or begin this file with the \
docstring "PYTEST_DONT_REWRITE"
    """


def test_rewritten_assert() -> None:
    raises(lambda: asserts(ONES), asserts, KernelSyntaxError, REWRITTEN)
    raises(asserts.check, asserts, KernelSyntaxError, REWRITTEN)
