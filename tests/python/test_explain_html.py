"""Explanations as HTML and in colours."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import kernelwright as kw
from kernelwright.commands.colours import are_wanted, coloured
from kernelwright.examples import kernels


class Balanced(HTMLParser):
    """Checks that every element is closed, in the right order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check_balanced(text: str) -> None:
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []


@kw.kernel
def gathered(t, k):  # <b>
    y = output_tensor(k.shape, t.dtype)
    for i in range(k.shape[0]):
        y[i] = t[k[i]]
    total = 0.0
    for i in range(t.shape[0]):
        total = total * 0.5 + t[i]
    y[0] = total if total < 1 else 0.0
    return y


def row_of(page: str, code: str) -> str:
    """Returns the row of the source line that begins so."""
    rows = re.findall(r"<tr.*?</tr>", page)
    return next(row for row in rows if f'<td class="code">{code}' in row.replace("<span>", "", 1))


def test_each_loop_has_the_colour_of_what_happened_to_it() -> None:
    page = gathered.explain(np.ones(4), np.zeros(4, "i8"), html=True)
    check_balanced(page)
    assert page.startswith("<!doctype html>") and "<title>kernel gathered</title>" in page
    check_balanced(page._repr_html_())
    assert page._repr_html_() in page
    serial = row_of(page, "    for i in range(t.shape[0]):")
    assert serial.startswith('<tr class="serial">') and "serial" in serial
    assert row_of(page, "        y[i] = t[k[i]]").startswith('<tr class="checked">')
    assert "t[k[i]] is checked" in page and "subscripts checked at run time" in page
    assert "&lt;b&gt;" in page and "<b>&" not in page and "total &lt; 1" in page
    matmul = kernels.matmul.explain("f32[:, :]", "f32[:, :]", html=True)
    assert row_of(matmul, "    for i in range(a.shape[0]):").startswith('<tr class="parallel">')
    assert '<tr class="vector">' in matmul or '<tr class="both">' in matmul


def test_a_method_has_a_page() -> None:
    class Holder:
        @kw.kernel
        def method(self, x):
            for i in range(x.shape[0]):
                x[i] = 1.0
            return x

    assert "Holder.method" in Holder().method.explain(np.ones(3), html=True)


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(
        "import kernelwright as kw\n\n@kw.kernel\ndef ok(x):\n    for i in range(x.shape[0]):\n"
        "        x[i] = 2.0\n    return x\n\n@kw.kernel\ndef wrong(x):\n    return y\n"
    )
    command = [sys.executable, "-m", "kernelwright", "explain", "k.py", "--html", "out.html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "out.html: 2 kernels\n", "")
    page = (tmp_path / "out.html").read_text()
    check_balanced(page)
    assert "kernel ok(x)" in page and "kernel wrong" in page and "E103" in page
    command[-1] = "no/out.html"
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("kw explain: [Errno 2] No such file")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


ERROR = """\
blur.py:6:32: error[E301]: index 0 of 'a'
    6 |         c[i] = a[i + 1]
      |                ^~~~~~~~
      = note: 'i' runs over range(n)"""


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert are_wanted(Terminal()) and not are_wanted(io.StringIO())
    assert coloured(ERROR, io.StringIO()) == ERROR
    lines = coloured(ERROR, Terminal()).split("\n")
    assert (
        lines[0] == "\x1b[1mblur.py:6:32: \x1b[0m\x1b[1;31merror[E301]\x1b[0m\x1b[1m: index 0 of 'a'\x1b[0m"
    )
    assert lines[1] == "\x1b[34m    6 |\x1b[0m         c[i] = a[i + 1]"
    assert lines[2] == "\x1b[34m      |\x1b[0m\x1b[1;31m                ^~~~~~~~\x1b[0m"
    assert lines[3] == "\x1b[34m      =\x1b[0m\x1b[1m note:\x1b[0m 'i' runs over range(n)"
    text = str(kernels.softmax.explain("f32[:, :]"))
    painted = coloured(text, Terminal())
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == text and painted.count("\x1b[") > 20
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
        assert coloured(ERROR, Terminal()) == ERROR
        monkeypatch.setenv(name, "")
