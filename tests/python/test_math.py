"""Elementary functions: within 1 ULP of mpmath, exact where NumPy is exact, interpreter = LLVM to the bit."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import kernelwright as kw

Array = np.ndarray[Any, Any]
SEED = int(os.environ.get("KW_FUZZ_SEED") or random.randrange(2**32))
INF, NAN = float("inf"), float("nan")
POINTS = 20_000
RANGE = {"float32": (-104.5, 89.0), "float64": (-746.0, 710.0)}  # of exp: beyond it all is 0 or inf
UNSIGNED = {"float32": "uint32", "float64": "uint64"}


def exp_of(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = exp(a[i])
    return out


def sqrt_of(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = sqrt(a[i])
    return out


def floor_of(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = floor(a[i])
    return out


def abs_of(a):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = abs(a[i])
    return out


def exp_of_integers(a):
    out = output_tensor(a.shape, "float64")
    for i in range(a.shape[0]):
        out[i] = exp(a[i])
    return out


def exp_of_weak(x):
    out = output_tensor((2,), "float64")
    out[0] = exp(x)
    out[1] = exp(1)
    return out


def bits(a: Array) -> bytes:
    """The bytes, with every NaN made the same."""
    if a.dtype.kind == "f":
        a = np.where(np.isnan(a), np.array(NAN, a.dtype), a)
    return a.tobytes()


def evaluate(function: Callable[..., Any], x: Array, fp: str) -> Array:
    """By machine code, after comparing its bits with the interpreter's."""
    results = []
    for words in ("cache=off", "cache=off; interp"):
        with kw.debug(words):
            results.append(kw.kernel(fp=fp)(function)(x))
    assert bits(results[0]) == bits(results[1]), "LLVM and the interpreter differ"
    return results[0]


def near(value: float, dtype: str, steps: int = 40) -> Array:
    """The representable numbers around one."""
    middle = np.array([value], dtype).view(UNSIGNED[dtype]).astype("int64")
    return (middle + np.arange(-steps, steps + 1)).astype(UNSIGNED[dtype]).view(dtype)


