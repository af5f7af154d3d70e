"""Mutations of kernel text: tokens, characters, lines, brackets, unicode and indentation, from one seeded generator.

Run as a program it feeds mutants to the core and prints what broke a promise; a crash leaves the mutant in the file named.
"""

from __future__ import annotations

import inspect
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from kernelwright import _core

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))
import corpus  # noqa: E402

Signature = list[tuple[str, int]]
Feed = Callable[[random.Random, str], str]  # (generator, mutant) -> complaint, or ""

DTYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64").split()
WORDS = (
    "for while if else elif return break continue pass not and or in is lambda None True False def def@ class async await"
    " yield global del assert with import print range grid serial parallel reduce const_range output_tensor allocate"
    " float32 int64 uint8 bool_ min max select exp sqrt abs floor len int float bool a b c i j k x n out shape dtype ndim"
    " 0 1 -1 2 1.5 1e999 0x_ff 9223372036854775807 9223372036854775808 18446744073709551616 1j 0b12 1__0 .5 5."
    " + - * / // % ** & | ^ ~ << >> < <= == != > >= = += -= **= //= >>= := -> : , ; . ... @ ( ) [ ] { } \" ' \"\"\" \\ # f\" b'"
).split()
LETTERS = "\0\t\r\n\f\x7f\x85\xa0éß漢\u2028\ufeff\U0001f600\u0301\u200bIα\ud7ff\U0010ffff"
TOKEN = re.compile(r"\w+|\s+|\*\*=?|//=?|<<=?|>>=?|[-+*/%&|^<>=!]=|.", re.DOTALL)
KINDS = (
    re.compile(r"[A-Za-z_]\w*"),
    re.compile(r"-?[0-9.][\w.]*"),
    re.compile(r"[-+*/%&|^<>]|\*\*|//|<<|>>|[<>=!]="),
    re.compile(r"[-+*/%&|^]=|\*\*=|//=|<<=|>>=|="),
)
POSITION = re.compile(r"<text>:\d+:\d+: error\[E\d{3}\]: ")


def _span(rng: random.Random, length: int, longest: int = 4) -> slice:
    start = rng.randrange(length) if length else 0
    return slice(start, min(length, start + rng.randint(1, longest)))


def _edit(rng: random.Random, items: list[str], new: Callable[[], str]) -> None:
    """Deletes, duplicates, swaps, inserts or replaces a few neighbouring items."""
    a, b = _span(rng, len(items)), _span(rng, len(items))
    match rng.randrange(5):
        case 0:
            del items[a]
        case 1:
            items[b.start : b.start] = items[a]
        case 2:
            items[a], items[b] = items[b], items[a]
        case 3:
            items.insert(a.start, new())
        case _:
            items[a] = [new()]


def tokens(rng: random.Random, text: str) -> str:
    """Edits tokens; new ones are words of Python or of the text itself."""
    items = TOKEN.findall(text)
    _edit(rng, items, lambda: rng.choice(WORDS if rng.random() < 0.6 or not items else items))
    return "".join(items)


def characters(rng: random.Random, text: str) -> str:
    """Edits single characters, also to unicode and control characters."""
    items = list(text)
    _edit(rng, items, lambda: rng.choice(LETTERS) if rng.random() < 0.5 else chr(rng.randrange(32, 127)))
    return "".join(items)


def lines(rng: random.Random, text: str) -> str:
    """Edits whole lines, or doubles the rest of the text."""
    items = text.splitlines(keepends=True)
    _edit(rng, items, lambda: rng.choice(items) if items else "pass\n")
    return "".join(items)


def brackets(rng: random.Random, text: str) -> str:
    """Adds, drops or turns a bracket; now and then a deep nest of them."""
    at = rng.randrange(len(text) + 1)
    if rng.random() < 0.02:
        depth = rng.choice((50, 999, 1001, 5000))
        left, right = rng.choice((("(", ")"), ("[", "]"), ("a[", "]"), ("-", ""), ("not ", ""), ("abs(", ")"), ("1+(", ")")))
        return text[:at] + left * depth + "0" + right * (depth - rng.randrange(2)) + text[at:]
    places = [i for i, c in enumerate(text) if c in "()[]{}"]
    if not places or rng.random() < 0.4:
        return text[:at] + rng.choice("()[]{}") + text[at:]
    i = rng.choice(places)
    return text[:i] + rng.choice(("", *"()[]{}")) + text[i + 1 :]


def indentation(rng: random.Random, text: str) -> str:
    """Changes the white space at the start of a few lines."""
    items = text.splitlines(keepends=True)
    for i in range(*_span(rng, len(items)).indices(len(items))):
        body = items[i].lstrip(" \t")
        items[i] = rng.choice(("", " ", "    ", "\t", "        ", "   \t", "\f  ", " " * 200)) + body
    return "".join(items)


def meanings(rng: random.Random, text: str) -> str:
    """Replaces names, numbers and operators by others of their kind, so that the text mostly still parses."""
    items = TOKEN.findall(text)
    for kind in rng.choices(KINDS, k=rng.choice((1, 1, 2, 3))):
        places = [i for i, item in enumerate(items) if kind.fullmatch(item)]
        if places:
            others = [item for item in {*items, *WORDS} if kind.fullmatch(item)]
            items[rng.choice(places)] = rng.choice(sorted(others))
    return "".join(items)


def statements(rng: random.Random, text: str) -> str:
    """Moves or copies a line to another place, with the indentation of that place."""
    items = text.splitlines(keepends=True) or ["pass"]
    a, b = rng.randrange(len(items)), rng.randrange(len(items))
    indent = items[b][: len(items[b]) - len(items[b].lstrip(" "))]
    moved = indent + items[a].lstrip(" ")
    if rng.random() < 0.5:
        items[b:b] = [moved]
    else:
        items[b] = moved
    return "".join(items)


MUTATIONS = (meanings, meanings, meanings, statements, statements, tokens, characters, lines, brackets, indentation)


def mutant(rng: random.Random, text: str) -> str:
    """One to four mutations, one after the other."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        text = rng.choice(MUTATIONS)(rng, text)
    return text


def sources() -> list[tuple[str, Signature]]:
    """Text and fitting signature of every corpus kernel; scalars, which cannot be told, become tensors of rank 0."""
    found = []
    for case in corpus.load():
        args = [np.asarray(a) for a in case.make(np.random.default_rng(0))]
        found.append((inspect.getsource(case.fn), [(a.dtype.name, a.ndim) for a in args]))
    return found
