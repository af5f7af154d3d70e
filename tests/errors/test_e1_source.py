"""E120 and E121: kernels whose text is missing, or no longer what was compiled."""

from __future__ import annotations

import importlib.util
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from diagnostics import Check, calls, checks, raises

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
          = help: define it in a file or a cell without magics, or give its text: kw.kernel(\"""def …\""")
    """
EDITED = """
    FILE:@1:1: error[E121]: the text at this place is not what kernel 'bare' was compiled from
          = help: after an edit, reload the module or restart Python; for exec, give the text: \
kw.kernel(\"""def …\""")
    """


@pytest.mark.parametrize(
    "case",
    [
        calls(executed("<string>"), (ONES,), KernelSyntaxError, NO_SOURCE, id="exec"),
        checks(executed("<string>"), KernelSyntaxError, NO_SOURCE),
        calls(executed("nowhere.py"), (ONES,), KernelSyntaxError, NO_SOURCE, id="missing file"),
        calls(executed(__file__, "\n" * 9999 + TEXT), (ONES,), KernelSyntaxError, NO_SOURCE, id="short file"),
    ],
)
def test_e120_no_source(case: Check) -> None:
    case()


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Callable[[str], ModuleType]]:
    """Imports a text as the file edited.py; `module(text)` writes and imports it."""
    path = tmp_path / "edited.py"

    def load(text: str) -> ModuleType:
        path.write_text(f"import kernelwright as kw\n\n\n{text}")
        spec = importlib.util.spec_from_file_location("edited", path)
        assert spec and spec.loader
        made = importlib.util.module_from_spec(spec)
        sys.modules["edited"] = made
        spec.loader.exec_module(made)
        return made

    yield load
    sys.modules.pop("edited", None)
    linecache.checkcache(str(path))


def edit(module: ModuleType, old: str, new: str) -> None:
    """Changes the file, with a time stamp that differs from that of the import."""
    path = Path(str(module.__file__))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    os.utime(path, (1, 1))


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
def test_e121_edited(module: Callable[[str], ModuleType], name: str) -> None:
    made = module(DOUBLES.format(name))
    edit(made, *EDITS[name])
    raises(lambda: made.bare(ONES), made.bare, KernelSyntaxError, EDITED)
    raises(made.bare.check, made.bare, KernelSyntaxError, EDITED)


def test_remarks_may_change(module: Callable[[str], ModuleType]) -> None:
    for old, new in (
        ("# twice", "# two times"),
        ("@kw", "# a remark\n@kw"),
        ("@kw.kernel", "@kw.kernel  # fast"),
    ):
        made = module(DOUBLES.format(f"not for {new}".replace("\n", " ")))
        edit(made, old, new)
        assert made.bare(ONES).tolist() == [2.0] * 4


def test_compiled_kernels_run_on(module: Callable[[str], ModuleType]) -> None:
    """What is compiled runs on; another dtype needs the text again."""
    made = module(DOUBLES.format("first call"))
    assert made.bare(ONES).tolist() == [2.0] * 4
    edit(made, "* 2", "* 3")
    assert made.bare(ONES[:3]).tolist() == [2.0] * 3
    raises(lambda: made.bare(np.ones(4)), made.bare, KernelSyntaxError, EDITED)


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


# product bug: lines are counted from the remark, which the next import no longer sees before the kernel
def test_lines_after_remarks(module: Callable[[str], ModuleType]) -> None:
    """The edited file is imported again, and its kernel is found in the cache."""
    made = module(GATHERS)
    edit(made, "@kw", "# a remark\n@kw")
    assert made.bare(ONES, np.array([1])).tolist() == [1.0]
    again = module(Path(str(made.__file__)).read_text().removeprefix("import kernelwright as kw\n\n\n"))
    raises(lambda: again.bare(ONES, np.array([9])), again.bare, KernelIndexError, OUTSIDE)


def test_file_of_another_kernel() -> None:
    """Text given to exec under the name of a file that holds something else."""
    kernel = executed(__file__)
    raises(lambda: kernel(ONES), kernel, KernelSyntaxError, EDITED)