def spread(dtype: str) -> Array:
    """Even over the range of exp, dense at thresholds and at 0, and arbitrary bits."""
    rng = np.random.default_rng(SEED)
    low, high = RANGE[dtype]
    info = np.finfo(dtype)
    edges = (
        low,
        high,
        math.log(float(info.max)),
        math.log(float(info.tiny)),
        math.log(float(info.smallest_subnormal)),
    )
    thresholds = [near(v, dtype) for v in (*edges, 1.0, -1.0, math.log(2) / 2, -math.log(2) / 2)]
    logs = rng.uniform(-45, math.log10(high), POINTS // 10)
    parts = [*thresholds, (10.0**logs).astype(dtype), -(10.0**logs).astype(dtype)]
    parts.append(rng.uniform(math.log(float(info.smallest_subnormal)), math.log(float(info.tiny)), 2000))
    raw = rng.integers(0, 256, POINTS // 20 * info.dtype.itemsize, "uint8").view(dtype)
    parts.append(raw[np.isfinite(raw)])
    count = POINTS - sum(len(p) for p in parts)
    return np.concatenate([*parts, rng.uniform(low, high, count)]).astype(dtype)


def exact_exp(x: float) -> Any:
    return mpmath.exp(max(min(x, 1000.0), -1000.0))


def ulps(got: float, exact: Any, info: Any) -> float:
    """Distance from the exact value in units of its last place; an overflow counts from 2^emax."""
    smallest, top = float(info.smallest_subnormal), mpmath.mpf(2) ** info.maxexp
    exponent = mpmath.frexp(exact)[1]
    unit = max(mpmath.mpf(2) ** (exponent - info.nmant - 1), mpmath.mpf(smallest))
    unit = min(unit, mpmath.mpf(2) ** (info.maxexp - info.nmant - 1))
    value = top if got == INF else mpmath.mpf(got)
    return float(abs(value - min(exact, top)) / unit)


@pytest.mark.parametrize("fp", ["strict", "default"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp_is_within_one_ulp(dtype: str, fp: str) -> None:
    x, info = spread(dtype), np.finfo(dtype)
    assert len(x) >= POINTS
    got = evaluate(exp_of, x, fp)
    worst, at = 0.0, 0.0
    with mpmath.workprec(100):
        for value, result in zip(x.tolist(), got.tolist(), strict=True):
            error = ulps(result, exact_exp(value), info)
            if not error <= worst:
                worst, at = error, value
    print(f"exp {dtype} {fp}: {worst:.3f} ULP at {at!r}, seed {SEED}")
    assert worst <= 1.0, f"{worst} ULP at {at!r} (KW_FUZZ_SEED={SEED})"


@pytest.mark.parametrize("fp", ["strict", "default"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp_of_special_values(dtype: str, fp: str) -> None:
    x = [
        0.0,
        -0.0,
        INF,
        -INF,
        NAN,
        1e-45,
        -1e-45,
        1e30,
        -1e30,
        float(np.finfo(dtype).max),
        -float(np.finfo(dtype).max),
    ]
    expected = [1.0, 1.0, INF, 0.0, NAN, 1.0, 1.0, INF, 0.0, INF, 0.0]
    assert bits(evaluate(exp_of, np.array(x, dtype), fp)) == bits(np.array(expected, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp_never_falls(dtype: str) -> None:
    x = np.sort(spread(dtype))
    assert (np.diff(evaluate(exp_of, x, "strict")[np.isfinite(x)].clip(max=np.finfo(dtype).max)) >= 0).all()


def test_exp_does_not_depend_on_mode_or_neighbours() -> None:
    for dtype in ("float32", "float64"):
        x = spread(dtype)[-999:]
        whole = evaluate(exp_of, x, "default")
        assert bits(whole) == bits(evaluate(exp_of, x, "strict"))
        for n in (1, 3, 7, 16, 17):
            assert bits(evaluate(exp_of, x[:n], "default")) == bits(whole[:n])
        assert bits(evaluate(exp_of, x[::-3], "default")) == bits(np.ascontiguousarray(whole[::-3]))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_exp_of_integers_is_that_of_float64(dtype: str) -> None:
    x = np.arange(-800, 800).astype(dtype)
    assert bits(evaluate(exp_of_integers, x, "default")) == bits(
        evaluate(exp_of, x.astype("float64"), "default")
    )


def test_exp_of_python_numbers_is_that_of_float64() -> None:
    values = (0.5, -3, True, 1e-300, -745.1, 709.7)
    expected = evaluate(exp_of, np.array([*values, 1.0]), "strict")
    for k, value in enumerate(values):
        for words in ("cache=off", "cache=off; interp"):
            with kw.debug(words):
                got = kw.kernel(exp_of_weak)(value)
            assert bits(got) == bits(expected[[k, -1]]), value


def test_exp_under_cpython_is_the_same() -> None:
    for dtype in ("float32", "float64"):
        x = spread(dtype)[::40]
        assert bits(kw.kernel(exp_of).py(x)) == bits(evaluate(exp_of, x, "default"))


def everything(dtype: str) -> Array:
    """Special values and arbitrary bits."""
    info, rng = np.finfo(dtype), np.random.default_rng(SEED)
    some = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 1e10, 2.0**23 + 0.5, 2.0**52 + 0.5, 2.0**53, 2.0**63, 0.1]
    some += [float(v) for v in (info.max, info.tiny, info.smallest_subnormal, info.eps, 1 - info.epsneg)]
    raw = rng.integers(0, 256, POINTS * info.dtype.itemsize, "uint8").view(dtype)
    moderate = rng.uniform(-1000, 1000, POINTS).astype(dtype)
    return np.concatenate([np.array([NAN, INF, -INF, *some, *(-v for v in some)], dtype), raw, moderate])


@pytest.mark.parametrize("fp", ["strict", "default"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sqrt_floor_and_abs_are_numpys(dtype: str, fp: str) -> None:
    x = everything(dtype)
    with np.errstate(all="ignore"):
        for function, numpys in ((sqrt_of, np.sqrt), (floor_of, np.floor), (abs_of, np.abs)):
            assert bits(evaluate(function, x, fp)) == bits(numpys(x)), (
                f"{function.__name__}, KW_FUZZ_SEED={SEED}"
            )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_signs_of_zero_and_nan(dtype: str) -> None:
    x = np.array([-0.0, -0.5, -1e-40, NAN, -INF], dtype)
    assert np.signbit(evaluate(floor_of, x, "strict")).tolist()[:3] == [True, True, True]
    assert not np.signbit(evaluate(abs_of, np.array([-0.0, -INF, -NAN], dtype), "strict")).any()
    roots = evaluate(sqrt_of, x, "strict")
    assert np.signbit(roots[0]) and roots[0] == 0 and np.isnan(roots[1:]).all()


def test_abs_and_floor_of_integers() -> None:
    for dtype in ("int32", "int64"):
        info = np.iinfo(dtype)
        x = np.array([0, 1, -1, info.max, info.min, info.min + 1], dtype)
        with np.errstate(all="ignore"):
            assert evaluate(abs_of, x, "strict").tolist() == np.abs(x).tolist()
        assert evaluate(floor_of, x, "strict").tolist() == x.tolist()
