"""Running sums and recurrences, along rows and along columns."""

from __future__ import annotations

import numpy as np
from case import Case, floats

import kernelwright as kw


@kw.kernel
def cumsum_rows(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
            y[i, j] = total
    return y


@kw.kernel
def cumsum_columns(x):
    y = output_tensor(x.shape, x.dtype)
    for j in range(x.shape[1]):
        y[0, j] = x[0, j]
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = y[i - 1, j] + x[i, j]
    return y


@kw.kernel
def smooth(x, keep):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        level = x[i, 0]
        for j in range(x.shape[1]):
            level = keep * level + (1.0 - keep) * x[i, j]
            y[i, j] = level
    return y


def np_smooth(x, keep):  # type: ignore[no-untyped-def]
    y, level, k = np.empty_like(x), x[:, 0].copy(), np.float32(keep)
    for j in range(x.shape[1]):
        level = k * level + (1 - k) * x[:, j]
        y[:, j] = level
    return y


def shape(x, *_):  # type: ignore[no-untyped-def]
    return x.shape


SIZES = {"cache": (256, 512), "DRAM": (16384, 1024)}

CASES = [
    Case(
        cumsum_rows,
        SIZES,
        lambda r, n, m: (floats(r, n, m),),
        lambda x: x.cumsum(axis=1),
        shape,
        tolerance=1e-4,
    ),
    Case(
        cumsum_columns,
        SIZES,
        lambda r, n, m: (floats(r, n, m),),
        lambda x: x.cumsum(axis=0),
        shape,
        "j",
        tolerance=1e-3,
    ),
    Case(smooth, SIZES, lambda r, n, m: (floats(r, n, m), 0.9), np_smooth, shape, numpy=False),
]
