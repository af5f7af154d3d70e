"""Elements moved to other places: transposes, permutes, reversals."""

from __future__ import annotations

import numpy as np
from case import Case, floats

import kernelwright as kw


@kw.kernel
def transpose(a):
    c = output_tensor((a.shape[1], a.shape[0]), a.dtype)
    for i in range(a.shape[1]):
        for j in range(a.shape[0]):
            c[i, j] = a[j, i]
    return c


@kw.kernel
def channels_last(a):
    c = output_tensor((a.shape[0], a.shape[2], a.shape[3], a.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for h in range(a.shape[2]):
            for w in range(a.shape[3]):
                for k in range(a.shape[1]):
                    c[i, h, w, k] = a[i, k, h, w]
    return c


@kw.kernel
def swap_axes(a):
    c = output_tensor((a.shape[1], a.shape[0], a.shape[2]), a.dtype)
    for i in range(a.shape[1]):
        for j in range(a.shape[0]):
            for k in range(a.shape[2]):
                c[i, j, k] = a[j, i, k]
    return c


@kw.kernel
def flip(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, a.shape[1] - 1 - j]
    return c


def shape(a):  # type: ignore[no-untyped-def]
    return a.shape


def filled(r, *size):  # type: ignore[no-untyped-def]
    return (floats(r, *size),)


CASES = [
    Case(
        transpose,
        {"small": (64, 64), "cache": (512, 512), "2048": (2048, 2048), "DRAM": (4096, 4096)},
        filled,
        lambda a: np.ascontiguousarray(a.T),
        shape,
    ),
    Case(
        channels_last,
        {"cache": (2, 64, 28, 28), "DRAM": (8, 64, 112, 112)},
        filled,
        lambda a: np.ascontiguousarray(a.transpose(0, 2, 3, 1)),
        shape,
    ),
    Case(
        swap_axes,
        {"cache": (64, 32, 64), "DRAM": (512, 128, 64)},
        filled,
        lambda a: np.ascontiguousarray(a.transpose(1, 0, 2)),
        shape,
    ),
    Case(
        flip,
        {"cache": (512, 512), "DRAM": (4096, 4096)},
        filled,
        lambda a: np.ascontiguousarray(a[:, ::-1]),
        shape,
    ),
]
