"""Loops that vector registers run in forms of their own: selections, whiles in independent iterations, and
iterations that meet in one element.

A selection keeps the best of what a loop visits with what belongs to it; a while ends at another time in each
iteration. Draws no other statements.
"""

from __future__ import annotations

from gen_expr import Scope, Tensor, cast, condition, index, literal, load, tame, value
from gen_stmt import block, bounds, new_loop
from gen_sums import start, wrapped
from program import E, S, slots
from scalar_types import is_bool, is_float

ORDERS = ("<", "<=", ">", ">=")


def kept_value(e: E, dtype: str) -> E:
    """A number of any type as one that a tensor's dtype can take in CPython."""
    if is_float(dtype) or (is_bool(dtype) and not is_float(e.type)):
        return e
    if is_float(e.type):
        e = E("int(min(max({0}, {1}), {2}))", [e, literal(0.0), literal(100.0)], "wi")
    return E("({0} & 63)", [e if e.type == "wi" else E("int({0})", [e], "wi")], "wi")


def keep(s: Scope, e: E) -> S:
    """A store of a local into some element."""
    w: Tensor = s.rng.choice([t for t in s.tensors if t.writable])
    kids = [index(s, d, 0) for d in w.dims]
    return S(f"{w.name}[{slots(0, len(kids)) or '()'}] = {{{len(kids)}}}", [*kids, kept_value(e, w.dtype)])


def selection(s: Scope) -> list[S]:
    """`if x < best: best = x; at = i`, in either order, with either side first, behind a guard or not."""
    rng = s.rng
    given = [t for t in s.tensors if t.dims and not is_bool(t.dtype)]
    if not given or "best0" in s.locals:
        return []
    s.features.add("selection")
    t = rng.choice(given)
    inner, heads, names = s.inner(), [], []
    for d in t.dims:
        var = new_loop(inner)
        args, extent = s.size(d), d
        if s.chance(0.25):
            args, found, _ = bounds(inner, d)
            args, extent = (args, d) if found == d else (s.size(d), d)
        inner.loops[var] = extent
        names.append(var)
        heads.append(S(f"for {var} in range({{0}}):", [args]))
    e = load_at(t, names)
    kind = t.dtype
    if s.chance(0.2):
        e = E("abs({0})", [e], kind)
    best, at, more = E("best0", [], kind), E("at0", [], "wi"), E("more0", [], "wi")
    order = rng.choice(ORDERS)
    sides = [e, best] if s.chance(0.6) else [best, e]
    taken = [S("best0 = {0}", [e])]
    first = [S("best0 = {0}", [start(s, kind)]), S("at0 = 0", [], [], "at0 = L(0)")]
    if s.chance(0.85):
        taken.insert(rng.randint(0, 1), S("at0 = {0}", [E(names[-1], [], "wi")]))
    if s.chance(0.3):
        first.append(S("more0 = 7", [], [], "more0 = L(7)"))
        taken.append(
            S("more0 = {0}", [E("({0} * 3 + 1)", [E(names[-1], [], "wi")], "wi", "({0} * L(3) + L(1))")])
        )
    body = [S("if {0}:", [E(f"({{0}} {order} {{1}})", sides, "truth")], [taken])]
    if s.chance(0.25):
        body = [S("if {0}:", [condition(inner, 1)], [body])]
    out_of = rng.randint(0, len(heads) - 1)  # loops around the whole selection
    place = s.inner()
    place.loops |= {v: inner.loops[v] for v in names[:out_of]}
    last = [keep(place, best), keep(place, at)]
    if len(first) == 3:
        last.append(keep(place, more))
    return wrapped(heads[:out_of], [*first, *wrapped(heads[out_of:], body), *last])


def load_at(t: Tensor, names: list[str]) -> E:
    return E(f"{t.name}[{slots(0, len(names))}]", [E(n, [], "wi") for n in names], t.dtype)


