"""Arguments, references and kernels for the accuracy tests of elementary functions. No tests."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

import kernelwright as kw

Array = np.ndarray[Any, Any]
Long = np.longdouble
INF, NAN = float("inf"), float("nan")
POINTS = 20_000
UNSIGNED = {"float32": "uint32", "float64": "uint64"}

# bound in ULP, ranges that matter, and the places where the expansion changes or the function is hard
HALF_PI = math.pi / 2
TURNS = [k * HALF_PI for k in (0.5, 1, 1.5, 2, 3, 22, 355, 5419351, 1e9, 123456789012)]
FUNCTIONS: dict[str, tuple[float, tuple[float, ...], list[float]]] = {
    "rsqrt": (2, (10, 1e10), [1.0, 4.0]),
    "exp": (1, (1, 100, 745), [math.log(2) / 2, 1.0, 709.78, -745.13, -708.4, 88.72, -103.97]),
    "exp2": (1, (1, 150, 1075), [0.5, 1.5, 128.0, 1024.0, -126.0, -149.5, -1022.0, -1074.5]),
    "expm1": (1, (0.5, 40, 710), [math.log(2) / 2, 1.5 * math.log(2), 2.0**-54, 37.4, 709.78, 88.72]),
    "log": (1, (2, 1e5), [0.5**0.5, 2**0.5, 4 / 3, 1.0, 2.0]),
    "log2": (1, (2, 1e5), [0.5**0.5, 2**0.5, 4 / 3, 1.0, 1024.0]),
    "log10": (1, (2, 1e5), [0.5**0.5, 2**0.5, 4 / 3, 10**0.125, 1.0, 1000.0, 1e22]),
    "log1p": (1, (1, 1e5), [0.5**0.5 - 1, 2**0.5 - 1, -1.0, 2.0**-54]),
    "sin": (1, (4, 1e4, 2e6), [*TURNS, 1e6, 2.0**-28]),
    "cos": (1, (4, 1e4, 2e6), [*TURNS, 1e6, 2.0**-28]),
    "tan": (1, (4, 1e4, 2e6), [*TURNS, 1e6, 2.0**-28]),
    "asin": (1, (1, 1.01), [1.0, 0.5**0.5, math.sin(math.pi / 8), 2.0**-28]),
    "acos": (1, (1, 1.01), [1.0, -1.0, 0.5**0.5, math.sin(math.pi / 8)]),
    "atan": (1, (1, 10, 1e5), [2**0.5 - 1, 2**0.5 + 1, 1.0, 2.0**-28, 2.0**100]),
    "sinh": (1, (1, 40, 711), [math.log(2) / 2, 2.0**-28, 710.47, 89.4, 18.7]),
    "cosh": (1, (1, 40, 711), [math.log(2) / 2, 2.0**-28, 710.47, 89.4, 18.7]),
    "tanh": (1, (1, 20), [math.log(2) / 2, 2.0**-28, 1.0, 9.01, 19.06]),
    "erf": (1, (1, 6), [0.75, 0.5, 0.875, 3.9, 5.92, 2.0**-500]),
    "erfc": (1, (1, 6, 28), [0.75, 0.5, 26.5, 27.2, 10.05, 9.2, -5.8]),
    "sigmoid": (3, (1, 40, 745), [-709.78, -745.1, 36.7, -88.7]),
}
WORST_ANGLE = 6381956970095103 * 2.0**797  # of all float64 the nearest to a multiple of π/2


def kernel_of(name: str, arity: int = 1, dtype: str = "a.dtype") -> Callable[..., Any]:
    """A kernel that applies a function to every element."""
    args = ", ".join("ab"[:arity])
    call = ", ".join(f"{p}[i]" for p in "ab"[:arity])
    text = (
        f"def k({args}):\n    out = output_tensor(a.shape, {dtype})\n    for i in range(a.shape[0]):\n"
        f"        out[i] = {name}({call})\n    return out\n"
    )
    file = f"<{name} {arity} {dtype}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {"kw": kw, "math": math, "np": np}
    exec(compile(text, file, "exec"), space)
    return space["k"]


def near(value: float, dtype: str, steps: int = 40) -> Array:
    """The representable numbers around one."""
    middle = np.array([value], dtype).view(UNSIGNED[dtype]).astype("int64")
    return (middle + np.arange(-steps, steps + 1)).astype(UNSIGNED[dtype]).view(dtype)


def arbitrary(rng: np.random.Generator, dtype: str, count: int) -> Array:
    """Finite numbers of any exponent."""
    raw = rng.integers(0, 256, 2 * count * np.dtype(dtype).itemsize, "uint8").view(dtype)
    return raw[np.isfinite(raw)][:count]


def points(name: str, dtype: str, rng: np.random.Generator) -> Array:
    """Where a function of one argument is tested."""
    _, ranges, places = FUNCTIONS[name]
    info = np.finfo(dtype)
    edges = [float(v) for v in (info.max, info.tiny, info.smallest_subnormal)]
    parts = [near(s * p, dtype) for p in places if abs(p) <= edges[0] for s in (1.0, -1.0)]
    parts += [arbitrary(rng, dtype, 6000), np.array([*edges, *(-e for e in edges)], dtype)]
    if name in ("sin", "cos", "tan"):
        multiples = rng.integers(1, 10**6, 2000) * HALF_PI
        parts += [multiples, np.array([WORST_ANGLE] if dtype == "float64" else [])]
    if name in ("asin", "acos"):
        parts += [1 - 10.0 ** rng.uniform(-17, 0, 2000)]
    small = 10.0 ** rng.uniform(-20, 0, 2000)
    parts += [small, -small]
    left = POINTS - sum(len(p) for p in parts)
    parts += [rng.uniform(-r, r, left // len(ranges) + 1) for r in ranges]
    x = np.concatenate([p.astype(dtype) for p in parts])
    return np.abs(x) if name in ("rsqrt", "log", "log2", "log10") else x


def coordinates(dtype: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """For atan2: numbers of any size, in the unit square, near the slopes where the expansion changes."""
    parts = [(arbitrary(rng, dtype, 6000), arbitrary(rng, dtype, 6000))]
    wide = 10.0 ** rng.uniform(-6, 6, (2, 5000)) * rng.choice([-1.0, 1.0], (2, 5000))
    parts += [tuple(rng.uniform(-1, 1, (2, 8000))), tuple(wide)]
    parts += [(near(v, dtype), np.ones(81)) for v in (1.0, 2**0.5 - 1, 2**0.5 + 1)]
    tiny = float(np.finfo(dtype).tiny)
    parts += [(rng.uniform(0, 4 * tiny, 2000), rng.uniform(-3, 3, 2000))]
    return tuple(np.concatenate([p[k].astype(dtype) for p in parts]) for k in (0, 1))  # type: ignore


def powers(dtype: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """Bases of every size with exponents whose results stay in range, bases near 1, whole exponents."""
    info = np.finfo(dtype)
    base = np.concatenate([
        np.abs(arbitrary(rng, dtype, 9000)),
        1 + rng.uniform(-1e-3, 1e-3, 4000),
        1 + rng.uniform(-1e-6, 1e-6, 2000),
        rng.uniform(0, 10, 5000),
    ]).astype(dtype)  # fmt: skip
    with np.errstate(all="ignore"):
        limit = math.log(float(info.max)) / np.abs(np.log(base.astype(float)))
    exponent = np.minimum(limit, 1e30) * rng.uniform(-1.1, 1.02, len(base))
    whole = rng.integers(-20, 21, 2000)
    base = np.concatenate([base, rng.uniform(-3, 3, 2000).astype(dtype)])
    return base, np.concatenate([exponent, whole]).astype(dtype)


def _special(name: str) -> Callable[[Any], Any] | None:
    """Functions that NumPy has under another name or not at all."""
    own = {"rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x))}
    renamed = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2}
    return own.get(name) or renamed.get(name) or getattr(np, name, None)


def exact(name: str, *args: float) -> Any:
    """By mpmath, in the working precision."""
    a = [mpmath.mpf(v) for v in args]
    match name:
        case "rsqrt":
            return 1 / mpmath.sqrt(a[0])
        case "sigmoid":
            return 1 / (1 + mpmath.exp(-a[0]))
        case "exp2":
            return mpmath.mpf(2) ** a[0]
        case "log2":
            return mpmath.log(a[0], 2)
        case "erf" | "erfc":
            return getattr(mpmath, name)(max(min(a[0], 30), -30))
        case _:
            return getattr(mpmath, name)(*a)


def to_long(v: Any) -> Any:
    """Nearest long double, by way of the two halves of the mantissa."""
    if not math.isfinite(v) or v == 0:
        return Long(float(v))
    mantissa, exponent = mpmath.frexp(v)
    high = float(mantissa)
    return np.ldexp(Long(high) + Long(float(mantissa - high)), exponent)


def _error_function(name: str, v: float) -> Any:
    return to_long(exact(name, v)) if v else Long(getattr(math, name)(v))


def reference(name: str, dtype: str, *args: Array) -> Array:
    """The true values with at least eleven bits more than the result has."""
    if name in ("erf", "erfc"):
        if dtype == "float32":
            return np.array([getattr(math, name)(v) for v in args[0].tolist()]).astype(Long)
        with mpmath.workprec(90):
            return np.array([_error_function(name, v) for v in args[0].tolist()])
    function = _special(name) if len(args) == 1 else {"atan2": np.arctan2, "power": np.power}[name]
    assert function is not None
    with np.errstate(all="ignore"):
        return np.asarray(function(*(a.astype(Long) for a in args)))


def errors_in_ulp(got: Array, true: Array) -> Array:
    """Distances in units of the last place of the result; an overflow counts from 2^emax, a NaN that only one
    has is infinite."""
    info = np.finfo(got.dtype)
    top = np.ldexp(Long(1), info.maxexp)
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.where(true == 0, Long(0), true))[1]
        least = info.minexp - info.nmant
        unit = np.ldexp(Long(1), np.clip(exponent - info.nmant - 1, least, info.maxexp - 1 - info.nmant))
        value = np.where(np.isinf(got), np.sign(got) * top, got.astype(Long))
        distance = np.abs(value - np.clip(true, -top, top)) / unit
    distance = np.where(np.isnan(got) & np.isnan(true), 0, distance)
    return np.where(np.isnan(got) != np.isnan(true), INF, distance).astype(float)


def exact_error(name: str, got: Any, *args: float) -> float:
    """The same for one point, by mpmath."""
    info = np.finfo(got.dtype)
    with mpmath.workprec(1400 if name in ("sin", "cos", "tan") else 200):
        true = exact(name, *args)
        undefined = isinstance(true, mpmath.mpc) or mpmath.isnan(true)
        if undefined or mpmath.isinf(true) or np.isnan(got):
            return 0.0 if (np.isnan(got) if undefined else got == true) else INF
        exponent = mpmath.frexp(true)[1] if true else -2000
        least = info.minexp - info.nmant
        unit = mpmath.mpf(2) ** max(min(exponent - info.nmant - 1, info.maxexp - 1 - info.nmant), least)
        top = mpmath.mpf(2) ** info.maxexp
        value = mpmath.mpf(float(got)) if np.isfinite(got) else top * math.copysign(1, got)
        return float(abs(value - max(min(true, top), -top)) / unit)
