"""Generated loops that load and store under conditions, also in place.

Loops over elements, rows that threads of a team share, and tiles. A body is made of a few statements with the
conditions of masks. The seed stands in the name of the test; KW_MASKED=N runs N programs of each kind.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from device import Device, bits

import kernelwright as kw

COUNT = int(os.environ.get("KW_MASKED", "14"))
HEADS = {
    "elements": ("c[i]", "a[i]", "b[i]", "    for i in range(c.shape[0]):\n", 2, "i"),
    "rows": (
        "c[i, j]",
        "a[i, j]",
        "b[i, j]",
        "    for i in range(c.shape[0]):\n        for j in range(c.shape[1]):\n",
        3,
        "j",
    ),
    "teams": (
        "c[i, j]",
        "a[i, j]",
        "b[i, j]",
        "    for i in range(c.shape[0]):\n        top = a[i, 0]\n        for j in range(c.shape[1]):\n"
        "            top = max(top, a[i, j])\n        for j in range(c.shape[1]):\n",
        3,
        "j",
    ),
    "tiles": (
        "c[i, j]",
        "a[j, i]",
        "b[i, j]",
        "    for i in range(c.shape[0]):\n        for j in range(c.shape[1]):\n",
        3,
        "j",
    ),
}


class Maker:
    """Makes a body of statements over three elements, a bound m and the iterator."""

    def __init__(self, seed: int, kind: str) -> None:
        self.random = random.Random(seed)
        self.stored, *self.loaded = HEADS[kind][:3]
        self.iterator = HEADS[kind][5]
        self.names: list[str] = []

    def value(self, depth: int = 2) -> str:
        atoms = [self.stored, *self.loaded, *self.names, "1.5"]
        kind = self.random.randrange(5) if depth else 0
        if kind <= 1:
            return self.random.choice(atoms)
        if kind == 2:
            return f"({self.value(depth - 1)} if {self.condition()} else {self.value(depth - 1)})"
        return f"({self.value(depth - 1)} {self.random.choice('+-*')} {self.value(depth - 1)})"

    def condition(self) -> str:
        i = self.iterator
        return self.random.choice(
            [
                f"{i} < m",
                f"{i} + 3 < m",
                f"m <= {i}",
                f"{i} % 32 < m % 32",
                f"{i} // 8 < m // 8",
                f"{self.value(0)} > 0.25",
                f"{i} < m and {self.value(0)} < 1.0",
                f"{i} < m or {self.value(0)} < -1.0",
            ]
        )

    def statement(self, indent: str) -> str:
        kind = self.random.randrange(6)
        if kind == 0 and len(self.names) < 2:
            line = f"{indent}v{len(self.names)} = {self.value()}\n"
            self.names.append(f"v{len(self.names)}")
            return line
        if kind <= 2:
            made = f"{indent}if {self.condition()}:\n{indent}    {self.stored} = {self.value()}\n"
            if self.random.randrange(3) == 0:
                made += f"{indent}else:\n{indent}    {self.stored} = {self.value()}\n"
            return made
        return f"{indent}{self.stored} = {self.value()}\n"


@pytest.mark.parametrize("seed", range(COUNT))
@pytest.mark.parametrize("kind", HEADS)
def test_generated(kind: str, seed: int, device: Device) -> None:
    maker, depth = Maker(seed, kind), HEADS[kind][4]
    body = "".join(maker.statement("    " * depth) for _ in range(maker.random.randint(1, 3)))
    body += f"{'    ' * depth}{maker.stored} = {maker.stored} + 1.0\n" if maker.random.randrange(2) else ""
    if maker.stored not in body.replace(f"{maker.stored} >", ""):
        body += f"{'    ' * depth}{maker.stored} = {maker.value()}\n"
    source = f"def f(a, b, c, m):\n{HEADS[kind][3]}{body}    return c\n"
    kernel = kw.kernel(source)
    rng = np.random.default_rng(seed)
    for shape in ((1, 260), (5, 132), (3, 1025)) if kind != "tiles" else ((64, 96), (33, 64)):
        a, b, c = rng.standard_normal((3, *shape)).astype(np.float32)
        if kind == "elements":
            a, b, c = a.ravel(), b.ravel(), c.ravel()
        if kind == "tiles":
            a = np.ascontiguousarray(a.T)
        for m in (0, 37, shape[1]):
            moved = [kw.Tensor(x, device="cuda") for x in (a, b, c)]
            found = kernel(*moved, m)
            assert bits(found) == bits(kernel(a, b, c.copy(), m)), f"{source}shape {shape}, m {m}"
