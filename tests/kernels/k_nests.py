"""Nests with one or several reductions into elements, each over loops of its own."""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import bools, case, floats, ints


@case(lambda rng: (ints(rng, 3, 24, 5, dtype="int32"),))
def sums_over_two_inner_loops(x):
    """Exact sums in elements: loops may be divided, and the innermost one keeps the element in a scalar."""
    s = output_tensor((x.shape[0],), x.dtype)
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for c in range(x.shape[2]):
                s[a] += x[a, b, c]
    return s


@case(lambda rng: (ints(rng, 4, 6, 40, dtype="int64"),))
def sums_of_each_channel(x):
    s = output_tensor((x.shape[1],), x.dtype)
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for c in range(x.shape[2]):
                s[b] += x[a, b, c]
    return s


@case(lambda rng: (ints(rng, 3, 30, 7, dtype="int64"),))
def differences_in_triangles(x):
    """The innermost loop has bounds of its own."""
    s = output_tensor((x.shape[0],), x.dtype)
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for c in range(min(b, x.shape[2])):
                s[a] -= x[a, b, c]
    return s


@case(lambda rng: (floats(rng, 3, 24, 5),))
def greatest_over_two_inner_loops(x):
    s = np.full((x.shape[0],), -1e30, x.dtype)
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for c in range(x.shape[2]):
                s[a] = max(s[a], x[a, b, c])
    return s


@case(lambda rng: (bools(rng, 3, 24, 5), ints(rng, 3, 24, 5, dtype="uint8")))
def bits_over_two_inner_loops(x, y):
    s = np.zeros((x.shape[0],), np.bool_)
    t = np.zeros((x.shape[0],), np.uint8)
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for c in range(x.shape[2]):
                s[a] = s[a] | x[a, b, c]
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for c in range(x.shape[2]):
                t[a] = t[a] | y[a, b, c]
    return s, t


@case(lambda rng: (floats(rng, 3, 24, 5), ints(rng, 3, 24, 5, dtype="float64")))
def float_sums_over_two_inner_loops(x, y):
    s = output_tensor((x.shape[0],), x.dtype)
    t = output_tensor((y.shape[1],), y.dtype)
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for c in range(x.shape[2]):
                s[a] += x[a, b, c]
                t[b] += y[a, b, c]
    return s, t


@case(lambda rng: (ints(rng, 3, 130, 70, dtype="int64"), ints(rng, 3, 130, 70, dtype="float64")), exact=True)
def least_of_columns_beside_a_copy(x, y):
    """More columns than a block has copies of, in rows that fill vectors."""
    s = np.full((x.shape[1], x.shape[2]), 100, x.dtype)
    c = output_tensor(y.shape, y.dtype)
    for a in range(x.shape[0]):
        for b in range(min(a + 100, x.shape[1])):
            for d in range(x.shape[2]):
                s[b, d] = min(s[b, d], x[a, b, d])
                c[a, b, d] = y[a, b, d]
    return s, c


@case(
    lambda rng: (ints(rng, 2, 3, 40, 50, dtype="int64"), ints(rng, 2, 3, 40, 50, dtype="float64")), exact=True
)
def sums_by_atomics_beside_rows(x, y):
    """Rows that could be copied to shared memory, but for the array in which other teams accumulate."""
    s = output_tensor((x.shape[0], x.shape[2], x.shape[3]), x.dtype)
    t = output_tensor((x.shape[1], x.shape[2]), y.dtype)
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for c in range(x.shape[2]):
                for d in range(x.shape[3]):
                    s[a, c, d] -= x[a, b, c, d]
                    t[b, c] -= y[a, b, c, d]
    return s, t


@case(lambda rng: (floats(rng, 9, 70),))
def rows_of_which_one_iteration_keeps_a_value(x):
    """A condition chooses the iteration that stores to the element of the row."""
    z = output_tensor(x.shape, x.dtype)
    last = output_tensor((x.shape[0],), x.dtype)
    diagonal = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        m = x[i, 0]
        for j in range(x.shape[1]):
            m = max(m, x[i, j])
        for j in range(x.shape[1]):
            z[i, j] = x[i, j] - m
            if j == x.shape[1] - 1:
                last[i] = z[i, j]
            if i == j:
                diagonal[i] = x[i, j] * 2
    return z, last, diagonal


@case(lambda rng: (ints(rng, 3, 24, 5, dtype="int32"), ints(rng, 3, 24, 5, dtype="int64")))
def sums_of_rows_and_channels(x, y):
    """The loops of one sum could run as one, but for the other sum, which has the innermost loop alone."""
    s = output_tensor((x.shape[0],), x.dtype)
    t = output_tensor((x.shape[1],), y.dtype)
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for c in range(x.shape[2]):
                s[a] += x[a, b, c]
                t[b] += y[a, b, c]
    return s, t
