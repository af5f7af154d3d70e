"""Functions of a C++ file by brace matching: name, first and last line, declared or defined.
Works on stripped text at namespace and class scope; lambdas, tables, enums and local classes are
no functions. Both branches of an #if are read, each from the state before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .cpp_text import blank, line_of, strip

_TOKEN = re.compile(r"^[ \t]*#(?P<directive>[ \t]*\w*)(?:\\\n|[^\n])*|[(){};]", re.MULTILINE)
_OPERATOR = re.compile(r'\boperator\s*(?:\(\s*\)|\[\s*\]|"\s*"\s*\w+|[^\s\w("]+|[\w:<>*&\s]+?(?=\())')
_NOISE = re.compile(r'\b(?:alignas|noexcept|explicit|requires|__attribute__)\s*\(\)|\[\]|extern\s*"[^"]*"')
_ACCESS = re.compile(r"^\s*(?:(?:public|private|protected)\s*:(?!:)\s*)*")
_SPECIFIER = re.compile(
    r"\b(?:static|inline|constexpr|consteval|virtual|friend|explicit|const|extern|template|KW_EXPORT)\b"
)
_NAMED = re.compile(r"([~\w:]+)\s*\(\)")
_NOT_FUNCTION = re.compile(r"\s*(?:using|typedef|static_assert|enum)\b")


@dataclass(frozen=True)
class Function:
    name: str  # unqualified; "" for operators
    line: int
    end: int
    defined: bool
    special: bool  # constructor, destructor, operator or a macro used like a function

    @property
    def lines(self) -> int:
        return self.end - self.line + 1


@dataclass(frozen=True)
class _Scope:
    kind: str  # namespace, class, function, block, nested (a brace inside a head)
    head: int  # where the head of this scope began
    parens: int
    signature: str


def flatten(head: str) -> str:
    """A head without access labels, bracket contents, template arguments and attributes: `auto f() -> T`."""
    out: list[str] = []
    depth = 0
    for char in _OPERATOR.sub(" operator_", _ACCESS.sub("", head)):
        if char in ")}]":
            depth = max(depth - 1, 0)
        if depth == 0:
            out.append(char)
        if char in "({[":
            depth += 1
    flat = "".join(out).replace("->", "@")
    while (shorter := re.sub(r"<[^<>]*>", " ", flat)) != flat:
        flat = shorter
    return _NOISE.sub(" ", re.sub(r"\bdecltype\s*\(\)", "auto", flat))


def classify(flat: str, outer: str, parens: int) -> str:
    """What the brace after the flattened head `flat` opens inside a scope of kind `outer`."""
    if parens > 0:
        return "nested"
    if outer not in ("namespace", "class"):
        return "block"
    bare = _SPECIFIER.sub(" ", flat).strip()
    if re.match(r"namespace\b", bare) or not bare:
        return "namespace"
    if re.match(r"(?:typedef\s+)?(?:class|struct|union)\b", bare) and not bare.endswith(")"):
        return "class"
    if "=" in bare or _NOT_FUNCTION.match(bare) or not _NAMED.search(bare):
        return "block"
    initialises = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", bare)
    return "nested" if initialises and not bare.endswith((")", "}")) else "function"


class _Scanner:
    def __init__(self, clean: str) -> None:
        self.clean = clean
        self.code = _TOKEN.sub(lambda m: m[0] if m["directive"] is None else blank(m[0]), clean)
        self.scopes: list[_Scope] = []
        self.head = 0
        self.parens = 0
        self.before_if: list[tuple[list[_Scope], int]] = []
        self.found: dict[tuple[str, int], Function] = {}

    def run(self) -> list[Function]:
        for token in _TOKEN.finditer(self.clean):
            at = token.start()
            if token["directive"] is not None:
                self.directive(token["directive"].strip(), token.end())
            elif token[0] == "{":
                self.open(at)
            elif token[0] == "}":
                self.close(at)
            elif token[0] != ";":
                self.parens = max(self.parens + (1 if token[0] == "(" else -1), 0)
            elif self.parens == 0:
                self.statement(at)
        return sorted(self.found.values(), key=lambda function: function.line)

    def directive(self, word: str, end: int) -> None:
        if word in ("if", "ifdef", "ifndef"):
            self.before_if.append((list(self.scopes), self.parens))
        elif word in ("else", "elif") and self.before_if:
            scopes, self.parens = self.before_if[-1]
            self.scopes, self.head = list(scopes), end
        elif word == "endif" and self.before_if:
            self.before_if.pop()

    def outer(self) -> str:
        return self.scopes[-1].kind if self.scopes else "namespace"

    def open(self, at: int) -> None:
        flat = flatten(self.code[self.head : at])
        kind = classify(flat, self.outer(), self.parens)
        self.scopes.append(_Scope(kind, self.head, self.parens, flat))
        self.head, self.parens = at + 1, 0

    def close(self, at: int) -> None:
        if not self.scopes:
            return
        scope = self.scopes.pop()
        if scope.kind == "function":
            self.add(scope.signature, scope.head, at, defined=True)
        self.parens = scope.parens
        self.head = scope.head if scope.kind == "nested" else at + 1

    def statement(self, at: int) -> None:
        if self.outer() in ("namespace", "class"):
            flat = re.sub(r"=\s*(?:default|delete|0)\s*$", "", flatten(self.code[self.head : at]))
            if "=" not in flat and not _NOT_FUNCTION.match(flat):
                self.add(flat, self.head, at, defined=False)
        self.head = at + 1

    def add(self, flat: str, head: int, end: int, defined: bool) -> None:
        match = _NAMED.search(flat)
        if match is None:
            return
        qualified = match[1].split("::")
        name = "" if qualified[-1].startswith("operator_") else qualified[-1]
        returned = _SPECIFIER.sub(" ", flat[: match.start()]).strip()
        special = not name or not returned or name.startswith("~")
        begin = end - len(_ACCESS.sub("", self.code[head:end]))
        line = line_of(self.code, begin)
        self.found[name, begin] = Function(name, line, line_of(self.code, end), defined, special)


@cache
def functions(text: str) -> tuple[Function, ...]:
    """Functions declared or defined in the C++ source `text`, in order."""
    return tuple(_Scanner(strip(text)).run())
