"""Stencils of one, two and three dimensions, and one that is repeated in time. Interiors only."""

from __future__ import annotations

import numpy as np
from case import Case, floats

import kernelwright as kw


@kw.kernel
def stencil_1d(a):
    c = output_tensor((a.shape[0] - 2,), a.dtype)
    for i in range(a.shape[0] - 2):
        c[i] = 0.25 * a[i] + 0.5 * a[i + 1] + 0.25 * a[i + 2]
    return c


@kw.kernel
def stencil_2d(a):
    c = output_tensor((a.shape[0] - 2, a.shape[1] - 2), a.dtype)
    for i in range(a.shape[0] - 2):
        for j in range(a.shape[1] - 2):
            c[i, j] = 0.2 * (a[i + 1, j + 1] + a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2])
    return c


@kw.kernel
def blur(a, w):
    c = output_tensor((a.shape[0] - 2, a.shape[1] - 2), a.dtype)
    for i in range(a.shape[0] - 2):
        for j in range(a.shape[1] - 2):
            total = 0.0
            for p in range(3):
                for q in range(3):
                    total += w[p, q] * a[i + p, j + q]
            c[i, j] = total
    return c


@kw.kernel
def heat_3d(a):
    c = output_tensor((a.shape[0] - 2, a.shape[1] - 2, a.shape[2] - 2), a.dtype)
    for i in range(a.shape[0] - 2):
        for j in range(a.shape[1] - 2):
            for k in range(a.shape[2] - 2):
                m = a[i + 1, j + 1, k + 1]
                c[i, j, k] = m + 0.1 * (
                    a[i, j + 1, k + 1]
                    + a[i + 2, j + 1, k + 1]
                    + a[i + 1, j, k + 1]
                    + a[i + 1, j + 2, k + 1]
                    + a[i + 1, j + 1, k]
                    + a[i + 1, j + 1, k + 2]
                    - 6.0 * m
                )
    return c


@kw.kernel
def jacobi(a, steps):
    c = output_tensor(a.shape, a.dtype)
    b = allocate(a.shape, a.dtype)
    n = a.shape[0]
    m = a.shape[1]
    for i in range(n):
        for j in range(m):
            c[i, j] = a[i, j]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.25 * (c[i - 1, j] + c[i + 1, j] + c[i, j - 1] + c[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                c[i, j] = b[i, j]
    return c


@kw.kernel
def sobel(a):
    c = output_tensor((a.shape[0] - 2, a.shape[1] - 2), a.dtype)
    for i in range(a.shape[0] - 2):
        for j in range(a.shape[1] - 2):
            x = (
                int32(a[i, j + 2])
                + 2 * int32(a[i + 1, j + 2])
                + int32(a[i + 2, j + 2])
                - int32(a[i, j])
                - 2 * int32(a[i + 1, j])
                - int32(a[i + 2, j])
            )
            y = (
                int32(a[i + 2, j])
                + 2 * int32(a[i + 2, j + 1])
                + int32(a[i + 2, j + 2])
                - int32(a[i, j])
                - 2 * int32(a[i, j + 1])
                - int32(a[i, j + 2])
            )
            c[i, j] = min(abs(x) + abs(y), 255)
    return c


def np_stencil_2d(a):  # type: ignore[no-untyped-def]
    m = a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
    return np.float32(0.2) * m


def np_blur(a, w):  # type: ignore[no-untyped-def]
    n, m = a.shape[0] - 2, a.shape[1] - 2
    return sum(w[p, q] * a[p : p + n, q : q + m] for p in range(3) for q in range(3))


def np_heat_3d(a):  # type: ignore[no-untyped-def]
    s = slice(1, -1)
    around = a[:-2, s, s] + a[2:, s, s] + a[s, :-2, s] + a[s, 2:, s] + a[s, s, :-2] + a[s, s, 2:]
    return a[s, s, s] + np.float32(0.1) * (around - 6 * a[s, s, s])


def np_jacobi(a, steps):  # type: ignore[no-untyped-def]
    c = a.copy()
    for _ in range(steps):
        c[1:-1, 1:-1] = np.float32(0.25) * (c[:-2, 1:-1] + c[2:, 1:-1] + c[1:-1, :-2] + c[1:-1, 2:])
    return c


def np_sobel(image):  # type: ignore[no-untyped-def]
    a = image.astype(np.int32)
    left, right = (a[:-2, k] + 2 * a[1:-1, k] + a[2:, k] for k in (slice(0, -2), slice(2, None)))
    above, below = (a[k, :-2] + 2 * a[k, 1:-1] + a[k, 2:] for k in (slice(0, -2), slice(2, None)))
    return np.minimum(abs(right - left) + abs(below - above), 255).astype(np.uint8)


def shape(a, *_):  # type: ignore[no-untyped-def]
    return a.shape


def filled(r, *size):  # type: ignore[no-untyped-def]
    return (floats(r, *size),)


PLANES = {"small": (66, 66), "cache": (514, 514), "DRAM": (4098, 4098)}

CASES = [
    Case(
        stencil_1d,
        {"small": (4098,), "cache": ((1 << 18) + 2,), "DRAM": ((1 << 24) + 2,)},
        filled,
        lambda a: np.float32(0.25) * a[:-2] + np.float32(0.5) * a[1:-1] + np.float32(0.25) * a[2:],
        shape,
    ),
    Case(stencil_2d, PLANES, filled, np_stencil_2d, shape),
    Case(blur, PLANES, lambda r, n, m: (floats(r, n, m), floats(r, 3, 3)), np_blur, shape),
    Case(heat_3d, {"cache": (66, 66, 66), "DRAM": (258, 258, 258)}, filled, np_heat_3d, shape),
    Case(
        jacobi,
        {"cache": (258, 258), "DRAM": (2050, 2050)},
        lambda r, n, m: (floats(r, n, m), 10),
        np_jacobi,
        shape,
        limit="",
    ),
    Case(sobel, PLANES, lambda r, n, m: (r.integers(0, 256, (n, m), dtype=np.uint8),), np_sobel, shape),
]
