"""Random statements: stores, locals, branches, loops of every kind, jumps.

`block` fills a block of a scope; what it may use of expressions stands in gen_expr. Declares no arguments.
"""

from __future__ import annotations

import gen_locals
from gen_expr import (
    COMPARE,
    Scope,
    Tensor,
    any_literal,
    cast,
    condition,
    index,
    literal,
    tame,
    value,
    weak_int,
)
from program import Dim, E, S, slots
from scalar_types import DTYPES, LIMITS, arithmetic, is_bool, is_float, is_weak, promote

HINTS = ("serial", "parallel", "vectorize", "unroll", "reduce")
LOOPS = "ijkpq"
# bounds by an outer loop variable {0} and an extent {1}: the inner one stays in the extent x or n
TRIANGLES = (
    ("{0} + 1", "x"),
    ("{0}", "x"),
    ("0, {0}, 2", "x"),
    ("{0}, -1, -1", "x"),
    ("{0}, {1}", "n"),
    ("{0} + 1, {1}", "n"),
    ("{0}, {1}, 3", "n"),
    ("{1} - {0}", "n"),
    ("{1} - 1, {0} - 1, -1", "n"),
    ("{0}, {0} + 2", ""),
    ("{0} // 2, {0} + 1", ""),
)


def block(s: Scope, size: int, jumps: bool = False) -> list[S]:
    """Up to `size` statements; `jumps` allows break and continue."""
    out: list[S] = []
    for _ in range(s.rng.randint(1, max(1, size))):
        out += statement(s, size, jumps)
    return out


def statement(s: Scope, size: int, jumps: bool) -> list[S]:
    pick = s.rng.random()
    if pick < 0.30:
        return [store(s)]
    if pick < 0.34:
        return procedure(s) or [store(s)]
    if pick < 0.38:
        return gen_locals.merge(s) or [store(s)]
    if pick < 0.40:
        return gen_locals.tuples(s)
    if pick < 0.53:
        return gen_locals.assign(s) or [store(s)]
    if pick < 0.62 and size > 1:
        return branch(s, size, jumps)
    if pick < 0.66 and jumps:
        s.features.add("break/continue")
        return [S("if {0}:", [condition(s, 2)], [[S(s.rng.choice(("break", "continue")))]])]
    if pick < 0.70 and size > 1 and len(s.loops) < s.nest:
        return loop_while(s, size)
    if pick < 0.72:
        return [S("pass")]
    if size > 1 and len(s.loops) < s.nest:
        return loop(s, size) if s.chance(0.7) else accumulate(s, size)
    return [store(s)]


def store(s: Scope) -> S:
    """An element assigned, also by an augmented assignment."""
    rng = s.rng
    t = rng.choice([t for t in s.tensors if t.writable])
    kids = [index(s, d, 2) for d in t.dims]
    at = slots(0, len(kids)) or "()"
    e = value(s, s.depth)
    n = len(kids)
    if s.chance(0.25):
        ops = ["+", "-", "*"] + (["/", "//", "%"] if s.chance(0.4) else [])
        if not is_float(promote(t.dtype, e.type)):
            ops += ["&", "|", "^"]
        if is_bool(promote(t.dtype, e.type)):
            ops.remove("-")
        op = rng.choice(ops)
        if e.const is not None:
            e = any_literal(s, t.dtype)
            op = "+"
        s.features.add("augmented store")
        stored = arithmetic(op, t.dtype, e.type)
        if is_float(stored) and not is_float(t.dtype):
            op = "+"
        e = literal(2) if s.exact and op == "/" else e
        return S(f"{t.name}[{at}] {op}= {{{n}}}", [*kids, e])
    if is_bool(t.dtype) and s.chance(0.6):
        e = condition(s, 2, True)
    if t.dtype in LIMITS:
        if is_float(e.type):
            e = tame(s, e)
        elif e.const is not None:
            e = any_literal(s, t.dtype)
        elif is_weak(e.type) and not s.chance(s.wild):
            e = E("({0} & 63)", [e], "wi")
    if e.type == "wb" and e.const is None and is_bool(t.dtype):
        e = cast(s, "bool", e)
    return S(f"{t.name}[{at}] = {{{n}}}", [*kids, e])


