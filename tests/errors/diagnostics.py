"""Expected diagnostics: literal texts that are compared whole, and the attributes of what is raised.

In the text of a kernel, FILE is its file and @n the n-th line from its first decorator on. The files of
cases/ hold kernels as text, for syntax that Python itself refuses and for the many reasons of one code.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import kernelwright as kw
from kernelwright import _core_testing
from kernelwright.errors import KernelError, KernelWarning

Check = Callable[[], None]

CASES = Path(__file__).parent / "cases"
FIRST_LINE = re.compile(
    r"(?:(?P<path>[^\n]+?)(?::(?P<line>\d+):(?P<column>\d+))?: )?"
    r"(?:error|warning)\[(?P<code>\w+)\]: (?P<message>[^\n]*)"
)
IN_LOOP = """\
def k(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
{}
    return c
"""


def tidy(text: str) -> str:
    """Without the spaces at the ends of lines, which the source lines of this tree cannot hold either."""
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def fill(text: str, kernel: kw.Kernel) -> str:
    """The text with the kernel's file and line numbers in the places of FILE and @n."""
    code = kernel.__wrapped__.__code__

    def number(match: re.Match[str]) -> str:
        return str(code.co_firstlineno + int(match[1]) - 1)

    text = textwrap.dedent(text)
    text = re.sub(r"^ *@(\d+) \|", lambda m: f"{number(m):>5} |", text, flags=re.MULTILINE)
    return re.sub(r"@(\d+)", number, text).replace("FILE", code.co_filename)


def check_error(error: BaseException, kind: type[KernelError], expected: str) -> None:
    """Compares class, whole text, code, message and place; the place is that of the first diagnostic."""
    assert tidy(str(error)) == tidy(expected)
    first = FIRST_LINE.match(tidy(expected))
    assert first and isinstance(error, KernelError)
    assert type(error) is kind
    assert (error.code, error.message) == (first["code"], first["message"])
    place = (first["path"], int(first["line"]), int(first["column"])) if first["line"] else (None,) * 3
    assert (error.filename, error.lineno, error.offset) == place


def raises(action: Callable[..., Any], kernel: kw.Kernel, kind: type[KernelError], text: str) -> None:
    with pytest.raises(KernelError) as caught:
        action()
    check_error(caught.value, kind, fill(text, kernel))


def calls(
    kernel: kw.Kernel, args: tuple[Any, ...], kind: type[KernelError], text: str, **keywords: Any
) -> Any:
    """A case: the call raises `kind` with this text."""
    name = keywords.pop("id", kernel.__name__)
    return pytest.param(partial(raises, partial(kernel, *args, **keywords), kernel, kind, text), id=name)


def checks(kernel: kw.Kernel, kind: type[KernelError], text: str) -> Any:
    """A case: `kernel.check()` raises `kind` with this text."""
    name = f"{kernel.__name__}, checked"
    return pytest.param(partial(raises, kernel.check, kernel, kind, text), id=name)


def with_silence(text: str) -> str:
    """The text of a warning and the line that ends every one: how to silence its code."""
    first = FIRST_LINE.match(tidy(text))
    assert first
    return f'{tidy(text)}\n      = silence: warnings.filterwarnings("ignore", message=".*{first["code"]}")'


def warned(kernel: kw.Kernel, args: tuple[Any, ...], kind: type[KernelWarning], text: str) -> None:
    """The call warns once, at the place that the text names; the text stands without its last line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel(*args)
    expected = with_silence(fill(text, kernel))
    assert [tidy(str(w.message)) for w in caught] == [expected]
    assert caught[0].category is kind
    first = FIRST_LINE.match(expected)
    assert first and (caught[0].filename, caught[0].lineno) == (first["path"], int(first["line"]))


def place(source: str) -> str:
    """A kernel from a case's lines: eight spaces stand in a loop, four in the body, none for themselves."""
    if source.startswith(" " * 8):
        return IN_LOOP.format(source)
    return f"def k(a):\n{source}\n" if source.startswith(" ") else f"{source}\n"


def check_text(source: str, tensors: list[tuple[str, int]], expected: str) -> None:
    assert tidy(_core_testing.compile_text(place(source), tensors)) == tidy(expected)


def texts(code: str) -> Iterator[Any]:
    """The cases of cases/<code>.txt; a title may name the tensors, "## two | float32[1] int64[2]"."""
    for block in (CASES / f"{code.lower()}.txt").read_text().rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        name, _, signature = lines[0].removeprefix("## ").partition(" | ")
        arrow = lines.index(">>>")
        source, expected = "\n".join(lines[1:arrow]), "\n".join(lines[arrow + 1 :])
        assert not expected or f": error[{code}]: " in expected.split("\n")[0], name
        tensors = re.findall(r"(\w+)\[(\d)\]", signature or "float32[1]")
        pairs = [(dtype, int(rank)) for dtype, rank in tensors]
        yield pytest.param(partial(check_text, source, pairs, expected), id=name)
