"""Loops around accumulations whose places gen_places.py draws, and arguments that overlap what they write.

Adds them to a program that is drawn already. Draws no places.
"""

from __future__ import annotations

import dataclasses
import random
import re

import gen_places
from gen_expr import COMPARE, Scope, literal
from gen_places import BLOCKS, LONG, OVERLAPS, SHORT, WIDE, B, Drawing, P, Place, Q, assigned, named, term
from gen_sums import wrapped
from program import Arg, Dim, E, Function, Program, S, slots

STORE = re.compile(r"(\w+)\[((?:\{\d+\}(?:, )?)+)\] \S*= ")  # the subscripts are whole operands
ACTIONS = "+ + + + + + - * long turned min max put count selection".split()


def add(made: Program, scope: Scope, first: int) -> None:
    """In some programs a group of accumulations, behind the first statements or at the end."""
    rng = random.Random(f"places {made.seed}")
    if rng.random() >= 0.35:
        return
    sizes(made, rng)
    pick = rng.random()
    d = Drawing(made, scope, rng)
    d.feature("place")
    body = overlapped(d) if pick < 0.15 else pointed(d) if pick < 0.22 else scatter(d)
    start = [S("pn = zz.shape[0]"), *d.top] if pick < 0.15 else d.top
    where = first if rng.random() < 0.5 else len(made.main.body)
    made.main.body[where:where] = [*start, *body]


def hoist(made: Program) -> None:
    """Puts subscripts of some stores into locals of their own, wherever they stand."""
    rng = random.Random(f"locals {made.seed}")
    if rng.random() >= 0.4:
        return
    count = 0

    def visit(block: list[S]) -> None:
        nonlocal count
        for at in range(len(block) - 1, -1, -1):
            store = block[at]
            for inner in store.blocks:
                visit(inner)
            found = STORE.match(store.form)
            if not found or rng.random() < 0.6:
                continue
            for k in map(int, re.findall(r"\d+", found[2])):
                sub = store.kids[k]
                if not sub.form.startswith("spot") and (sub.kids or (sub.const is None and not sub.ref)):
                    made.features.add("place in a local of its own")
                    block.insert(at, S(f"spot{count} = {{0}}", [sub]))
                    local = E(f"spot{count}", [], sub.type)
                    store.kids = [with_local(kid, sub, local) for kid in store.kids]
                    count += 1

    visit(made.main.body)


def with_local(e: E, old: E, new: E) -> E:
    """A copy of an expression that reads the local instead; other statements may share what it is made of."""
    if e is old:
        return new
    return dataclasses.replace(e, kids=[with_local(kid, old, new) for kid in e.kids])


def sizes(made: Program, rng: random.Random) -> None:
    """Extents of each call: mostly more elements than lanes."""
    pick = rng.random()
    lengths = SHORT if pick < 0.2 else WIDE if pick < 0.35 else LONG if pick < 0.88 else BLOCKS
    if pick >= 0.35:
        made.features.add("places beyond the lanes")
    if pick >= 0.88:
        made.features.add("places beyond a block")
    columns = (1, 2) if pick >= 0.88 else (1, 2, 3, 22)
    for call in made.calls:
        bins = 0 if rng.random() < 0.02 else rng.choice((1, 2, 3, 4, 4, 5, 7, 16))
        call.sizes |= {"P": rng.choice(lengths), "Q": rng.choice(columns), "B": bins}


def declare(d: Drawing, name: str, dtype: str, dims: list[Dim]) -> None:
    """An output."""
    kids = [d.bins if dim == B else literal(2) for dim in dims]
    form = f"{name} = output_tensor(({slots(0, len(dims))},), '{dtype}'"
    d.top.append(S(form + ")", kids, [], f"{form}, {name!r})"))
    d.made.main.returns.append(name)
    d.made.outputs.append(Arg(name, dtype, dims, number=90 + len(d.made.outputs)))


def bins(d: Drawing) -> None:
    """The number of bins, as an argument or as an extent."""
    if d.chance(0.5):
        d.argument("pw", d.kind, [B], d.content)
        d.top.append(S("pn = pw.shape[0]"))
    else:
        d.argument("pw", "int64", [B, Dim("", 1)], "small")
        d.top.append(S("pn, _ = pw.shape") if d.chance(0.3) else S("pn = pw.shape[0]"))


