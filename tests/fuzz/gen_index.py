"""Loops over index arrays: subscripts within subscripts, loaded and stored through, guarded or not.

Guards come right and half right, so that a bad element must be told by the access that reads it. The
subscripts themselves are drawn by gen_expr.
"""

from __future__ import annotations

from gen_expr import COMPARE, Scope, Tensor, cast, gathered, index, is_index, literal, tame, value, weak_int
from gen_stmt import bounds, new_loop, store
from program import Dim, E, S, slots
from scalar_types import LIMITS, is_bool, is_float, is_weak, promote

GUARDS = ("none", "none", "if", "if", "else", "and", "or", "ternary", "jump", "while", "local", "unread")


def nest(s: Scope, size: int) -> list[S]:
    """One to three loops, mostly over extents of index arrays, around statements that gather and scatter."""
    rng = s.rng
    arrays = [t for t in s.tensors if is_index(t) and t.dims]
    if not arrays or len(s.loops) >= 3:
        return [statement(s)]
    inner = s.inner()
    var = new_loop(s)
    dims = rng.choice(arrays).dims if s.chance(0.8) else [d for t in s.tensors for d in t.dims]
    args, inner.loops[var], feature = bounds(s, rng.choice(dims))
    s.features |= {"loop over an index array", feature}
    body: list[S] = []
    for _ in range(rng.randint(1, max(size, 1))):
        links = chain(inner) if s.chance(0.3) else []
        if links:
            body += links
        elif s.chance(0.3) and size > 1:
            body += nest(inner, size - 1)
        elif s.chance(0.15):
            body.append(store(inner))
        else:
            body.append(statement(inner))
    loops = [S(f"for {var} in range({{0}}):", [args], [body])]
    if s.chance(0.1):
        return [S("if {0}:", [comparison(s)], [loops])]
    return loops


def chain(s: Scope) -> list[S]:
    """An element through two index arrays, `x[q[p[i]] + j]` with an inner loop over j, none of it guarded."""
    rng = s.rng
    links = [
        (x, q, p)
        for q in s.tensors
        for p in s.tensors
        for x in s.tensors
        if q.limit and len(q.dims) == len(p.dims) == len(x.dims) == 1 and x.dims[0] == q.limit
        if p.limit == q.dims[0]
    ]
    if not links or len(s.loops) > 3:
        return []
    x, q, p = rng.choice(links)
    s.features |= {"chain of index arrays", "gather in a gather"}
    sub = E(f"{q.name}[{p.name}[{{0}}]]", [index(s, p.dims[0], 0)], q.dtype)
    var = new_loop(s)
    inner = s.inner()
    count = literal(rng.randint(1, 2)) if s.chance(0.6) else weak_int(s, 0)
    inner.loops[var] = None
    w = rng.choice([w for w in s.tensors if w.writable])
    where = [index(s, d, 0) for d in w.dims]
    if s.chance(0.2):
        s.features.add("subscript in a local")
        first = [S("z_ = {0}", [sub])]
        at = E(f"z_ + {var}", [], q.dtype)
    else:
        first, at = [], E(f"{{0}} + {var}", [sub], q.dtype)
    if x.writable and s.chance(0.3):
        action = put(s, x, [at], value(s, 0))
    else:
        action = put(s, w, where, E(f"{x.name}[{{0}}]", [at], x.dtype))
    return [*first, S(f"for {var} in range({{0}}):", [count], [[action]])]


def comparison(s: Scope) -> E:
    form = f"({{0}} {s.rng.choice(COMPARE)} {{1}})"
    return E(form, [weak_int(s, 1), literal(s.rng.randint(0, 3))], "truth")


def inside(s: Scope, e: E, d: Dim) -> E:
    """A test that e is a subscript of an extent, or half of such a test."""
    n = s.size(d)
    pick = s.rng.random()
    if pick < 0.2:
        s.features.add("half a guard")
        return E("({0} < {1})", [e, n], "truth")
    if pick < 0.25:
        return E("({0} >= {1})", [e, literal(0)], "truth")
    if pick < 0.6:
        return E("({2} <= {0} < {1})", [e, n, literal(0)], "truth")
    if pick < 0.8:
        return E("({0} >= {2} and {0} < {1})", [e, n, literal(0)], "truth")
    return E("(not ({0} < {2} or {0} >= {1}))", [e, n, literal(0)], "truth")


def fitted(s: Scope, w: Tensor, e: E) -> E:
    """A value as it may be stored."""
    if e.const is not None or (is_float(e.type) and not is_float(w.dtype)):
        return cast(s, w.dtype, tame(s, e))
    if is_weak(e.type) and w.dtype in LIMITS:
        return E("({0} & 63)", [e], "wi")
    return cast(s, "bool", e) if is_bool(w.dtype) and is_weak(e.type) else e


