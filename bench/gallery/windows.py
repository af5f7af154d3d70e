"""Windows over images: pooling and depthwise convolution, without borders."""

from __future__ import annotations

import numpy as np
from case import Case, floats

import kernelwright as kw


@kw.kernel
def max_pool(x):
    y = output_tensor((x.shape[0], x.shape[1], x.shape[2] // 2, x.shape[3] // 2), x.dtype)
    for i in range(x.shape[0]):
        for c in range(x.shape[1]):
            for h in range(x.shape[2] // 2):
                for w in range(x.shape[3] // 2):
                    top = x[i, c, 2 * h, 2 * w]
                    for p in range(2):
                        for q in range(2):
                            top = max(top, x[i, c, 2 * h + p, 2 * w + q])
                    y[i, c, h, w] = top
    return y


@kw.kernel
def average_pool(x):
    y = output_tensor((x.shape[0], x.shape[1], x.shape[2] - 2, x.shape[3] - 2), x.dtype)
    for i in range(x.shape[0]):
        for c in range(x.shape[1]):
            for h in range(x.shape[2] - 2):
                for w in range(x.shape[3] - 2):
                    total = 0.0
                    for p in range(3):
                        for q in range(3):
                            total += x[i, c, h + p, w + q]
                    y[i, c, h, w] = total * 0.11111111
    return y


@kw.kernel
def depthwise(x, f):
    y = output_tensor((x.shape[0], x.shape[1], x.shape[2] - 2, x.shape[3] - 2), x.dtype)
    for i in range(x.shape[0]):
        for c in range(x.shape[1]):
            for h in range(x.shape[2] - 2):
                for w in range(x.shape[3] - 2):
                    total = 0.0
                    for p in range(3):
                        for q in range(3):
                            total += x[i, c, h + p, w + q] * f[c, p, q]
                    y[i, c, h, w] = total
    return y


def windows(x):  # type: ignore[no-untyped-def]
    n, m = x.shape[2] - 2, x.shape[3] - 2
    return [(p, q, x[:, :, p : p + n, q : q + m]) for p in range(3) for q in range(3)]


def np_max_pool(x):  # type: ignore[no-untyped-def]
    a = np.maximum(x[:, :, ::2, ::2], x[:, :, 1::2, ::2])
    return np.maximum(a, np.maximum(x[:, :, ::2, 1::2], x[:, :, 1::2, 1::2]))


def shape(x, *_):  # type: ignore[no-untyped-def]
    return x.shape


SIZES = {"cache": (1, 16, 56, 56), "DRAM": (8, 64, 112, 112)}

CASES = [
    Case(max_pool, SIZES, lambda r, *s: (floats(r, *s),), np_max_pool, shape),
    Case(
        average_pool,
        SIZES,
        lambda r, *s: (floats(r, *s),),
        lambda x: sum(v for _, _, v in windows(x)) * np.float32(0.11111111),
        shape,
    ),
    Case(
        depthwise,
        SIZES,
        lambda r, *s: (floats(r, *s), floats(r, s[1], 3, 3)),
        lambda x, f: sum(v * f[None, :, p, q, None, None] for p, q, v in windows(x)),
        shape,
        limit="",
    ),
]