def procedure(s: Scope) -> list[S]:
    """A call of a helper that writes a tensor."""
    targets = [t for t in s.tensors if t.writable and len(t.dims) == 1]
    if not targets or not s.procedures:
        return []
    s.features.add("helper that writes")
    t = s.rng.choice(targets)
    e = tame(s, value(s, 1))
    e = e if e.type == t.dtype else cast(s, t.dtype, e)
    return [S(f"{s.rng.choice(s.procedures)}({t.name}, {{0}}, {{1}})", [weak_int(s, 1), e])]


def branch(s: Scope, size: int, jumps: bool) -> list[S]:
    """if, elif, else; also the guard that makes an index safe, and conditions that are folded."""
    rng = s.rng
    if s.chance(0.25) and s.loops:
        s.features.add("guard")
        t = rng.choice(s.tensors)
        name = rng.choice(list(s.loops))
        if t.dims:
            d = t.dims[0]
            inner = s.inner()
            shift = rng.randint(1, 2)
            e = E(f"{name} + {shift}", [], "wi", f"{name} + L({shift})")
            test = E("0 <= {0} < {1}", [e, s.size(d)], "truth", "L(0) <= {0} < {1}")
            kids = [e, *(index(inner, x, 1) for x in t.dims[1:])]
            at = slots(0, len(kids))
            w = rng.choice([w for w in s.tensors if w.writable])
            if w.dtype not in LIMITS or not is_float(t.dtype):
                where = [index(inner, x, 1) for x in w.dims]
                to = slots(len(kids), len(where)) or "()"
                return [S("if {0}:", [test], [[S(f"{w.name}[{to}] = {t.name}[{at}]", [*kids, *where])]])]
    if s.chance(0.2):
        s.features.add("folded condition")
        t = rng.choice(s.tensors)
        dead = rng.choice([w for w in s.tensors if w.writable])
        if s.chance(0.4):  # a branch that would not compile
            wrong = ", ".join("0" * (len(dead.dims) + 1))
            test = E(f"{dead.name}.ndim != {len(dead.dims)}", [], "truth")
            blocks = [[S(f"{dead.name}[{wrong}] = {{0}}", [literal(1)])], block(s.inner(), size // 2, jumps)]
            return [S("if {0}:", [test], blocks)]
        texts = [f"{t.name}.ndim == {len(t.dims)}", f"{t.name}.dtype != 'float64'", "True", "False"]
        texts += ["C0 > 2", "C0 > 2"] if "C0" in s.captured else []
        test = E(rng.choice(texts), [], "truth")
    else:
        test = condition(s, 2)
    blocks = [block(s.inner(), size // 2, jumps)]
    if s.chance(0.5):
        inner = s.inner()
        blocks.append(
            branch(inner, size - 1, jumps) if size > 2 and s.chance(0.4) else block(inner, size // 2, jumps)
        )
    return [S("if {0}:", [test], blocks)]


def new_loop(s: Scope) -> str:
    return next(n for n in LOOPS if n not in s.loops)


def bounds(s: Scope, d: Dim) -> tuple[E, Dim | None, str]:
    """The arguments of a range over an extent, the extent that the variable stays in, and what it is."""
    rng = s.rng
    n = s.size(d)
    pick = rng.random()
    outer = [x for x, r in s.loops.items() if r]
    if outer and s.chance(0.35):
        x = rng.choice(outer)
        form, extent = rng.choice(TRIANGLES)
        within = {"x": s.loops[x], "n": d, "": None}[extent]
        return E(form, [E(x, [], "wi"), n], ""), within, "triangular"
    if s.chance(0.03):
        return E(rng.choice(("{0}, {0}", "{0}, 0", "0, {0}, -1", "3, 3", "-2")), [n], ""), d, "empty range"
    if pick < 0.45:
        return E("{0}", [n], ""), d, "range"
    if pick < 0.53:
        return E("{0}, {1}", [literal(rng.randint(0, 2)), n], ""), d, "range with a start"
    if pick < 0.62:
        return E(f"0, {{0}}, {rng.randint(2, 4)}", [n], ""), d, "step"
    if pick < 0.75:
        step = -rng.choice((1, 1, 2, 3))
        return E(f"{{0}} - 1, {{1}}, {step}", [n, literal(-1)], ""), d, "negative step"
    if pick < 0.93:
        return E("min({0}, {1})", [weak_int(s, 1), n], ""), None, "data-dependent bound"
    low = rng.randint(-2, 1)
    return E("{0}, {1}", [literal(low), literal(rng.randint(0, 4))], ""), None, "constant bounds"


def loop(s: Scope, size: int) -> list[S]:
    """A counted loop of some kind."""
    rng = s.rng
    dims = [d for t in s.tensors for d in t.dims] or [Dim("", 3)]
    pick = rng.random()
    if pick < 0.2 and len(s.loops) + 1 < s.nest:
        return grid(s, size)
    inner = s.inner()
    name = new_loop(s)
    if pick < 0.28:
        s.features.add("const_range")
        count = rng.randint(0, 3)
        inner.loops[name] = Dim("", max(count, 1))
        return [S(f"for {name} in const_range({count}):", [], [block(inner, size // 2)])]
    args, extent, feature = bounds(s, rng.choice(dims))
    word = rng.choice(HINTS) if s.chance(0.25) else "range"
    s.features |= {feature, "hint"} if word != "range" else {feature}
    inner.loops[name] = extent
    if s.chance(0.06) and len(s.loops) < 2:
        return [S(f"for {name} in {word}({{0}}):", [args], [temporary(inner, size)])]
    return [S(f"for {name} in {word}({{0}}):", [args], [block(inner, size - 1, True)])]


def temporary(s: Scope, size: int) -> list[S]:
    """A block with a buffer of its own, fresh in each iteration."""
    name = next((n for n in ("t1", "t2", "t3") if all(t.name != n for t in s.tensors)), "")
    if not name:
        return block(s, size - 1, True)
    s.features.add("allocate in a loop")
    d = s.rng.choice([d for d in s.sizes if d.plus == 0] or [Dim("", 3)])
    t = s.rng.choice(DTYPES)
    form = f"{name} = allocate(({{0}},), {t if t in ('bfloat16', 'int8') else repr(t)}"
    s.tensors.append(Tensor(name, t, [d], True))
    made = S(form + ")", [s.size(d)], [], f"{form}, {name!r})")
    return [made, store(s), *block(s, size - 1, True)]


def grid(s: Scope, size: int) -> list[S]:
    """`for i, j in grid(...)`, or a tuple variable used as a whole subscript."""
    rng = s.rng
    inner = s.inner()
    wide = [t for t in s.tensors if len(t.dims) == 2 and t.writable]
    if wide and s.chance(0.45):
        s.features.add("grid tuple variable")
        t = rng.choice(wide)
        for n, d in enumerate(t.dims):
            inner.loops[f"e[{n}]"] = d
        e = value(inner, 2)
        if is_float(e.type) and not is_float(t.dtype):
            e = cast(inner, "int32", tame(inner, e))
        if is_weak(e.type):
            e = cast(inner, "float32" if is_float(t.dtype) else "int64", e)
        op = rng.choice(("=", "=", "+=")) if promote(e.type, t.dtype) == t.dtype else "="
        body = [S(f"{t.name}[e] {op} {{0}}", [e])]
        return [S(f"for e in grid({t.name}.shape):", [], [body])]
    s.features.add("grid")
    dims = rng.sample([d for t in s.tensors for d in t.dims] * 2 or [Dim("", 2)] * 2, 2)
    a = new_loop(s)
    inner.loops[a] = dims[0]
    b = new_loop(inner)
    inner.loops[b] = dims[1]
    head = S(f"for {a}, {b} in grid(({{0}}, {{1}})):", [s.size(d) for d in dims])
    head.blocks = [block(inner, size // 2, True)]
    return [head]


def accumulate(s: Scope, size: int) -> list[S]:
    """A sum or product over a loop in a local that may start weak, and a store of it."""
    rng = s.rng
    s.features.add("accumulator")
    dims = [d for t in s.tensors for d in t.dims] or [Dim("", 3)]
    name = next((n for n in ("acc", "total", "best") if n not in s.locals), "")
    if not name:
        return [store(s)]
    inner = s.inner()
    var = new_loop(s)
    args, inner.loops[var], _ = (
        bounds(s, rng.choice(dims)) if s.chance(0.3) else (s.size(d := rng.choice(dims)), d, "")
    )
    e = value(inner, 2)
    t = e.type if not is_bool(e.type) and e.const is None else "float32"
    e = e if e.type == t else cast(inner, t, tame(inner, e))
    start = literal(0.0 if is_float(t) else 0)
    out = []
    if is_weak(t) or s.chance(0.5):
        out.append(S(f"{name} = {{0}}", [start if is_weak(t) else cast(s, t, start)]))
    else:
        out.append(S(f"{name} = {{0}}", [start], [], f"{name} = M({t!r}, {{0}})"))
    op = rng.choice("+++-*") if not (t == "wi" and s.wild < 0.5) else rng.choice("+-")
    form = f"{name} = {rng.choice(('min', 'max'))}({name}, {{0}})" if s.chance(0.2) else f"{name} {op}= {{0}}"
    body = [S(form, [e])]
    if s.chance(0.2):
        test = E(f"({{0}} {rng.choice(COMPARE)} {{1}})", [E(var, [], "wi"), weak_int(inner, 1)], "bool")
        body = [S("if {0}:", [test], [body])]
    inner.locals[name] = t
    if s.chance(0.2):
        inner.fixed = {*inner.fixed, name}
        body += block(inner, 1, False)
    out.append(S(f"for {var} in range({{0}}):", [args], [body]))
    s.locals[name] = t
    where: Tensor = rng.choice([w for w in s.tensors if w.writable])
    kids = [index(s, d, 1) for d in where.dims]
    at = slots(0, len(kids)) or "()"
    result = E(name, [], t)
    if where.dtype in LIMITS:
        result = (
            tame(s, result)
            if is_float(t)
            else cast(s, where.dtype, result)
            if not is_weak(t)
            else E("({0} & 63)", [result], "wi")
        )
    out.append(S(f"{where.name}[{at}] = {{{len(kids)}}}", [*kids, result]))
    return out


def loop_while(s: Scope, size: int) -> list[S]:
    """A while whose counter bounds it."""
    s.features.add("while")
    name = next((n for n in ("c0", "c1", "c2") if n not in s.locals), "")
    if not name:
        return [store(s)]
    start = S(f"{name} = 0", [], [], f"{name} = L(0)")
    s.locals[name] = "wi"
    s.fixed = {*s.fixed, name}
    inner = s.inner()
    limit = s.rng.randint(1, 5)
    test = E(f"{name} < {limit} and {{0}}", [condition(s, 1)], "truth", f"{name} < L({limit}) and {{0}}")
    head = S("while {0}:", [test] if s.chance(0.7) else [E(f"{name} < {limit}", [], "truth")])
    step = S(f"{name} += 1", [], [], f"{name} += L(1)")
    inner.loops[name] = Dim("", limit + 1)
    del inner.locals[name]
    head.blocks = [[step, *block(inner, size // 2, True)]]
    return [start, head]
