"""The cache key: what changes it, what must not, and what a cached entry says about lines and warnings."""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import _core, capture

F4 = np.zeros((4, 6), "float32")
stub: Any = types.ModuleType("stub")
stub.GAIN = 2.0
LEVEL: Any = 1


@pytest.fixture(autouse=True)
def memory_only() -> Iterator[None]:
    with kw.debug("cache=off"):
        yield


def add_all(a, b):
    out = output_tensor(a.shape, a.dtype)
    for i, j in grid(a.shape):
        out[i, j] = a[i, j] + b
    return out


def times_level(a):
    out = output_tensor(a.shape, "float64")
    for i in range(a.shape[0]):
        out[i] = a[i] * LEVEL
    return out


def times_gain(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = a[i] * stub.GAIN
    return out


def holding(value: Any) -> Any:
    """A kernel that captures `value` from a closure."""

    def held(a):
        out = output_tensor(a.shape, "float64")
        for i in range(a.shape[0]):
            out[i] = a[i] + value
        return out

    return kw.kernel(held)


def key(kernel: Any, *args: Any) -> str:
    return _core.key_preimage(kernel, args)


def test_what_differs_between_machines_and_builds_is_not_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(3)
    before = key(kw.kernel(times_level), x)
    monkeypatch.setattr(sys, "version", "3.11.99 (another build) [another compiler]")
    assert key(kw.kernel(times_level), x) == before
    # sizes of caches and the number of cores of this machine have no line
    lines = [line.split()[1] for line in before.splitlines() if line.startswith("target ")]
    assert lines == ["triple", "features", "machine", "log2_work_per_thread"]
    monkeypatch.setattr(capture, "MAGIC_NUMBER", b"another bytecode")
    assert key(kw.kernel(times_level), x) != before


def assert_all_differ(keys: dict[str, str]) -> None:
    for (a, left), (b, right) in itertools.combinations(keys.items(), 2):
        assert left != right, f"{a} and {b} have one key"


def test_arguments_that_change_the_key() -> None:
    add = kw.kernel(add_all)
    tensors = {
        "contiguous": F4,
        "inner unit": F4[:, :3],
        "general": F4[:, ::2],
        "rank 1": F4[0],
        "rank 3": F4[None],
        "rank 0": np.float32(0)[...],
        **{t: F4.astype(t) for t in ("bool", "int32", "int64", "float64", "int8", "uint8", "float16")},
    }
    assert_all_differ({name: key(add, a, 1) for name, a in tensors.items()})
    scalars = {
        "weak int": 1,
        "weak float": 1.0,
        "weak bool": True,
        **{t: np.dtype(t).type(1) for t in ("bool", "int32", "int64", "float32", "float64")},
        "tensor": F4,
        "rank 0": np.zeros((), "int64"),
    }
    assert_all_differ({name: key(add, F4, b) for name, b in scalars.items()})


def test_arguments_that_leave_the_key() -> None:
    add = kw.kernel(add_all)
    assert key(add, F4, 1) == key(add, np.ones((1, 9), "float32"), 2) == key(add, np.zeros((0, 3), "f4"), -1)
    assert key(add, F4[:, ::2], 1.5) == key(add, F4[::-1, ::3], np.pi) == key(add, F4.T, 0.0)
    assert key(add, F4[:, 1:], 1) == key(add, F4[:, 2:5], 1)


def test_options_that_change_the_key() -> None:
    kernels = {
        f"{fp} {debug} {unchecked}": kw.kernel(fp=fp, debug=debug, unchecked=unchecked)(add_all)
        for fp in ("strict", "default", "fast")
        for debug in (False, True)
        for unchecked in (False, True)
    }
    assert_all_differ({name: key(kernel, F4, 1) for name, kernel in kernels.items()})
    with kw.debug("interp"):
        interpreted = key(kernels["default False False"], F4, 1)
    assert interpreted != key(kernels["default False False"], F4, 1)


DEBUG_OPTIONS = ("", "time", "verify=each", "gdb", "dump:after=all", "kernel=x*")


def test_options_for_looking_change_no_byte(tmp_path: Path) -> None:
    """The files that fresh processes leave in the cache, with a kernel of several stages."""
    script = tmp_path / "script.py"
    script.write_text(
        "import kernelwright as kw, numpy as np\n"
        "@kw.kernel\n"
        "def k(a, idx):\n"
        "    c = output_tensor(a.shape, a.dtype)\n"
        "    for i in range(a.shape[0]):\n"
        "        c[0] += exp(a[idx[i]])\n"
        "    return c\n"
        "k(np.ones(3, np.float32), np.arange(3))\n"
    )
    found: dict[str, dict[str, bytes]] = {}
    for words in DEBUG_OPTIONS:
        cache = tmp_path / f"cache{len(found)}"
        environment = {**os.environ, "KW_CACHE_DIR": str(cache), "KW_DEBUG": words}
        subprocess.run([sys.executable, script], env=environment, capture_output=True, check=True)
        found[words] = {p.name: p.read_bytes() for p in cache.iterdir()}
    assert len(found[""]) >= 1
    assert [words for words, files in found.items() if files != found[""]] == []


def test_number_of_parameters_changes_the_key() -> None:
    def one(a):
        return a

    def two(a, b):
        return a

    two.__name__ = "one"
    assert key(kw.kernel(one), F4) != key(kw.kernel(two), F4, F4)


CAPTURED: tuple[Any, ...] = (
    *(1, 1.0, True, 2, -1, 0, 0.0, -0.0, False, 2**63, -(2**63), 2**64, float("inf"), float("nan")),
    *("1", "", "a", (1, 2), (1.0, 2), (1, 2.0), (True, 2), (1,), (), ((1,), 2), (1, (2,)), ((1, 2),)),
    *(("ab", "c"), ("a", "bc"), ("abc",), ("a", "b", "c"), "float32"),
    *(np.float32, np.float64, np.dtype("int32"), np.sqrt, np.exp, abs, min),
)


def test_captured_values_change_the_key() -> None:
    x = np.zeros(3)
    assert_all_differ({f"{n}: {v!r}": key(holding(v), x) for n, v in enumerate(CAPTURED)})
    for value in CAPTURED:
        assert key(holding(value), x) == key(holding(value), x)


MODE: str = ""


@kw.kernel
def by_mode(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = 1.0 if MODE == "" else 2.0
    return c


def test_text_with_a_lone_surrogate_is_not_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.ones(1)
    for mode, expected in (("", 1.0), ("\udcff", 2.0), ("", 1.0)):
        monkeypatch.setattr(sys.modules[__name__], "MODE", mode)
        assert by_mode(a).tolist() == [expected]


def test_constants_of_the_code_change_the_key() -> None:
    keys = {}
    for text in ("1", "1.0", "True", "0.0", "-0.0", "2", "'1'", "1e999", "0x7fffffffffffffff"):
        space: dict[str, Any] = {}
        exec(f"def f(a):\n    a[0] = {text}\n    return a\n", space)
        keys[text] = key(kw.kernel(space["f"]), np.zeros(3))
    assert_all_differ(keys)


def test_key_does_not_know_where_the_function_stands() -> None:
    space: dict[str, Any] = {}
    text = "def f(a):\n    a[0] = 1.0\n    return a\n"
    keys = set()
    for path, above in (("<one>", 0), ("<two>", 0), ("<two>", 999)):
        exec(compile("\n" * above + text, path, "exec"), space)
        keys.add(key(kw.kernel(space["f"]), np.zeros(3)))
    assert len(keys) == 1
    exec(compile(text.replace("a)", "b)").replace("a", "b"), "<one>", "exec"), space)
    assert key(kw.kernel(space["f"]), np.zeros(3)) not in keys  # the names of arguments stand in messages


def test_changed_global_gives_the_new_result(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, x = kw.kernel(times_level), np.array([3.0, 5.0])
    for level in (2, 3, 3.0, True, -1.5, 2, 2**40):
        monkeypatch.setitem(globals(), "LEVEL", level)
        assert (kernel(x) == x * level).all(), level
    monkeypatch.setitem(globals(), "LEVEL", "text")
    with pytest.raises(kw.KernelTypeError):
        kernel(x)
    monkeypatch.setitem(globals(), "LEVEL", 4)
    assert (kernel(x) == x * 4).all()


def test_changed_kind_of_a_global_changes_the_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def typed(a):
        out = output_tensor((1,), "bool")
        out[0] = a[0] // LEVEL == 3.5 // 1
        return out

    kernel, x = kw.kernel(typed), np.array([7], "int64")
    for level, expected in ((2, True), (2.0, True), (1.9, True), (3.0, False), (3, False)):
        monkeypatch.setitem(globals(), "LEVEL", level)
        assert bool(kernel(x)[0]) is expected, level


def test_changed_closure_variable_gives_the_new_result() -> None:
    offset = 1.0

    @kw.kernel
    def shifted(a):
        out = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            out[i] = a[i] + offset
        return out

    x = np.zeros(2)
    assert (shifted(x) == 1.0).all()
    offset = 2.5
    assert (shifted(x) == 2.5).all()
    offset = 1.0
    assert (shifted(x) == 1.0).all()


def test_changed_module_attribute_gives_the_new_result(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, x = kw.kernel(times_gain), np.array([3.0, 5.0])
    before = key(kernel, x)
    assert (kernel(x) == x * 2.0).all()
    monkeypatch.setattr(stub, "GAIN", 0.5)
    assert (kernel(x) == x * 0.5).all() and key(kernel, x) != before
    other = types.ModuleType("stub")
    vars(other)["GAIN"] = 7
    monkeypatch.setitem(globals(), "stub", other)
    assert (kernel(x) == x * 7).all()
    del other.GAIN
    with pytest.raises(kw.KernelSyntaxError):
        kernel(x)


def test_global_defined_after_a_failed_call_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, x = kw.kernel(times_level), np.array([3.0, 5.0])
    for _ in range(2):
        monkeypatch.delitem(globals(), "LEVEL")
        with pytest.raises(kw.KernelSyntaxError, match="E103"):
            kernel(x)
        monkeypatch.setitem(globals(), "LEVEL", 2)
        assert (kernel(x) == x * 2).all()


def test_closure_variable_assigned_after_a_failed_call_is_seen() -> None:
    @kw.kernel
    def shifted(a):
        out = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            out[i] = a[i] + offset
        return out

    with pytest.raises(kw.KernelSyntaxError, match="E103"):
        shifted(np.zeros(2))
    offset = 1.5
    assert (shifted(np.zeros(2)) == offset).all()


def test_module_attribute_made_after_a_failed_call_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, x = kw.kernel(times_gain), np.array([3.0, 5.0])
    monkeypatch.delattr(stub, "GAIN")
    with pytest.raises(kw.KernelSyntaxError, match="E103"):
        kernel(x)
    monkeypatch.setattr(stub, "GAIN", 4.0, raising=False)
    assert (kernel(x) == x * 4.0).all()


def test_same_value_in_another_object_keeps_the_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, x = kw.kernel(times_level), np.array([3.0])
    monkeypatch.setitem(globals(), "LEVEL", float("1234.5"))
    before = key(kernel, x)
    monkeypatch.setitem(globals(), "LEVEL", float("1234.5"))
    assert key(kernel, x) == before


MODULE = '''"""A module of one kernel."""
import kernelwright as kw

@kw.kernel
def pick(a, k):
    """Takes the element at a place read from an array."""
    out = output_tensor((1,), a.dtype)
    first = 1.0
    out[0] = a[k[0]] * first
    return out
'''
CALL = """
import warnings
import numpy as np
import module
from kernelwright import _core, capture
x, k = np.zeros(4), np.array([9])
warnings.simplefilter("ignore")
print(_core.key_preimage(module.pick, (x, k)).encode().hex())
try:
    module.pick(x, k)
except IndexError as e:
    print(e.lineno)
    print(str(e).split(":")[1])
    print(e.args[0].splitlines()[1].split("|")[0].strip())
print("_llvm.so" in open("/proc/self/maps").read())
"""


def call_module(folder: Path, text: str) -> tuple[str, set[int], bool]:
    """(key, lines that the IndexError names, was LLVM needed) of a new process that calls MODULE's kernel."""
    (folder / "module.py").write_text(text)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    env = {**clean, "KW_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CALL], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    key_text, *lines, llvm = done.stdout.split()
    return key_text, {int(line) for line in lines}, llvm == "True"


def line_of(text: str) -> int:
    return text[: text.index("a[k[0]]")].count("\n") + 1


def test_moved_function_is_served_and_names_its_new_line(tmp_path: Path) -> None:
    first, lines, llvm = call_module(tmp_path, MODULE)
    assert lines == {9} and llvm
    os.utime(tmp_path / "module.py", (1, 1))
    assert call_module(tmp_path, MODULE) == (first, {9}, False)
    for above in (1, 50, 1000):
        moved = MODULE.replace("@kw", "\n" * above + "@kw")
        assert call_module(tmp_path, moved) == (first, {9 + above}, False)


@pytest.mark.parametrize("change", ["a", "b", "c", "d", "e"])
def test_lines_inside_the_function_are_right_after_an_edit(change: str, tmp_path: Path) -> None:
    edit: dict[str, Callable[[str], str]] = {
        "a": lambda t: t.replace("    first", "    # a comment\n    first"),
        "b": lambda t: t.replace("    first", "\n\n    first"),
        "c": lambda t: t.replace("def", "# a comment\ndef"),
        "d": lambda t: t.replace("(a, k)", "(\n    a,\n    k,\n)"),
        "e": lambda t: t.replace("a[k[0]]", "(\n        a[k[0]]\n    )"),
    }
    first, _, _ = call_module(tmp_path, MODULE)
    changed = edit[change](MODULE)
    second, lines, _ = call_module(tmp_path, changed)
    assert lines == {line_of(changed)} and second != first
    assert call_module(tmp_path, changed) == (second, lines, False)


WARNS = """
import warnings
import numpy as np
import kernelwright as kw

@kw.kernel
def greatest(a):
    out = output_tensor((1,), a.dtype)
    for i in range(a.shape[0]):
        out[0] = max(out[0], a[i])
    return out

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for n in (3, 4, 5, 0):
        for dtype in ("float32", "float64"):
            a = np.arange(1, n + 1, dtype=dtype)
            assert greatest(a)[0] == n
            assert greatest(np.repeat(a, 2)[::2])[0] == n
assert len(seen) == 1 and seen[0].category is kw.UninitializedReadWarning, [str(w.message) for w in seen]
print(seen[0].lineno, seen[0].filename, "_llvm.so" in open("/proc/self/maps").read())
print(str(seen[0].message))
"""


def test_warning_comes_once_per_process_also_from_the_cache(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    said = []
    for above in (0, 0, 3):
        program.write_text("\n" * above + WARNS)
        done = subprocess.run(
            [sys.executable, str(program)],
            env={**clean, "KW_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.splitlines())
    assert [s[0] for s in said] == [f"10 {program} True", f"10 {program} False", f"13 {program} False"]
    assert said[0][1:] == said[1][1:]
    assert said[2][1].startswith(f"{program}:13:22: warning[W301]")


EDITS = {
    "constant": ("first = 1.0", "first = 2.0"),
    "comment": ("    first", "    # a comment\n    first"),
    "blank line": ("    first", "\n    first"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_source_edited_before_the_kernel_was_made_is_refused_and_not_cached(
    edit: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "edited.py"
    code = compile(MODULE, str(path), "exec", dont_inherit=True)
    path.write_text(MODULE.replace(*edit))
    space: dict[str, Any] = {}
    exec(code, space)
    for _ in range(2):
        with pytest.raises(kw.KernelSyntaxError, match="E121"):
            space["pick"](np.zeros(3), np.zeros(1, "int64"))
    with pytest.raises(TypeError, match=r"^kernel 'pick' has no compiled version yet"):
        space["pick"].explain()
    again = importlib.util.spec_from_file_location("edited", path)
    assert again and again.loader
    module = importlib.util.module_from_spec(again)
    again.loader.exec_module(module)
    assert module.pick(np.ones(3), np.zeros(1, "int64"))[0] == (2 if "first = 2.0" in edit else 1)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_source_edited_after_the_kernel_was_made_keeps_its_key_and_its_lines(
    edit: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "edited.py"
    path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("edited", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arguments = (np.ones(3), np.array([9]))
    before = _core.key_preimage(module.pick, arguments)
    path.write_text(MODULE.replace(*edit))
    assert _core.key_preimage(module.pick, arguments) == before
    with pytest.raises(kw.KernelIndexError) as e:
        module.pick(*arguments)
    assert (e.value.lineno, str(e.value).splitlines()[1]) == (9, "    9 |     out[0] = a[k[0]] * first")
