"""Reductions: sums, products, minima and maxima over one or two loops, in a local or in an element.

Every floating type accumulates, from special starts too, so that each order of sums meets zeros and NaN.
Draws no other statements.
"""

from __future__ import annotations

from gen_expr import COMPARE, Scope, Tensor, cast, literal, load
from gen_stmt import bounds, new_loop
from program import Dim, E, S, slots
from scalar_types import FLOATS, arithmetic, is_bool, is_float, is_weak, promote


def start(s: Scope, t: str) -> E:
    """What an accumulator of a type holds at first."""
    if not is_float(t):
        return cast(s, t, literal(s.rng.randint(0, 3)))
    pick = s.rng.random()
    if pick < 0.5:
        return cast(s, t, literal(0.0))
    one, zero = literal(1.0), literal(0.0)
    if pick < 0.7:
        infinite = E("({0} / {1})", [cast(s, t, one), cast(s, t, zero)], t)
        return E("(-{0})", [infinite], t) if s.chance(0.5) else infinite
    if pick < 0.75:
        return E("({0} / {0})", [cast(s, t, zero)], t)
    if pick < 0.9:
        return E("(-{0})", [cast(s, t, zero)], t)
    return cast(s, t, literal(-2.5))


def term(s: Scope, t: Tensor, at: list[E], kind: str) -> E:
    """What one iteration adds or compares."""
    e = E(f"{t.name}[{slots(0, len(at))}]", at, t.dtype)
    if is_bool(e.type):
        e = cast(s, "int8", e)
    same = [o for o in s.tensors if o.dims == t.dims and not is_bool(o.dtype)]
    if kind in "+-" and same and s.chance(0.4):
        o = s.rng.choice(same)
        other = E(f"{o.name}[{slots(0, len(at))}]", at, o.dtype)
        s.features.add("sum of products")
        return E("({0} * {1})", [e, other], arithmetic("*", e.type, o.dtype))
    if s.chance(0.1):
        return E("abs({0})", [e], e.type)
    return e


def reduction(s: Scope) -> list[S]:
    """A reduction over the last one or two dimensions of a tensor, or over its first one."""
    rng = s.rng
    given = [t for t in s.tensors if t.dims]
    floats = [t for t in given if is_float(t.dtype)]
    if not given:
        return []
    t = rng.choice(floats if floats and s.chance(0.8) else given)
    kind = rng.choice(("+", "+", "+", "+", "-", "*", "min", "max", "min", "max"))
    s.features.add("reduction " + kind)
    order = list(range(len(t.dims)))
    if s.chance(0.3):
        rng.shuffle(order)
    inner, names = s.inner(), {}
    heads: list[S] = []
    for k in order:
        var = new_loop(inner)
        args, extent = s.size(t.dims[k]), t.dims[k]
        if s.chance(0.15):
            args, found, feature = bounds(inner, extent)
            if found != extent:
                args = s.size(extent)
            else:
                s.features.add(feature)
        inner.loops[var] = extent
        names[k] = var
        heads.append(S(f"for {var} in range({{0}}):", [args]))
    at = [E(names[k], [], "wi") for k in range(len(t.dims))]
    e = term(inner, t, at, kind)
    kept = rng.randint(0, len(heads) - 1)  # loops around the whole sum
    if s.chance(0.5):
        out = by_local(s, inner, kind, e, heads, kept)
    else:
        out = by_element(s, inner, kind, e, heads, [t.dims[k] for k in order], at, order)
    if any(d.size == "N" and s.long for d in t.dims):
        s.features.add("sum in lanes")
    return out


def update(s: Scope, inner: Scope, kind: str, place: str, at: list[E], e: E) -> list[S]:
    """The statement that accumulates, perhaps behind a guard."""
    n = len(at)
    if kind in ("min", "max"):
        form = (
            f"{place} = {kind}({place}, {{{n}}})" if s.chance(0.7) else f"{place} = {kind}({{{n}}}, {place})"
        )
    else:
        form = f"{place} {kind}= {{{n}}}"
    body = [S(form, [*at, e])]
    if s.chance(0.2):
        test = E(f"({{0}} {s.rng.choice(COMPARE)} {{1}})", [e, literal(0)], "truth")
        body = [S("if {0}:", [test], [body])]
    elif s.chance(0.1):
        var = s.rng.choice(list(inner.loops))
        body = [S("if {0}:", [E(f"({var} % 2 == {{0}})", [literal(1)], "truth")], [body])]
    return body


