"""Kernels whose loops are blocked, jammed or written out, at sizes that leave rests of every kind.

More than 512 columns, rows that no tile divides, windows, updates in place that share a row.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import case, floats, ints


@case(lambda rng: (floats(rng, 13, 21), floats(rng, 21, 67)))
def product_of_odd_sizes(a, b):
    """Tiles of a product with rests on both sides."""
    c = output_tensor((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


@case(lambda rng: (floats(rng, 11, 9, dtype="float64"), floats(rng, 9, 35, dtype="float64")))
def product_that_adds_to_its_result(a, b):
    """A product whose rows are added up in memory, with the sum's loop in the middle."""
    c = output_tensor((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@case(lambda rng: (floats(rng, 19, 531),))
def sums_of_many_columns(x):
    """Sums of more columns than one block holds."""
    s = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i, j]
        s[j] = total
    return s


@case(lambda rng: (ints(rng, 18, 70, dtype="int32"), ints(rng, 70, dtype="int32")))
def weighted_sums_of_columns(x, w):
    """Sums of columns of integers, of all rows but the first, with a factor for each column."""
    s = output_tensor((x.shape[1],), "int32")
    for j in range(x.shape[1]):
        total = x[0, j]
        for i in range(1, x.shape[0]):
            total -= x[i, j] * w[j]
        s[j] = total
    return s


@case(lambda rng: (floats(rng, 17, 41, dtype="float64"),))
def spread_of_columns(x):
    """Two passes over each column, the second with the result of the first."""
    s = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        mean = 0.0
        for i in range(x.shape[0]):
            mean += x[i, j]
        mean = mean / x.shape[0]
        spread = 0.0
        for i in range(x.shape[0]):
            d = x[i, j] - mean
            spread += d * d
        s[j] = spread / x.shape[0]
    return s


@case(lambda rng: (floats(rng, 20, 37),))
def running_columns(x):
    """A scalar that runs down each column and leaves its values."""
    y = output_tensor(x.shape, x.dtype)
    for j in range(x.shape[1]):
        last = 1.0
        for i in range(x.shape[0]):
            last = last * 0.5 + x[i, j]
            y[i, j] = last
    return y


@case(lambda rng: (floats(rng, 14, 45), floats(rng, 3, 3)))
def window_of_nine(a, w):
    """Rows of a window share the rows that they read."""
    c = output_tensor((a.shape[0] - 2, a.shape[1] - 2), a.dtype)
    for i in range(a.shape[0] - 2):
        for j in range(a.shape[1] - 2):
            total = 0.0
            for p in range(3):
                for q in range(3):
                    total += w[p, q] * a[i + p, j + q]
            c[i, j] = total
    return c


@case(lambda rng: (floats(rng, 15, 33), floats(rng, 33)), mutates=(1,))
def rows_added_to_one(x, y):
    """Every row is added to the same one, in their order."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j] += x[i, j]
    return y


@case(lambda rng: (floats(rng, 9, 23, dtype="float64"),), mutates=(0,))
def rows_that_take_from_the_first(a):
    """Rows that change by a row above all of them, and by what they were."""
    for i in range(1, a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = a[i, j] - a[i, 0] * a[0, j]
    return a


@case(lambda rng: (np.abs(floats(rng, 26, 19)),), mutates=(0,))
def rows_that_wait_for_each_other(a):
    """Rows whose sums read what the row above has become."""
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] + a[i - 1, j] * 0.5
    return a


@case(lambda rng: (floats(rng, 17, 29), floats(rng, 29)))
def columns_outside(a, v):
    """Loops in the order of columns that memory wants the other way round."""
    y = output_tensor(a.shape, a.dtype)
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            y[i, j] = a[i, j] * v[j]
    return y


@case(lambda rng: (floats(rng, 9, 13), floats(rng, 13, 34)))
def product_with_its_zero_inside(a, b):
    """The zero of a sum stands beside the loop that adds to it."""
    c = output_tensor((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0.0
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@case(lambda rng: (floats(rng, 12, 6), floats(rng, 6, 20), floats(rng, 12, 20)), mutates=(2,))
def sum_of_outer_products(a, b, c):
    """The loop over the terms is outermost."""
    for k in range(a.shape[1]):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@case(lambda rng: (floats(rng, 21, 40),), mutates=(0,))
def columns_that_run_down(a):
    """Each row adds the one above, column by column."""
    for j in range(a.shape[1]):
        for i in range(1, a.shape[0]):
            a[i, j] += a[i - 1, j]
    return a


@case(lambda rng: (floats(rng, 6, 523),))
def sums_down_to_each_row(x):
    """Rows that wait for the row above, wider than one block."""
    y = output_tensor(x.shape, x.dtype)
    for j in range(x.shape[1]):
        y[0, j] = x[0, j]
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = y[i - 1, j] + x[i, j]
    return y


@case(lambda rng: (floats(rng, 4, 70), floats(rng, 4, 70)), mutates=(1,))
def columns_beside_a_maximum(x, y):
    """The loop around may not run on threads but in lanes, the one in it on threads but not in lanes."""
    o = output_tensor((1,), x.dtype)
    m = float32(0)
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            y[i, j] = x[i, j]
        m = max(m, x[0, j])
    o[0] = m
    return y, o


@case(lambda rng: (floats(rng, 3, 40), floats(rng, 3, 40), floats(rng, 40)), mutates=(0, 2))
def columns_in_step(y, a, s):
    """Lanes in step, with a value of each iteration in a loop inside them."""
    for j in range(1, y.shape[1]):
        t = a[0, j] * float32(2)
        t = max(t, a[1, j])
        for i in range(y.shape[0]):
            y[i, j] = a[i, j] + t
        s[j] = y[0, j - 1]
    return y, s
