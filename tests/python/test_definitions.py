"""Where a kernel can be defined: each place gives a working kernel, or E120 or E121 exactly."""

from __future__ import annotations

import linecache
import math
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import KernelSyntaxError, lang

ONES = np.ones(3, np.float32)


@kw.kernel
def of_module(a):
    """A kernel with a text

    of several lines.
    """
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * 2
    return c


@kw.kernel(
    fp="strict",
    debug=False,
)
# a remark between decorator and function
def decorated_at_length(
    a: np.ndarray,
    n: int = 2,  # a remark beside a parameter
) -> np.ndarray:
    c = output_tensor((n,), a.dtype)

    for i in range(n):
        c[i] = (
            a[i] + 1  # a remark inside an expression
        )

    # a remark at the end
    return c


@kw.kernel
def on_one_line(a): c = output_tensor(a.shape, a.dtype); return c  # fmt: skip  # noqa: E702


def same(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


@same
@kw.kernel
@same
def between_decorators(a):
    return a


if math.pi > 3:

    @kw.kernel
    def in_a_branch(a):
        return a


def test_module() -> None:
    assert of_module(ONES).tolist() == [2.0] * 3
    assert decorated_at_length(ONES).tolist() == [2.0] * 2
    assert on_one_line(ONES).tolist() == [0.0] * 3
    assert between_decorators(ONES) is ONES
    assert in_a_branch(ONES) is ONES


def test_later_decoration() -> None:
    assert kw.kernel(of_module.__wrapped__)(ONES).tolist() == [2.0] * 3
    twice = kw.kernel(fp="strict")(of_module.__wrapped__)
    assert twice(ONES).tolist() == [2.0] * 3


def scaled_by(factor: float) -> kw.Kernel:
    shift = 1

    @kw.kernel
    def scaled(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] * factor + shift
        return c

    return scaled


def test_closure() -> None:
    """Every closure has its own captured values."""
    double, triple = scaled_by(2.0), scaled_by(3.0)
    assert double(ONES).tolist() == [3.0] * 3 and triple(ONES).tolist() == [4.0] * 3
    assert double(ONES).tolist() == [3.0] * 3


def test_closure_changes() -> None:
    n = 1

    @kw.kernel
    def sized(a):
        c = output_tensor((n,), a.dtype)
        for i in range(n):
            c[i] = a[i]
        return c

    assert sized(ONES).shape == (1,)
    n = 3
    assert sized(ONES).shape == (3,)


def test_two_of_one_name() -> None:
    @kw.kernel
    def chosen(a):
        a[0] = 1
        return a

    first = chosen

    @kw.kernel
    def chosen(a):
        a[0] = 2
        return a

    assert first(ONES.copy())[0] == 1 and chosen(ONES.copy())[0] == 2


class Scale:
    @kw.kernel
    def __call__(self, a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] * 2
        return c

    class Inner:
        @kw.kernel
        def run(self, a):
            return a


def test_method() -> None:
    assert Scale.__call__(Scale(), ONES).tolist() == Scale()(ONES).tolist() == [2.0] * 3
    assert Scale.Inner().run(ONES) is ONES


INDENTED = {
    "text": """\
        \'\'\'A text

        of several lines.
        \'\'\'
""",
    "string": """\
        x = \'\'\'a
            string\'\'\'
""",
    "remark at the margin": """\
# a remark
""",
    "line at the margin": """\
        x = (1 +
2)
""",
}


@pytest.mark.parametrize("name", INDENTED)
def test_indented_kernels(name: str, tmp_path: Path) -> None:
    """Methods and closures stand to the right of the margin; some of their lines may not."""
    path = tmp_path / "indented.py"
    head = "import kernelwright as kw\n\nclass Layer:\n    @kw.kernel\n    def run(self, a):\n"
    path.write_text(f"{head}{INDENTED[name]}        return a\n")
    space = runpy.run_path(str(path))
    assert space["Layer"]().run(ONES) is ONES


def test_private_names() -> None:
    class Private:
        @kw.kernel
        def run(self, a):
            __factor = 2.0
            a[0] = a[0] * __factor
            return a

    assert Private().run(ONES.copy())[0] == 2.0


def test_functions_of_imported_modules() -> None:
    @kw.kernel
    def roots(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = math.sqrt(a[i]) + np.exp(a[i] - 1)
        return c

    assert roots(ONES).tolist() == [2.0] * 3


def test_functions_of_the_package() -> None:
    @kw.kernel
    def mixed(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = kw.sqrt(a[i]) + kw.max(a[i], kw.float32(i)) + kw.select(i > 1, 1.0, kw.sigmoid(a[i]))
        return c

    assert mixed(ONES).tolist() == mixed.py(ONES).tolist()
    assert not hasattr(kw, "sqr")


def test_every_word_of_the_language_is_an_attribute_of_the_package() -> None:
    @kw.kernel
    def mixed(a):
        c = kw.output_tensor(a.shape, a.dtype)
        t = kw.allocate((2,), kw.float64)
        for i in kw.parallel(a.shape[0]):
            c[i] = kw.round(a[i] * 1.5)
        for (k,) in kw.grid((2,)):
            t[k] = k + 0.5
        for k in kw.const_range(2):
            c[k] = c[k] + t[k]
        return c

    assert mixed(ONES).tolist() == mixed.py(ONES).tolist() == [2.5, 3.5, 2.0]
    assert [word for word in (*lang.words, "round") if getattr(kw, word) is not getattr(lang, word)] == []


def test_annotations_mean_nothing() -> None:
    @kw.kernel
    def annotated(a: tuple[int, ...], b: {unit: m} = 3) -> np.ndarray | None:
        n: "anything at all" = 2  # noqa: F722
        c = output_tensor((n,), a.dtype)
        return c

    assert annotated(ONES).tolist() == [0.0] * 2


def test_lambda() -> None:
    shown = lambda a: a  # noqa: E731
    inside = kw.kernel(
        lambda a: a,
    )
    for kernel in (kw.kernel(shown), inside):
        with pytest.raises(KernelSyntaxError, match=r"E101.*a kernel is a function defined by `def`"):
            kernel(ONES)


def test_async_function() -> None:
    async def later(a):
        return a

    with pytest.raises(KernelSyntaxError, match=r"E101.*an async function is no kernel"):
        kw.kernel(later)(ONES)


def test_exec() -> None:
    space: dict[str, Any] = {"kw": kw}
    exec("@kw.kernel\ndef k(a):\n    return a\n", space)
    with pytest.raises(KernelSyntaxError, match=r"^<string>:1:1: error\[E120\]: the source text of kernel"):
        space["k"](ONES)


KERNEL = """\
import numpy as np
import kernelwright as kw

@kw.kernel
def double(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * 2
    return c

"""
CALL = """\
try:
    print(double(np.ones(2)))
except SyntaxError as e:
    print(e)

"""
MISSING = """\
{place}:4:1: error[E120]: the source text of kernel 'double' cannot be found: it came from {origin}, \
which Python does not keep
      = help: define it in a file or a notebook cell, or give its text: kw.kernel(\"""def …\""")
"""
FROM_STRING = MISSING.format(place="<string>", origin="a string")
FROM_STDIN = MISSING.format(place="<stdin>", origin="standard input")


def python(*arguments: str | Path, text: str = "", folder: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "KW_DEBUG": "cache=off"},  # what is cached needs no text
    )
    return done.stdout


def test_command_line() -> None:
    """A command has its text, what it gives to `exec` has none."""
    assert python("-c", KERNEL + CALL) == "[2. 2.]\n"
    assert python("-X", "utf8", "-c", KERNEL + CALL, "-c", "x") == "[2. 2.]\n"
    assert python("-Bc", KERNEL + CALL) == python("-Wignore", f"-c{KERNEL + CALL}") == "[2. 2.]\n"
    assert python("-c", f"exec({KERNEL!r})\n{CALL}") == FROM_STRING
    assert python("-c", f"\n\n{CALL[:4]}\n    exec({KERNEL!r}, globals())\n{CALL[5:]}") == FROM_STRING


def test_standard_input() -> None:
    """A pipe is read once, and Python keeps nothing of it."""
    assert python("-", text=KERNEL + CALL) == FROM_STDIN
    assert python(text=KERNEL + CALL) == FROM_STDIN


def test_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain prompt, fed line by line: without a terminal there is no history of what was typed."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert python("-i", text=KERNEL + CALL) == FROM_STDIN.replace(":4:", ":1:")


def test_script(tmp_path: Path) -> None:
    """As a script, a module, from a zip file, and optimised."""
    script = tmp_path / "script.py"
    script.write_text(KERNEL + CALL)
    assert python(script) == "[2. 2.]\n"
    assert python("-OO", script) == "[2. 2.]\n"
    assert python("-m", "script", folder=tmp_path) == "[2. 2.]\n"


def test_zip_file(tmp_path: Path) -> None:
    import zipfile

    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("inside.py", KERNEL)
        z.writestr("__main__.py", "from inside import double, np\nprint(double(np.ones(2)))\n")
    assert python(archive) == "[2. 2.]\n"


TESTED = (
    KERNEL
    + """\
@kw.kernel
def checked(a):
    assert a.shape[0] > 1
    return a

def test_double():
    result = double(np.ones(2))
    assert result.tolist() == [2.0, 2.0]

def test_checked():
    try:
        checked(np.ones(2))
    except SyntaxError as e:
        assert e.code == "E121" and e.message.startswith("pytest has rewritten the `assert` in kernel")
    else:
        raise ValueError("not refused")
"""
)


def test_file_of_pytest(tmp_path: Path) -> None:
    """pytest rewrites asserts: kernels beside them work, those that hold some no longer match the text."""
    path = tmp_path / "test_inside.py"
    path.write_text(TESTED)
    out = python("-m", "pytest", "-q", "-p", "no:cacheprovider", path, folder=tmp_path)
    assert out.splitlines()[-1].startswith("2 passed")


def test_edited_while_running(tmp_path: Path) -> None:
    """The program edits its own file after import, or before its kernel is made."""
    script = tmp_path / "script.py"
    edit = (
        "from pathlib import Path\n"
        "path = Path(__file__)\n"
        "path.write_text(path.read_text().replace('a[i] * ' + '20', 'a[i] * 30'))\n\n"
    )
    text = KERNEL.replace("* 2", "* 20")
    script.write_text(text + edit + CALL)
    assert [python(script), python(script)] == ["[20. 20.]\n", "[30. 30.]\n"]
    script.write_text(edit + text + CALL)
    assert python(script) == (
        f"{script}:8:1: error[E121]: the text at this place is not what kernel 'double' was compiled from\n"
        "      = help: restart Python: the file was edited before it was imported; for exec, give the text:"
        ' kw.kernel("""def …""")\n'
    )
    assert python(script) == "[30. 30.]\n"


CELLS = [
    KERNEL,
    "print(double(np.ones(2)))",
    KERNEL.replace("* 2", "* 3"),
    "print(double(np.ones(2)))",
    "class Layer:\n    @kw.kernel\n    def run(self, a):\n        return a\nprint(Layer().run(np.ones(2)))",
    "@kw.kernel\ndef wrong(a):\n    return b\n",
    "double",
    "try:\n    wrong(np.ones(2))\nexcept SyntaxError as e:\n    print(e)",
]
PRINTED = ["", "[2. 2.]\n", "", "[3. 3.]\n", "[1. 1.]\n", "", ""]


def test_notebook(tmp_path: Path) -> None:
    """Cells are sources too; a cell that runs again defines another kernel."""
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    book = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": tmp_path}}
    client.NotebookClient(book, timeout=60, kernel_name="python3", resources=resources).execute()
    texts = ["".join(o.get("text", "") for o in cell.outputs) for cell in book.cells]
    assert texts[:-1] == PRINTED
    view = book.cells[-2].outputs[0]["data"]["text/html"]
    assert "<summary>version (a: float64[:])</summary>" in view and "a[i] * 3" in view
    first, *shown = texts[-1].splitlines()
    assert first.endswith(":3:12: error[E103]: undeclared variable: name 'b' is not defined")
    assert shown == ["    3 |     return b", "      |            ^"]


class thrice:  # its name is that of the function below
    @kw.kernel
    def of_its_own_name(self, a):
        b = output_tensor(a.shape, a.dtype)
        b[0] = thrice(a[0])
        return b


holder = thrice()


def thrice(x):  # type: ignore[no-redef]
    return x * 3


class Reads:
    SIZE = 3

    @kw.kernel
    def own_attribute(self, a):
        a[0] = Reads.SIZE
        return a


if True:

    @kw.kernel
    def calls_itself(a):
        calls_itself(a)
        return a


def test_names_of_the_scope_around_a_kernel() -> None:
    """Globals that have the name of the kernel or of its class are no names of that scope."""
    assert holder.of_its_own_name(ONES).tolist() == [3, 0, 0]
    with pytest.raises(KernelSyntaxError, match="E117"):
        Reads().own_attribute(ONES)
    with pytest.raises(KernelSyntaxError, match="E118"):
        calls_itself(ONES)


TEXT = """
    import math

    HALF = 0.5


    def smaller(x, y):
        return min(x, y)


    def k(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = smaller(a[i] * HALF + math.pi, LIMIT)
        return c
"""


def test_text() -> None:
    """The last definition of the text, with what the text defines and imports and the names of scope."""
    scope = {"LIMIT": 3.5}
    made = kw.kernel(TEXT, scope=scope)
    assert made(ONES).tolist() == [3.5] * 3 and made(-ONES).tolist() == made.py(-ONES).tolist()
    assert made.__name__ == "k" and scope == {"LIMIT": 3.5}
    debugged = kw.kernel(fp="strict", debug=True)("def k(a):\n    assert len(a) > 3, 'short'\n    return a\n")
    with pytest.raises(AssertionError, match="short"):
        debugged(ONES)


def test_errors_in_a_text_name_its_lines() -> None:
    with pytest.raises(SyntaxError, match="line 2"):
        kw.kernel("def k(a):\n    c = = a\n")
    with pytest.raises(KernelSyntaxError) as caught:
        kw.kernel("ONE = 1\ndef k(a):\n    return b\n")(ONES)
    assert caught.value.lineno == 3 and str(caught.value.filename).startswith("<kernel text ")
    assert "    return b\n" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "it is empty"),
        ("def k(a):\n    return a\nx = 1\n", "its last statement is in line 3"),
        ("def same(f): return f\n@same\ndef k(a):\n    return a\n", "its last statement is in line 3"),
    ],
)
def test_a_text_ends_with_its_kernel(text: str, where: str) -> None:
    with pytest.raises(ValueError) as caught:
        kw.kernel(text)
    said = f"kernel: the text must end with the `def` of the kernel, undecorated; {where}"
    assert str(caught.value) == said