def wrapped(heads: list[S], body: list[S]) -> list[S]:
    for head in reversed(heads):
        head.blocks = [body]
        body = [head]
    return body


def band(s: Scope, heads: list[S], body: list[S]) -> list[S]:
    """The loops of a sum, perhaps with a condition that leaves out iterations of the outer one."""
    if len(heads) < 2 or not s.chance(0.25):
        return wrapped(heads, body)
    s.features.add("guard between loops of a sum")
    outer = heads[0].form.split()[1]
    test = s.rng.choice(
        (f"{outer} % 2 == {{0}}", f"{outer} % 3 != {{0}}", f"{outer} <= {{0}}", f"{outer} > {{0}}")
    )
    guard = S("if {0}:", [E(f"({test})", [literal(1)], "truth")])
    return wrapped([heads[0], guard, *heads[1:]], body)


def by_local(s: Scope, inner: Scope, kind: str, e: E, heads: list[S], kept: int) -> list[S]:
    """The sum in a local, stored behind it."""
    name = next((n for n in ("sum0", "sum1", "sum2") if n not in s.locals), "")
    writable = [w for w in s.tensors if w.writable]
    if not name:
        return []
    narrow = is_float(e.type) and s.chance(0.3)
    t = s.rng.choice(FLOATS) if narrow else e.type
    e = e if e.type == t else cast(s, t, e)
    if narrow or is_float(t):
        s.features.add("accumulator of " + t)
    first = S(f"{name} = {{0}}", [start(s, t)])
    w = s.rng.choice(writable)
    place = Scope(s.rng, 0.0, loops={v: r for v, r in list(inner.loops.items())[: len(s.loops) + kept]})
    place.tensors, place.sizes = s.tensors, s.sizes
    target = load(place, w, 0)
    value = E(name, [], t)
    if not is_float(w.dtype) and is_float(t):
        value = cast(s, w.dtype, E("min(max({0}, {1}), {2})", [value, literal(0.0), literal(100.0)], t))
    last = S("{0} = {1}", [target, value])
    body = update(s, inner, kind, name, [], e)
    return wrapped(heads[:kept], [first, *band(s, heads[kept:], body), last])


def by_element(
    s: Scope, inner: Scope, kind: str, e: E, heads: list[S], dims: list[Dim], at: list[E], order: list[int]
) -> list[S]:
    """The sum in an element whose subscripts are outer loop variables or constants."""
    body = element(s, inner, kind, e, dims, at, order)
    return band(s, heads, body) if body else []


def element(
    s: Scope, inner: Scope, kind: str, e: E, dims: list[Dim], at: list[E], order: list[int]
) -> list[S]:
    """The statement that accumulates in such an element; nothing without a tensor for it."""
    fits = [
        w
        for w in s.tensors
        if w.writable and (is_float(w.dtype) or not is_float(e.type)) and not is_bool(w.dtype)
    ]
    if not fits:
        return []
    w = s.rng.choice(fits)
    e = e if promote(w.dtype, e.type) == w.dtype or is_weak(e.type) else cast(s, w.dtype, e)
    subs = []
    for d in w.dims:
        found = [at[k] for k, extent in zip(order, dims, strict=True) if extent == d]
        if found and s.chance(0.6):
            subs.append(s.rng.choice(found))
        elif not d.size and d.plus > 0:
            subs.append(E("0", [], "wi", "N(0)"))
        else:
            subs.append(E("0 % {0}", [s.size(d)], "wi", "L(0) % {0}"))
    if is_float(w.dtype):
        s.features.add("accumulator of " + w.dtype)
    return update(s, inner, kind, f"{w.name}[{slots(0, len(subs)) or '()'}]", subs, e)
