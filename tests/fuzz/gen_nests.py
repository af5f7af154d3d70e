"""Nests of two to four loops whose innermost body has several reductions, each in elements of its own loops.

    for a: for b: for c: s[a] += x[a, b, c]; t[b] = max(t[b], y[a, b, c])

What threads may share differs from statement to statement. Draws no other statements.
"""

from __future__ import annotations

from gen_expr import Scope, Tensor
from gen_stmt import new_loop
from gen_sums import element, term, wrapped
from program import E, S
from scalar_types import is_bool


def reductions(s: Scope) -> list[S]:
    """Two or three reductions in one nest over a tensor, perhaps with a loop around that repeats it."""
    rng = s.rng
    given = [t for t in s.tensors if t.dims and not is_bool(t.dtype)]
    if not given:
        return []
    t: Tensor = max(rng.sample(given, min(2, len(given))), key=lambda t: len(t.dims))
    inner, names = s.inner(), {}
    heads: list[S] = []
    order = list(range(len(t.dims)))
    if s.chance(0.3):
        rng.shuffle(order)
    for k in order:
        var = new_loop(inner)
        inner.loops[var] = t.dims[k]
        names[k] = var
        heads.append(S(f"for {var} in range({{0}}):", [s.size(t.dims[k])]))
    if len(heads) < 2 or s.chance(0.3):
        var = f"r{len(inner.loops)}"
        heads.insert(rng.randint(0, len(heads)), S(f"for {var} in range({rng.randint(2, 40)}):", []))
    at = [E(names[k], [], "wi") for k in range(len(t.dims))]
    dims = [t.dims[k] for k in order]
    body: list[S] = []
    for _ in range(rng.choice((2, 2, 3))):
        kind = rng.choice(("+", "+", "+", "-", "min", "max"))
        body += element(s, inner, kind, term(inner, t, at, kind), dims, at, order)
    if not body:
        return []
    s.features.add("several reductions in a nest")
    return wrapped(heads, body)