def put(s: Scope, w: Tensor, at: list[E], e: E) -> S:
    """A store, sometimes an addition."""
    form = f"{w.name}[{slots(0, len(at)) or '()'}]"
    e = fitted(s, w, e)
    add = s.chance(0.25) and not is_bool(w.dtype) and promote(w.dtype, e.type) == w.dtype
    return S(f"{form} {'+=' if add else '='} {{{len(at)}}}", [*at, e])


def places(s: Scope, t: Tensor, sub: E, k: int) -> list[E]:
    """Subscripts of a tensor, of which number k is given."""
    return [sub if n == k else index(s, d, 1) for n, d in enumerate(t.dims)]


def statement(s: Scope) -> S:
    """One access through an index array, behind some guard."""
    rng = s.rng
    wide = [t for t in s.tensors if t.dims]
    writable = [t for t in s.tensors if t.writable]
    into = [t for t in writable if t.dims]
    scatter = bool(into) and s.chance(0.4)
    t = rng.choice(into if scatter else wide)
    k = rng.randrange(len(t.dims))
    sub = gathered(s, t.dims[k], 2, s.chance(s.raw))
    at = places(s, t, sub, k)
    read = E(f"{t.name}[{slots(0, len(at))}]", at, t.dtype)
    w = rng.choice(writable)
    where = [index(s, d, 1) for d in w.dims]
    if scatter:
        s.features.add("scatter")
        action = put(s, t, at, value(s, 1))
    else:
        action = put(s, w, where, read)
    guard = rng.choice(GUARDS)
    s.features.add("indexed " + guard)
    return guarded(s, guard, action, sub, t.dims[k], read, w, where)


def guarded(s: Scope, guard: str, action: S, sub: E, d: Dim, read: E, w: Tensor, where: list[E]) -> S:
    """The action behind a guard; `read` is the element that it is about, `w[where]` a place to write."""
    test = inside(s, sub, d)
    truth = E("({0} != {1})", [read, literal(0)], "truth")
    if guard == "if":
        return S("if {0}:", [test], [[action]])
    if guard == "else":
        return S("if {0}:", [E("(not {0})", [test], "truth")], [[S("pass")], [action]])
    if guard == "and":
        both = E("({0} and {1})", [test, truth], "truth")
        return S("if {0}:", [both], [[action]])
    if guard == "or":
        either = E("((not {0}) or {1})", [test, truth], "truth")
        return S("if {0}:", [either], [[put(s, w, where, literal(1))]])
    if guard == "ternary":
        zero = cast(s, read.type, literal(0))
        form = "({0} if {2} else {1})"
        return put(s, w, where, E(form, [read, zero, test], read.type, f"M({read.type!r}, {form[1:-1]})"))
    if guard == "jump" and s.loops and not any(name.startswith("e[") for name in s.loops):
        leave = S("if {0}:", [E("(not {0})", [test], "truth")], [[S(s.rng.choice(("continue", "break")))]])
        return S("if {0}:", [E("True", [], "truth")], [[leave, action]])
    name = next((n for n in ("c5", "c6", "c7") if n not in s.locals), "")
    if guard == "while" and name:
        return counted(s, name, action, test, truth)
    if guard == "local":
        return S("if {0}:", [E("True", [], "truth")], [by_local(s, sub, d, w, where)])
    if guard == "unread":
        return S("u_ = {0}", [read])
    return action


def counted(s: Scope, name: str, action: S, test: E, truth: E) -> S:
    """A while whose condition reads the element, behind a guard."""
    limit = s.rng.randint(1, 3)
    both = E(f"({name} < {limit} and {{0}} and {{1}})", [test, truth], "truth")
    both.ref = both.form.replace(f"{limit}", f"L({limit})", 1) if name[-1] != str(limit) else ""
    step = S(f"{name} += 1", [], [], f"{name} += L(1)")
    start = S(f"{name} = 0", [], [], f"{name} = L(0)")
    loop = S("while {0}:", [both], [[step, action]])
    return S("if {0}:", [E("True", [], "truth")], [[start, loop]])


def by_local(s: Scope, sub: E, d: Dim, w: Tensor, where: list[E]) -> list[S]:
    """The subscript in a local, used by an inner loop or by several accesses."""
    rng = s.rng
    name = f"z{len(s.loops)}"
    near = [t for t in s.tensors if len(t.dims) == 1 and t.dims[0] == d]
    if not near:
        return [put(s, w, where, sub)]
    s.features.add("subscript in a local")
    assign = S(f"{name} = {{0}}", [sub])
    z = E(name, [], sub.type)
    t = rng.choice(near)
    if is_weak(sub.type) or s.chance(0.5):
        body = put(s, w, where, E(f"{t.name}[{{0}}]", [z], t.dtype))
        return [assign, S("if {0}:", [inside(s, z, d)], [[body]]) if s.chance(0.5) else body]
    var = new_loop(s)
    at = E(f"{{0}} + {var}", [z], sub.type)
    body = put(s, w, where, E(f"{t.name}[{{0}}]", [at], t.dtype))
    return [assign, S(f"for {var} in range({{0}}):", [literal(rng.randint(0, 2))], [[body]])]
