"""Loops over rows whose columns follow one another: squares of memory that vector code may turn over.

The extents are no multiples of any number of lanes, so that whole squares, their rests and single rows occur.
"""
# ruff: noqa: F821
# mypy: ignore-errors

from corpus import case, floats, ints


@case(lambda rng: (floats(rng, 37, 53),))
def turned_over(a):
    """A transpose of odd extents."""
    c = output_tensor((a.shape[1], a.shape[0]), a.dtype)
    for i in range(a.shape[1]):
        for j in range(a.shape[0]):
            c[i, j] = a[j, i]
    return c


@case(lambda rng: (floats(rng, 3, 19, 35, dtype="float64"),))
def turned_in_planes(a):
    """The last two of three dimensions change places, in 64 bits."""
    c = output_tensor((a.shape[0], a.shape[2], a.shape[1]), a.dtype)
    for p in range(a.shape[0]):
        for i in range(a.shape[2]):
            for j in range(a.shape[1]):
                c[p, i, j] = a[p, j, i] + 0.5
    return c


@case(lambda rng: (ints(rng, 33, 70),), mutates=(0,))
def running_sum_in_place(x):
    """Each row is read and written at one place."""
    for i in range(x.shape[0]):
        total = 0
        for j in range(x.shape[1]):
            total += x[i, j]
            x[i, j] = total
    return x


@case(lambda rng: (floats(rng, 40, 49),))
def recurrence_of_rows(x):
    """A value carried along each row, and a neighbour read besides."""
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        level = x[i, 0]
        for j in range(x.shape[1] - 1):
            level = level * 0.75 + x[i, j] * x[i, j + 1]
            y[i, j] = level
        y[i, x.shape[1] - 1] = level
    return y


@case(lambda rng: (floats(rng, 35, 64),))
def backwards_along_rows(x):
    """The rows are visited from their ends, which forms no squares."""
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        total = x[i, 0]
        for j in range(x.shape[1] - 1, -1, -1):
            total = total * 0.5 - x[i, j]
            y[i, j] = total
    return y


@case(lambda rng: (floats(rng, 41, 34), ints(rng, 34)))
def guarded_rows(x, w):
    """A condition decides which columns of a row are written; all are read."""
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        last = x[i, 0]
        for j in range(x.shape[1]):
            last = last * 0.5 + x[i, j]
            y[i, j] = last
            if w[j] < 0:
                y[i, j] = -last
    return y


@case(lambda rng: (floats(rng, 66, 50),))
def every_second_row(x):
    """Lanes two rows apart, columns from the third on."""
    y = output_tensor((x.shape[0] // 2, x.shape[1] - 2), x.dtype)
    for i in range(x.shape[0] // 2):
        best = x[2 * i, 0]
        for j in range(x.shape[1] - 2):
            best = max(best, x[2 * i + 1, j + 2]) * 0.75
            y[i, j] = best
    return y


@case(lambda rng: (floats(rng, 36, 47), floats(rng, 36, 47, dtype="float64")))
def rows_of_two_widths(x, w):
    """Elements of 32 and of 64 bits along the same rows."""
    y = output_tensor(x.shape, "float64")
    for i in range(x.shape[0]):
        total = w[i, 0]
        for j in range(x.shape[1]):
            total = total * 0.5 + x[i, j] * w[i, j]
            y[i, j] = total
    return y
