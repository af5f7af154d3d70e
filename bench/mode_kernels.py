"""Kernels whose modes differ: long and short sums, recurrences and contractions, in float32 and float64."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np


def total(x):
    y = output_tensor((1,), x.dtype)
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    y[0] = s
    return y


def cross_entropy(x, label):
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        s = 0.0
        for j in range(x.shape[1]):
            s += exp(x[i, j] - top)
        y[i] = log(s) + top - x[i, label[i]]
    return y


def masked_softmax(x, mask):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            if mask[i, j]:
                top = max(top, x[i, j])
        s = 0.0
        for j in range(x.shape[1]):
            if mask[i, j]:
                y[i, j] = exp(x[i, j] - top)
                s += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / s
    return y


def recurrent_cell(x, w, u):
    y = output_tensor((x.shape[0], u.shape[0]), x.dtype)
    h = allocate((u.shape[0],), x.dtype)
    g = allocate((u.shape[0],), x.dtype)
    for j in range(u.shape[0]):
        h[j] = 0.0
    for t in range(x.shape[0]):
        for j in range(u.shape[0]):
            a = 0.0
            for k in range(x.shape[1]):
                a += w[j, k] * x[t, k]
            b = 0.0
            for k in range(u.shape[0]):
                b += u[j, k] * h[k]
            g[j] = a + b
        for j in range(u.shape[0]):
            h[j] = tanh(g[j])
            y[t, j] = h[j]
    return y


def nearest_centre(x, c):
    label = output_tensor((x.shape[0],), "int64")
    for i in range(x.shape[0]):
        best = 1e300
        for q in range(c.shape[0]):
            s = 0.0
            for j in range(x.shape[1]):
                t = x[i, j] - c[q, j]
                s += t * t
            if s < best:
                best = s
                label[i] = q
    return label


def k_means_step(x, c):
    """The nearest centre of each point, and the sum of the points of each centre."""
    label = output_tensor((x.shape[0],), "int64")
    total = np.zeros(c.shape, x.dtype)
    for i in range(x.shape[0]):
        best = 1e300
        at = 0
        for q in range(c.shape[0]):
            s = 0.0
            for j in range(x.shape[1]):
                t = x[i, j] - c[q, j]
                s += t * t
            if s < best:
                best = s
                at = q
        label[i] = at
        for j in range(x.shape[1]):
            total[at, j] += x[i, j]
    return label, total


def group_norm(x):
    y = output_tensor(x.shape, x.dtype)
    for n in range(x.shape[0]):
        for g in range(x.shape[1]):
            s = 0.0
            for p in range(x.shape[2]):
                for q in range(x.shape[3]):
                    s += x[n, g, p, q]
            mean = s / (x.shape[2] * x.shape[3])
            v = 0.0
            for p in range(x.shape[2]):
                for q in range(x.shape[3]):
                    d = x[n, g, p, q] - mean
                    v += d * d
            scale = 1.0 / sqrt(v / (x.shape[2] * x.shape[3]) + 1e-5)
            for p in range(x.shape[2]):
                for q in range(x.shape[3]):
                    y[n, g, p, q] = (x[n, g, p, q] - mean) * scale
    return y


def levinson(r):
    """Solves the Toeplitz system of the autocorrelation `r` (Levinson and Durbin)."""
    n = r.shape[0] - 1
    a = output_tensor((n,), r.dtype)
    old = allocate((n,), r.dtype)
    error = r[0]
    for i in range(n):
        s = r[i + 1]
        for j in range(i):
            s -= a[j] * r[i - j]
        k = s / error
        for j in range(i):
            old[j] = a[j]
        for j in range(i):
            a[j] = old[j] - k * old[i - 1 - j]
        a[i] = k
        error = error * (1.0 - k * k)
    return a


def cholesky(a):
    y = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= y[i, k] * y[j, k]
            if i == j:
                y[i, i] = sqrt(s)
            else:
                y[i, j] = s / y[j, j]
    return y


def biquad(x):
    y = output_tensor(x.shape, x.dtype)
    p = 0.0
    q = 0.0
    for i in range(x.shape[0]):
        y[i] = 0.2 * x[i] + p
        p = 0.3 * x[i] - 0.4 * y[i] + q
        q = 0.1 * x[i] - 0.2 * y[i]
    return y


def row_sums(x):
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j]
        y[i] = s
    return y


def cases():
    """{name: (function, arguments)}"""
    random = np.random.default_rng(2025)

    def singles(*shape):
        return random.normal(size=shape).astype(np.float32)

    a = random.normal(size=(400, 400))
    return {
        "sum of 10^6": (total, (singles(10**6),)),
        "cross entropy, 1024x1000": (cross_entropy, (singles(1024, 1000), random.integers(0, 1000, 1024))),
        "masked softmax, 1024x1024": (
            masked_softmax,
            (singles(1024, 1024), random.random((1024, 1024)) < 0.9),
        ),
        "recurrent cell, 100x128, 384 states": (
            recurrent_cell,
            (singles(100, 128), singles(384, 128) / 20, singles(384, 384) / 40),
        ),
        "nearest of 16 centres, 20000x8": (
            nearest_centre,
            (random.normal(size=(20000, 8)), random.normal(size=(16, 8))),
        ),
        "k-means step, 20000x8, 16 centres": (
            k_means_step,
            (random.normal(size=(20000, 8)), random.normal(size=(16, 8))),
        ),
        "group norm, 8x32x64x64": (group_norm, (singles(8, 32, 64, 64),)),
        "Levinson, 500": (levinson, (0.9 ** np.arange(501.0),)),
        "Cholesky, 400": (cholesky, (a @ a.T + 400 * np.eye(400),)),
        "biquad, 10^5": (biquad, (singles(10**5),)),
        "sums of 50000 rows of 8": (row_sums, (singles(50000, 8),)),
        "sums of 50000 rows of 8, float64": (row_sums, (random.normal(size=(50000, 8)),)),
        "sums of 8000 rows of 63": (row_sums, (singles(8000, 63),)),
    }
