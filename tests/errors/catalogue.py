"""The catalogue of diagnostics: examples/<code>.txt → programs that are run → python/kernelwright/errors.md.

An example file holds what the code means, then the sections `>>> fails` and `>>> mended` with one program
each (np and kw are imported). After the word may stand `as text` for kernels that Python itself cannot read,
`with NAME=VALUE` for a process of its own, or `explained` where kernel.explain() tells it. Else
`>>> no kernel` names the test that shows the code.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import os
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import kernelwright as kw
from kernelwright import _core, _core_testing
from kernelwright.errors import KernelError, KernelWarning

EXAMPLES = Path(__file__).parent / "examples"
PAGE = Path(__file__).parents[2] / "python" / "kernelwright" / "errors.md"
REPORTED = re.compile(r"(?:error|warning)\[(\w+)\]: |^line \d+: (W\d+):", re.MULTILINE)
DEMO_CODE = re.compile(r"(?:error|warning|Error: )\[(\w+)\]:? ")  # Python shows syntax errors its own way

HEAD = """\
# The diagnostics of kernelwright

Every error (E) and warning (W) has a code. Here each has its meaning, a program that causes it with what is
then said, and the same program mended. The programs begin with `import numpy as np` and
`import kernelwright as kw`. `python -m kernelwright.errors E301` prints one of these sections.

Classes: a code belongs to one exception class (`KernelTypeError` is a `TypeError`, `KernelIndexError` an
`IndexError`, and so on); all have the attributes `code`, `message`, `filename`, `lineno` and `offset`.
Warnings are subclasses of `UserWarning`, issued once for each kernel and process.

(Made from tests/errors/examples by `make errors`; do not edit.)
"""


@dataclass
class Example:
    """The parts of one example file; `mended` is None for codes that no kernel causes."""

    code: str
    meaning: str
    fails: str
    how: str
    mended: str | None
    how_mended: str


def read_example(code: str) -> Example:
    """Parses examples/<code>.txt; raises ValueError that says what is wrong with it."""
    path = EXAMPLES / f"{code.lower()}.txt"
    if not path.exists():
        raise ValueError(f"{code} has no entry: write tests/errors/{path.parent.name}/{path.name}")
    meaning, *parts = re.split(r"^>>> (.*)\n", path.read_text(), flags=re.MULTILINE)
    words = [tuple((head + " ").split(" ", 1)) for head in parts[::2]]
    bodies = [body.rstrip("\n") for body in parts[1::2]]
    if [w[0] for w in words] == ["no"]:
        return Example(code, meaning.strip(), bodies[0], "no kernel", None, "")
    if [w[0] for w in words] != ["fails", "mended"]:
        raise ValueError(f"{path.name}: expected the sections `>>> fails` and `>>> mended`")
    return Example(code, meaning.strip(), bodies[0], words[0][1].strip(), bodies[1], words[1][1].strip())


def said(program: str, how: str, name: str) -> str:
    """What a program makes kernelwright say: renderings of its error and its warnings, "" for none."""
    if how == "as text":
        return _core_testing.compile_text(program, [("float32", 1)]).replace("<text>", name).rstrip("\n")
    if how.startswith("with "):
        return _said_in_process(program, dict(pair.split("=", 1) for pair in how[5:].split()), name)
    linecache.cache[name] = (len(program), None, program.splitlines(keepends=True), name)
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        errors: list[str] = []
        try:
            exec(compile(program, name, "exec"), {"np": np, "kw": kw, "__name__": "__example__"})
        except KernelError as e:
            errors.append(str(e))
    told = [str(w.message) for w in caught if isinstance(w.message, KernelWarning)]
    if how == "explained":
        told += missed_codes(printed.getvalue())
    output = "\n".join(errors + told).replace(name.removesuffix(".py") + "/", "")
    return re.sub(r"<kernel text \d+>", "<kernel text 1>", output)  # the process counts its texts


def missed_codes(explanation: str) -> list[str]:
    """The entries with a code of what is not done, each in one line."""
    lines = explanation.partition("  not done")[2].splitlines()
    return [
        f"{line.strip()} {lines[k + 1].strip()}"
        for k, line in enumerate(lines)
        if re.fullmatch(r" *line \d+: W\d+:", line)
    ]


PROCESS = """\
import sys; sys.path[:0] = {path!r}
import catalogue
print(repr(catalogue.said({program!r}, "", {name!r})))
"""


def _said_in_process(program: str, environment: dict[str, str], name: str) -> str:
    text = PROCESS.format(path=[str(Path(__file__).parent)], program=program, name=name)
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    out: str = ast.literal_eval(done.stdout)
    return out


def codes_in(text: str) -> list[str]:
    """The codes of all diagnostics of a rendering."""
    return ["".join(found) for found in REPORTED.findall(text)]


def section(row: tuple[str, str, str, str]) -> str:
    """The part of errors.md about one row of the code table; runs its failing program."""
    code, class_name, title, _ = row
    example = read_example(code)
    parts = [f"## {code}: {title}\n\n`{class_name}`\n\n{example.meaning}\n"]
    if example.mended is None:
        return "".join(parts)
    setting = f" ({example.how.removeprefix('with ')})" if example.how.startswith("with ") else ""
    output = said(example.fails, example.how, f"{code.lower()}.py")
    kind = "text" if example.how == "as text" else "python"
    parts.append(f"\nFails{setting}:\n\n```{kind}\n{example.fails}\n```\n```text\n{output}\n```\n")
    parts.append(f"\nMended:\n\n```python\n{example.mended}\n```\n")
    return "".join(parts)


def page() -> str:
    """errors.md as it should be."""
    return "\n".join([HEAD, *(section(row) for row in _core.codes())])
