"""Sums, maxima and their like over everything, over rows and over columns."""

from __future__ import annotations

import numpy as np
from case import Case, floats

import kernelwright as kw


@kw.kernel
def sum_all(x):
    s = output_tensor((1,), x.dtype)
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j]
    s[0] = total
    return s


@kw.kernel
def sum_rows(x):
    s = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
        s[i] = total
    return s


@kw.kernel
def sum_columns(x):
    s = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i, j]
        s[j] = total
    return s


@kw.kernel
def dot(x, y):
    s = output_tensor((1,), x.dtype)
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    s[0] = total
    return s


@kw.kernel
def max_rows(x):
    s = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        s[i] = top
    return s


@kw.kernel
def argmax_rows(x):
    s = output_tensor((x.shape[0],), "int64")
    for i in range(x.shape[0]):
        top = x[i, 0]
        at = 0
        for j in range(1, x.shape[1]):
            if x[i, j] > top:
                top = x[i, j]
                at = j
        s[i] = at
    return s


@kw.kernel
def norm_rows(x):
    s = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j] * x[i, j]
        s[i] = sqrt(total)
    return s


@kw.kernel
def variance_columns(x):
    s = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        mean = 0.0
        for i in range(x.shape[0]):
            mean += x[i, j]
        mean = mean / x.shape[0]
        spread = 0.0
        for i in range(x.shape[0]):
            d = x[i, j] - mean
            spread += d * d
        s[j] = spread / x.shape[0]
    return s


PLANES = {"small": (64, 64), "cache": (1024, 512), "DRAM": (16384, 1024)}
LINES = {"small": (4096,), "cache": (1 << 18,), "DRAM": (1 << 24,)}


def plane(r, n, m):  # type: ignore[no-untyped-def]
    return (floats(r, n, m),)


def shape(x, *_):  # type: ignore[no-untyped-def]
    return x.shape


CASES = [
    Case(sum_all, PLANES, plane, lambda x: x.sum(keepdims=True)[0], shape, limit="read", tolerance=1e-3),
    Case(sum_rows, PLANES, plane, lambda x: x.sum(axis=1), shape, limit="read", tolerance=1e-4),
    Case(sum_columns, PLANES, plane, lambda x: x.sum(axis=0), shape, "j", limit="read", tolerance=1e-3),
    Case(
        dot,
        LINES,
        lambda r, n: (floats(r, n) - np.float32(0.5), floats(r, n)),
        lambda x, y: np.dot(x, y)[None],
        shape,
        limit="read",
        tolerance=2e-3,
    ),
    Case(max_rows, PLANES, plane, lambda x: x.max(axis=1), shape, limit="read"),
    Case(argmax_rows, PLANES, plane, lambda x: x.argmax(axis=1), shape, limit="read"),
    Case(norm_rows, PLANES, plane, lambda x: np.linalg.norm(x, axis=1), shape, limit="read", tolerance=1e-4),
    Case(variance_columns, PLANES, plane, lambda x: x.var(axis=0), shape, "j", limit="read", tolerance=1e-3),
]
