"""Subscripts that come from data: checked at run time unless a kernel is made with unchecked=True."""

from __future__ import annotations

import numpy as np
from case import Case, floats

import kernelwright as kw


@kw.kernel
def gather(x, idx):
    y = output_tensor(idx.shape, x.dtype)
    for i in range(idx.shape[0]):
        y[i] = x[idx[i]]
    return y


@kw.kernel
def scatter_add(x, idx, n):
    y = output_tensor((n,), x.dtype)
    for k in range(n):
        y[k] = 0.0
    for p in range(idx.shape[0]):
        y[idx[p]] += x[p]
    return y


@kw.kernel
def histogram(x, bins):
    y = output_tensor((bins,), "int64")
    for k in range(bins):
        y[k] = 0
    for p in range(x.shape[0]):
        y[x[p]] += 1
    return y


@kw.kernel
def spmv(ptr, col, val, x):
    y = output_tensor((ptr.shape[0] - 1,), x.dtype)
    for i in range(ptr.shape[0] - 1):
        total = 0.0
        for p in range(ptr[i], ptr[i + 1]):
            total += val[p] * x[col[p]]
        y[i] = total
    return y


@kw.kernel
def embedding(table, ids):
    y = output_tensor((ids.shape[0], table.shape[1]), table.dtype)
    for i in range(ids.shape[0]):
        for j in range(table.shape[1]):
            y[i, j] = table[ids[i], j]
    return y


def np_scatter_add(x, idx, n):  # type: ignore[no-untyped-def]
    y = np.zeros(n, x.dtype)
    np.add.at(y, idx, x)
    return y


def np_spmv(ptr, col, val, x):  # type: ignore[no-untyped-def]
    return np.add.reduceat(val * x[col], ptr[:-1])


def sparse(r, n, per_row):  # type: ignore[no-untyped-def]
    counts = r.integers(1, 2 * per_row, n)
    ptr = np.concatenate([[0], counts.cumsum()])
    return ptr, r.integers(0, n, ptr[-1]), floats(r, int(ptr[-1])), floats(r, n)


SIZES = {"small": (4096,), "DRAM": (1 << 20,)}

CASES = [
    Case(
        gather,
        SIZES,
        lambda r, n: (floats(r, n), r.integers(0, n, n)),
        lambda x, idx: x[idx],
        lambda x, idx: idx.shape,
        limit="",
        indexed=True,
    ),
    Case(
        scatter_add,
        SIZES,
        lambda r, n: (floats(r, n), r.integers(0, n, n), n),
        np_scatter_add,
        lambda x, idx, n: idx.shape,
        "",
        limit="",
        indexed=True,
        tolerance=1e-4,
    ),
    Case(
        histogram,
        SIZES,
        lambda r, n: (r.integers(0, 256, n), 256),
        lambda x, bins: np.bincount(x, minlength=bins),
        lambda x, bins: x.shape,
        "",
        limit="",
        indexed=True,
    ),
    Case(
        spmv,
        {"small": (1000, 8), "DRAM": (200_000, 16)},
        sparse,
        np_spmv,
        lambda ptr, *_: (ptr.shape[0] - 1,),
        limit="",
        indexed=True,
        tolerance=1e-4,
    ),
    Case(
        embedding,
        {"small": (256, 64, 128), "DRAM": (50_000, 256, 8192)},
        lambda r, rows, width, n: (floats(r, rows, width), r.integers(0, rows, n)),
        lambda table, ids: table[ids],
        lambda table, ids: (ids.shape[0], table.shape[1]),
        limit="",
        indexed=True,
    ),
]
