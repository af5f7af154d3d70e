"""Bounds behind guards that jump: random loops whose indices are proved, or checked, by what the guards leave
known. A kernel raises IndexError if and only if an index leaves its range; else it does as CPython."""

from __future__ import annotations

import os
import random

import numpy as np
from checked import Checked, Outside, define

import kernelwright as kw

SEED = int(os.environ.get("KW_TEST_SEED", "7"))
PROGRAMS = int(os.environ.get("KW_TEST_PROGRAMS", "400"))
MARGIN = 64


def affine(draw: random.Random, names: list[str]) -> str:
    name, offset = draw.choice(names), draw.randint(-3, 3)
    text = draw.choice([name, name, f"{draw.choice((-1, 2))} * {name}", f"{name} + {draw.choice(names)}"])
    return text if not offset else f"{text} {'+' if offset > 0 else '-'} {abs(offset)}"


def condition(draw: random.Random, names: list[str]) -> str:
    sides = [affine(draw, names), draw.choice(["0", "1", "n", "n - 1", affine(draw, names)])]
    test = f" {draw.choice(('<', '<=', '==', '!=', '>', '>='))} ".join(sides)
    return test if draw.random() < 0.7 else f"{test} {draw.choice(('or', 'and'))} {condition(draw, names)}"


def block(draw: random.Random, names: list[str], depth: int, indent: str) -> list[str]:
    lines = []
    for _ in range(draw.randint(1, 4)):
        kind = draw.random()
        if kind < 0.45:
            jump = draw.choice(("continue", "continue", "break"))
            lines.append(f"{indent}if {condition(draw, names)}:")
            if draw.random() < 0.25:
                lines += [f"{indent}    c[{affine(draw, names)}] += 1.0", f"{indent}else:"]
            lines.append(f"{indent}    {jump}")
        elif kind < 0.6 and depth < 2:
            lines += loop(draw, names, depth + 1, indent)
        else:
            lines.append(f"{indent}c[{affine(draw, names)}] += 1.0")
    return lines


def loop(draw: random.Random, names: list[str], depth: int, indent: str) -> list[str]:
    name = f"i{depth}"
    bounds = draw.choice(["n", "n", "1, n", "n - 1, -1, -1", "0, n, 2", names[-1], f"{names[-1]}, n"])
    head = f"{indent}for {name} in range({bounds}):"
    return [head, *block(draw, [*names, name], depth, indent + "    ")]


def program(draw: random.Random) -> str:
    lines = loop(draw, ["p"], 0, "    ")
    return "\n".join(["def f(c, p):", "    n = c.shape[0]", *lines, "    return c", ""])


def test_an_index_is_refused_where_it_leaves_its_range() -> None:
    seen = [0, 0]
    for number in range(PROGRAMS):
        draw = random.Random(SEED * 1_000_003 + number)
        text = program(draw)
        function = define(text, f"<guards {number}>")
        kernel = kw.kernel(function)
        for n, p in ((5, 2), (1, 0), (6, -1), (4, 9)):
            block_of = np.zeros(2 * MARGIN + n)
            ours, theirs = block_of[MARGIN : MARGIN + n], np.zeros(n)
            what = f"seed {SEED}, program {number}, n = {n}, p = {p}\n{text}"
            try:
                function(Checked(theirs), p)
                refused = False
            except Outside:
                refused = True
            with kw.debug("interp; cache=off"):
                try:
                    kernel(ours, p)
                    got = False
                except IndexError:
                    got = True
            assert got == refused, what
            assert not block_of[:MARGIN].any() and not block_of[MARGIN + n :].any(), what
            assert refused or ours.tolist() == theirs.tolist(), what
            seen[refused] += 1
    assert min(seen) > PROGRAMS // 4, f"hardly any of both kinds: {seen}"
