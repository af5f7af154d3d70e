"""How often the generator draws each construct: a share of 2,000 programs, of which none is run.

A construct that becomes rare is as good as untested. Says nothing about what the programs do.
"""

from __future__ import annotations

from collections import Counter

import generate
import pytest

PROGRAMS = 2000
AT_LEAST = {  # per thousand programs
    "gather": 150,
    "gather in a gather": 100,
    "chain of index arrays": 40,
    "scatter": 80,
    "raw index": 60,
    "indices out of range": 60,
    "another call with bad indices": 20,
    "index argument that is written": 50,
    "index array that is written": 80,
    "half a guard": 40,
    "subscript in a local": 20,
    "indexed if": 40,
    "indexed else": 20,
    "indexed and": 20,
    "indexed or": 20,
    "indexed ternary": 20,
    "indexed jump": 20,
    "indexed while": 20,
    "indexed unread": 20,
    "out=": 80,
    "out= over an argument": 3,
    "out= beside an argument": 3,
    "closure": 100,
    "method": 30,
    "captured value changed": 30,
    "called again": 150,
    "called again with other extents": 80,
    "called again with other strides": 40,
    "apart in another call": 8,
    "overlapping arguments": 120,
    "overlap same": 10,
    "overlap shifted": 10,
    "overlap before": 10,
    "overlap turned": 10,
    "overlap transposed": 10,
    "overlap every other": 10,
    "layout broadcast": 80,
    "layout broadcast last": 80,
    "triangular": 60,
    "empty range": 15,
    "negative step": 60,
    "while": 60,
    "break/continue": 50,
    "folded condition": 20,
    "const_range": 50,
    "guard between loops of a sum": 5,
    "several reductions in a nest": 60,
    "grid tuple variable": 40,
    "reduction +": 40,
    "reduction *": 8,
    "reduction min": 15,
    "reduction max": 15,
    "accumulator of float16": 8,
    "accumulator of bfloat16": 8,
    "accumulator of float32": 15,
    "accumulator of float64": 15,
    "sum in lanes": 30,
    "selection": 40,
    "while in each iteration": 40,
    "iterations that meet": 40,
    "borders": 80,
    "sum of products": 10,
    "rounded to an int": 40,
    "condition on what changes": 50,
    "condition on what changes behind the loop": 10,
    "guard around what does not exist": 10,
    "place in what another argument changes": 10,
    "assigned argument": 15,
    "assigned argument in a loop": 15,
    "argument assigned in a branch": 10,
    "assigned on some paths": 3,
    "augmented local": 15,
    "tuple assignment": 40,
    "tuple assigned in a branch": 15,
    "tuple carried by a loop": 5,
    "wide constant": 20,
    "exact program": 250,
    "place": 300,
    "place by direct": 25,
    "place by local": 25,
    "place by clamp": 25,
    "place by cast": 25,
    "place by modulo": 25,
    "place by ternary": 25,
    "place by mended": 25,
    "place by counter": 25,
    "place by pointer": 25,
    "place by cursor": 25,
    "place by cell": 25,
    "place by helper": 25,
    "place that is invariant": 30,
    "place in two dimensions": 60,
    "place outside of an inner loop": 60,
    "place in a local of its own": 150,
    "place in what overlaps the data": 30,
    "overlap far": 5,
    "overlap far before": 5,
    "places beyond the lanes": 180,
    "places beyond a block": 25,
    "two sums at places": 30,
    "sparse product": 15,
    "bad place": 6,
    "place of +": 110,
    "place of -": 15,
    "place of *": 15,
    "place of long": 12,
    "place of turned": 12,
    "place of min": 15,
    "place of max": 15,
    "place of put": 12,
    "place of count": 12,
    "place of selection": 15,
}


@pytest.fixture(scope="module")
def drawn() -> Counter[str]:
    counted: Counter[str] = Counter()
    for seed in range(PROGRAMS):
        counted.update(generate.program(seed).features)
    return counted


@pytest.mark.parametrize("construct", AT_LEAST)
def test_a_construct_is_drawn_often_enough(construct: str, drawn: Counter[str]) -> None:
    share = 1000 * drawn[construct] // PROGRAMS
    assert share >= AT_LEAST[construct], f"{construct}: {share} of 1,000 programs"


def test_a_seed_gives_the_same_program() -> None:
    for seed in range(50):
        assert generate.program(seed) == generate.program(seed)
