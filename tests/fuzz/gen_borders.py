"""Loops whose first and last iterations see neighbours that are not there.

The neighbours are wrapped, clamped, left out by a guard or treated in a branch of their own, by one to three
places, in any loop of the nest, between tensors of the same shape or in place. Draws no other statements.
"""

from __future__ import annotations

from gen_expr import Scope, Tensor, cast, literal, tame, value
from gen_stmt import new_loop
from gen_sums import wrapped
from program import Dim, E, S, slots
from scalar_types import is_bool

REACH = (-3, -2, -1, -1, 1, 1, 2, 3)


def moved(s: Scope, it: E, by: int, d: Dim, kind: str) -> E:
    """The place `by` further, in the range or, for "guard", anywhere."""
    at = E("({0} + {1})", [it, literal(by)], "wi") if by > 0 else E("({0} - {1})", [it, literal(-by)], "wi")
    if kind == "wrap":
        return E("({0} % {1})", [at, s.size(d)], "wi")
    if kind == "clamp":
        last = E("({0} - {1})", [s.size(d), literal(1)], "wi")
        return E("min(max({0}, {1}), {2})", [at, literal(0), last], "wi")
    return at


def guard(s: Scope, at: E, d: Dim) -> E:
    """True where the place is in the range; written in one of several ways."""
    forms = (
        "({0} >= {1} and {0} < {2})",
        "({1} <= {0} < {2})",
        "(not ({0} < {1} or {0} >= {2}))",
        "({0} > {1} - 1 and {2} - 1 >= {0})",
    )
    return E(s.rng.choice(forms), [at, literal(0), s.size(d)], "truth")


def borders(s: Scope) -> list[S]:
    """`w[i] = t[(i + 1) % n] + …`, with or without branches for the ends."""
    rng = s.rng
    targets = [t for t in s.tensors if t.writable and t.dims and not is_bool(t.dtype)]
    if not targets:
        return []
    s.features.add("borders")
    w: Tensor = rng.choice(targets)
    sources = [t for t in s.tensors if t.dims == w.dims]
    inner, heads, places = s.inner(), [], []
    for d in w.dims:
        var = new_loop(inner)
        inner.loops[var] = d
        heads.append(S(f"for {var} in range({{0}}):", [s.size(d)]))
        places.append(E(var, [], "wi"))
    here = f"{w.name}[{slots(0, len(places))}]"
    term = value(inner, 2)
    guards: list[E] = []
    for _ in range(rng.randint(1, 4)):
        t, k = rng.choice(sources), rng.randrange(len(places))
        kind = rng.choice(("wrap", "clamp", "guard"))
        at = moved(s, places[k], rng.choice(REACH), w.dims[k], kind)
        if kind == "guard":
            guards.append(guard(s, at, w.dims[k]))
        near = E(f"{t.name}[{slots(0, len(places))}]", [*places[:k], at, *places[k + 1 :]], t.dtype)
        term = E("({0} + {1})", [cast(s, w.dtype, tame(inner, term)), cast(s, w.dtype, near)], w.dtype)
    new = S(f"{here} = {{{len(places)}}}", [*places, cast(s, w.dtype, tame(inner, term))])
    if not guards:
        return wrapped(heads, [new])
    test = guards[0]
    for other in guards[1:]:
        test = E("{0} and {1}", [test, other], "truth")
    if rng.random() < 0.3:
        return wrapped(heads, [S("if not ({0}):", [test], [[S("continue")]]), new])
    body = S("if {0}:", [test], [[new]])
    if rng.random() < 0.5:
        other = S(f"{here} = {{{len(places)}}}", [*places, cast(s, w.dtype, value(inner, 1))])
        body = S("if {0}:", [test], [[new], [other]])
    return wrapped(heads, [body])
