"""Functions with exact results: equal to NumPy to the bit, by machine code, interpreter and kernel.py."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
from math_points import INF, NAN, Array, arbitrary, kernel_of

import kernelwright as kw

SEED = int(os.environ.get("KW_FUZZ_SEED") or random.randrange(2**32))
FLOATS, INTEGERS = ("float32", "float64"), ("int32", "int64")
POINTS = 20_000


def bits(a: Array) -> bytes:
    """The bytes, with every NaN made the same."""
    return np.where(np.isnan(a), np.array(NAN, a.dtype), a).tobytes() if a.dtype.kind == "f" else a.tobytes()


def evaluate(name: str, *args: Array, dtype: str = "a.dtype") -> Array:
    """By machine code, after comparing a sample with the interpreter and with kernel.py.

    Python's math.trunc takes no NumPy scalar but float64, which is one of its floats.
    """
    function = kernel_of(name, len(args), dtype)
    with kw.debug("cache=off"):
        got = kw.kernel(function)(*args)
    by_python = name != "math.trunc" or args[0].dtype == "float64"
    for count, words in ((3000, "cache=off; interp"), *([(300, "")] if by_python else [])):
        step = len(args[0]) // count + 1
        some = tuple(np.ascontiguousarray(a[::step]) for a in args)
        with kw.debug(words or "cache=off"):
            kernel = kw.kernel(function)
            other = kernel(*some) if words else kernel.py(*some)
        assert bits(other) == bits(got[::step]), words or "kernel.py"
    return got


def floats(dtype: str) -> Array:
    rng = np.random.default_rng(SEED)
    some = [0.0, 0.5, 0.75, 1.0, 1.5, 2.5, 3.5, 1e10, 2.0**22 + 0.5, 2.0**23, 2.0**51 + 0.5, 2.0**52, 2.0**63]
    moderate = rng.uniform(-100, 100, POINTS).astype(dtype)
    halves = rng.integers(-1000, 1000, 2000) / 2
    parts = [[NAN, INF, -INF], some, [-v for v in some], arbitrary(rng, dtype, POINTS), moderate, halves]
    return np.concatenate([np.asarray(p).astype(dtype) for p in parts])


def integers(dtype: str) -> Array:
    rng, info = np.random.default_rng(SEED), np.iinfo(dtype)
    some = [v + d for v in (0, info.min + 2, info.max - 2) for d in (-2, -1, 0, 1, 2)]
    return np.concatenate(
        [
            np.array(some, dtype),
            rng.integers(-20, 20, 200, dtype),
            rng.integers(info.min, info.max, 200, dtype),
        ]
    )


ROUNDINGS = {
    "ceil": np.ceil,
    "trunc": np.trunc,
    "np.round": np.rint,
    "kw.round": np.rint,
    "floor": np.floor,
    "sign": np.sign,
}
TO_INTS = {"math.ceil": np.ceil, "math.trunc": np.trunc, "round": np.rint, "math.floor": np.floor}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ROUNDINGS)
def test_rounding_and_sign_of_floats(name: str, dtype: str) -> None:
    x = floats(dtype)
    with np.errstate(all="ignore"):
        assert bits(evaluate(name, x)) == bits(ROUNDINGS[name](x)), f"KW_FUZZ_SEED={SEED}"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", TO_INTS)
def test_rounding_of_floats_to_python_ints(name: str, dtype: str) -> None:
    x = floats(dtype)
    fits = np.abs(x) < 2.0**63  # not NaN
    expected = TO_INTS[name](x[fits]).astype("int64")
    assert evaluate(name, x[fits], dtype="'int64'").tolist() == expected.tolist(), f"KW_FUZZ_SEED={SEED}"


@pytest.mark.parametrize("name", TO_INTS)
def test_what_no_int_of_64_bits_holds_rounds_to_the_nearest_or_to_zero(name: str) -> None:
    x = np.array([NAN, INF, -INF, 2.0**63, -(2.0**63), 1e300, -1e19, -0.0])
    least, most = -(2**63), 2**63 - 1
    for words in ("cache=off", "cache=off; interp"):
        with kw.debug(words):
            got = kw.kernel(kernel_of(name, dtype="'int64'"))(x)
        assert got.tolist() == [0, most, least, most, least, most, least, 0], words


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", [*ROUNDINGS, "round"])
def test_rounding_and_sign_of_integers(name: str, dtype: str) -> None:
    x = integers(dtype)
    assert evaluate(name, x).tolist() == (np.sign(x) if name == "sign" else x).tolist()


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", TO_INTS)
def test_rounding_of_integers_to_python_ints(name: str, dtype: str) -> None:
    x = integers(dtype)
    x = x[np.abs(x.astype("float64")) < 2.0**53]  # Python's math makes floats of them
    assert evaluate(name, x, dtype="'int64'").tolist() == x.tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_classes_of_floats(dtype: str) -> None:
    x = floats(dtype)
    for name in ("isnan", "isinf", "isfinite"):
        assert evaluate(name, x, dtype="'bool'").tolist() == getattr(np, name)(x).tolist()


def test_classes_of_integers() -> None:
    x = integers("int64")
    assert not evaluate("isnan", x, dtype="'bool'").any() and not evaluate("isinf", x, dtype="'bool'").any()
    assert evaluate("isfinite", x, dtype="'bool'").all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_fmod_of_floats(dtype: str) -> None:
    rng = np.random.default_rng(SEED)
    x, y = floats(dtype), floats(dtype)
    rng.shuffle(y)
    with np.errstate(all="ignore"):
        assert bits(evaluate("fmod", x, y)) == bits(np.fmod(x, y)), f"KW_FUZZ_SEED={SEED}"
        assert bits(evaluate("ceil_div", x, y)) == bits(-((-x) // y)), f"KW_FUZZ_SEED={SEED}"


@pytest.mark.parametrize("dtype", INTEGERS)
def test_quotients_of_integers(dtype: str) -> None:
    x, y = np.repeat(integers(dtype)[:120], 120), np.tile(integers(dtype)[:120], 120)
    with np.errstate(all="ignore"):
        assert evaluate("fmod", x, y).tolist() == np.fmod(x, y).tolist()
        assert evaluate("ceil_div", x, y).tolist() == (x // y + (x % y != 0)).astype(dtype).tolist()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_of_integers(dtype: str) -> None:
    x = np.repeat(integers(dtype)[:60], 60)
    y = np.tile(integers(dtype)[:60], 60)
    got = evaluate("power", x, y)
    natural = y >= 0
    with np.errstate(all="ignore"):
        assert got[natural].tolist() == np.power(x[natural], y[natural]).tolist()
    for base, exponent, result in zip(x[~natural].tolist(), y[~natural].tolist(), got[~natural], strict=True):
        assert result == (1 if base == 1 else (-1) ** (exponent % 2) if base == -1 else 0)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_popcount(dtype: str) -> None:
    x = integers(dtype)
    mask = 2 ** (8 * x.dtype.itemsize) - 1
    assert evaluate("popcount", x).tolist() == [bin(v & mask).count("1") for v in x.tolist()]


def weak_arguments(x: Any) -> Any:
    out = output_tensor((9,), "float64")
    out[0] = x[0] * round(2.5)
    out[1] = ceil(0.2) + trunc(-0.7) + sign(-2)
    out[2] = fmod(-7, 3) / 2
    out[3] = ceil_div(7, 2) / 4
    out[4] = popcount(-1)
    out[5] = power(2, 10) // 3
    out[6] = atan2(1, 1) + log(2) + sigmoid(0)
    out[7] = 1.0 if isfinite(3) and not isnan(0.5) else 0.0
    out[8] = fmod(-7.5, 2) + ceil_div(7.5, 2) + power(2.0, 0.75)
    return out


def test_a_function_of_weak_operands_is_weak() -> None:
    x = np.array([3.0], "float32")
    got = kw.kernel(weak_arguments)(x)
    assert bits(got) == bits(kw.kernel(weak_arguments).py(x))
    assert got[:6].tolist() == [6.0, 0.0, -0.5, 1.0, 64.0, 341.0]


def weak_beside_strong(x: Any) -> Any:
    out = output_tensor((4,), "float64")
    out[0] = log(2) * x[0]
    out[1] = power(x[0], 3) / 3
    out[2] = atan2(1, x[0]) / 3
    out[3] = fmod(x[0], 0.3)
    return out


def test_weak_operands_adopt_the_type_of_strong_ones() -> None:
    x = np.array([0.7], "float32")
    got = kw.kernel(weak_beside_strong)(x)
    assert bits(got) == bits(kw.kernel(weak_beside_strong).py(x))
    assert (got == got.astype("float32")).all()


def roots(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] ** 0.5
    return c


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("words", ["cache=off", "cache=off; interp"])
def test_a_root_by_an_exponent_is_that_of_power(words: str, dtype: str) -> None:
    """sqrt differs: of -0.0 it is -0.0, and of minus infinity NaN."""
    values = np.array([-0.0, 0.0, -INF, INF, NAN, -1.0, 2.0, 4.0], dtype)
    with kw.debug(words), np.errstate(invalid="ignore"):
        got = kw.kernel(roots)(values)
        assert bits(got) == bits(np.power(values, np.full_like(values, 0.5)))
