"""Loops that end at different times, tables that fill along diagonals, and forces between all pairs."""

from __future__ import annotations

import numpy as np
from case import Case

import kernelwright as kw


@kw.kernel
def mandelbrot(re, im, steps):
    c = output_tensor((im.shape[0], re.shape[0]), "int32")
    for i in range(im.shape[0]):
        for j in range(re.shape[0]):
            x = 0.0
            y = 0.0
            k = 0
            while k < steps and x * x + y * y <= 4.0:
                t = x * x - y * y + re[j]
                y = 2.0 * x * y + im[i]
                x = t
                k += 1
            c[i, j] = k
    return c


@kw.kernel
def levenshtein(a, b):
    d = output_tensor((a.shape[0] + 1, b.shape[0] + 1), "int32")
    for k in range(a.shape[0] + 1):
        d[k, 0] = k
    for k in range(b.shape[0] + 1):
        d[0, k] = k
    for r in range(1, a.shape[0] + 1):
        for j in range(1, b.shape[0] + 1):
            step = d[r - 1, j - 1]
            if a[r - 1] != b[j - 1]:
                step += 1
            d[r, j] = min(step, min(d[r - 1, j], d[r, j - 1]) + 1)
    return d


@kw.kernel
def n_body(p, mass):
    f = output_tensor(p.shape, p.dtype)
    for i in range(p.shape[0]):
        ax = 0.0
        ay = 0.0
        az = 0.0
        for j in range(p.shape[0]):
            dx = p[j, 0] - p[i, 0]
            dy = p[j, 1] - p[i, 1]
            dz = p[j, 2] - p[i, 2]
            d = dx * dx + dy * dy + dz * dz + 1e-3
            s = mass[j] / (d * sqrt(d))
            ax += dx * s
            ay += dy * s
            az += dz * s
        f[i, 0] = ax
        f[i, 1] = ay
        f[i, 2] = az
    return f


def np_mandelbrot(re, im, steps):  # type: ignore[no-untyped-def]
    z = np.zeros((im.shape[0], re.shape[0]), np.complex64)
    point = re[None, :] + np.complex64(1j) * im[:, None]
    count = np.zeros(z.shape, np.int32)
    inside = np.ones(z.shape, bool)
    for _ in range(steps):
        inside &= z.real * z.real + z.imag * z.imag <= 4
        count += inside
        z = np.where(inside, z * z + point, z)
    return count


def np_levenshtein(a, b):  # type: ignore[no-untyped-def]
    ahead = np.arange(b.shape[0] + 1, dtype=np.int32)
    rows = [ahead]
    for k in range(a.shape[0]):
        last = rows[-1]
        best = np.concatenate([[k + 1], np.minimum(last[1:] + 1, last[:-1] + (b != a[k]))])
        rows.append((np.minimum.accumulate(best - ahead) + ahead).astype(np.int32))
    return np.stack(rows)


def np_n_body(p, mass):  # type: ignore[no-untyped-def]
    d = p[None, :, :] - p[:, None, :]
    r = (d * d).sum(axis=2) + 1e-3
    return (d * (mass[None, :] / (r * np.sqrt(r)))[:, :, None]).sum(axis=1)


def view(r, n, steps):  # type: ignore[no-untyped-def]
    return np.linspace(-2, 0.5, n, dtype=np.float32), np.linspace(-1.2, 1.2, n, dtype=np.float32), steps


CASES = [
    Case(
        mandelbrot,
        {"small": (32, 100), "compute": (512, 200)},
        view,
        np_mandelbrot,
        lambda re, im, steps: (im.shape[0], re.shape[0]),
        limit="",
        odd=0.01,
    ),
    Case(
        levenshtein,
        {"small": (64, 64), "compute": (2000, 2000)},
        lambda r, n, m: (r.integers(0, 4, n, dtype=np.int32), r.integers(0, 4, m, dtype=np.int32)),
        np_levenshtein,
        lambda a, b: (a.shape[0], b.shape[0]),
        "",
        limit="",
    ),
    Case(
        n_body,
        {"small": (64,), "compute": (2000,)},
        lambda r, n: (r.random((n, 3)), r.random(n)),
        np_n_body,
        lambda p, mass: (p.shape[0],),
        limit="",
        tolerance=1e-9,
        real=np.float64,
    ),
]
