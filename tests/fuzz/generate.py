"""Draws a whole program from a seed: sizes, arguments, captured constants, helpers, the kernel.

The same seed gives the same program. Runs nothing.
"""

from __future__ import annotations

import random

import gen_borders
import gen_calls
import gen_guards
import gen_index
import gen_lanes
import gen_nests
import gen_scatter
import gen_stmt
import gen_sums
from gen_expr import Helper, Scope, Tensor, value
from program import Arg, Call, Dim, E, Function, Program, S, slots
from scalar_types import DTYPES, FLOATS, is_float, is_weak

EXTENTS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 9)
LONG = (64, 65, 100, 130, 200)
WIDE = (8, 15, 16, 17, 20, 31, 33, 40, 66)  # of whole vectors and their rests
LAYOUTS = (
    *("C", "C", "C", "C", "F", "reversed", "step", "step", "offset", "unaligned"),
    *("broadcast", "broadcast last"),
)
OVERLAPS = ("same", "shifted", "before", "turned", "transposed", "every other")
USUAL = ("float32", "float32", "float64", "float64", "int32", "int64")


def program(seed: int, inside: bool | None = None) -> Program:
    """The program of a seed; a third of all programs steps into table 2a unless told."""
    rng = random.Random(seed)
    drawn = rng.random() < 0.33
    inside = drawn if inside is None else inside
    sizes = {n: rng.choice(EXTENTS) for n in ("N", "M", "K")}
    long = rng.random() < 0.06
    if long:
        sizes["N"] = rng.choice(LONG) if rng.random() < 0.95 else rng.choice((4096, 4100, 8200))
    if not long and rng.random() < 0.1:
        sizes[rng.choice("NM")] = rng.choice(WIDE)
        sizes[rng.choice("NM")] = rng.choice(WIDE)
    scope = Scope(rng, wild=0.7 if inside else 0.04, risk=0.15 if rng.random() < 0.12 else 0.0)
    made = Program(seed, inside, [Call(sizes)], [], {}, [], Function("f", [], []), scope.features)
    scope.long = long
    scope.exact = not inside and random.Random(f"exact {seed}").random() < 0.45
    if scope.exact:
        scope.features.add("exact program")
    if long:
        scope.nest = 1
    elif scope.chance(0.3):
        scope.deep, scope.raw = 0.15, rng.choice((0.0, 0.3, 0.7))
        scope.features.add("index arrays")
    declare_arguments(made, scope)
    if scope.chance(0.4):
        capture(made, scope)
    if scope.chance(0.12):
        declare_procedure(made, scope)
    while len(scope.helpers) < 2 and scope.chance(0.2):
        declare_helper(made, scope)
    buffers = declare_buffers(made, scope)
    scope.depth = rng.choice((1, 2, 2, 2, 3))
    made.main.body = buffers + statements(scope, seed)
    made.main.params = [a.name for a in made.args]
    if inside:
        scope.features.add("inside table 2a")
    gen_calls.place(made, rng)
    if made.outputs and scope.chance(0.12):
        gen_calls.give_outputs(made, made.calls[0], rng)
    if scope.chance(0.25):
        gen_calls.again(made, LONG if long else EXTENTS, rng)
    gen_scatter.hoist(made)
    gen_scatter.add(made, scope, len(buffers))
    return made


def lane_loops(scope: Scope, seed: int) -> list[S]:
    """Loops of gen_lanes in some programs, drawn apart: what else a seed draws does not change with them."""
    own, scope.rng = scope.rng, random.Random(-seed - 1)
    body: list[S] = []
    if scope.long or scope.chance(0.14):
        body += gen_sums.reduction(scope) if scope.chance(0.7) else gen_stmt.accumulate(scope, 1)
    if scope.chance(0.3 if scope.long else 0.06):
        body += gen_lanes.selection(scope)
    if scope.chance(0.3 if scope.long else 0.06):
        body += gen_lanes.escapes(scope)
    if scope.chance(0.2 if scope.long else 0.06):
        body += gen_lanes.meetings(scope)
    if scope.chance(0.3 if scope.long else 0.1):
        body += gen_borders.borders(scope)
    scope.rng = random.Random(f"guards {seed}")
    if scope.chance(0.12):
        body += gen_guards.guards(scope)
    scope.rng = random.Random(f"nests {seed}")
    if scope.chance(0.15):
        body += gen_nests.reductions(scope)
    scope.rng = own
    return body


def statements(scope: Scope, seed: int) -> list[S]:
    """What the kernel does."""
    body = lane_loops(scope, seed)
    if scope.deep:
        body += gen_index.nest(scope, 3)
    if scope.chance(0.7 if not scope.deep else 0.2):
        body += gen_stmt.loop(scope, 3)
    if scope.deep and scope.chance(0.5):
        return body
    return body + gen_stmt.block(scope, scope.rng.choice((1, 1, 2, 2, 3)))


