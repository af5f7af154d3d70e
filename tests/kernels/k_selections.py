"""Kernels that keep the best of what they visit, and what belongs to it; loops that end when each likes.

Long rows reach the vector form with its rest; ties, zeros of both signs and NaN tell which of equals is kept.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import SPECIAL, case, floats, ints


def _specials(rng, *shape):
    return rng.choice(np.array(SPECIAL, dtype="float32"), shape)


@case(lambda rng: (ints(rng, 7, 150, low=0, high=40).astype("float32"),))
def first_largest_of_rows(x):
    """The first element is peeled by the user; ties keep the first."""
    out = output_tensor((2, x.shape[0]), "float32")
    for i in range(x.shape[0]):
        top = x[i, 0]
        at = 0
        for j in range(1, x.shape[1]):
            if x[i, j] > top:
                top = x[i, j]
                at = j
        out[0, i] = top
        out[1, i] = at
    return out


@case(lambda rng: (ints(rng, 6, 131, low=-3, high=4, dtype="int8"),))
def last_smallest_of_rows(x):
    """`<=` keeps the last of equals, also where it equals the value at the start."""
    out = output_tensor((x.shape[0],), "int64")
    low = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        best = int8(0)
        at = -1
        for j in range(x.shape[1]):
            if x[i, j] <= best:
                at = j
                best = x[i, j]
        out[i] = at
        low[i] = best
    return out, low


@case(lambda rng: (_specials(rng, 9, 70),))
def extremes_among_specials(x):
    """NaN is never better and never bettered; of zeros the first that is better stays, with its sign."""
    out = output_tensor((4, x.shape[0]), "float32")
    for i in range(x.shape[0]):
        low = x[i, 0]
        high = x[i, 0]
        first = 0
        last = 0
        for j in range(x.shape[1]):
            if x[i, j] < low:
                low = x[i, j]
                first = j
            if high <= x[i, j]:
                high = x[i, j]
                last = j
        out[0, i] = low
        out[1, i] = first
        out[2, i] = high
        out[3, i] = last
    return out


@case(lambda rng: (floats(rng, 200), floats(rng, 200)))
def nearest_pair(x, y):
    """Several values are kept, one of them computed; a guard leaves out some iterations."""
    out = output_tensor((4,), "float32")
    best = float32(1e30)
    at = -1
    left = float32(0.0)
    right = float32(0.0)
    for i in range(x.shape[0]):
        gap = abs(x[i] - y[i])
        if x[i] > 0.0:
            if gap < best:
                best = gap
                at = i * 2 + 1
                left = x[i]
                right = y[i] * 0.5
    out[0] = best
    out[1] = at
    out[2] = left
    out[3] = right
    return out


@case(lambda rng: (floats(rng, 90, 5, dtype="float64"),))
def best_of_columns(x):
    """The inner loop visits a column, whose elements lie apart."""
    out = output_tensor((x.shape[1],), "int32")
    for j in range(x.shape[1]):
        best = x[0, j]
        at = 0
        for i in range(x.shape[0]):
            if best < x[i, j]:
                best = x[i, j]
                at = i
        out[j] = at
    return out


@case(lambda rng: (np.linspace(-2.0, 0.7, 75).astype("float32"), np.linspace(-1.2, 1.2, 9).astype("float32")))
def escape_times(re, im):
    """Each iteration has a while of its own."""
    out = output_tensor((im.shape[0], re.shape[0]), "int32")
    for i in range(im.shape[0]):
        for j in range(re.shape[0]):
            x = 0.0
            y = 0.0
            k = 0
            while k < 40 and x * x + y * y <= 4.0:
                t = x * x - y * y + re[j]
                y = 2.0 * x * y + im[i]
                x = t
                k += 1
            out[i, j] = k
    return out


@case(lambda rng: (ints(rng, 140, low=1, high=200, dtype="int64"),))
def collatz_with_jumps(x):
    """`break` and `continue` in a while that each iteration leaves at another time."""
    out = output_tensor(x.shape, "int64")
    for i in range(x.shape[0]):
        n = x[i]
        steps = 0
        while n != 1:
            steps += 1
            if n % 2 == 0:
                n = n // 2
                continue
            if n > 1000:
                steps = -steps
                break
            n = 3 * n + 1
        out[i] = steps * 10000 + n
    return out


@case(lambda rng: (np.abs(floats(rng, 100)) + np.float32(0.1), ints(rng, 100, low=0, high=4)))
def roots_of_some(x, which):
    """A while under a condition, and another one inside it."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y = x[i]
        if which[i] > 0:
            turn = 0
            while abs(y * y - x[i]) > 1e-3 and turn < 30:
                y = (y + x[i] / y) * 0.5
                turn += 1
                inner = 0
                while inner < which[i] - 1:
                    y = y + 0.0001
                    inner += 1
        out[i] = y
    return out


@case(lambda rng: (np.abs(floats(rng, 36, 36)) * 9,), mutates=(0,))
def shortest_paths(d):
    """Rows and columns before and behind row k and column k are free of each other."""
    for k in range(d.shape[0]):
        for i in range(d.shape[0]):
            for j in range(d.shape[0]):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


@case(lambda rng: (floats(rng, 12, 80),), mutates=(0,))
def shortest_paths_with_negative_edges(d):
    """A negative edge from a node to itself lowers its row and column while they are read."""
    for k in range(d.shape[0]):
        for i in range(d.shape[0]):
            for j in range(d.shape[0]):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


@case(lambda rng: (floats(rng, 150),), mutates=(0,))
def relative_to_the_first(v):
    """All elements read the first one, which is changed with them."""
    for i in range(v.shape[0]):
        v[i] = v[i] - v[0] * 0.5
    return v


@case(lambda rng: (floats(rng, 100), floats(rng, 100), 1 << 42))
def named_in_a_rare_branch(x, b, j):
    """What no lane reaches is not read, also where it is given a name first."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0.5 and 0 <= j and j < b.shape[0]:
            t = v * 2.0
            out[i] = t + b[j]
    return out
