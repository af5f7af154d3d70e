"""Conditions around loops: on a local or on memory that the block below changes, and such as hold nowhere.

The loop below a condition of the first kind has iterations that depend on each other by what is read anew.
The sum below one of the second kind has no element. Draws no other statements.
"""

from __future__ import annotations

from gen_expr import Scope, Tensor, cast, literal, tame, value
from gen_stmt import new_loop
from gen_sums import wrapped
from program import E, S, slots
from scalar_types import is_bool, is_float

FARTHEST = 3  # what the changing number comes to


def targets(s: Scope) -> list[Tensor]:
    return [t for t in s.tensors if t.writable and t.dims and not t.limit and not is_bool(t.dtype)]


def changing(s: Scope) -> list[S]:
    """`if p[0] == 0: p[0] = 1; for i in …: w[i + p[0]] = w[i] + …`, or the change behind the loop."""
    if not targets(s):
        return []
    s.features.add("condition on what changes")
    in_memory = s.chance(0.6)
    if in_memory:
        form = "moved = allocate(({0},), 'int64'"
        start = [S(form + ")", [literal(2)], [], form + ", 'moved')")]
        start.append(S("moved[0] = {0}", [literal(0)], [], "moved[N(0)] = {0}"))
        now, stored = E("moved[0]", [], "int64", "moved[N(0)]"), ("moved[0]", "moved[N(0)]")
    else:
        start = [S("moved = {0}", [literal(0)])]
        now, stored = E("moved", [], "wi"), ("moved", "moved")
    step = "+=" if s.chance(0.5) else "="
    change = S(f"{stored[0]} {step} {{0}}", [literal(1)], [], f"{stored[1]} {step} {{0}}")
    loop = moving(s, now)
    if s.chance(0.3):
        s.features.add("condition on what changes behind the loop")
        change = S(f"{stored[0]} += {{0}}", [literal(1)], [], f"{stored[1]} += {{0}}")
        block = [S("for again in range({0}):", [literal(FARTHEST)], [[*loop, change]])]
    else:
        block = [change, *loop]
    test = under(s, now, block)
    if s.chance(0.3):
        test = [S("for again0 in range({0}):", [literal(2)], [test])]
    return start + test


def under(s: Scope, now: E, block: list[S]) -> list[S]:
    """The block under a condition that holds at first."""
    forms = ("{0} == {1}", "{0} < 1", "not ({0} != {1})", "{0} <= {1} and {0} >= {1}", "{1} >= {0}")
    if s.chance(0.2):
        return [S("if {0}:", [E("{0} > {1}", [now, literal(0)], "truth")], [[S("pass")], block])]
    form = s.rng.choice(forms)
    return [S("if {0}:", [E(form, [now, literal(0)], "truth", form.replace(" 1", " L(1)"))], [block])]


def moving(s: Scope, now: E) -> list[S]:
    """Loops over all of a tensor but the last places of one dimension, which store that much further."""
    w = s.rng.choice(targets(s))
    along = s.rng.randrange(len(w.dims))
    inner, heads, here = s.inner(), list[S](), list[E]()
    for k, d in enumerate(w.dims):
        var = new_loop(inner)
        inner.loops[var] = d
        size = s.size(d)
        end = E("({0} - {1})", [size, literal(FARTHEST)], "wi") if k == along else size
        heads.append(S(f"for {var} in range({{0}}):", [end]))
        here.append(E(var, [], "wi"))
    there = [E("{0} + {1}", [here[k], now], "wi") if k == along else here[k] for k in range(len(here))]
    n = len(here)
    read = E(f"{w.name}[{slots(0, n)}]", here, w.dtype)
    more = cast(s, w.dtype, tame(inner, value(inner, 1)))
    new = E("({0} + {1})", [read, more], w.dtype)
    return wrapped(heads, [S(f"{w.name}[{slots(0, n)}] = {{{n}}}", [*there, new])])


def missing(s: Scope) -> list[S]:
    """A sum over several loops into an element that does not exist, with a guard that never holds."""
    rng = s.rng
    rows = [t for t in targets(s) if len(t.dims) == 1 and is_float(t.dtype)]
    sources = [t for t in s.tensors if t.dims and is_float(t.dtype)]
    if not rows or not sources:
        return []
    s.features.add("guard around what does not exist")
    w, t = rng.choice(rows), rng.choice(sources)
    size = s.size(w.dims[0])
    beyond = literal(rng.choice((0, 1, 1 << 40, 1 << 50)))
    start = [S("beyond = {0} + {1}", [size, beyond])]
    inner, heads, at = s.inner(), [S("for row in range({0}):", [literal(rng.choice((1, 3, 70)))])], list[E]()
    for d in t.dims:
        var = new_loop(inner)
        inner.loops[var] = d
        heads.append(S(f"for {var} in range({{0}}):", [s.size(d)]))
        at.append(E(var, [], "wi"))
    e = cast(s, w.dtype, E(f"{t.name}[{slots(0, len(at))}]", at, t.dtype))
    where = rng.randint(1, len(heads))
    test = E(rng.choice(("beyond < {0}", "{0} > beyond", "not beyond >= {0}")), [size], "truth")
    heads.insert(where, S("if {0}:", [test]))
    return start + wrapped(heads, [S(f"{w.name}[beyond] += {{0}}", [e])])


def guards(s: Scope) -> list[S]:
    return changing(s) if s.chance(0.7) else missing(s)