def dims(scope: Scope) -> list[Dim]:
    rank = scope.rng.choice((0, 1, 1, 1, 1, 2, 2, 2, 3) if scope.nest > 1 else (0, 1))
    return [Dim(scope.rng.choice("NNMK")) for _ in range(rank)]


def declare_arguments(made: Program, scope: Scope) -> None:
    """One to four tensors, perhaps an index array, perhaps scalars."""
    rng = scope.rng
    for n in range(rng.choice((1, 1, 2, 2, 3))):
        shape = dims(scope) if n else [Dim("N"), *dims(scope)[: scope.nest // 2]]
        dtype = rng.choice(USUAL) if scope.chance(0.5) else rng.choice(DTYPES)
        arg = Arg("abcd"[n], dtype, shape, number=n)
        arg.layout = rng.choice(LAYOUTS)
        arg.content = rng.choice(
            ("small", "small", "special", "wide") if made.inside else ("small", "small", "special")
        )
        if scope.exact and is_float(dtype):
            arg.content = "exact"
        made.args.append(arg)
    if scope.chance(0.18):
        share(made, scope)
    if scope.deep or scope.chance(0.35):
        made.args.append(index_array(scope, "idx", Dim(rng.choice("NM")), 7))
    if scope.deep and scope.chance(0.8):
        assert made.args[-1].shape
        made.args.append(index_array(scope, "idx2", rng.choice(made.args[-1].shape), 8))
    if scope.deep and scope.chance(0.3):
        made.args.append(
            Arg("near", rng.choice(("int64", "int32", "int8")), [Dim(rng.choice("NMK"))], number=9)
        )
    for arg in made.args:
        limit = arg.limit
        own = bool(limit) and bool(scope.deep) and scope.chance(0.25)  # an index array that the kernel writes
        written = not arg.readonly() and (own or (not limit and scope.chance(0.35)))
        if own:
            limit = None
            scope.features.add("index argument that is written")
        if written:
            scope.features.add("in-place argument")
            made.main.returns.append(arg.name)
        if arg.layout != "C":
            scope.features.add(("overlap " if arg.partner else "layout ") + arg.layout)
        scope.tensors.append(Tensor(arg.name, arg.dtype, list(arg.shape or []), written, limit))
    declare_scalars(made, scope)


def index_array(scope: Scope, name: str, limit: Dim, number: int) -> Arg:
    """An argument whose elements lie below an extent, unless they are made bad."""
    rng = scope.rng
    rank = 2 if scope.deep and scope.chance(0.15) else 1
    dtype = rng.choice(("int64", "int64", "int32", "int8", "uint8", "uint64"))
    arg = Arg(name, dtype, [Dim(rng.choice("NMK")) for _ in range(rank)], number=number)
    arg.content, arg.limit = "index", limit
    if scope.chance(0.2 if scope.deep else 0.1):
        scope.features.add("indices out of range")
        arg.content = "bad index"
    arg.layout = rng.choice(("C", "C", "reversed", "step"))
    return arg


def declare_scalars(made: Program, scope: Scope) -> None:
    rng = scope.rng
    for n in range(rng.choice((0, 0, 1, 1, 2))):
        t = rng.choice(("wi", "wf", "wb", "wi", *DTYPES))
        content = "exact" if scope.exact else "small"
        made.args.append(Arg(f"s{n}", t, None, content=content, number=20 + n))
        scope.scalars[f"s{n}"] = t
        scope.features.add("weak scalar" if is_weak(t) else "strong scalar")


def share(made: Program, scope: Scope) -> None:
    """One more argument over the memory of an earlier one: the same array, or a view beside it."""
    first = made.args[0]
    other = Arg("z0", first.dtype, first.shape, scope.rng.choice(OVERLAPS), number=first.number)
    if first.shape is None or first.layout.startswith("broadcast") or first.layout == "unaligned":
        first.layout = "C"
    if other.layout in ("shifted", "before", "every other"):
        first.layout = "C"
    if other.layout == "transposed" and first.shape:
        other.shape = first.shape[::-1]
    other.partner = first.name
    scope.features.add("overlapping arguments")
    made.args.append(other)


def capture(made: Program, scope: Scope) -> None:
    rng = scope.rng
    scope.captured["C0"] = rng.choice((2, 3, -1, 5, 0.5, 2.5, True))
    if scope.chance(0.5):
        scope.captured["C1"] = tuple(rng.choice((1, 2, 0.25, 3.0, 7)) for _ in range(3))
    made.captured.update(scope.captured)


def declare_helper(made: Program, scope: Scope) -> None:
    """A function of scalars and perhaps a tensor, which loops over it."""
    rng = scope.rng
    name = f"h{len(scope.helpers)}"
    types: list[str | Tensor] = [
        rng.choice((*FLOATS, "int32", "int64", "wi")) for _ in range(rng.randint(1, 2))
    ]
    local = Scope(rng, scope.wild, features=scope.features, captured=scope.captured, exact=scope.exact)
    names = [f"g{n}" for n in range(len(types))]
    local.scalars = {n: t for n, t in zip(names, types, strict=True) if isinstance(t, str)}
    body: list[S] = []
    given = [t for t in scope.tensors if len(t.dims) == 1 and not t.limit]
    if given and scope.chance(0.5):
        pattern = rng.choice(given)
        types.append(pattern)
        names.append("r")
        local.tensors = [Tensor("r", pattern.dtype, pattern.dims, False)]
        local.sizes = {pattern.dims[0]: "r.shape[0]", Dim(pattern.dims[0].size): "r.shape[0]"}
        body.append(
            S(
                f"sum_ = {pattern.dtype.replace('bool', 'bool_')}(0)",
                [],
                [],
                f"sum_ = CAST({pattern.dtype!r}, L(0))",
            )
        )
        test = E("{0}", [E("r[o] < r[0]", [], "truth", "r[o] < r[N(0)]")], "truth")
        steps = [S("if {0}:", [test], [[S(rng.choice(("continue", "break", "pass")))]]), S("sum_ += r[o]")]
        body.append(S("for o in range(r.shape[0]):", [], [steps]))
        local.locals["sum_"] = pattern.dtype
        scope.features.add("helper with a tensor")
    elif scope.chance(0.4):
        first = names[0]
        arm = value(local, 1)
        t = str(types[0])
        form = f"{first} = {{0}}"
        kid = arm if arm.type == t else E({"wi": "int"}.get(t, t) + "({0})", [arm], t)
        body.append(S(form, [kid]))
    e = value(local, 2)
    if e.const is not None:
        e = E("float64({0})", [e], "float64")
    body.append(S("return {0}", [e]))
    made.helpers.append(Function(name, names, body))
    scope.helpers.append(Helper(name, types, e.type))


def declare_procedure(made: Program, scope: Scope) -> None:
    """A function that writes some elements of a tensor of one dimension."""
    rng = scope.rng
    test = E(rng.choice(("o % 2 == g0 % 2", "o >= g0", "o != g0", "o < g0 and o > 0")), [], "truth")
    store = rng.choice(("r[o] = g1", "r[o] += g1", "r[o] = r[r.shape[0] - 1 - o]"))
    if rng.random() < 0.5:
        body = [S("for o in range(r.shape[0]):", [], [[S("if {0}:", [test], [[S(store)]])]])]
    else:
        at = E("max(min(g0, r.shape[0] - 1), 0)", [], "wi")
        body = [S("if r.shape[0] > 0:", [], [[S("r[{0}] = g1", [at])]])]
    made.helpers.append(Function("p0", ["r", "g0", "g1"], body))
    scope.procedures.append("p0")


def declare_buffers(made: Program, scope: Scope) -> list[S]:
    """Names of extents, outputs, temporaries."""
    rng = scope.rng
    body: list[S] = []
    for t in scope.tensors:
        for k, d in enumerate(t.dims):
            if d in scope.sizes:
                continue
            text = f"{t.name}.shape[{k}]"
            if scope.chance(0.4):
                name = "nmlkh"[len(scope.sizes)]
                body.append(S(f"{name} = {text}"))
                text = name
            scope.sizes[d] = text
    pairs = [t for t in scope.tensors if len(t.dims) == 2]
    if pairs and scope.chance(0.2):
        body.append(S(f"n0, n1 = {pairs[0].name}.shape"))
    known = list(scope.sizes)
    count = rng.choice((1, 1, 1, 2, 2)) if made.main.returns else rng.choice((1, 1, 2, 2, 3))
    if made.main.returns and scope.chance(0.3):
        count = 0
    outputs = []
    for n in range(count + rng.choice((0, 0, 0, 1))):
        name, word = (f"out{n}", "output_tensor") if n < count else ("t0", "allocate")
        rank = rng.choice((0, 1, 1, 2, 2, 3) if scope.nest > 1 else (0, 1))
        shape = [rng.choice(known) if scope.chance(0.85) else Dim("", rng.randint(1, 4)) for _ in range(rank)]
        shape = [Dim(d.size, d.plus + 1) if d.size and scope.chance(0.1) else d for d in shape]
        dtype = rng.choice(USUAL) if scope.chance(0.5) else rng.choice(DTYPES)
        if word == "output_tensor" and scope.chance(0.2):  # as an argument, so that it may be out= itself
            pattern = rng.choice(scope.tensors)
            shape, dtype, rank = list(pattern.dims), pattern.dtype, len(pattern.dims)
        text = dtype if dtype == "bfloat16" or (scope.chance(0.3) and dtype != "bool") else f"'{dtype}'"
        kids = [scope.size(d) for d in shape]
        items = slots(0, rank) + ("," if rank == 1 else "")
        form = f"{name} = {word}(({items}), {text}"
        outputs.append(S(form + ")", kids, [], f"{form}, {name!r})"))
        scope.tensors.append(Tensor(name, dtype, shape, True))
        if word == "output_tensor":
            made.main.returns.append(name)
            made.outputs.append(Arg(name, dtype, shape, number=40 + n))
        else:
            scope.features.add("allocate")
    return body + outputs
