"""Integer constants beside Python's own: operators on them are exact, or E215 beyond 64 bits."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import kernelwright as kw

SEED = int(os.environ.get("KW_TEST_SEED", "30"))
BINARY = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "**", "/", "<", "<=", "==", "min", "max")
UNARY = ("-{}", "~({})", "abs({})", "int({})", "+{}")
EDGES = (0, 1, 2, 3, 63, 64, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1)
WIDE = 2**63 + 1


def drawn(random: np.random.Generator) -> int:
    if random.random() < 0.4:
        value = int(random.choice(np.array(EDGES, object)))
    else:
        value = int(random.integers(0, 2 ** int(random.integers(1, 64)), dtype=np.uint64))
    return -value if random.random() < 0.4 and value <= 2**63 else value


def expressions(op: str, random: np.random.Generator) -> list[tuple[str, Any]]:
    """Two hundred texts and what Python makes of them; none where Python raises or needs too long."""
    out = []
    while len(out) < 200:
        a, b = drawn(random), drawn(random)
        if op in UNARY:
            text = op.format(f"({a})")
        else:
            b = b % 80 if op in ("<<", ">>", "**") else b
            text = f"{op}(({a}), ({b}))" if op.isalpha() else f"({a}) {op} ({b})"
        if not (op in ("//", "%", "/") and b == 0):
            out.append((text, eval(text)))
    return out


def tensor_of(value: Any) -> str:
    if isinstance(value, (bool, float)):
        return "b" if isinstance(value, bool) else "f"
    return "u" if value >= 0 else "i"


def lines(values: list[tuple[str, Any]]) -> str:
    """A kernel that stores every value where it fits: uint64, int64, float64 or bool."""
    body = [f"    {tensor_of(v)}[{k}] = {text}" for k, (text, v) in enumerate(values)]
    head = "".join(
        f"    {n} = output_tensor(({len(values)},), '{t}')\n"
        for n, t in (("u", "uint64"), ("i", "int64"), ("f", "float64"), ("b", "bool"))
    )
    return "def k(a):\n" + head + "\n".join(body) + "\n    return u, i, f, b\n"


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("op", [*BINARY, *UNARY])
def test_constants_are_exact_or_refused(op: str, debug: bool) -> None:
    random = np.random.default_rng(SEED)
    values = expressions(op, random)
    good = [(t, v) for t, v in values if isinstance(v, float) or -(2**63) <= v < 2**64]
    bad = [t for t, v in values if not isinstance(v, float) and not -(2**63) <= v < 2**64]
    with kw.debug("cache=off"):
        tensors = dict(zip("uifb", kw.kernel(lines(good), debug=debug)(np.ones(1)), strict=True))
        for k, (text, v) in enumerate(good):
            assert tensors[tensor_of(v)][k] == v, f"{text}, seed {SEED}"
        for text in bad[:20]:
            with pytest.raises(kw.KernelTypeError, match=r"error\[E215\]"):
                kw.kernel(lines([(text, 0)]), debug=debug)(np.ones(1))
    assert bad or op not in ("+", "-", "*", "<<", "**", "-{}", "~({})")


def beside(f, u, n):
    real = output_tensor((3,), "float32")
    same = output_tensor((6,), "bool")
    whole = output_tensor((3,), "uint64")
    real[0] = f[0] * 2**63
    real[1] = (1 << 63) - f[0]
    real[2] = (WIDE if n > 0 else 0) * f[0]
    same[0] = f[0] < 2**63
    same[1] = u[0] < (1 << 63) + (2**63 - 1)
    same[2] = n > -(2**63)
    same[3] = (WIDE if n > 0 else 0) < n
    same[4] = max(WIDE, n) == WIDE
    same[5] = min(n, WIDE) == n
    whole[0] = u[0] + 2**63
    whole[1] = WIDE if n > 0 else 0
    whole[2] = select(n > 0, 0, WIDE)
    return real, same, whole


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("n", [2, 0, -(2**63), 2**63 - 1])
def test_wide_constants_beside_what_only_the_call_knows(n: int, debug: bool) -> None:
    args = (np.full(1, 1.5, "float32"), np.full(1, 9, "uint64"), n)
    with kw.debug("cache=off"):
        results = kw.kernel(debug=debug)(beside)(*args)
    for ours, python in zip(results, kw.kernel(beside).py(*args), strict=True):
        np.testing.assert_array_equal(ours, python)


def with_bools(p):
    out = output_tensor((4,), "bool")
    out[0] = p[0] < 2**63
    out[1] = p[0] != WIDE
    out[2] = p[0] >= WIDE
    out[3] = (p[0] > 5) < WIDE
    return out


@pytest.mark.parametrize("p", [False, True])
def test_a_bool_compares_with_a_wide_constant_as_a_number(p: bool) -> None:
    """NumPy raises OverflowError there; comparisons with Python ints are exact (language.md 10)."""
    assert kw.kernel(with_bools)(np.array([p])).tolist() == [True, True, False, True]


def wraps(n):
    c = output_tensor((1,), "int64")
    c[0] = WIDE if n > 0 else n
    return c


def test_a_wide_constant_that_meets_a_variable_wraps() -> None:
    """With the other side known to the call alone, both are 64 bits with a sign (V2)."""
    assert kw.kernel(wraps)(1)[0] == WIDE - 2**64
    assert kw.kernel(wraps)(-5)[0] == -5
    with pytest.raises(kw.errors.KernelError, match="the Python int 9223372036854775809 does not fit"):
        kw.kernel(debug=True)(wraps)(1)
    assert kw.kernel(debug=True)(wraps)(-5)[0] == -5
