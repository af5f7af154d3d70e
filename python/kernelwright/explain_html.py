"""Explanations as HTML: the source, coloured by what happened to each loop, for notebooks and browsers.

Colours are translucent, and texts have the colour of the page, so that both are readable on light and dark
grounds. No scripts; every text is escaped.
"""

from __future__ import annotations

import html
from collections import defaultdict
from typing import TYPE_CHECKING

from . import _core
from .source import text_of

if TYPE_CHECKING:
    from ._core import Kernel
    from .explain import Explanation, Fact, Version

_KINDS = ("both", "parallel", "vector", "serial")
_LEGEND = {
    "vector": "vectorized",
    "parallel": "parallel",
    "both": "parallel and vectorized",
    "serial": "serial",
    "checked": "subscripts checked at run time",
}

_COLOURS = {
    "vector": "46,160,67",
    "parallel": "56,132,255",
    "both": "17,168,173",
    "serial": "210,153,34",
}
_STYLE = """
.kw {
  font: 13px/1.5 var(--jp-code-font-family, ui-monospace, monospace);
  color: var(--jp-content-font-color1, inherit);
}
.kw pre, .kw table { margin: 6px 0; background: none; color: inherit; font: inherit; }
.kw table.source { border-collapse: collapse; border: 1px solid rgba(127,127,127,.3); }
.kw table.source td {
  padding: 0 8px; border: 0; background: none;
  text-align: left; vertical-align: top; white-space: pre;
}
.kw table.source td.n { opacity: .5; text-align: right; user-select: none; }
.kw table.source td.told { opacity: .85; white-space: pre-wrap; max-width: 60ch; }
.kw tr.checked td.code span, .kw span.checked {
  text-decoration: underline wavy rgba(219,88,96,.9) 1px; text-underline-offset: 3px;
}
.kw span.key { display: inline-block; margin-right: 14px; }
.kw span.key i {
  display: inline-block; width: 10px; height: 10px; margin-right: 5px; border-radius: 2px;
}
.kw summary { cursor: pointer; }
""" + "".join(
    f".kw tr.{kind} td.code {{ background: rgba({rgb},.22) !important; box-shadow: inset 3px 0 rgb({rgb}); }}"
    f" .kw i.{kind} {{ background: rgb({rgb}); }}\n"
    for kind, rgb in _COLOURS.items()
)


def _kind(facts: list[Fact]) -> str:
    """Returns what happened to the loops of a line: one source loop may run as several."""
    ways = ", ".join(f.what for f in facts)
    vector, parallel = "vector" in ways, "parallel" in ways
    return "both" if vector and parallel else "vector" if vector else "parallel" if parallel else "serial"


def _rows(source: str, first: int, file: str, version: Version) -> str:
    """Returns the lines of the source as rows: number, code, and what is told of it."""
    loops: dict[int, list[Fact]] = defaultdict(list)
    told: dict[int, list[str]] = defaultdict(list)
    checked = set()
    for fact in version.facts:
        if fact.file != file:
            continue
        if fact.kind == "nest" and fact.line:
            loops[fact.line].append(fact)
        elif fact.kind == "missed":
            told[fact.line].append(f"{fact.subject}: {fact.why}")
        elif fact.kind == "access" and fact.what == "checked":
            checked.add(fact.line)
            told[fact.line].append(f"{fact.subject} is checked" + (f": {fact.why}" if fact.why else ""))
    out = []
    for number, line in enumerate(source.splitlines(), first):
        ways = list(dict.fromkeys(f.what for f in loops[number]))
        classes = [_kind(loops[number])] if loops[number] else []
        classes += ["checked"] if number in checked else []
        said = "; ".join(ways)
        indent = line[: len(line) - len(line.lstrip())]
        more = "".join(f"<div>{html.escape(text)}</div>" for text in dict.fromkeys(told[number]))
        if more:
            count = len(dict.fromkeys(told[number]))
            head = html.escape(said) if said else f"{count} remark{'s' if count > 1 else ''}"
            notes = f"<details><summary>{head}</summary>{more}</details>"
        else:
            notes = html.escape(said)
        out.append(
            f'<tr class="{" ".join(classes)}"><td class="n">{number}</td>'
            f'<td class="code">{indent}<span>{html.escape(line.strip()) or " "}</span></td>'
            f'<td class="told">{notes}</td></tr>'
        )
    return "".join(out)


def _legend(version: Version) -> str:
    ways = {_kind([f]) for f in version.of("nest")}
    keys = [f'<span class="key"><i class="{k}"></i>{_LEGEND[k]}</span>' for k in _KINDS if k in ways]
    if any(f.what == "checked" for f in version.of("access")):
        keys.append(f'<span class="key"><span class="checked">x[k]</span> {_LEGEND["checked"]}</span>')
    return "<div>" + "".join(keys) + "</div>"


def _version(version: Version, source: str, place: tuple[str, int], is_open: bool) -> str:
    head, _, body = str(version).partition("\n")
    file, first = place
    table = f'<table class="source">{_rows(source, first, file, version)}</table>' if source else ""
    opened = " open" if is_open else ""
    return (
        f"<details{opened}><summary>{html.escape(head)}</summary>{_legend(version)}{table}"
        f"<details><summary>all decisions</summary><pre>{html.escape(body)}</pre></details></details>"
    )


def view(kernel: Kernel, found: Explanation | None, title: str, problem: str = "") -> str:
    """Returns a kernel, its source and what happened to it as one element. `problem` stands in place of the
    explanation where there is none.
    """
    function = _core.function_of(kernel)
    source = text_of(function, function.__code__) or ""
    code = function.__code__
    parts = [f"<b>{html.escape(title)}</b>"]
    versions = found.versions if found else ()
    for number, version in enumerate(versions):
        parts.append(_version(version, source, (code.co_filename, code.co_firstlineno), number == 0))
    if not versions:
        parts.append(f"<pre>{html.escape(source or '(no source text)')}</pre>")
    if problem:
        parts.append(f"<pre>{html.escape(problem)}</pre>")
    return f'<div class="kw"><style>{_STYLE}</style>{"".join(parts)}</div>'


def page(body: str, title: str) -> str:
    """Returns a page of its own, light or dark as the reader's system is."""
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        "<style>:root { color-scheme: light dark; } body { margin: 24px; }</style></head>"
        f"<body>{body}</body></html>\n"
    )
