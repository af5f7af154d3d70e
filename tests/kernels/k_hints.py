"""Hints: claims that hold, and claims that are false, whose loops then run in order with a warning."""

# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import case, floats, ints


@case(lambda rng: (floats(rng, 6, 7),))
def true_claims(x):
    c = output_tensor(x.shape, x.dtype)
    n = output_tensor((x.shape[0],), x.dtype)
    for i in parallel(x.shape[0]):
        s = float32(0.0)
        t = allocate((x.shape[1],), x.dtype)
        for j in vectorize(x.shape[1]):
            t[j] = x[i, j] * 2.0
        for j in reduce(x.shape[1]):
            s += t[j]
        n[i] = s
        for j in vectorize(x.shape[1] - 1):
            t[j] = t[j + 1]
        for j in vectorize(x.shape[1]):
            c[i, j] = t[j] - s
    return c, n


@case(lambda rng: (floats(rng, 9),))
def true_selection(x):
    c = output_tensor((2,), "float64")
    best = x[0]
    at = 0
    for i in reduce(1, x.shape[0]):
        if x[i] > best:
            best = x[i]
            at = i
    c[0] = best
    c[1] = at
    return c


@case(lambda rng: (floats(rng, 9),), warns=("W401",), mutates=(0,))
def false_parallel(x):
    for i in parallel(1, x.shape[0]):
        x[i] = x[i] + x[i - 1]
    return x


@case(lambda rng: (floats(rng, 4, 12),), warns=("W402",), mutates=(0,))
def false_vectorize(x):
    for i in parallel(x.shape[0]):
        for j in vectorize(x.shape[1] - 4, -1, -1):
            x[i, j] = x[i, j] + x[i, j + 3]
    return x


@case(lambda rng: (floats(rng, 20), ints(rng, 20, low=0, high=5)), warns=("W403",))
def false_scatter(x, at):
    c = output_tensor((5,), x.dtype)
    for i in parallel(x.shape[0]):
        c[at[i]] = x[i]
    return c


@case(lambda rng: (floats(rng, 5, 8),), warns=("W404",))
def false_order(x):
    c = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        c[j] = 0.0
    for i in parallel(x.shape[0]):
        for j in vectorize(x.shape[1]):
            c[j] += x[i, j]
    return c


@case(lambda rng: (np.arange(8.0), ints(rng, 8, low=0, high=8)), warns=("W405",), mutates=(0,))
def unproved_gather(x, at):
    for i in vectorize(x.shape[0]):
        x[i] = x[i] + x[at[i]]
    return x


@case(lambda rng: (floats(rng, 8),), warns=("W401",), mutates=(0,))
def false_reduce_and_jump(x):
    s = float32(0.0)
    for i in reduce(x.shape[0]):
        s = s + x[i]
        x[i] = s
    for i in parallel(x.shape[0]):
        if x[i] > 1.0:
            break
        x[i] = 0.0
    return x


def _sweep(x, i):
    for j in parallel(1, x.shape[1]):
        x[i, j] -= x[i, j - 1]


@case(lambda rng: (floats(rng, 3, 6),), warns=("W401",), mutates=(0,))
def false_claim_of_a_helper(x):
    for i in parallel(x.shape[0]):
        _sweep(x, i)
    return x


@case(lambda rng: (floats(rng, 23), floats(rng, 5, 6)), warns=("W406",), mutates=(0,))
def written_out(x, w):
    """Loops in full, by a part with a rest, of an unknown number, backwards, and with a loop inside."""
    for k in unroll(2, 9):
        x[k] = x[k - 1] * x[k - 2] + 0.5
    for k in unroll(x.shape[0] - 2, -1, -1):
        x[k] = x[k] - 0.25 * x[k + 1]
    for i in unroll(1, 5):
        for j in range(1, w.shape[1]):
            x[j] = x[j - 1] * w[i, j] + w[i - 1, j - 1]
    for k in unroll(1, 22):
        x[k] = (
            x[k - 1] * 0.5 + x[k] * 0.25 + x[k + 1] * 0.125 + w[0, 0] * w[0, 1] * w[0, 2] + w[1, 0] * w[1, 1]
        )
        x[k] = x[k] - x[0] * w[2, 0] - x[0] * w[2, 1] - x[0] * w[2, 2] - x[0] * w[2, 3] + w[3, 3] * x[k - 1]
    for k in unroll(4):
        if x[k] > 3.0:
            continue
        x[k] += 1.0
    return x
