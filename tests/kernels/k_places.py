"""Accumulations at places that the loop chooses, written as histograms, group-by and sparse products are.

Each has more than 64 terms, so that the default mode could put them in the order of lanes. It may do so only
if the place is the same in every iteration.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import case, floats, ints


def keys(rng, n=200, bins=4):
    return ints(rng, n, low=0, high=bins, dtype="int64")


@case(lambda rng: (keys(rng), floats(rng, 200), floats(rng, 4)), mutates=(2,))
def place_in_a_local(key, w, h):
    """A weighted histogram."""
    for i in range(w.shape[0]):
        b = key[i]
        h[b] += w[i]
    return h


@case(
    lambda rng: (keys(rng, bins=9), floats(rng, 200, dtype="float64"), floats(rng, 4, dtype="float64")),
    mutates=(2,),
)
def place_that_is_clamped(key, w, h):
    """Keys beyond the last bin count there."""
    for i in range(w.shape[0]):
        b = min(key[i], h.shape[0] - 1)
        h[b] += w[i]
    return h


@case(lambda rng: (rng.random(200), floats(rng, 200), floats(rng, 5)), mutates=(2,))
def place_by_a_cast(x, w, h):
    """Bins of equal width, the last one closed."""
    n = h.shape[0]
    for i in range(w.shape[0]):
        b = int(x[i] * n)
        if b == n:
            b = n - 1
        h[b] += w[i]
    return h


@case(lambda rng: (floats(rng, 300), floats(rng, 1), 70), mutates=(1,))
def place_in_a_triangle_of_one_row(x, h, n):
    """The length of the inner loop is the number of the row, which is no size of the call."""
    for i in range(1):
        for j in range(n):
            for k in range(i):
                at = i
                h[at] += x[k]
    return h


@case(lambda rng: (np.sort(keys(rng)), floats(rng, 200), floats(rng, 200)), mutates=(2,))
def place_by_a_counter(key, x, o):
    """Sums of groups, whose keys are sorted."""
    g = 0
    for i in range(x.shape[0]):
        if i > 0:
            if key[i] != key[i - 1]:
                g += 1
        o[g] += x[i]
    return o


@case(lambda rng: (np.array([0, 70, 70, 190, 200]), floats(rng, 200), floats(rng, 4)), mutates=(2,))
def place_by_row_pointers(start, x, o):
    """A row that a while moves on."""
    r = 0
    for t in range(x.shape[0]):
        while start[r + 1] <= t:
            r += 1
        o[r] += x[t]
    return o


@case(lambda rng: (floats(rng, 200), floats(rng, 5), np.zeros(2, "int64")), mutates=(1, 2))
def place_by_a_cursor(x, o, pos):
    """The place is kept in memory and moves on behind its use."""
    for i in range(x.shape[0]):
        o[pos[0]] += x[i]
        if x[i] > 3.0 and pos[0] + 1 < o.shape[0]:
            pos[0] += 1
    return o, pos


@case(lambda rng: (floats(rng, 200), floats(rng, 3), np.zeros(2, "int64")), mutates=(1, 2))
def place_stored_before_its_use(x, o, pos):
    """An element that each iteration sets anew."""
    n = o.shape[0]
    for i in range(x.shape[0]):
        pos[1] = i % n
        o[pos[1]] += x[i]
    return o, pos


@case(lambda rng: (floats(rng, 200), floats(rng, 3), np.zeros(2, "int64")), mutates=(1, 2))
def place_stored_but_always_the_same(x, o, pos):
    """The element is the same in every iteration, though memory holds its place."""
    for i in range(x.shape[0]):
        pos[1] = o.shape[0] // 2
        o[pos[1]] += x[i]
    return o, pos


def bin_of(v, n):
    k = int(v * n)
    return k if k < n else n - 1


def put(h, b, v):
    h[b] += v


@case(lambda rng: (rng.random(200), floats(rng, 200), floats(rng, 5)), mutates=(2,))
def place_by_a_helper(x, w, h):
    """The bin comes from a function."""
    for i in range(w.shape[0]):
        h[bin_of(x[i], h.shape[0])] += w[i]
    return h


@case(lambda rng: (keys(rng), floats(rng, 200), floats(rng, 4)), mutates=(2,))
def sum_by_a_helper(key, w, h):
    """A function adds."""
    for i in range(w.shape[0]):
        put(h, key[i], w[i])
    return h


@case(lambda rng: (keys(rng, 30), floats(rng, 30, 22), floats(rng, 4)), mutates=(2,))
def place_outside_of_an_inner_loop(seg, x, h):
    """Sums of segments of rows: each row has fewer terms than lanes, all rows have more."""
    for i in range(x.shape[0]):
        s = seg[i]
        for j in range(x.shape[1]):
            h[s] += x[i, j]
    return h


@case(lambda rng: (keys(rng), keys(rng, bins=3), floats(rng, 200), floats(rng, 4, 3)), mutates=(3,))
def place_of_two_locals(row, col, w, h):
    """A histogram of two dimensions."""
    for i in range(w.shape[0]):
        r = row[i]
        c = col[i]
        h[r, c] += w[i]
    return h


@case(
    lambda rng: (keys(rng), keys(rng, bins=7), floats(rng, 200), floats(rng, 7), floats(rng, 4)), mutates=(4,)
)
def sparse_product_by_coordinates(row, col, v, x, y):
    """A matrix in coordinates times a vector."""
    for t in range(v.shape[0]):
        r = row[t]
        c = col[t]
        y[r] += v[t] * x[c]
    return y


@case(lambda rng: (keys(rng), floats(rng, 200) / 8 + 1, floats(rng, 4)), mutates=(2,))
def product_at_a_place(key, x, e):
    """Products take the order of sums."""
    for i in range(x.shape[0]):
        t = key[i]
        e[t] *= x[i]
    return e


@case(lambda rng: (keys(rng), floats(rng, 200), floats(rng, 4), np.zeros(4, "int64")), mutates=(2, 3))
def least_of_each_group(key, x, best, at):
    """The least element of each group and where it stands."""
    for i in range(x.shape[0]):
        b = key[i]
        if x[i] < best[b]:
            best[b] = x[i]
            at[b] = i
    return best, at
