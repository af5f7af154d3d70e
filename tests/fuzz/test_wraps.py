"""Indices and ends of loops that leave 64 bits: random kernels over numbers near both ends of int64.

A kernel raises IndexError if and only if an index, wrapped to 64 bits, leaves its range; else it does as
CPython with integers that wrap, or says that there is no memory for a temporary. KW_TEST_SEED and
KW_TEST_PROGRAMS draw others.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
from checked import Checked, Outside, define

import kernelwright as kw

SEED = int(os.environ.get("KW_TEST_SEED", "11"))
PROGRAMS = int(os.environ.get("KW_TEST_PROGRAMS", "300"))
MARGIN, LONGEST, PATIENCE = 64, 200, 1.0
MODES = ("strict", "default", "fast")
MOST, LEAST = 2**63 - 1, -(2**63)
FAR = (MOST, MOST - 1, LEAST, LEAST + 1, MOST // 2 + 1, 2**46, -(2**46) - 1, 10**6, -(10**6))
NEAR = (0, 1, 2, 3, 5, -1, -2)


class Endless(Exception):
    """More iterations than a test waits for."""


class NoMemory(Exception):
    """A temporary of a negative size; a kernel may also say that there is no memory for a large one."""


class Word(int):
    """An integer of 64 bits that wraps."""

    def __new__(cls, value: int) -> Word:
        return super().__new__(cls, (int(value) + 2**63) % 2**64 - 2**63)

    def __add__(self, other: int) -> Word:
        return Word(int(self) + int(other))

    def __sub__(self, other: int) -> Word:
        return Word(int(self) - int(other))

    def __rsub__(self, other: int) -> Word:
        return Word(int(other) - int(self))

    def __mul__(self, other: int) -> Word:
        return Word(int(self) * int(other))

    def __floordiv__(self, other: int) -> Word:
        return Word(int(self) // int(other))

    def __mod__(self, other: int) -> Word:
        return Word(int(self) % int(other))

    __radd__, __rmul__ = __add__, __mul__


def words(*ends: int) -> Iterator[Word]:
    """range() over words."""
    for number, i in enumerate(range(*ends)):
        if number == LONGEST:
            raise Endless
        yield Word(i)


class Temporary(Checked):
    """What allocate() gives, of any size; its elements are made when they are written."""

    def __init__(self, shape: tuple[int], _: str) -> None:
        if shape[0] < 0:
            raise NoMemory
        super().__init__(np.zeros(0))
        self.shape, self.cells = (Word(shape[0]),), dict[int, float]()

    def __getitem__(self, i: int) -> float:
        self.check(i)
        return self.cells.get(i, 0.0)

    def __setitem__(self, i: int, value: float) -> None:
        self.check(i)
        self.cells[i] = value


class Draw(random.Random):
    """The statements of a kernel `f(c, idx, p, q)`."""

    made = 0  # temporaries

    def affine(self, names: list[str]) -> str:
        name, offset = self.choice(names), self.choice((-2, -1, 0, 0, 1, 1, 3, 1000000))
        other = self.choice(names)
        forms = (name, name, f"{name} + {other}", f"{name} - {other}", f"2 * {name}", f"n - {name}")
        return f"{self.choice(forms)} {'+' if offset >= 0 else '-'} {abs(offset)}"

    def side(self, names: list[str]) -> str:
        return self.choice(("0", "1", "n", "n - 1", "n + 1", self.choice(names), self.affine(names)))

    def guard(self, names: list[str]) -> str:
        test = f"{self.choice(names)} {self.choice(('<', '<=', '>', '>=', '=='))} {self.side(names)}"
        return f"{test} and {self.guard(names)}" if self.random() < 0.4 else test

    def index(self, names: list[str]) -> str:
        e = self.affine(names)
        last = self.choice(("n - 1", "n - 1", "n", self.choice(names)))
        forms = (
            e, e, f"min({e}, {last})", f"max({e}, 0)", f"min(max({e}, 0), {last})",
            f"max(min({e}, {last}), 0)", f"({e}) // {self.choice((1, 2, 7))}", f"({e}) % n",
            f"min(({e}) // 3, {last})", f"({e}) if {self.guard(names)} else 0",
        )  # fmt: skip
        return self.choice(forms)

    def block(self, names: list[str], depth: int, indent: str) -> list[str]:
        lines = []
        for _ in range(self.randint(1, 2)):
            kind = self.random()
            if kind < 0.35 and depth < 3:
                lines.append(f"{indent}if {self.guard(names)}:")
                lines += self.block(names, depth + 1, indent + "    ")
            elif kind < 0.65 and depth < 3:
                name, ends = f"i{depth}", self.choice(("{}", "{}, n", "0, {}", "{}, {}", "n - 1, {}, -1"))
                while "{}" in ends:
                    ends = ends.replace("{}", self.affine(names), 1)
                lines.append(f"{indent}for {name} in range({ends}):")
                lines += self.block([*names, name, name], depth + 1, indent + "    ")
            elif kind < 0.7 and "k" not in names:  # a size may not depend on data
                self.made += 1
                t, m = f"t{self.made}", f"m{self.made}"
                lines.append(f"{indent}{t} = allocate(({self.affine(names)},), 'float64')")
                lines.append(f"{indent}for {m} in range(min({t}.shape[0], 20)):")
                lines += [f"{indent}    {t}[{m}] = 7.0", f"{indent}    c[0] += {t}[{m}]"]
            elif kind < 0.85 and "j" not in names and depth < 3:
                lines += [f"{indent}for j in range(idx.shape[0]):", f"{indent}    k = idx[j]"]
                lines += self.block([*names, "k", "k", "j"], depth + 1, indent + "    ")
            else:
                lines.append(f"{indent}c[{self.index(names)}] += 1.0")
        return lines

    def program(self) -> str:
        lines = self.block(["p", "q"], 0, "    ")
        return "\n".join(["def f(c, idx, p, q):", "    n = c.shape[0]", *lines, "    return c", ""])

    def number(self) -> int:
        return self.choice(FAR) if self.random() < 0.5 else self.choice(NEAR)


def by_words(text: str, c: np.ndarray, idx: np.ndarray, p: int, q: int) -> str:
    """How the kernel must end: it changes `c` as far as it comes."""
    space: dict[str, Any] = {"range": words, "allocate": Temporary}
    exec(compile(text, "<words>", "exec"), space)
    try:
        space["f"](Checked(c, Word), Checked(idx, Word), Word(p), Word(q))
    except (Outside, Endless, NoMemory) as e:
        return type(e).__name__
    return "ok"


def by_kernel(kernel: Any, *args: Any) -> str:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        kernel(*args)
    except IndexError as e:
        return "NoMemory" if "E304" in str(e) else "Outside"
    except (MemoryError, kw.KernelValueError, kw.UnsupportedError) as e:
        assert isinstance(e, MemoryError) or "E224" in str(e) or "E102" in str(e), e
        return "NoMemory"
    except KeyboardInterrupt:
        return "slow"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "ok"


def test_an_index_that_wraps_is_refused_where_it_leaves_its_range() -> None:
    seen = {"ok": 0, "Outside": 0, "Endless": 0, "NoMemory": 0, "slow": 0}
    for number in range(PROGRAMS):
        draw = Draw(SEED * 1_000_003 + number)
        text = draw.program()
        kernel = kw.kernel(define(text, f"<wraps {number}>"), fp=MODES[number % 3])
        for n in (6, 1, 9):
            p, q = draw.number(), draw.number()
            idx = np.array([draw.number() for _ in range(3)])
            block = np.zeros(2 * MARGIN + n)
            ours, theirs = block[MARGIN : MARGIN + n], np.zeros(n)
            what = f"seed {SEED}, program {number}, n = {n}, p = {p}, q = {q}, idx = {idx}\n{text}"
            expected = by_words(text, theirs, idx, p, q)
            seen[expected] += 1
            if expected == "Endless":
                continue
            got = by_kernel(kernel, ours, idx, p, q)
            seen["slow"] += got == "slow"
            if "NoMemory" in (got, expected):  # told before the kernel begins, also of what it never makes
                assert got != "ok", what
                continue
            if got == "slow":  # a check before the loops goes through all of a range that ends at once
                continue
            assert got == expected, what
            assert not block[:MARGIN].any() and not block[MARGIN + n :].any(), what
            assert got == "Outside" or ours.tolist() == theirs.tolist(), what
    assert min(seen["ok"], seen["Outside"]) > PROGRAMS // 4, f"hardly any of both kinds: {seen}"
    assert seen["slow"] < PROGRAMS // 20, seen
