"""Random expressions over what a scope offers: loads, locals, loop variables, literals, constants, functions.

Built from the leaves up; each carries its type, so that only merges and bit operations need care. Writes no
statements.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from program import Dim, E, expressions, slots
from scalar_types import (
    DTYPES,
    FLOATS,
    LIMITS,
    arithmetic,
    fits,
    float_of,
    is_bool,
    is_float,
    is_int,
    is_weak,
    merged,
    promote,
)

UNARY = (
    "rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh erf erfc sigmoid"
).split()
ROUNDING = ("floor", "ceil", "trunc", "np.round")
TO_INT = ("round", "math.floor", "math.ceil", "math.trunc")
WIDE = (
    "9223372036854775808",
    "18446744073709551615",
    "(2**63 + 1)",
    "(1 << 63)",
    "(18446744073709551615 // 3)",
    "(18446744073709551615 >> 1)",
    "max(9223372036854775809, 5)",
    "(-(-(2**63)))",
)
COMPARE = ("<", "<=", ">", ">=", "==", "!=")
CASTS = {"bool": "bool_"}


@dataclass
class Tensor:
    """A buffer in scope and what may be done with it."""

    name: str
    dtype: str
    dims: list[Dim]
    writable: bool
    limit: Dim | None = None  # elements lie in [0, limit)


@dataclass
class Helper:
    """A helper function that returns a scalar: types of its parameters, or a Tensor as a pattern."""

    name: str
    params: list[str | Tensor]
    returns: str


@dataclass
class Scope:
    """What the statements at one place see; copied at each block."""

    rng: random.Random
    wild: float  # how often a hazard of table 2a is not avoided
    tensors: list[Tensor] = field(default_factory=list)
    loops: dict[str, Dim | None] = field(default_factory=dict)  # name: it lies in [0, Dim), None: unknown
    locals: dict[str, str] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)  # locals that must not be assigned
    scalars: dict[str, str] = field(default_factory=dict)
    captured: dict[str, object] = field(default_factory=dict)
    sizes: dict[Dim, str] = field(default_factory=dict)  # how an extent is written
    helpers: list[Helper] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    depth: int = 2  # of most expressions
    nest: int = 3  # loops one in another
    procedures: list[str] = field(default_factory=list)  # helpers that write a tensor of one dimension
    risk: float = 0.0  # how often an index may be out of range
    deep: float = 0.0  # how often a subscript reads an index array
    long: bool = False  # one extent is that of sums in lanes
    raw: float = 0.0  # how often such a subscript is not brought into range
    exact: bool = False  # floats have few bits, so that sums and products are the same in any order

    def inner(self) -> Scope:
        """The scope of a block below."""
        return replace(self, loops=dict(self.loops), locals=dict(self.locals), tensors=list(self.tensors))

    def module(self, known: bool) -> str:
        """A module in front of a function that it has as well."""
        if not known or not self.chance(0.2):
            return ""
        self.features.add("function of a module")
        return self.rng.choice(("np.", "math."))

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def size_text(self, d: Dim) -> str:
        """An extent as text."""
        if not d.size:
            return str(d.plus)
        if d in self.sizes:
            return self.sizes[d]
        base = self.sizes[Dim(d.size)]
        return f"({base} + {d.plus})" if d.plus > 0 else f"({base} - {-d.plus})"

    def size(self, d: Dim) -> E:
        if not d.size:
            return literal(d.plus)
        return E(self.size_text(d), [], "wi")


def literal(value: object) -> E:
    """A Python number as written; negative ones in brackets."""
    t = {bool: "wb", int: "wi", float: "wf"}[type(value)]
    text = repr(value)
    text = f"({text})" if text.startswith("-") else text
    return E(text, [], t, f"L({text})", value)


def any_literal(s: Scope, beside: str = "") -> E:
    """A literal, one that fits beside an operand of the given type."""
    kinds = "iiff" if not beside or is_float(beside) else "iiif" if is_int(beside) else "iib"
    kind = s.rng.choice(kinds)
    if kind == "b":
        return literal(s.chance(0.5))
    if (beside == "uint64" or (is_float(beside) and beside != "bfloat16")) and s.chance(0.12):
        return wide_literal(s)
    if kind == "f":
        drawn = s.rng.choice((0.0, 0.5, 1.0, -2.5, 0.1, 3.0, -0.75, 1e-3, 2.0, 100.0, 7.25))
        return literal({0.1: 0.25, 1e-3: 0.125, 100.0: 4.0}.get(drawn, drawn) if s.exact else drawn)
    value = s.rng.choice((0, 1, 2, 3, 4, 5, 7, 9, -1, -2, -3, 10, 16, 31, 100))
    if s.chance(s.wild * 0.3):
        value = s.rng.choice((127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**40, 2**63 - 1, -(2**62)))
    low, high = LIMITS.get(beside, (-(2**63), 2**63 - 1))
    return literal(value if low <= value <= high else s.rng.randint(0, 5))


def wide_literal(s: Scope) -> E:
    """A constant whose bits exceed int64, or whose making does."""
    s.features.add("wide constant")
    text = s.rng.choice(WIDE)
    return E(text, [], "wi", f"L({eval(text)})", eval(text))


def beside_wide(s: Scope, depth: int) -> E:
    """Such a constant beside a type that holds it, or compared with any for which CPython takes it."""
    t = s.rng.choice([t for t in ("uint64", *DTYPES) if t not in ("bool", "bfloat16")])
    a = cast(s, t, tame(s, value(s, depth - 1)))
    if (t != "uint64" and not is_float(t)) or s.chance(0.3):
        return E(f"({{0}} {s.rng.choice(COMPARE)} {{1}})", [a, wide_literal(s)], "bool")
    if s.chance(0.2):
        return E("max({0}, {1})", [a, wide_literal(s)], t)
    op = s.rng.choice(("+", "-", "*") if is_float(t) else ("+", "-", "*", "//", "%", "&", "|", "^"))
    return E(f"({{0}} {op} {{1}})", [a, wide_literal(s)], t)


def cast(s: Scope, t: str, e: E) -> E:
    """e converted by the cast of a type."""
    if is_weak(t):
        return E({"wb": "bool", "wi": "int", "wf": "float"}[t] + "({0})", [e], t)
    return E(CASTS.get(t, t) + "({0})", [e], t)


def index(s: Scope, d: Dim, depth: int) -> E:
    """A subscript for an extent: mostly in range for whatever the sizes are."""
    rng = s.rng
    exact = [n for n, r in s.loops.items() if r == d]
    within = [n for n, r in s.loops.items() if r and r.size == d.size and r.plus <= d.plus]
    gathers = [t for t in s.tensors if t.limit == d and t.dims]
    names = [*s.loops, *(n for n, t in s.locals.items() if t == "wi")]
    if depth > 0 and s.deep and s.chance(s.deep):
        return gathered(s, d, depth, s.chance(s.raw))
    if names and s.chance(s.risk):
        s.features.add("risky index")
        name = rng.choice(names)
        return E(rng.choice(("{0} + 1", "{0} - 1", "{0}", "{0} * 2")), [E(name, [], "wi")], "wi")
    kind = rng.random()
    if exact and kind < 0.55:
        return E(rng.choice(exact), [], "wi")
    if within and kind < 0.7:
        name = rng.choice(within)
        shift = rng.randint(0, d.plus - s.loops[name].plus)  # type: ignore[union-attr]
        return E(f"{name} + {shift}", [], "wi", f"{name} + L({shift})") if shift else E(name, [], "wi")
    if exact and kind < 0.78:
        s.features.add("reversed index")
        return E(f"{s.size_text(d)} - 1 - {rng.choice(exact)}", [], "wi")
    if gathers and kind < 0.9 and depth > 0:
        s.features.add("gather")
        return load(s, rng.choice(gathers), depth - 1)
    if not d.size and d.plus > 0 and kind < 0.95:
        k = rng.randrange(-d.plus, d.plus)
        return E(str(k), [], "wi", f"N({k})")
    e = weak_int(s, max(depth - 1, 0))
    n = s.size(d)
    if s.chance(0.6):
        return E("{0} % {1}", [e, n], "wi")
    s.features.add("clamped index")
    return E("max(min({0}, {1} - 1), 0)", [e, n], "wi")


def is_index(t: Tensor) -> bool:
    """Whether elements of a tensor may be subscripts."""
    return is_int(t.dtype) and bool(t.dims)


def gathered(s: Scope, d: Dim, depth: int, raw: bool) -> E:
    """A subscript for an extent that is read from index arrays; `raw` leaves it where it falls."""
    rng = s.rng
    exact = [t for t in s.tensors if t.limit == d and t.dims]
    arrays = [t for t in s.tensors if is_index(t)]
    pick = rng.random()
    s.features.add("gather")
    if exact and pick < 0.6:
        t = rng.choice(exact)
        kids = [
            gathered(s, k, depth - 1, raw) if depth > 1 and s.chance(0.6) else index(s, k, 0) for k in t.dims
        ]
        if any("[" in k.text(False) for k in kids):
            s.features.add("gather in a gather")
        e = E(f"{t.name}[{slots(0, len(kids))}]", kids, t.dtype)
        if raw and s.loops and s.chance(0.4):
            e = E(f"({{0}} + {rng.choice(list(s.loops))})", [e], t.dtype)
        return e
    if not arrays:
        return index(s, d, 0)
    t = rng.choice(arrays)
    if t.writable:
        s.features.add("index array that is written")
    kids = [gathered(s, k, depth - 1, raw) if depth > 1 and s.chance(0.4) else index(s, k, 0) for k in t.dims]
    if any("[" in k.text(False) for k in kids):
        s.features.add("gather in a gather")
    e = E(f"{t.name}[{slots(0, len(kids))}]", kids, t.dtype)
    if s.chance(0.5):
        other = rng.choice(arrays)
        b = load(s, other, 0) if s.chance(0.5) else weak_int(s, 0)
        if b.const is None and is_int(promote(e.type, b.type)):
            e = E(f"({{0}} {rng.choice('++-')} {{1}})", [e, b], promote(e.type, b.type))
    if raw:
        s.features.add("raw index")
        return e
    if rng.random() < 0.7:
        return E("{0} % {1}", [e, s.size(d)], e.type)
    return E("max(min({0}, {1} - 1), 0)", [e, s.size(d)], e.type)


def load(s: Scope, t: Tensor, depth: int) -> E:
    """An element of a tensor."""
    if not t.dims:
        return E(f"{t.name}[()]", [], t.dtype)
    kids = [index(s, d, depth) for d in t.dims]
    return E(f"{t.name}[{slots(0, len(kids))}]", kids, t.dtype)


def weak_int(s: Scope, depth: int) -> E:
    """An integer that is a Python number in CPython."""
    names = [*s.loops, *(n for n, t in s.locals.items() if t == "wi")]
    names += [n for n, t in s.scalars.items() if t == "wi"]
    pick = s.rng.random()
    if depth > 0 and pick < 0.35 and names:
        op = s.rng.choice(("+", "+", "-", "*", "//", "%", "&", "|", "^"))
        right = s.rng.choice((literal(s.rng.randint(1, 9)), weak_int(s, depth - 1)))
        if op in ("//", "%") and not s.chance(s.wild):
            right = literal(s.rng.choice((1, 2, 3, 4, 7, -2, -3)))
        return E(f"({{0}} {op} {{1}})", [E(s.rng.choice(names), [], "wi"), right], "wi")
    strong = [t for t in s.tensors if is_int(t.dtype)]
    if depth > 0 and pick < 0.45 and strong:
        return cast(s, "wi", load(s, s.rng.choice(strong), depth - 1))
    if names and pick < 0.9:
        return E(s.rng.choice(names), [], "wi")
    if s.sizes and pick < 0.95:
        return E(s.rng.choice(list(s.sizes.values())), [], "wi")
    return literal(s.rng.randint(0, 6))


def leaf(s: Scope, depth: int) -> E:
    """A load, a local, a loop variable, an argument, a captured constant, or a literal."""
    pick = s.rng.random()
    if pick < 0.5 and s.tensors:
        return load(s, s.rng.choice(s.tensors), depth)
    if pick < 0.68 and s.locals:
        name = s.rng.choice(list(s.locals))
        return E(name, [], s.locals[name])
    if pick < 0.78 and s.loops:
        return E(s.rng.choice(list(s.loops)), [], "wi")
    if pick < 0.84 and s.scalars:
        name = s.rng.choice(list(s.scalars))
        return E(name, [], s.scalars[name])
    if pick < 0.88 and s.captured:
        return constant(s)
    return any_literal(s)


def constant(s: Scope) -> E:
    """A captured constant, also an item of a captured tuple."""
    s.features.add("captured constant")
    name = s.rng.choice(list(s.captured))
    value = s.captured[name]
    if isinstance(value, tuple):
        k = s.rng.randrange(-len(value), len(value))
        t = {bool: "wb", int: "wi", float: "wf"}[type(value[k])]
        return E(f"{name}[{k}]", [], t, "", value[k])
    return E(name, [], {bool: "wb", int: "wi", float: "wf"}[type(value)], "", value)


def value(s: Scope, depth: int) -> E:
    """Any scalar expression."""
    if depth <= 0 or s.chance(0.15):
        return leaf(s, 1)
    pick = s.rng.random()
    if pick < 0.5:
        return binary(s, depth)
    if pick < 0.58:
        return unary(s, depth)
    if pick < 0.72:
        return function(s, depth)
    if pick < 0.80:
        s.features.add("cast")
        return cast(s, s.rng.choice((*DTYPES, *FLOATS, "wi", "wf", "wb")), tame(s, value(s, depth - 1)))
    if pick < 0.87:
        return ternary(s, depth)
    if pick < 0.91:
        return E("({0})", [condition(s, depth - 1, True)], "bool")
    if pick < 0.95 and s.helpers:
        return helper_call(s, depth)
    if pick < 0.955:
        return beside_wide(s, depth)
    return leaf(s, depth)


def tame(s: Scope, e: E) -> E:
    """A float kept within the range of the narrow integers, most of the time."""
    if not is_float(e.type) or s.chance(s.wild):
        return e
    return E("min(max({0}, {1}), {2})", [e, literal(0), literal(100)], e.type)


def settle(s: Scope, a: E, b: E) -> tuple[E, E]:
    """Constants that fit beside the other operand, and not two of them."""
    if a.const is not None and b.const is not None:
        a = cast(s, "float64" if isinstance(a.const, float) else "int64", a)
    if a.const is not None and not fits(a.const, b.type):
        a = any_literal(s, b.type)
    if b.const is not None and not fits(b.const, a.type):
        b = any_literal(s, a.type)
    if a.const is not None and b.const is not None:
        a = cast(s, "float64", a)
    return a, b


def binary(s: Scope, depth: int) -> E:
    """Two operands and an operator that they have."""
    a, b = settle(s, value(s, depth - 1), value(s, depth - 1))
    t = promote(a.type, b.type)
    ops = "+ + - - * * / // %".split()
    if not is_float(t):
        ops += "& | ^ << >>".split()
    if t == "bool":
        ops.remove("-"), ops.remove("-")
    op = s.rng.choice(ops)
    if s.chance(0.05):
        return raised(s, a)
    if op in ("<<", ">>") and not s.chance(s.wild):
        b = E("({0} & 7)", [b], arithmetic("&", b.type, "wi")) if b.const is None else literal(3)
        b = literal(2) if is_float(promote(a.type, b.type)) else b
    if op in ("//", "%", "/") and is_weak(t) and not s.chance(s.wild):
        b = literal(s.rng.choice((1, 2, 3, 5, -2, -3, 4, 2.5, 0.5)))
    if op == "*" and is_weak(t) and is_int(t) and b.const is None and not s.chance(s.wild):
        b = literal(s.rng.choice((2, 3, -1)))
    if s.exact and op == "/" and a.const is None:
        b = literal(2)
    a, b = settle(s, a, b)
    if op == "-" and promote(a.type, b.type) == "bool":
        op = "^"
    s.features.add("operator " + op)
    return E(f"({{0}} {op} {{1}})", [a, b], arithmetic(op, a.type, b.type))


def raised(s: Scope, a: E) -> E:
    """A power with a literal exponent, or of two values."""
    s.features.add("operator **")
    if a.const is not None or is_bool(a.type):
        a = cast(s, s.rng.choice(("float32", "float64", "int32")), a)
    choices: tuple[object, ...] = (2, 2, 3, 1, 0, 4) if not is_float(a.type) else (2, 2, 0.5, -1, 1, 3, 2.0)
    n = s.rng.choice(choices)
    n = 2 if s.exact and is_float(a.type) else n
    low, high = LIMITS.get(a.type, (0, 9))
    assert low <= high
    return E(
        "({0} ** {1})",
        [a, literal(n)],
        promote(a.type, "wf" if isinstance(n, float) else "wi"),
        "POW({0}, {1})",
    )


def unary(s: Scope, depth: int) -> E:
    a = value(s, depth - 1)
    if a.const is not None:
        a = cast(s, "float64" if isinstance(a.const, float) else "int64", a)
    if a.type == "bool" or (not is_float(a.type) and s.chance(0.4)):
        return E("(~{0})", [a], "wi" if a.type == "wb" else a.type)
    return E(s.rng.choice(("(-{0})", "(-{0})", "(+{0})")), [a], "wi" if a.type == "wb" else a.type)


def function(s: Scope, depth: int) -> E:
    """An intrinsic of one, two or three arguments."""
    a = value(s, depth - 1)
    if is_bool(a.type) or a.const is not None:
        a = cast(s, s.rng.choice(("float32", "float64", "float16", "int16")), a)
    pick = s.rng.random()
    s.features.add("intrinsic")
    if pick < 0.1:
        s.features.add("elementary function")
        name = s.rng.choice(UNARY)
        if s.exact:
            return E("abs({0})", [a], a.type)
        known = name in ("exp", "log", "sin", "cos", "sinh", "tanh", "log2", "expm1")
        return E(s.module(known) + name + "({0})", [a], float_of(a.type), name + "({0})")
    if pick < 0.16 and s.exact:
        return E("sign({0})", [a], a.type)
    if pick < 0.16:
        return E(s.module(True) + "sqrt({0})", [a], float_of(a.type), "sqrt({0})")
    if pick < 0.24:
        return whole(s, a)
    if pick < 0.4:
        word = s.rng.choice(ROUNDING)
        return E(word + "({0})", [a], a.type, word.removeprefix("np.") + "({0})")
    if pick < 0.6:
        return E(s.rng.choice(("abs", "sign")) + "({0})", [a], a.type)
    if pick < 0.65 and is_int(a.type):
        return E("popcount({0})", [a], a.type)
    if pick < 0.7:
        return E(
            s.rng.choice(("isnan", "isinf", "isfinite")) + "({0})", [a], "wb" if is_weak(a.type) else "bool"
        )
    a, b = settle(s, a, value(s, depth - 1))
    if is_bool(b.type):
        b = cast(s, "int8", b)
    t = promote(a.type, b.type)
    if pick < 0.85:
        return E(s.rng.choice(("min", "max")) + "({0}, {1})", [a, b], t)
    if pick < 0.93:
        s.features.add("select")
        return E("select({2}, {0}, {1})", [a, b, condition(s, depth - 1)], t)
    if is_weak(t) and not s.chance(s.wild):
        b = literal(3)
        t = promote(a.type, b.type)
    if is_float(t) and pick > 0.97 and not s.exact:
        return E("atan2({0}, {1})", [a, b], t)
    return E(s.rng.choice(("fmod", "ceil_div")) + "({0}, {1})", [a, b], t)


def whole(s: Scope, a: E) -> E:
    """A Python int by a function that the scalars of NumPy may lack."""
    s.features.add("rounded to an int")
    word = s.rng.choice(TO_INT)
    if a.type == "bfloat16" and word == "round":
        word = "math.ceil"
    if word == "math.trunc" and not is_weak(a.type) and a.type != "float64":
        a = cast(s, "float64", a)
    return E(word + "({0})", [a], "wi", f"WHOLE({word.removeprefix('math.')!r}, {{0}})")


def ternary(s: Scope, depth: int) -> E:
    """Two arms whose types merge; the reference is told where a Python number becomes strong."""
    s.features.add("ternary")
    a, b = value(s, depth - 1), value(s, depth - 1)
    t = merged(a.type, b.type)
    if t is None or not fits(a.const, t) or not fits(b.const, t):
        t = a.type if not is_weak(a.type) else b.type
        a, b = (e if e.type == t else cast(s, t, tame(s, e)) for e in (a, b))
    form = "({0} if {2} else {1})"
    return E(form, [a, b, undecided(s, depth - 1)], t, f"M({t!r}, {form[1:-1]})")


def undecided(s: Scope, depth: int) -> E:
    """A condition that is not decided before types merge."""
    test = condition(s, depth)
    if all(e.kids or is_constant(s, e) for e in expressions(test)):
        given = [E(n, [], t) for n, t in s.scalars.items()]  # of a helper, which has no sizes
        known = s.size(next(iter(s.sizes))) if s.sizes else given[0]
        return E("({0} < {1})", [known, literal(3)], "bool")
    return test


def is_constant(s: Scope, leaf: E) -> bool:
    """Whether a leaf is a number, or the variable of a loop that is expanded."""
    extent = s.loops.get(leaf.form)
    return leaf.const is not None or (extent is not None and not extent.size)


def helper_call(s: Scope, depth: int) -> E:
    """A call of a function that is inlined."""
    h = s.rng.choice(s.helpers)
    kids = []
    for p in h.params:
        if isinstance(p, Tensor):
            same = [t for t in s.tensors if t.dtype == p.dtype and t.dims == p.dims and not t.limit]
            if not same:
                return leaf(s, depth)
            kids.append(E(s.rng.choice(same).name, [], "tensor"))
        else:
            e = value(s, depth - 1)
            kids.append(e if e.type == p else cast(s, p, tame(s, e)))
    s.features.add("helper")
    return E(f"{h.name}({slots(0, len(kids))})", kids, h.returns)


def condition(s: Scope, depth: int, stored: bool = False) -> E:
    """A truth value; `stored` keeps to what is a NumPy bool in CPython or may be stored as one."""
    pick = s.rng.random()
    if depth > 0 and pick < 0.25 and not stored:
        s.features.add("and/or/not")
        if pick < 0.06:
            return E("(not {0})", [condition(s, depth - 1)], "truth")
        op = s.rng.choice(("and", "or"))
        return E(f"({{0}} {op} {{1}})", [condition(s, depth - 1), condition(s, depth - 1)], "truth")
    if pick < 0.35 and not stored:
        e = value(s, depth - 1)
        return e if e.const is None else weak_int(s, 1)
    a, b = settle(s, value(s, depth - 1), value(s, depth - 1))
    if stored and is_weak(a.type) and is_weak(b.type):
        a = cast(s, s.rng.choice(FLOATS), a)
    if pick < 0.45 and not stored and is_int(b.type):
        s.features.add("chained comparison")
        c = weak_int(s, depth - 1)
        return E(f"({{0}} {s.rng.choice(COMPARE)} {{1}} {s.rng.choice(COMPARE)} {{2}})", [a, b, c], "truth")
    return E(f"({{0}} {s.rng.choice(COMPARE)} {{1}})", [a, b], "bool")
