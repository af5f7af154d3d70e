"""Random assignments: of locals and of scalar arguments, in place, of tuples, in branches and loops.

Each function gives the statements and tells the scope what the names are behind them; none when nothing fits.
"""

from __future__ import annotations

from gen_expr import Scope, any_literal, cast, condition, literal, load, tame, undecided, value
from program import E, S
from scalar_types import DTYPES, arithmetic, is_bool, is_float, is_weak, merged, promote

NAMES = ("u", "v", "w", "x", "y", "z")


def new_name(s: Scope) -> str:
    return next((n for n in NAMES if n not in s.locals), "")


def of_type(s: Scope, e: E, t: str) -> E:
    return e if e.type == t else cast(s, t, tame(s, e))


def assign(s: Scope) -> list[S]:
    """A name: new, again with its type, augmented, in both arms of a branch, or in one."""
    known = {**s.scalars, **s.locals}
    own = [n for n in known if n not in s.fixed]
    pick = s.rng.random()
    if own and pick < 0.6:
        return again(s, s.rng.choice(own), pick < 0.3)
    if own and pick < 0.67:
        return in_a_branch(s, s.rng.choice(own))
    name = new_name(s)
    if not name:
        return []
    if pick > 0.9:
        t = s.rng.choice(DTYPES)
        arms = [[S(f"{name} = {{0}}", [cast(s, t, tame(s, value(s, 2)))])] for _ in range(2)]
        out = [S("if {0}:", [condition(s, 2)], arms)]
        s.locals[name] = t
        return out
    if pick < 0.68:
        return on_some_paths(s)
    e = value(s, s.depth)
    s.locals[name] = e.type
    return [S(f"{name} = {{0}}", [e])]


def again(s: Scope, name: str, augmented: bool) -> list[S]:
    """An assignment that keeps the type of the name."""
    t = {**s.scalars, **s.locals}[name]
    if name in s.scalars:
        s.features.add("assigned argument in a loop" if s.loops else "assigned argument")
    e = value(s, s.depth)
    if not augmented or is_bool(t):
        return [S(f"{name} = {{0}}", [of_type(s, e, t)])]
    op = s.rng.choice(operators(s, t))
    if op not in "+-*":
        s.features.add("augmented local")
    if e.const is not None:
        e = any_literal(s, t)
    if not is_weak(t) and promote(t, e.type) != t:
        e = cast(s, t, tame(s, e))
    elif is_weak(t) and (not is_weak(e.type) or merged(t, e.type) != t or is_bool(e.type)):
        e = cast(s, t, e)
    if op in ("//", "%", "/") and is_weak(t) and not s.chance(s.wild):
        e = literal(s.rng.choice((2, 3, -2, 7)))
    e = literal(4) if s.exact and op == "/" else e
    return [S(f"{name} {op}= {{0}}", [e])]


def operators(s: Scope, t: str) -> list[str]:
    """Those that leave the type as it is."""
    out = ["+", "-", "*", "+", "-", "//", "%"] if t != "wi" or s.chance(s.wild) else ["+", "-", "//", "%"]
    if is_float(t):
        return [*out, "/"]
    return [*out, "&", "|", "^"]


def in_a_branch(s: Scope, name: str) -> list[S]:
    """An assignment on one of two ways, or in a loop that may not run."""
    if name in s.scalars:
        s.features.add("argument assigned in a branch")
    inner = s.inner()
    return [S("if {0}:", [condition(s, 2)], [again(inner, name, s.chance(0.5))])]


def on_some_paths(s: Scope) -> list[S]:
    """A name that one way does not assign and that is read behind both: E302, if the place is reached.

    Names of their own for each dtype: earlier arms may have made them too.
    """
    readable = [t for t in s.tensors if t.dims]
    targets = [t for t in s.tensors if t.writable]
    if not readable or not s.chance(0.25):
        return []
    s.features.add("assigned on some paths")
    test = E("({0} > {1})", [load(s, s.rng.choice(readable), 1), literal(1)], "bool")
    t = s.rng.choice(targets)
    name = f"some_{t.dtype}"
    taken = S("if {0}:", [test], [[S(f"{name} = {{0}}", [cast(s, t.dtype, tame(s, value(s, 1)))])]])
    return [taken, S(f"{t.name}[{', '.join('0' * len(t.dims)) or '()'}] = {name}")]


def merge(s: Scope) -> list[S]:
    """A local that starts as a Python number and takes a dtype on one path."""
    name = new_name(s)
    inner = s.inner()
    e = value(inner, 2)
    start = any_literal(s, e.type)
    t = merged(start.type, e.type)
    if not name or t is None or e.const is not None or is_bool(e.type) or t != e.type:
        return []
    s.features.add("merge of weak and strong")
    taken = S("if {0}:", [undecided(s, 1)], [[S(f"{name} = {{0}}", [e])]])
    s.locals[name] = t
    return [S(f"{name} = {{0}}", [start]), taken, S("pass", [], [], f"{name} = M({t!r}, {name})")]


def tuples(s: Scope) -> list[S]:
    """Two names that change places, several at once, or a tuple whose items branches and loops change."""
    own = [n for n in s.locals if n not in s.fixed]
    alike = [(a, b) for a in own for b in own if a < b and s.locals[a] == s.locals[b]]
    s.features.add("tuple assignment")
    if alike and s.chance(0.4):
        a, b = s.rng.choice(alike)
        return [S(f"{a}, {b} = {b}, {a}")]
    name = next((n for n in ("tp", "tq") if f"{n}[0]" not in s.locals), "")
    items = [value(s, 2), value(s, 2)]
    if s.chance(0.5):
        items[1] = of_type(s, items[1], items[0].type)
    types = [e.type for e in items]
    if not name:
        return [S("pass")]
    out = [S(f"{name} = ({{0}}, {{1}})", items)]
    s.locals |= {f"{name}[{k}]": t for k, t in enumerate(types)}
    s.fixed = {*s.fixed, f"{name}[0]", f"{name}[1]"}
    inner = s.inner()
    pick = s.rng.random()
    if pick < 0.4:
        s.features.add("tuple assigned in a branch")
        arm = [of_type(inner, value(inner, 2), t) for t in types]
        out.append(S("if {0}:", [undecided(s, 1)], [[S(f"{name} = ({{0}}, {{1}})", arm)]]))
    elif pick < 0.85 and s.sizes and types[0] == types[1] and arithmetic("+", types[0], types[0]) == types[0]:
        s.features.add("tuple carried by a loop")
        head = S("for r in range({0}):", [E(s.rng.choice(list(s.sizes.values())), [], "wi")])
        head.blocks = [[S(f"{name} = ({name}[1], {name}[0] + {name}[1])")]]
        out.append(head)
    return out
