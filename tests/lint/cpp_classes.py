"""Classes of a C++ file by brace matching: name, methods, fields.
Works on stripped text. Constructors, destructors and operators are no methods, static members no fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from .cpp_functions import flatten
from .cpp_text import line_of, strip

_HEAD = re.compile(
    r"(?<!enum )\b(?:class|struct)\s+(?:KW_EXPORT\s+)?([\w:]+)(?:\s+final)?\s*(?::[^;{}()=]*)?\{"
)
_TEMPLATE = re.compile(r"^\s*template\s*<[^<>]*(?:<[^<>]*>[^<>]*)*>")
_NO_MEMBER = re.compile(r"\s*(?:using|typedef|friend|static_assert|enum|class|struct|union)\b")
_STATIC = re.compile(r"\bstatic\b")
_METHOD = re.compile(r"(~?\w+)\s*\(\)")


@dataclass(frozen=True)
class Class:
    name: str
    line: int
    methods: int
    fields: int


def _end(text: str, opened: int) -> int:
    """The offset of the brace that closes the one at `opened`."""
    depth = 0
    for at in range(opened, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def _members(body: str) -> Iterator[str]:
    """The flattened heads of the members of a class body, without what their braces hold."""
    begin = at = 0
    while at < len(body):
        if body[at] == "{":
            head = flatten(body[begin:at])
            at = _end(body, at) + 1
            is_value = "=" in head or not _METHOD.search(head) or re.search(r"\)\s*:(?!:)", head)
            rest = re.match(r"\s*[;,{]", body[at:])
            if _NO_MEMBER.match(head) or (is_value and rest):
                continue  # ends at its semicolon
            yield head
            begin = at
        elif body[at] == ";":
            yield flatten(body[begin:at])
            at += 1
            begin = at
        else:
            at += 1


def _declarators(head: str) -> int:
    return head.count(",") + 1


@cache
def classes(text: str) -> tuple[Class, ...]:
    """The classes and structs defined in the C++ source `text`, nested ones too."""
    clean = strip(text)
    out = []
    for found in _HEAD.finditer(clean):
        opened = found.end() - 1
        name = found[1].split("::")[-1]
        methods, fields = set[str](), 0
        for number, member in enumerate(_members(clean[opened + 1 : _end(clean, opened)])):
            bare = _TEMPLATE.sub("", member)
            if not bare.strip() or _NO_MEMBER.match(bare):
                continue
            method = _METHOD.search(bare.partition("=")[0])
            if method is None:
                fields += 0 if _STATIC.search(bare) else _declarators(bare)
            elif method[1].lstrip("~") not in (name, "operator_") and "operator" not in bare:
                methods.add(f"{method[1]} {number}")
        out.append(Class(name, line_of(clean, found.start()), len(methods), fields))
    return tuple(out)
