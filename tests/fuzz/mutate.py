"""Mutations of kernel text and of printed IR, all drawn from one seeded generator.

Words, characters, lines, brackets and indentation; and names, numbers, operators and statements, which mostly
still parse.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64".split()
WORDS = (
    "for while if else elif return break continue pass not and or in is lambda None True False def"
    " class async await yield global del assert with import print range grid serial parallel reduce"
    " const_range allocate output_tensor float32 int64 uint8 bool_ min max select exp sqrt abs floor"
    " len int float bool a b c i j k x n out shape dtype ndim 0 1 -1 2 1.5 1e999 0x_ff"
    " 9223372036854775807 9223372036854775808 1j 0b12 1__0 .5 5. 18446744073709551616 + - * / // % **"
    ' & | ^ ~ << >> < <= == != > >= = += -= **= //= >>= := -> : , ; . ... @ ( ) [ ] { } " \' """ \\ # f"'
    " b'"
).split()
IR_WORDS = (
    "f32 f64 i32 i64 i8 u8 b1 f16 bf16 f32(0.5) i64(-1) b1(1) f32(nan) param heap registers inout in"
    " out weak none zero hint lanes source cast load store fma to_bits site check facts order @lanes"
    " @any"
).split()
LETTERS = "\0\t\r\n\f\x7f\x85\xa0\xe9\xdf\u6f22\u2028\ufeff\U0001f600\u0301\u200bI\u03b1\ud7ff\U0010ffff"
TOKEN = re.compile(r"\w+|\s+|\*\*=?|//=?|<<=?|>>=?|[-+*/%&|^<>=!]=|.", re.DOTALL)
KINDS = (
    re.compile(r"[A-Za-z_]\w*"),
    re.compile(r"-?[0-9.][\w.]*"),
    re.compile(r"[-+*/%&|^<>]|\*\*|//|<<|>>|[<>=!]="),
    re.compile(r"[-+*/%&|^]=|\*\*=|//=|<<=|>>=|="),
)
NESTS = (
    ("(", ")"),
    ("[", "]"),
    ("a[", "]"),
    ("-", ""),
    ("not ", ""),
    ("abs(", ")"),
    ("1+(", ")"),
    ("i64(", ")"),
)

Mutation = Callable[[random.Random, str], str]


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
    """Edits tokens; new ones are words of Python, of the IR, or of the text itself."""
    items = TOKEN.findall(text)
    words = IR_WORDS if text.startswith("# kw-ir") and rng.random() < 0.5 else WORDS
    _edit(rng, items, lambda: rng.choice(words if rng.random() < 0.6 or not items else items))
    return "".join(items)


def characters(rng: random.Random, text: str) -> str:
    """Edits single characters, also to unicode and control characters."""
    items = list(text)
    _edit(rng, items, lambda: rng.choice(LETTERS) if rng.random() < 0.5 else chr(rng.randrange(32, 127)))
    return "".join(items)


def lines(rng: random.Random, text: str) -> str:
    """Edits whole lines."""
    items = text.splitlines(keepends=True)
    _edit(rng, items, lambda: rng.choice(items) if items else "pass\n")
    return "".join(items)


def brackets(rng: random.Random, text: str) -> str:
    """Adds, drops or turns a bracket; now and then a deep nest of them."""
    at = rng.randrange(len(text) + 1)
    if rng.random() < 0.02:
        depth = rng.choice((50, 999, 1001, 5000))
        left, right = rng.choice(NESTS)
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
    items = text.splitlines(keepends=True) or ["pass\n"]
    a, b = rng.randrange(len(items)), rng.randrange(len(items))
    indent = items[b][: len(items[b]) - len(items[b].lstrip(" "))]
    moved = indent + items[a].lstrip(" ")
    items[b : b + rng.randrange(2)] = [moved]
    return "".join(items)


ROUGH: tuple[Mutation, ...] = (tokens, characters, lines, brackets, indentation)
FINE: tuple[Mutation, ...] = (meanings, meanings, statements)


def mutant(rng: random.Random, text: str, mutations: tuple[Mutation, ...] = (*ROUGH, *FINE, *FINE)) -> str:
    """One to four mutations, one after the other."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        text = rng.choice(mutations)(rng, text)
    return text


def signature(rng: random.Random, fitting: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Mostly the fitting dtypes and ranks, else other dtypes, other ranks, or anything."""
    chance = rng.random()
    if chance < 0.1:
        return [(rng.choice(DTYPES), rng.randrange(9)) for _ in range(rng.randrange(6))]
    if chance < 0.3:
        return [(rng.choice(DTYPES), rank) for _, rank in fitting]
    if chance < 0.4:
        return [(dtype, max(0, rank + rng.randint(-1, 1))) for dtype, rank in fitting]
    return fitting