def test_an_async_text_is_refused_as_a_function_is() -> None:
    kernel = kw.kernel("ONE = 1\nasync def k(a):\n    return a\n")
    for action in (kernel.check, lambda: kernel(ONES)):
        with pytest.raises(KernelSyntaxError, match=r":2:1: error\[E101\]: an async function is no kernel"):
            action()


def test_scope_is_for_texts() -> None:
    with pytest.raises(TypeError, match=r"^kernel: scope= goes with a text; a function has its own globals$"):
        kw.kernel(of_module.__wrapped__, scope={})


def test_a_text_is_compiled_once_for_all_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import kernelwright as kw, numpy as np\n"
        "k = kw.kernel('def k(a):\\n    c = output_tensor(a.shape, a.dtype)\\n    return c\\n')\n"
        "print(k(np.ones(2)))\n"
    )
    environment = {**os.environ, "KW_CACHE_DIR": str(tmp_path / "cache"), "KW_DEBUG": "time"}
    done = [
        subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [d.stdout for d in done] == ["[0. 0.]\n"] * 2
    assert [" emit " in d.stderr for d in done] == [True, False]


@pytest.mark.parametrize("odd", ["\x0c", "\u2028", "\x1c", "\r\n"])
def test_a_text_is_split_as_python_splits_it(odd: str) -> None:
    made = kw.kernel(f"# c{odd}\ndef k(a):\n    # d{odd}\n    a[0] = 2\n    return a\n")
    assert made(np.ones(2)).tolist() == [2, 1]


def test_texts_stay_readable_and_apart() -> None:
    kernels = [kw.kernel(f"def k(a):\n    a[0] = {n}\n    return a\n") for n in (7, 8)]
    linecache.clearcache()
    assert [k(np.ones(1)).tolist() for k in kernels] == [[7], [8]]
    files = {
        kw.kernel(f"def k(a):\n    return a + {n % 2}\n").__wrapped__.__code__.co_filename for n in range(4)
    }
    assert len(files) == 2


def test_annotations_of_a_text_are_run_as_in_a_file() -> None:
    with pytest.raises(NameError, match="undefined"):
        kw.kernel("def k(a: undefined):\n    return a\n")
