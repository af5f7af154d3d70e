"""Functions whose code or default values are replaced in place, as IPython's autoreload does: the next call
compiles anew, and no process finds one code under the key of another.
"""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kernelwright as kw


def scale(x, s=2.0):
    return x * s + 1.0


def grow(x):
    return x + 100.0


@kw.kernel
def calls(a, n=1):
    a[0] = scale(a[0]) * n
    return a


@kw.kernel
def adds(a):
    a[0] = a[0] + 1.0
    return a


@kw.kernel
def adds_both(a, b):
    a[0] = a[0] + b
    return a


def same_as_cpython(kernel: kw.Kernel) -> float:
    found = kernel(np.ones(1))
    assert found == kernel.py(np.ones(1))
    return float(found[0])


def test_default_values_of_a_called_function(monkeypatch: pytest.MonkeyPatch) -> None:
    assert same_as_cpython(calls) == 3.0
    monkeypatch.setattr(scale, "__defaults__", (5.0,))
    assert same_as_cpython(calls) == 6.0
    monkeypatch.undo()
    assert same_as_cpython(calls) == 3.0


def test_code_of_a_called_function(monkeypatch: pytest.MonkeyPatch) -> None:
    assert same_as_cpython(calls) == 3.0
    monkeypatch.setattr(scale, "__code__", grow.__code__)
    monkeypatch.setattr(scale, "__defaults__", None)
    assert same_as_cpython(calls) == 101.0


def test_code_and_default_values_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    function = calls.__wrapped__
    assert same_as_cpython(calls) == 3.0
    monkeypatch.setattr(function, "__defaults__", (3,))
    assert same_as_cpython(calls) == 9.0
    monkeypatch.setattr(function, "__defaults__", ())
    with pytest.raises(TypeError, match="is missing the argument 'n'"):
        calls(np.ones(1))
    assert calls(np.ones(1), 2)[0] == 6.0


def test_parameters_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    function = adds.__wrapped__
    assert same_as_cpython(adds) == 2.0
    monkeypatch.setattr(function, "__code__", adds_both.__wrapped__.__code__)
    with pytest.raises(TypeError, match="is missing the argument 'b'"):
        adds(np.ones(1))
    assert adds(np.ones(1), 5.0)[0] == adds(np.ones(1), b=5.0)[0] == 6.0
    monkeypatch.undo()
    with monkeypatch.context() as patch:
        patch.setattr(function, "__code__", adds_both.__wrapped__.__code__)
        adds.check()
        assert adds.ir(np.ones(1), 5.0) != adds.ir(np.ones(1), 5)
        (version,) = adds.explain(np.ones(1), 5.0).versions
        assert [name for name, _ in version.parameters] == ["a", "b"]
    assert same_as_cpython(adds) == 2.0


MODULE = """
import kernelwright as kw
def helper(x):
    return x + 1.0
@kw.kernel
def add(a):
    a[0] = helper(a[0])
    return a
"""
EDIT = """
import numpy as np, module
def edit(text):
    with open(module.__file__, "w") as file:
        file.write(text)
    space = {}
    exec(compile(text, module.__file__, "exec"), space)
    module.helper.__code__ = space["helper"].__code__
    module.add.__wrapped__.__code__ = space["add"].__wrapped__.__code__
print(*module.add(np.zeros(1)))
text = open(module.__file__).read()
edit(text.replace("+ 1.0", "+ 100.0").replace("helper(a[0])", "helper(a[0]) * 2.0"))
print(*module.add(np.zeros(1)), *module.add(np.zeros(1, np.float32)))
edit(text)
"""


def test_no_process_finds_replaced_code_under_the_old_key(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    runs = []
    for code in (EDIT, "import numpy as np, module\nprint(*module.add(np.zeros(1, np.float32)))"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=100,
            check=True,
        )
        runs.append(done.stdout)
    assert runs == ["1.0\n200.0 200.0\n", "1.0\n"]


ASSERT = """
import numpy as np, kernelwright as kw
@kw.kernel(debug=True)
def check(a):
    assert a[0] > {0}
    a[0] = 7.0
    return a
try:
    print(*check(np.ones(1)))
except AssertionError as e:
    print(e.code)
"""


def test_asserts_count_as_in_cpython(tmp_path: Path) -> None:
    said = []
    for bound in (5, 0):
        (tmp_path / "program.py").write_text(ASSERT.format(bound))
        for options in ([], ["-O"]):
            command = [sys.executable, *options, "program.py"]
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=tmp_path, timeout=100, check=True
            )
            said.append(done.stdout.strip())
    assert said == ["E305", "7.0", "7.0", "7.0"]


UNICODE = """
import kernelwright as kw
\u00b5 = 0.5
@kw.kernel
def local(a):
    \u00b5 = 1.0
    if a[0] > 0:
        \u03bc = 2.0
    a[0] = \u00b5  # \u00b5
    return a
@kw.kernel
def captured(\uff41):
    a[0] = a[0] * \u00b5
    return a
"""


def test_names_are_compared_as_cpython_compares_them(tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text(UNICODE, encoding="utf-8")
    module = types.ModuleType("names")
    code = compile(UNICODE, str(tmp_path / "names.py"), "exec", dont_inherit=True)
    exec(code, module.__dict__)
    for kernel in (module.local, module.captured):
        assert kernel(np.ones(1)) == kernel.py(np.ones(1))


DEEP = """
import kernelwright as kw
def make(n):
    @kw.kernel
    def deep(a):
        a[0] = n + TERMS
        return a
    return deep
kernel = make(1.0)
"""


def test_expressions_nested_too_deeply(tmp_path: Path) -> None:
    terms = "+".join(["a[0]"] * 1500)
    with pytest.raises(kw.errors.KernelSyntaxError, match="expressions nest deeper than") as e:
        kw.kernel(f"def deep(a):\n    a[0] = {terms}\n    return a\n")(np.ones(1))
    assert e.value.code == "E105"
    path = tmp_path / "deep.py"
    path.write_text(DEEP.replace("TERMS", terms))
    space: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), space)
    with pytest.raises(kw.errors.KernelSyntaxError) as e:
        space["kernel"](np.ones(1))
    assert str(e.value).replace(str(path), "FILE") == (
        "FILE:4:1: error[E105]: kernel 'deep' is nested too deeply for Python's own compiler\n"
        "      = help: split its longest expression into statements"
    )
