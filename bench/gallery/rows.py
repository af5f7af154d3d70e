"""Normalisations: several passes over a row, or over the columns of a batch."""

from __future__ import annotations

import numpy as np
from case import Case, floats

import kernelwright as kw


@kw.kernel
def softmax(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        total = 0.0
        for j in range(x.shape[1]):
            y[i, j] = exp(x[i, j] - top)
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / total
    return y


@kw.kernel
def log_softmax(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        total = 0.0
        for j in range(x.shape[1]):
            total += exp(x[i, j] - top)
        shift = top + log(total)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] - shift
    return y


@kw.kernel
def layernorm(x, gain, shift):
    y = output_tensor(x.shape, x.dtype)
    n = x.shape[1]
    for i in range(x.shape[0]):
        mean = 0.0
        for j in range(n):
            mean += x[i, j]
        mean = mean / n
        spread = 0.0
        for j in range(n):
            d = x[i, j] - mean
            spread += d * d
        scale = 1.0 / sqrt(spread / n + 1e-5)
        for j in range(n):
            y[i, j] = (x[i, j] - mean) * scale * gain[j] + shift[j]
    return y


@kw.kernel
def rmsnorm(x, gain):
    y = output_tensor(x.shape, x.dtype)
    n = x.shape[1]
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(n):
            total += x[i, j] * x[i, j]
        scale = 1.0 / sqrt(total / n + 1e-5)
        for j in range(n):
            y[i, j] = x[i, j] * scale * gain[j]
    return y


@kw.kernel
def batchnorm(x, gain, shift):
    y = output_tensor(x.shape, x.dtype)
    n = x.shape[0]
    for j in range(x.shape[1]):
        mean = 0.0
        for i in range(n):
            mean += x[i, j]
        mean = mean / n
        spread = 0.0
        for i in range(n):
            d = x[i, j] - mean
            spread += d * d
        scale = 1.0 / sqrt(spread / n + 1e-5)
        for i in range(n):
            y[i, j] = (x[i, j] - mean) * scale * gain[j] + shift[j]
    return y


def np_softmax(x):  # type: ignore[no-untyped-def]
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def np_log_softmax(x):  # type: ignore[no-untyped-def]
    d = x - x.max(axis=1, keepdims=True)
    return d - np.log(np.exp(d).sum(axis=1, keepdims=True))


def np_norm(x, gain, shift, axis):  # type: ignore[no-untyped-def]
    d = x - x.mean(axis=axis, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=axis, keepdims=True) + np.float32(1e-5)) * gain + shift


def np_rmsnorm(x, gain):  # type: ignore[no-untyped-def]
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + np.float32(1e-5)) * gain


def shape(x, *_):  # type: ignore[no-untyped-def]
    return x.shape


SIZES = {"small": (16, 256), "cache": (64, 1024), "DRAM": (4096, 1024)}

CASES = [
    Case(softmax, SIZES, lambda r, n, m: (floats(r, n, m) * 8,), np_softmax, shape),
    Case(log_softmax, SIZES, lambda r, n, m: (floats(r, n, m) * 8,), np_log_softmax, shape),
    Case(
        layernorm,
        SIZES,
        lambda r, n, m: (floats(r, n, m), floats(r, m), floats(r, m)),
        lambda x, g, s: np_norm(x, g, s, 1),
        shape,
        tolerance=1e-4,
    ),
    Case(rmsnorm, SIZES, lambda r, n, m: (floats(r, n, m), floats(r, m)), np_rmsnorm, shape, tolerance=1e-4),
    Case(
        batchnorm,
        SIZES,
        lambda r, n, m: (floats(r, n, m), floats(r, m), floats(r, m)),
        lambda x, g, s: np_norm(x, g, s, 0),
        shape,
        "j",
        tolerance=1e-3,
    ),
]
