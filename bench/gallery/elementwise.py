"""Element by element: sums, chains, broadcasts, functions. Reductions live elsewhere."""

from __future__ import annotations

import numpy as np
from case import Case, floats

import kernelwright as kw


@kw.kernel
def copy(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j]
    return c


@kw.kernel
def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] + b[i, j]
    return c


@kw.kernel
def saxpy(s, x, y):
    z = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        z[i] = s * x[i] + y[i]
    return z


@kw.kernel
def chain(a, b, c):
    d = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t = a[i, j] * b[i, j]
            u = t + c[i, j]
            v = u * 0.5 - a[i, j]
            d[i, j] = v * v + 1.0
    return d


@kw.kernel
def broadcast_row(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] + b[j]
    return c


@kw.kernel
def broadcast_column(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] * b[i]
    return c


@kw.kernel
def clip(a, low, high):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            v = a[i, j]
            if v < low:
                v = low
            if v > high:
                v = high
            c[i, j] = v
    return c


@kw.kernel
def normalise_bytes(a):
    c = output_tensor(a.shape, "float32")
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = (float32(a[i, j]) - 127.5) * 0.0078125
    return c


@kw.kernel
def exponential(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = exp(a[i])
    return c


@kw.kernel
def logistic(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = 1.0 / (1.0 + exp(-a[i]))
    return c


@kw.kernel
def gelu(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        x = a[i]
        c[i] = 0.5 * x * (1.0 + tanh(0.7978846 * (x + 0.044715 * x * x * x)))
    return c


@kw.kernel
def black_scholes(spot, strike, years, rate, volatility):
    call = output_tensor(spot.shape, spot.dtype)
    put = output_tensor(spot.shape, spot.dtype)
    for i in range(spot.shape[0]):
        root = volatility * sqrt(years[i])
        d1 = (log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / root
        d2 = d1 - root
        n1 = 0.5 * (1.0 + erf(d1 * 0.70710678))
        n2 = 0.5 * (1.0 + erf(d2 * 0.70710678))
        worth = strike[i] * exp(-rate * years[i])
        c = spot[i] * n1 - worth * n2
        call[i] = c
        put[i] = c - spot[i] + worth
    return call, put


def np_chain(a, b, c):  # type: ignore[no-untyped-def]
    v = (a * b + c) * np.float32(0.5) - a
    return v * v + 1


def np_gelu(x):  # type: ignore[no-untyped-def]
    f = np.float32
    return f(0.5) * x * (1 + np.tanh(f(0.7978846) * (x + f(0.044715) * x * x * x)))


def np_erf(x):  # type: ignore[no-untyped-def]
    """Abramowitz and Stegun 7.1.26, good to 1.5e-7: NumPy has none."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    p = ((((1.061405429 * t - 1.453152027) * t) + 1.421413741) * t - 0.284496736) * t + 0.254829592
    return np.sign(x) * (1 - p * t * np.exp(-x * x))


def np_black_scholes(spot, strike, years, rate, volatility):  # type: ignore[no-untyped-def]
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    n1, n2 = (0.5 * (1 + np_erf(d / np.sqrt(np.float32(2)))) for d in (d1, d1 - root))
    worth = strike * np.exp(-rate * years)
    call = spot * n1 - worth * n2
    return call, call - spot + worth


PLANES = {"small": (64, 64), "cache": (512, 512), "DRAM": (4096, 4096)}
LINES = {"small": (4096,), "cache": (1 << 18,), "DRAM": (1 << 24,)}
COMPUTED = {"small": (4096,), "cache": (1 << 18,), "DRAM": (1 << 22,)}


def shape(a, *_):  # type: ignore[no-untyped-def]
    return a.shape


CASES = [
    Case(copy, PLANES, lambda r, n, m: (floats(r, n, m),), np.copy, shape),
    Case(add, PLANES, lambda r, n, m: (floats(r, n, m), floats(r, n, m)), np.add, shape),
    Case(
        saxpy,
        LINES,
        lambda r, n: (1.5, floats(r, n), floats(r, n)),
        lambda s, x, y: np.float32(s) * x + y,
        lambda s, x, y: x.shape,
    ),
    Case(chain, PLANES, lambda r, n, m: tuple(floats(r, n, m) for _ in range(3)), np_chain, shape),
    Case(broadcast_row, PLANES, lambda r, n, m: (floats(r, n, m), floats(r, m)), np.add, shape),
    Case(
        broadcast_column,
        PLANES,
        lambda r, n, m: (floats(r, n, m), floats(r, n)),
        lambda a, b: a * b[:, None],
        shape,
    ),
    Case(clip, PLANES, lambda r, n, m: (floats(r, n, m), 0.25, 0.75), np.clip, shape),
    Case(
        normalise_bytes,
        PLANES,
        lambda r, n, m: (r.integers(0, 256, (n, m), dtype=np.uint8),),
        lambda a: (a.astype(np.float32) - np.float32(127.5)) * np.float32(0.0078125),
        shape,
    ),
    Case(exponential, COMPUTED, lambda r, n: (floats(r, n) * 20 - 10,), np.exp, shape, limit=""),
    Case(
        logistic,
        COMPUTED,
        lambda r, n: (floats(r, n) * 20 - 10,),
        lambda a: 1 / (1 + np.exp(-a)),
        shape,
        limit="",
    ),
    Case(gelu, COMPUTED, lambda r, n: (floats(r, n) * 8 - 4,), np_gelu, shape, limit=""),
    Case(
        black_scholes,
        COMPUTED,
        lambda r, n: (floats(r, n) * 90 + 10, floats(r, n) * 90 + 10, floats(r, n) * 9 + 0.1, 0.03, 0.25),
        np_black_scholes,
        shape,
        limit="",
        tolerance=5e-4,
    ),
]
