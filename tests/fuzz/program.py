"""The tree of a generated program: expressions, statements, functions, arguments, and their text.

A node is a format string over its children, so that one pair of classes serves the whole grammar. Knows no
meaning: `reference.py` runs the second text that each tree has, `shrink.py` cuts pieces out of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class E:
    """An expression: `form` with its children filled in; `ref` is its form in the reference's text."""

    form: str
    kids: list[E]
    type: str  # a dtype name, or "wb", "wi", "wf" for a weak bool, int, float
    ref: str = ""
    const: Any = None  # the value of a weak literal

    def text(self, ref: bool) -> str:
        form = self.ref if ref and self.ref else self.form
        return form.format(*(k.text(ref) for k in self.kids)) if self.kids else form


@dataclass
class S:
    """A statement: its head, and the blocks below it (the second one stands under `else`)."""

    form: str
    kids: list[E] = field(default_factory=list)
    blocks: list[list[S]] = field(default_factory=list)
    ref: str = ""

    def lines(self, ref: bool, indent: str, word: str = "") -> Iterator[str]:
        form = self.ref if ref and self.ref else self.form
        yield indent + word + (form.format(*(k.text(ref) for k in self.kids)) if self.kids else form)
        inner = indent + "    "
        for n, block in enumerate(self.blocks):
            if n == 1:
                if not block:
                    continue
                if len(block) == 1 and block[0].form.startswith("if "):
                    yield from block[0].lines(ref, indent, "el")
                    continue
                yield indent + "else:"
            if not block:
                yield inner + "pass"
            for s in block:
                yield from s.lines(ref, inner)


@dataclass
class Function:
    """A kernel or a helper: a kernel returns names, a helper one expression or nothing."""

    name: str
    params: list[str]
    body: list[S]
    returns: list[str] = field(default_factory=list)

    def text(self, ref: bool) -> str:
        lines = [f"def {self.name}({', '.join(self.params)}):"]
        for s in self.body:
            lines += s.lines(ref, "    ")
        if self.returns:
            lines.append(f"    return {', '.join(self.returns)}")
        elif not self.body:
            lines.append("    pass")
        return "\n".join(lines) + "\n"


@dataclass
class Arg:
    """One argument: a tensor of some shape, layout and content, or a scalar (`shape` is None)."""

    name: str
    dtype: str  # of a scalar also "wb", "wi", "wf"
    shape: list[Dim] | None
    layout: str = "C"
    content: str = "small"
    partner: str = ""  # the argument that this one shares memory with
    limit: Dim | None = None  # content "index": the extent that it indexes
    number: int = 0  # seeds the content

    def readonly(self) -> bool:
        return self.layout.startswith("broadcast")


@dataclass(frozen=True)
class Dim:
    """An extent: a named size plus a constant, or the constant alone."""

    size: str
    plus: int = 0

    def value(self, sizes: dict[str, int]) -> int:
        return (sizes[self.size] if self.size else 0) + self.plus


@dataclass
class Call:
    """One call of a kernel: its extents, and in what it differs from what the arguments say."""

    sizes: dict[str, int]
    salt: int = 0  # other values in the arrays and scalars
    layouts: dict[str, str] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    captured: dict[str, Any] = field(default_factory=dict)  # values that differ from the program's
    out: dict[str, str] = field(default_factory=dict)  # a layout, "over ARG" or "beside ARG"
    apart: bool = False  # arguments that share memory have memory of their own here


@dataclass
class Program:
    """All that a trial needs; `inside` says that the generator steps into table 2a on purpose."""

    seed: int
    inside: bool
    calls: list[Call]
    args: list[Arg]
    captured: dict[str, Any]
    helpers: list[Function]
    main: Function
    features: set[str] = field(default_factory=set)
    outputs: list[Arg] = field(default_factory=list)
    place: str = "module"  # where the kernel stands: "module", "closure", "method"

    def text(self, ref: bool = False) -> str:
        if ref or self.place == "module":
            return "\n".join(f.text(ref) for f in (*self.helpers, self.main))
        if self.place == "closure":
            inner = "\n".join(f.text(False) for f in (*self.helpers, self.main)) + "\nreturn f\n"
            return f"def made({', '.join(self.captured)}):\n" + indented(inner)
        method = self.main.text(False).replace("def f(", "def f(self, ", 1)
        return "\n".join([*(f.text(False) for f in self.helpers), "class Layer:\n" + indented(method)])

    def overlapping_out(self, call: Call) -> bool:
        """Whether an array given as out= shares memory with an argument."""
        return any(layout.startswith(("over ", "beside ")) for layout in call.out.values())


def indented(text: str) -> str:
    return "".join("    " + line if line.strip() else line for line in text.splitlines(keepends=True))


def slots(first: int, count: int) -> str:
    """Places for `count` children in a form, with commas."""
    return ", ".join(f"{{{n}}}" for n in range(first, first + count))


def expressions(e: E) -> Iterator[E]:
    """The expression and all below it."""
    yield e
    for kid in e.kids:
        yield from expressions(kid)


def statements(block: list[S]) -> Iterator[S]:
    """All statements of a block and of the blocks below."""
    for s in block:
        yield s
        for inner in s.blocks:
            yield from statements(inner)