def update(d: Drawing, to: str, at: list[E], e: E) -> list[S]:
    """The accumulation."""
    action = d.rng.choice(ACTIONS)
    d.feature("place of " + action)
    here = E(f"{to}[{slots(0, len(at))}]", at, d.kind)
    left = f"{to}[{slots(0, len(at))}]"
    n = len(at)
    if action in "+-":
        return [S(f"{left} {action}= {{{n}}}", [*at, e])]
    if action == "*":
        factor = E(d.argument("pf", d.kind, [P], "factor") + "[{0}]", [named("pi")], d.kind)
        return [S(f"{left} *= {{{n}}}", [*at, factor])]
    if action == "count":
        return [S(f"{left} += {{{n}}}", [*at, literal(1)])]
    if action == "put" and n == 1:
        if all(f.name != "pput" for f in d.made.helpers):
            bodies = ([S("r[k] += v")], [S("at = k"), S("r[at] += v")])
            d.made.helpers.append(Function("pput", ["r", "k", "v"], d.rng.choice(bodies)))
        return [S(f"pput({to}, {{0}}, {{1}})", [*at, e])]
    if action == "selection" and n == 1:
        if all(a.name != "pt" for a in d.made.outputs):
            declare(d, "pt", "int64", [B])
        test = E(f"({{0}} {d.rng.choice(('<', '<=', '>', '>='))} {{1}})", [e, here], "truth")
        chosen = [S(f"{left} = {{1}}", [*at, e]), S("pt[{0}] = {1}", [*at, named("pi")])]
        return [S("if {0}:", [test], [chosen])]
    forms = {"turned": "({1} + {0})", "min": "min({0}, {1})", "max": "max({0}, {1})"}
    new = E(forms.get(action, "({0} + {1})"), [here, e], d.kind)
    return [S(f"{left} = {{{n}}}", [*at, new])]


def guarded(d: Drawing, body: list[S]) -> list[S]:
    """Some iterations add nothing, or end the loop early."""
    pick = d.rng.random()
    if pick < 0.1:
        test = E(f"({{0}} {d.rng.choice(COMPARE)} {{1}})", [d.element(), literal(0)], "truth")
        return [S("if {0}:", [test], [body])]
    if pick < 0.2:
        test = E("({0} % {1} != {2})", [named("pi"), literal(3), literal(1)], "truth")
        return [S("if {0}:", [test], [body])]
    if pick < 0.25:
        test = E("({0} == {1})", [named("pi"), literal(d.rng.choice((3, 70, 150)))], "truth")
        return [S("if {0}:", [test], [[S(d.rng.choice(("break", "continue")))]]), *body]
    return body


def head(d: Drawing) -> list[S]:
    """The loop over the elements; a while needs a step at its end."""
    n = E("pa.shape[0]", [], "wi")
    pick = d.rng.random()
    if pick < 0.7:
        return [S("for pi in range({0}):", [n])]
    if pick < 0.78:
        return [S("for pi in range({0} - {1}, {2}, {2}):", [n, literal(1), literal(-1)])]
    if pick < 0.84:
        return [S("for pi in range({1}, {0}, {2}):", [n, literal(0), literal(2)])]
    word = d.rng.choice(("parallel", "vectorize", "reduce", "serial", "unroll"))
    return [S(f"for pi in {word}({{0}}):", [n])]


def scatter(d: Drawing) -> list[S]:
    """One or two accumulations in one loop over the elements, or in two loops."""
    bins(d)
    wide = d.chance(0.25)
    dims = [B, B] if wide else [B]
    declare(d, "ph", d.kind, dims)
    found = [gen_places.place(d) for _ in dims]
    if wide and d.chance(0.3):
        found[d.rng.randrange(2)] = Place(E("{0} % {1}", [named("pi"), d.bins], "wi"))
    if wide:
        d.feature("place in two dimensions")
    at = [p.sub for p in found]
    if d.chance(0.1) and not wide:
        return product(d, found)
    if d.chance(0.3):
        return nested(d, found, at)
    body = guarded(d, update(d, "ph", at, term(d)))
    if d.chance(0.25):
        d.feature("two sums at places")
        more = gen_places.place(d)
        found.append(more)
        body += guarded(d, update(d, "ph", [more.sub, *at[1:]], term(d)))
    loops = wrapped(head(d), joined(found, body))
    if d.chance(0.1):
        loops = [S("for pj in range({0}):", [literal(2)], [loops])]
    return before(found) + loops


