"""Places that a loop chooses, as users write them for histograms, segment sums, group-by and sparse products.

A place comes through an index array, a local, a clamp, a cast, a counter, a cursor in memory or a helper.
Some look so and never change. Draws no accumulations: gen_scatter.py puts them at these places.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from gen_expr import COMPARE, Scope, literal
from program import Arg, Dim, E, Function, Program, S
from scalar_types import is_float

P, Q, B = Dim("P"), Dim("Q"), Dim("B")  # elements, columns, bins
SHORT, WIDE = (0, 1, 2, 3, 5, 8), (16, 22, 33, 63, 66)
LONG, BLOCKS = (64, 65, 100, 127, 128, 130, 200, 300), (4096, 4100, 4160, 8200)
KINDS = ("float32", "float64") * 3 + ("float16", "bfloat16", "int32", "int64")
KEYS = ("int64", "int64", "int32", "int8", "uint8", "uint64")
OVERLAPS = ("same", "shifted", "before", "far", "far before")


@dataclass
class Place:
    """How a subscript comes about: statements before the loop, before its use and behind it."""

    sub: E
    before: list[S] = field(default_factory=list)
    first: list[S] = field(default_factory=list)
    last: list[S] = field(default_factory=list)


def named(text: str, kind: str = "wi") -> E:
    return E(text, [], kind)


def assigned(name: str, e: E) -> S:
    return S(f"{name} = {{0}}", [e])


class Drawing:
    """One group of accumulations and the arguments that they need."""

    def __init__(self, made: Program, scope: Scope, rng: random.Random) -> None:
        self.made, self.scope, self.rng = made, scope, rng
        self.kind = rng.choice(KINDS)
        exact = scope.exact or rng.random() < 0.6
        self.content = "exact" if exact else rng.choice(("small", "small", "small", "special"))
        self.count = 0  # of places, which numbers their names
        self.top: list[S] = []  # declarations
        self.bins = E("pn", [], "wi")
        self.data("pa")

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def feature(self, name: str) -> None:
        self.made.features.add(name)

    def argument(self, name: str, dtype: str, shape: list[Dim], content: str) -> str:
        """An argument that is declared at its first use; the elements of an index array lie below B."""
        limit = B if "index" in content else None
        if all(a.name != name for a in self.made.args):
            number = 60 + len(self.made.args)
            self.made.args.append(Arg(name, dtype, shape, content=content, limit=limit, number=number))
            self.made.main.params.append(name)
        return name

    def data(self, name: str, shape: tuple[Dim, ...] = (P,)) -> str:
        before = len(self.made.args)
        self.argument(name, self.kind, list(shape), self.content)
        for arg in self.made.args[before:]:
            arg.layout = self.rng.choice(("C", "C", "C", "step", "reversed"))
        return name

    def keys(self) -> E:
        """An element of the index array along the loop."""
        if all(a.name != "pk" for a in self.made.args):
            content = self.rng.choice(("index", "index", "sorted index"))
            if self.chance(0.06):
                content = "bad index"
                self.feature("bad place")
            self.argument("pk", self.rng.choice(KEYS), [P], content)
        kind = next(a.dtype for a in self.made.args if a.name == "pk")
        return E("pk[{0}]", [named("pi")], kind)

    def element(self, name: str = "pa") -> E:
        return E(self.data(name) + "[{0}]", [named("pi")], self.kind)

    def function(self, name: str, bodies: tuple[list[S], ...]) -> None:
        """Defines a helper with one of the bodies at its first use."""
        if all(f.name != name for f in self.made.helpers):
            self.made.helpers.append(Function(name, ["v", "n"], self.rng.choice(bodies)))

    def local(self) -> str:
        self.count += 1
        return f"pb{self.count}"


def direct(d: Drawing) -> Place:
    return Place(d.keys())


def through_local(d: Drawing) -> Place:
    b = d.local()
    return Place(named(b), first=[assigned(b, d.keys())])


def kept(d: Drawing, e: E, share: float = 0.75) -> Place:
    """A value as a subscript, mostly in a local."""
    if not d.chance(share):
        return Place(e)
    b = d.local()
    return Place(named(b, e.type), first=[assigned(b, e)])


def clamp(d: Drawing) -> Place:
    last = E("{0} - {1}", [d.bins, literal(1)], "wi")
    sub = d.keys() if d.chance(0.6) else E("({0} + {1})", [d.keys(), literal(1)], "wi")
    if d.chance(0.5):
        return kept(d, E("min({0}, {1})", [sub, last], "wi"))
    return kept(d, E("min(max({0}, {2}), {1})", [sub, last, literal(0)], "wi"))


def part(d: Drawing) -> E:
    """A float in [0, 1)."""
    kind = d.kind if is_float(d.kind) else "float64"
    return E(d.argument("pu", kind, [P], "unit") + "[{0}]", [named("pi")], kind)


def cast(d: Drawing) -> Place:
    """`int(x[i] * n)`, where x lies in [0, 1) and has few bits."""
    return kept(d, E("int({0} * {1})", [part(d), d.bins], "wi"))


def modulo(d: Drawing) -> Place:
    i = named("pi")
    forms = (
        lambda: E("{0} % {1}", [i, d.bins], "wi"),
        lambda: E("({0} * {2}) % {1}", [i, d.bins, literal(3)], "wi"),
        lambda: E("{0} % {1}", [d.keys(), d.bins], "wi"),
        lambda: E("{0} // {2} % {1}", [i, d.bins, literal(d.rng.choice((2, 7, 64)))], "wi"),
        lambda: E("min({0} // {2}, {1} - {3})", [i, d.bins, literal(5), literal(1)], "wi"),
        lambda: E("abs({2} - {0}) % {1}", [i, d.bins, literal(9)], "wi"),
        lambda: E("abs({0} - {2}) % {1}", [d.keys(), d.bins, literal(2)], "wi"),
    )
    return kept(d, d.rng.choice(forms)())


def ternary(d: Drawing) -> Place:
    test = E(f"({{0}} {d.rng.choice(COMPARE)} {{1}})", [d.element(), literal(0)], "truth")
    k = d.keys()
    arms = [k, literal(0)] if d.chance(0.5) else [literal(0), k]
    ref = f"M({k.type!r}, {{0}} if {{2}} else {{1}})"
    return kept(d, E("({0} if {2} else {1})", [*arms, test], k.type, ref))


def mended(d: Drawing) -> Place:
    """`if b == n: b = n - 1`, after the sum of a subscript and one."""
    b = d.local()
    e = E("{0} % ({1} + {2})", [named("pi"), d.bins, literal(1)], "wi")
    test = E(f"{b} == {{0}}", [d.bins], "truth")
    mend = S("if {0}:", [test], [[S(f"{b} = {{0}} - {{1}}", [d.bins, literal(1)])]])
    return Place(named(b), first=[assigned(b, e), mend])


def counter(d: Drawing) -> Place:
    """A local that a branch moves on, before its use or behind it."""
    g = d.local()
    some = (
        E(f"({{0}} {d.rng.choice(COMPARE)} {{1}})", [d.element(), literal(0)], "truth"),
        E("({0} % {1} == {2})", [named("pi"), literal(d.rng.choice((2, 7, 30))), literal(1)], "truth"),
        E("({0} > {1})", [d.keys(), literal(0)], "truth"),
    )
    test = E(f"{g} + {{1}} < {{0}} and {{2}}", [d.bins, literal(1), d.rng.choice(some)], "truth")
    step = S("if {0}:", [test], [[S(f"{g} += {{0}}", [literal(1)])]])
    if d.chance(0.3):
        step = S(f"{g} = ({g} + {{0}}) % {{1}}", [literal(1), d.bins])
    start = [assigned(g, literal(0))]
    return Place(named(g), start, [step], []) if d.chance(0.4) else Place(named(g), start, [], [step])


def pointer(d: Drawing) -> Place:
    """A row that a while moves on, as over the row pointers of a sparse matrix."""
    g = d.local()
    width = literal(d.rng.choice((1, 3, 20, 70)))
    form = f"{g} + {{1}} < {{0}} and {{3}} >= ({g} + {{1}}) * {{2}}"
    test = E(form, [d.bins, literal(1), width, named("pi")], "truth")
    step = S("while {0}:", [test], [[S(f"{g} += {{0}}", [literal(1)])]])
    return Place(named(g), [assigned(g, literal(0))], [step])


def cells(d: Drawing) -> str:
    """A small integer buffer, in which a place is kept."""
    if not any("pos = " in s.form for s in d.top):
        form = "pos = allocate(({0},), 'int64'"
        d.top.append(S(form + ")", [literal(2)], [], form + ", 'pos')"))
        d.top += [S(f"pos[{k}] = {{0}}", [literal(0)], [], f"pos[N({k})] = {{0}}") for k in (0, 1)]
    return "pos"


def cursor(d: Drawing) -> Place:
    at = E(f"{cells(d)}[0]", [], "int64", "pos[N(0)]")
    some = E("({0} % {1} == {2})", [named("pi"), literal(d.rng.choice((2, 7, 30))), literal(1)], "truth")
    test = E("{3} + {1} < {0} and {2}", [d.bins, literal(1), some, at], "truth")
    step = S("if {0}:", [test], [[S("pos[0] += {0}", [literal(1)], [], "pos[N(0)] += {0}")]])
    sub = at
    first: list[S] = []
    if d.chance(0.3):
        b = d.local()
        first, sub = [assigned(b, at)], named(b)
    return Place(sub, [], first, [step])


def cell(d: Drawing) -> Place:
    """The place stored in memory in each iteration."""
    at = E(f"{cells(d)}[1]", [], "int64", "pos[N(1)]")
    e = E("{0} % {1}", [named("pi") if d.chance(0.5) else d.keys(), d.bins], "wi")
    return Place(at, first=[S("pos[1] = {0}", [e], [], "pos[N(1)] = {0}")])


def helper(d: Drawing) -> Place:
    """A function that computes the place, from an integer or from a float in [0, 1)."""
    last = E("{0} - {1}", [named("n"), literal(1)], "wi")
    if d.chance(0.4):
        scaled = E("int({0} * {1})", [named("v"), named("n")], "wi")
        mend = S("if k == n:", [], [[assigned("k", last)]])
        d.function("pcell", ([S("return {0}", [scaled])], [assigned("k", scaled), mend, S("return k")]))
        return kept(d, E("pcell({0}, {1})", [part(d), d.bins], "wi"), 0.3)
    mend = S("if k >= n:", [], [[assigned("k", last)]])
    modulo = [S("k = v % n"), S("return k")]
    d.function("pbin", ([S("return min(v, {0})", [last])], modulo, [S("k = v"), mend, S("return k")]))
    v = E("int({0})", [d.keys()], "wi") if d.chance(0.5) else E("{0} // {1}", [named("pi"), literal(3)], "wi")
    return kept(d, E("pbin({0}, {1})", [v, d.bins], "wi"), 0.3)


def invariant(d: Drawing) -> Place:
    """A place that is the same in all iterations, though it does not look so."""
    d.feature("place that is invariant")
    half = E("{0} // {1}", [d.bins, literal(2)], "wi")
    pick = d.rng.randrange(6)
    b = d.local()
    if pick == 0:
        return Place(named(b), [assigned(b, half)])
    if pick == 1:
        return Place(named(b), first=[assigned(b, half)])
    if pick == 2:
        at = E(f"{cells(d)}[1]", [], "int64", "pos[N(1)]")
        return Place(at, first=[S("pos[1] = {0}", [half], [], "pos[N(1)] = {0}")])
    if pick == 3:
        d.keys()
        return Place(E("pk[0]", [], "wi", "pk[N(0)]"))
    if pick == 4:
        d.keys()
        first = E("pk[0]", [], next(a.dtype for a in d.made.args if a.name == "pk"), "pk[N(0)]")
        place = Place(named(b), [assigned(b, first)])
        if d.chance(0.5):
            place.before, place.first = [], place.before
        return place
    test = E("{0} > {1}", [d.bins, literal(2)], "truth")
    return Place(named(b), first=[assigned(b, literal(0)), S("if {0}:", [test], [[assigned(b, literal(1))]])])


FORMS: dict[str, Callable[[Drawing], Place]] = {
    "direct": direct, "local": through_local, "clamp": clamp, "cast": cast, "modulo": modulo,
    "ternary": ternary, "mended": mended, "counter": counter, "pointer": pointer, "cursor": cursor,
    "cell": cell, "helper": helper, "invariant": invariant,
}  # fmt: skip


def place(d: Drawing) -> Place:
    form = d.rng.choice(list(FORMS))
    d.feature("place by " + form)
    return FORMS[form](d)


def term(d: Drawing) -> E:
    """What an iteration adds, of the type of the data."""
    x = d.element()
    pick = d.rng.random()
    if pick < 0.5:
        return x
    if pick < 0.75:
        return E("({0} * {1})", [x, d.element("pd")], d.kind)
    if pick < 0.83:
        half = literal(0.5) if is_float(d.kind) else literal(2)
        return E("({0} * {1})", [x, half], d.kind)
    if pick < 0.9:
        return E("({0} - {1})", [x, d.element("pd")], d.kind)
    return E("abs({0})", [x], d.kind)
