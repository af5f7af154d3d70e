"""compiler/README.md, the map: its recipe for a new IR node names every place that the compiler will name."""

from __future__ import annotations

import re
from pathlib import PurePath

from . import tree

MATCH = re.compile(r"(?<![\w.:])match\(")
VISIT = re.compile(r"std::visit\(\s*Overload.*(?:->|\.)v\)", re.DOTALL)  # of a node, whose variant is `v`


def dispatchers(files: dict[str, str]) -> set[str]:
    """The sources of the compiler that take a node apart by its kind, by their names without folder."""
    code = {path: text for path, text in files.items() if re.fullmatch(r"compiler/.*\.(h|cpp)", path)}
    code.pop("compiler/ir/match.h", None)  # defines `match`
    return {PurePath(path).stem for path, text in code.items() if MATCH.search(text) or VISIT.search(text)}


def named(readme: str) -> set[str]:
    recipe = readme.partition("**an IR node.**")[2].partition("\n\n")[0]
    return set(re.findall(r"`(\w+)`", recipe))


def test_recipe_names_every_dispatch_on_kinds() -> None:
    found = dispatchers(tree.files())
    stems = {PurePath(path).stem for path in tree.files() if path.startswith("compiler/")}
    assert 5 < len(found) <= 12
    assert named(tree.files()["compiler/README.md"]) & stems - {"match", "node"} == found


def test_finds_dispatches() -> None:
    sample = {
        "compiler/a.cpp": "return match(\n      *s, [&](const Store &n) {",
        "compiler/b/c.cpp": "std::visit(\n      Overload{[](Const &)},\n e.p->v);",
        "compiler/b/directive.cpp": "std::visit(Overload{[](Tile &)}, d.what);",
        "compiler/d.cpp": "glob_match(a, b); x.match(y); std::visit(f, v);",
        "frontend/e.cpp": "match(e)",
    }
    assert dispatchers(sample) == {"a", "c"}
    assert named("**an IR node.** `a` or `b.h`, `c`\n\n**a pass.** `d`") == {"a", "c"}
