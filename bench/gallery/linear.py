"""Vectors, matrices and graphs: products with vectors, factorisations, shortest paths. No matrix products."""

from __future__ import annotations

import numpy as np
from case import Case, floats

import kernelwright as kw


@kw.kernel
def matvec(a, x):
    y = output_tensor((a.shape[0],), a.dtype)
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        y[i] = total
    return y


@kw.kernel
def matvec_transposed(a, x):
    y = output_tensor((a.shape[1],), a.dtype)
    for j in range(a.shape[1]):
        total = 0.0
        for i in range(a.shape[0]):
            total += a[i, j] * x[i]
        y[j] = total
    return y


@kw.kernel
def outer(x, y):
    c = output_tensor((x.shape[0], y.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            c[i, j] = x[i] * y[j]
    return c


@kw.kernel
def lu(a):
    c = output_tensor(a.shape, a.dtype)
    n = a.shape[0]
    for r in range(n):
        for j in range(n):
            c[r, j] = a[r, j]
    for k in range(n):
        for i in range(k + 1, n):
            c[i, k] = c[i, k] / c[k, k]
            for j in range(k + 1, n):
                c[i, j] = c[i, j] - c[i, k] * c[k, j]
    return c


@kw.kernel
def cholesky(a):
    c = output_tensor(a.shape, a.dtype)
    n = a.shape[0]
    for r in range(n):
        for j in range(r + 1):
            total = a[r, j]
            for k in range(j):
                total -= c[r, k] * c[j, k]
            if r == j:
                c[r, j] = sqrt(total)
            else:
                c[r, j] = total / c[j, j]
        for j in range(r + 1, n):
            c[r, j] = 0.0
    return c


@kw.kernel
def triangular_solve(a, b):
    x = output_tensor(b.shape, b.dtype)
    for r in range(b.shape[0]):
        total = b[r]
        for k in range(r):
            total -= a[r, k] * x[k]
        x[r] = total / a[r, r]
    return x


@kw.kernel
def floyd_warshall(a):
    d = output_tensor(a.shape, a.dtype)
    n = a.shape[0]
    for r in range(n):
        for j in range(n):
            d[r, j] = a[r, j]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


def np_lu(a):  # type: ignore[no-untyped-def]
    c = a.copy()
    for k in range(a.shape[0]):
        c[k + 1 :, k] /= c[k, k]
        c[k + 1 :, k + 1 :] -= np.outer(c[k + 1 :, k], c[k, k + 1 :])
    return c


def np_solve(a, b):  # type: ignore[no-untyped-def]
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


def np_floyd_warshall(a):  # type: ignore[no-untyped-def]
    d = a.copy()
    for k in range(a.shape[0]):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d


def heavy_diagonal(r, n):  # type: ignore[no-untyped-def]
    return floats(r, n, n) + n * np.eye(n, dtype=np.float32)


def positive_definite(r, n):  # type: ignore[no-untyped-def]
    a = floats(r, n, n)
    return ((a @ a.T) / n + np.eye(n, dtype=np.float32)).astype(np.float32)


def shape(a, *_):  # type: ignore[no-untyped-def]
    return a.shape


def order(a, *_):  # type: ignore[no-untyped-def]
    return (a.shape[0],)


SIZES = {"cache": (512, 512), "DRAM": (4096, 4096)}
COMPUTE = {"small": (64,), "compute": (512,)}

CASES = [
    Case(
        matvec,
        SIZES,
        lambda r, n, m: (floats(r, n, m), floats(r, m)),
        lambda a, x: a @ x,
        shape,
        limit="read",
        tolerance=2e-4,
    ),
    Case(
        matvec_transposed,
        SIZES,
        lambda r, n, m: (floats(r, n, m), floats(r, n)),
        lambda a, x: x @ a,
        shape,
        "j",
        limit="read",
        tolerance=2e-4,
    ),
    Case(
        outer,
        SIZES,
        lambda r, n, m: (floats(r, n), floats(r, m)),
        np.outer,
        lambda x, y: (x.shape[0], y.shape[0]),
        limit="",
    ),
    Case(lu, COMPUTE, lambda r, n: (heavy_diagonal(r, n),), np_lu, order, limit="", tolerance=1e-4),
    Case(
        cholesky,
        COMPUTE,
        lambda r, n: (positive_definite(r, n),),
        np.linalg.cholesky,
        order,
        "",
        limit="",
        tolerance=1e-3,
    ),
    Case(
        triangular_solve,
        {"small": (64,), "DRAM": (4096,)},
        lambda r, n: (heavy_diagonal(r, n), floats(r, n)),
        np_solve,
        order,
        "",
        limit="",
        tolerance=1e-4,
    ),
    Case(floyd_warshall, COMPUTE, lambda r, n: (floats(r, n, n),), np_floyd_warshall, order, limit=""),
]