def escapes(s: Scope) -> list[S]:
    """Each element of a tensor by a while of its own, with jumps in it."""
    rng = s.rng
    targets = [t for t in s.tensors if t.writable and t.dims]
    if not targets or "turn0" in s.locals:
        return []
    s.features.add("while in each iteration")
    w = rng.choice(targets)
    inner, heads, names = s.inner(), [], []
    for d in w.dims:
        var = new_loop(inner)
        inner.loops[var] = d
        names.append(var)
        heads.append(S(f"for {var} in range({{0}}):", [s.size(d)]))
    alike = [t for t in s.tensors if t.dims == w.dims and not is_bool(t.dtype)]
    kind = rng.choice(("float32", "float32", "float64", "int32", "int64"))
    first = load_at(rng.choice(alike), names) if alike else load(inner, w, 0)
    x = E("x0", [], kind)
    turn = E("turn0", [], "wi")
    limit = literal(rng.randint(1, 7))
    if s.chance(0.5):
        limit = E("({0} % {1})", [E(rng.choice(names), [], "wi"), literal(rng.randint(2, 6))], "wi")
    small = E(
        f"({{0}} * {{0}} {rng.choice(('<', '<=', '!='))} {{1}})", [x, cast(s, kind, literal(9))], "truth"
    )
    test = E("{0} < {1}", [turn, limit], "truth")
    if s.chance(0.7):
        test = E("{0} and {1}", [test, small] if s.chance(0.5) else [test, condition(inner, 1)], "truth")
    inner.fixed = {*inner.fixed, "x0", "turn0"}
    step = cast(s, kind, tame(inner, value(inner, 1)))
    change = S(f"x0 = {{0}} {rng.choice('+-*')} {{1}}", [x, step])
    body = [S("turn0 += 1", [], [], "turn0 += L(1)"), change]
    if s.chance(0.5):
        jump = S(rng.choice(("break", "continue")))
        arm = [jump] if s.chance(0.7) else [S("x0 = {0} + {1}", [x, cast(s, kind, literal(1))]), jump]
        body.insert(1, S("if {0}:", [condition(inner, 1) if s.chance(0.5) else small], [arm]))
    if s.chance(0.15):
        body += block(inner, 1, True)
    made = [
        S("x0 = {0}", [cast(s, kind, tame(inner, first))]),
        S("turn0 = 0", [], [], "turn0 = L(0)"),
        S("while {0}:", [test], [body]),
        S(
            f"{w.name}[{slots(0, len(names))}] = {{{len(names)}}}",
            [*(E(n, [], "wi") for n in names), kept_value(rng.choice((x, turn)), w.dtype)],
        ),
    ]
    return wrapped(heads, made)


def meetings(s: Scope) -> list[S]:
    """`w[i // 2] = max(w[i // 2], …)`: several iterations accumulate into one element, and compute much."""
    rng = s.rng
    targets = [t for t in s.tensors if t.writable and t.dims and not is_bool(t.dtype)]
    if not targets:
        return []
    s.features.add("iterations that meet")
    w = rng.choice(targets)
    inner, heads, places = s.inner(), [], []
    for d in w.dims:
        var = new_loop(inner)
        inner.loops[var] = d
        heads.append(S(f"for {var} in range({{0}}):", [s.size(d)]))
        it = E(var, [], "wi")
        form = rng.choice(("({0} // {1})", "({0} // {1})", "({0} % {1})", ""))
        places.append(E(form, [it, literal(rng.randint(2, 5))], "wi") if form else it)
    place = E(f"{w.name}[{slots(0, len(places))}]", places, w.dtype)
    term = value(inner, 4)
    for _ in range(rng.randint(0, 3)):
        term = E(
            "({0} + {1})", [cast(s, w.dtype, tame(inner, term)), cast(s, w.dtype, value(inner, 2))], w.dtype
        )
    new = cast(s, w.dtype, tame(inner, term))
    change = E(rng.choice(("max({0}, {1})", "min({0}, {1})", "({0} + {1})")), [place, new], w.dtype)
    return wrapped(heads, [S(f"{w.name}[{slots(0, len(places))}] = {{{len(places)}}}", [*places, change])])
