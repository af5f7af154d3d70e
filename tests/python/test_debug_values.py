"""debug=True against exact arithmetic: an error wherever a kernel's 64 bits, or the type of a value, do not
hold the true result, and the true result everywhere else."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright.errors import KernelError

SEED = int(os.environ.get("KW_TEST_SEED", "20"))
WORDS = ("cache=off", "cache=off; interp")
LEAST, MOST = -(2**63), 2**63 - 1
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")


def code_of(call: Callable[[], Any]) -> tuple[str, Any]:
    """The code of the error, or "" and what the call gives."""
    try:
        return "", call()
    except KernelError as error:
        return error.code, None


@pytest.fixture(params=WORDS, ids=["llvm", "interp"], autouse=True)
def run_by(request: pytest.FixtureRequest) -> Iterator[None]:
    with kw.debug(request.param):
        yield


def add(c, n, m):
    c[0] = n + m
    return c


def sub(c, n, m):
    c[0] = n - m
    return c


def mul(c, n, m):
    c[0] = n * m
    return c


def floordiv(c, n, m):
    c[0] = n // m
    return c


def mod(c, n, m):
    c[0] = n % m
    return c


def lshift(c, n, m):
    c[0] = n << (m % 100)
    return c


def power(c, n, m):
    c[0] = n ** (m % 70)
    return c


def seventh(c, n, m):
    c[0] = n**7 + 0 * m
    return c


def scaled(c, n, m):
    c[0] = (-3 * n) + 0 * m
    return c


def negated(c, n, m):
    c[0] = -n + 0 * m
    return c


def magnitude(c, n, m):
    c[0] = abs(n) + 0 * m
    return c


def compared(c, n, m):
    c[0] = 1 if 0 < m < n + m else 0
    return c


EXACT: list[tuple[Any, Callable[[int, int], int]]] = [
    (add, operator.add),
    (sub, operator.sub),
    (mul, operator.mul),
    (floordiv, operator.floordiv),
    (mod, operator.mod),
    (lshift, lambda n, m: n << (m % 100)),
    (power, lambda n, m: n ** (m % 70)),
    (seventh, lambda n, m: n**7),
    (scaled, lambda n, m: -3 * n),
    (negated, lambda n, m: -n),
    (magnitude, lambda n, m: abs(n)),
]
EDGES = [0, 1, -1, 2, -2, 3, 63, 64, 2**31, -(2**31), 2**32, 3037000499, 3037000500, 2**62, -(2**62)]
EDGES += [LEAST, LEAST + 1, MOST, MOST - 1, 512, -512, 513, -513]


def pairs() -> list[tuple[int, int]]:
    random = np.random.default_rng(SEED)
    bits = random.integers(1, 64, (200, 2))
    numbers = [[int(random.integers(0, 2 ** int(b), dtype=np.uint64)) for b in row] for row in bits]
    signs = random.choice([-1, 1], (200, 2))
    drawn = [(int(s[0]) * x[0], int(s[1]) * x[1]) for s, x in zip(signs, numbers, strict=True)]
    return [(n, m) for n in EDGES for m in EDGES] + drawn


@pytest.mark.parametrize(("function", "exact"), EXACT, ids=[f.__name__ for f, _ in EXACT])
def test_python_ints_are_exact_or_refused(function: Any, exact: Callable[[int, int], int]) -> None:
    kernel, seen = kw.kernel(debug=True)(function), set()
    for n, m in pairs():
        code, c = code_of(lambda n=n, m=m: kernel(np.zeros(1, np.int64), n, m))
        what = f"{function.__name__}({n}, {m}), seed {SEED}"
        try:
            expected = exact(n, m)
        except ZeroDivisionError:
            assert code == "E311", what
            continue
        seen.add(code)
        assert code == ("" if LEAST <= expected <= MOST else "E307"), what
        assert code or c[0] == expected, what
    assert "" in seen and (function is mod or "E307" in seen)


def test_a_comparison_that_is_not_reached_is_not_checked() -> None:
    kernel = kw.kernel(debug=True)(compared)
    assert code_of(lambda: kernel(np.zeros(1, np.int64), MOST, 1))[0] == "E307"
    assert kernel(np.zeros(1, np.int64), MOST, 0)[0] == 0


def convert(a, c):
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c


def numbers_of(source: str) -> Iterator[Any]:
    """Values at and around the ends of all integer types that the source type has."""
    ends = {e + d for t in INTS for e in (np.iinfo(t).min, np.iinfo(t).max) for d in (-1, 0, 1)}
    if source in INTS:
        yield from (e for e in sorted({*ends, 0, 1}) if np.iinfo(source).min <= e <= np.iinfo(source).max)
        return
    kind = np.dtype(source).type
    with np.errstate(over="ignore"):
        near = [kind(e) for e in sorted(ends)]
        for x in near:
            yield from (np.nextafter(x, kind(-np.inf)), x, np.nextafter(x, kind(np.inf)))
    yield from (kind(v) for v in (-0.0, 0.5, -0.5, -0.99, 127.5, -128.5, np.nan))


@pytest.mark.parametrize("to", INTS)
@pytest.mark.parametrize("source", INTS + FLOATS)
def test_conversions_keep_the_value_or_are_refused(source: str, to: str) -> None:
    kernel, ends = kw.kernel(debug=True)(convert), np.iinfo(to)
    for value in numbers_of(source):
        a, c = np.array([value], source), np.zeros(1, to)
        code, result = code_of(lambda a=a, c=c: kernel(a, c))
        if np.isnan(a[0]):
            assert code == "E309"
            continue
        whole = None if np.isinf(a[0]) else int(a[0])
        fits = whole is not None and ends.min <= whole <= ends.max
        assert code == ("" if fits else "E308"), f"{value!r} of {source} to {to}"
        assert not fits or int(result[0]) == whole


@pytest.mark.parametrize("to", INTS)
def test_operands_keep_the_value_or_are_refused(to: str) -> None:
    def adds(a, n):
        c = output_tensor(a.shape, a.dtype)
        c[0] = a[0] | n
        return c

    kernel, ends, a = kw.kernel(debug=True)(adds), np.iinfo(to), np.zeros(1, to)
    for n in [*EDGES, ends.min, ends.max, ends.min - 1, ends.max + 1]:
        if not LEAST <= n <= MOST:
            continue
        code, result = code_of(lambda n=n: kernel(a, n))
        assert code == ("" if ends.min <= n <= ends.max else "E306"), n
        assert code or int(result[0]) == n


def test_sums_round_as_without_debug() -> None:
    """The checks are no part of the expressions: a sum in lanes stays one, a fused product stays fused."""

    def total(a, n):
        c = output_tensor((1,), a.dtype)
        c[0] = 0.0
        for i in range(a.shape[0]):
            c[0] += a[i + n - n] * a[i] if i + n > 2 or i * n < 5 else a[int(float(i) / 1.0)]
        return c

    a = np.random.default_rng(SEED).standard_normal(10_000).astype(np.float32)
    release, checked = kw.kernel(total), kw.kernel(debug=True)(total)
    assert "lanes" in release.ir(a, 1) and "lanes" in checked.ir(a, 1)
    assert checked(a, 1).tobytes() == release(a, 1).tobytes()


def test_a_loop_in_a_helper_checks_for_its_caller() -> None:
    def grow(x, n):
        for _ in range(n):
            x = x * x
        return x

    @kw.kernel(debug=True)
    def grows(c, x, n):
        c[0] = grow(x, n) if n > 0 else -1
        return c

    c = np.zeros(1, np.int64)
    assert grows(c, 3, 5)[0] == 3**32
    assert grows(c, MOST, 0)[0] == -1
    with pytest.raises(OverflowError) as caught:
        grows(c, 3, 6)
    assert "inlined by the call" in str(caught.value)
