"""Functions whose code or default values are replaced in place, as IPython's autoreload does: the next call
compiles anew, and no process finds one code under the key of another.
"""

from __future__ import annotations

import importlib
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


CALLS = """
import kernelwright as kw
from {0} import helper
@kw.kernel
def add(a):
    a[0] = helper(a[0])
    return a
"""


def test_a_helper_whose_code_is_replaced_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As autoreload does it: the functions of the old module get the code of the new one."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "replaced_helper.py"
    file.write_text("def helper(x):\n    return x + 1.0\n")
    (tmp_path / "calls_replaced.py").write_text(CALLS.format("replaced_helper"))
    module = importlib.import_module("calls_replaced")
    assert module.add(np.zeros(1)) == 1.0
    helpers = sys.modules["replaced_helper"]
    old = helpers.helper
    file.write_text("# moved\ndef helper(x):\n    return x + 100.5\n")
    old.__code__ = importlib.reload(helpers).helper.__code__
    assert module.helper is old
    assert [float(module.add(np.zeros(1, dtype))[0]) for dtype in ("float64", "float32")] == [100.5, 100.5]


def test_a_kernel_from_before_a_reload_calls_the_helper_from_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps its own text; its globals are those of the module, which has a new helper."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "reloaded_kernels.py"
    file.write_text(MODULE)
    module = importlib.import_module("reloaded_kernels")
    old = module.add
    assert old(np.zeros(1)) == 1.0
    file.write_text("# moved" + MODULE.replace("+ 1.0", "+ 100.5").replace("helper(a[0])", "-helper(a[0])"))
    importlib.reload(module)
    assert old(np.zeros(1)) == old.py(np.zeros(1)) == 100.5
    assert module.add(np.zeros(1)) == module.add.py(np.zeros(1)) == -100.5


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