def before(found: list[Place]) -> list[S]:
    return [s for p in found for s in p.before]


def joined(found: list[Place], body: list[S]) -> list[S]:
    """The statements of an iteration; a cursor moves on behind the accumulation."""
    return [*(s for p in found for s in p.first), *body, *(s for p in found for s in p.last)]


def nested(d: Drawing, found: list[Place], at: list[E]) -> list[S]:
    """`s = seg[i]` around an inner loop, or the inner loop around all of it."""
    d.feature("place outside of an inner loop")
    e = E(d.data("pm", (P, Q)) + "[{0}, {1}]", [named("pi"), named("pj")], d.kind)
    inner = S("for pj in range({0}):", [E("pm.shape[1]", [], "wi")])
    body = update(d, "ph", at, e)
    if d.chance(0.3):
        inner.blocks = [joined(found, body)]
        return before(found) + wrapped(head(d), [inner])
    if d.chance(0.2):
        inner.blocks = [wrapped(head(d), joined(found, body))]
        return [*before(found), inner]
    inner.blocks = [body]
    return before(found) + wrapped(head(d), joined(found, [inner]))


def product(d: Drawing, found: list[Place]) -> list[S]:
    """A sparse matrix in coordinates times a vector."""
    d.feature("sparse product")
    x = E(d.argument("px", d.kind, [B], d.content) + "[{0}]", [d.keys()], d.kind)
    body = [S("ph[{0}] += {1} * {2}", [found[0].sub, d.element(), x])]
    return before(found) + wrapped(head(d), joined(found, body))


def pointed(d: Drawing) -> list[S]:
    """Sums in a temporary at a place in one argument, which the loop changes through another one."""
    d.feature("place in what another argument changes")
    bins(d)
    declare(d, "ph", d.kind, [B])
    form = f"pacc = allocate(({{0}},), '{d.kind}'"
    d.top.append(S(form + ")", [d.bins], [], form + ", 'pacc')"))
    key = d.keys()
    keys = next(a for a in d.made.args if a.name == "pk")
    keys.content, keys.layout = "index", "C"
    layout = d.rng.choice(("shifted", "before"))
    d.made.args.append(Arg("zk", keys.dtype, [P], layout, "index", partner="pk", limit=B, number=keys.number))
    d.made.main.params.append("zk")
    d.made.main.returns += ["zk", "pk"]
    first = E("pk[0]", [], key.type, "pk[N(0)]")
    sub, before = (named("place", key.type), [assigned("place", first)]) if d.chance(0.5) else (first, [])
    k = d.rng.choice((0, 0, 1))
    new = E("(({0} // {2}) % {1})", [named("pi"), d.bins, literal(d.rng.choice((1, 30, 100)))], "wi")
    move = S(f"zk[{k}] = {{0}}", [new], [], f"zk[N({k})] = {{0}}")
    body = [*before, S("pacc[{0}] += {1}", [sub, d.element()]), move]
    copy = S("for pj in range({0}):", [d.bins], [[S("ph[pj] = pacc[pj]")]])
    return [*wrapped(head(d), body), copy]


def overlapped(d: Drawing) -> list[S]:
    """Accumulations into an argument that shares memory with the data."""
    d.feature("place in what overlaps the data")
    data = next(a for a in d.made.args if a.name == "pa")
    data.layout = "C"
    d.made.args.append(
        Arg("zz", d.kind, [P], d.rng.choice(OVERLAPS), d.content, partner="pa", number=data.number)
    )
    d.made.main.params.append("zz")
    d.made.main.returns.append("zz")
    d.feature("overlap " + d.made.args[-1].layout)
    if d.chance(0.4):
        found = Place(literal(0)) if d.chance(0.5) else gen_places.invariant(d)
    else:
        found = gen_places.place(d)
    if found.sub.const is not None:
        found.sub = E("0", [], "wi", "N(0)")
    body = guarded(d, update(d, "zz", [found.sub], d.element()))
    return before([found]) + wrapped(head(d), joined([found], body))
