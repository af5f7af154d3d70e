"""Branches, guards, nests and loop ranges.

They cover short circuit, imperfect and triangular nests, steps and zero trips, and sorting.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import bools, case, floats, ints

VERBOSE = False
DEGREE = 2


@case(lambda rng: (ints(rng, 30, low=0, high=31),))
def fizz_buzz(x):
    """A chain of elif on remainders."""
    out = output_tensor(x.shape, "int32")
    for i in range(x.shape[0]):
        if x[i] % 15 == 0:
            out[i] = -3
        elif x[i] % 3 == 0:
            out[i] = -1
        elif x[i] % 5 == 0:
            out[i] = -2
        else:
            out[i] = x[i]
    return out


@case(lambda rng: (floats(rng, 9, 5),))
def nested_branches(x):
    """Ifs inside both arms of an if, where some paths store nothing."""
    out = output_tensor(x.shape, x.dtype)
    for i, j in grid(x.shape):
        if x[i, j] > 0.0:
            if i > j:
                out[i, j] = x[i, j]
            elif i == j:
                out[i, j] = 2.0 * x[i, j]
        else:
            if i < j:
                out[i, j] = -x[i, j]
            else:
                pass
    return out


@case(lambda rng: (floats(rng, 9),))
def guard_by_and(x):
    """The load on the right of `and` is out of range whenever the left side is false."""
    out = output_tensor(x.shape, "int32")
    for i in range(x.shape[0]):
        if i + 1 < x.shape[0] and x[i + 1] > x[i]:
            out[i] = 1
        else:
            out[i] = 2
    return out


@case(lambda rng: (floats(rng, 9),))
def guard_by_or(x):
    """The load on the right of `or` is out of range whenever the left side is true."""
    out = output_tensor(x.shape, "bool")
    for i in range(x.shape[0]):
        out[i] = i == 0 or x[i - 1] < x[i]
    return out


@case(lambda rng: (bools(rng, 8), bools(rng, 8), floats(rng, 8)))
def logic_table(p, q, x):
    """not, and, or and comparisons mixed, with their precedence, stored as bools."""
    out = output_tensor((5, p.shape[0]), "bool")
    for i in range(p.shape[0]):
        out[0, i] = not p[i]
        out[1, i] = not p[i] and q[i] or x[i] > 0.0  # noqa: RUF021
        out[2, i] = not (p[i] and (q[i] or not x[i] > 0.0))
        out[3, i] = p[i] != q[i]
        out[4, i] = (x[i] < 1.0) == p[i]
    return out


@case(lambda rng: (ints(rng, 9), ints(rng, 9), ints(rng, 9)))
def chained_comparisons(a, b, c):
    """Chains of two and three comparisons that mix operators."""
    out = output_tensor((3, a.shape[0]), "bool")
    for i in range(a.shape[0]):
        out[0, i] = a[i] < b[i] <= c[i]
        out[1, i] = a[i] != b[i] > c[i]
        out[2, i] = -5 <= a[i] < 5 != b[i] >= -3
    return out


@case(lambda rng: (floats(rng, 9, dtype="float64"),))
def ternary_chain(x):
    """Right-nested ternaries whose arms are expressions with loads."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        out[i] = (
            x[i] * x[i] if x[i] < -1.0 else x[i] + 1.0 if x[i] < 0.0 else sqrt(x[i]) if x[i] < 1.0 else x[i]
        )
    return out


@case(lambda rng: (floats(rng, 6), np.array([1, 0, 3, 0, -2, 0], dtype="int32")))
def ternary_evaluates_one_arm(x, d):
    """The arm not taken holds a load that would be out of range."""
    n = x.shape[0]
    out = output_tensor((n,), x.dtype)
    for i in range(n):
        out[i] = x[i + d[i]] if 0 <= i + d[i] < n else x[i] * 0.5
    return out


@case(lambda rng: (floats(rng, 6, 8),))
def triangles(x):
    """Lower, upper and shrinking triangular bounds, one output place each."""
    out = output_tensor((3, x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        low = float32(0.0)
        for j in range(i + 1):
            low += x[i, j]
        up = float32(0.0)
        for j in range(i, x.shape[1]):
            up += x[i, j]
        mid = float32(0.0)
        for j in range(i, x.shape[0] - i):
            mid += x[i, j]
        out[0, i] = low
        out[1, i] = up
        out[2, i] = mid
    return out


@case(lambda rng: (floats(rng, 5, 4), floats(rng, 5)))
def imperfect_nest(x, y):
    """Statements before, between and after the inner loops of one outer loop."""
    out = output_tensor((x.shape[0], x.shape[1] + 2), x.dtype)
    for i in range(x.shape[0]):
        out[i, 0] = y[i]
        for j in range(x.shape[1]):
            out[i, j + 1] = x[i, j] + out[i, 0]
        out[i, 0] *= 2.0
        for j in range(x.shape[1]):
            out[i, j + 1] -= y[i] * x[i, j]
        out[i, x.shape[1] + 1] = out[i, 0]
    return out


@case(lambda rng: (floats(rng, 11),))
def steps_and_reversals(x):
    """Ranges with every kind of step, whose last value falls short of the bound."""
    n = x.shape[0]
    out = output_tensor((n, 5), x.dtype)
    for i in range(0, n, 3):
        out[i, 0] = x[i]
    for i in range(n - 1, 0, -4):
        out[i, 1] = x[i]
    for i in range(7, 1, -2):
        out[i, 2] = x[i]
    for i in range(1, n, 20):
        out[i, 3] = x[i]
    for i in range(-3, 4, 3):
        out[i + 3, 4] = x[i + 3]
    return out


@case(lambda rng: (ints(rng, 4),))
def zero_trip_loops(x):
    """Ranges that are empty for several reasons leave everything as it was."""
    out = output_tensor((6,), "int32")
    for i in range(6):
        out[i] = i
    for i in range(5, 2):
        out[i] = -1
    for i in range(0, 3, -1):
        out[i] = -2
    for i in range(x.shape[0] - 4):
        out[i] = -3
    for i in range(x.shape[0], 0, 1):
        out[i] = -4
    for i in range(-2):
        out[i + 2] = x[i]
    return out


@case(lambda rng: (floats(rng, 6),))
def loops_under_branches(x):
    """A loop in each arm of a branch on the outer loop variable."""
    n = x.shape[0]
    out = output_tensor((n, n), x.dtype)
    for i in serial(n):
        if i % 2 == 0:
            for j in unroll(n):
                out[i, j] = x[j] * i
        else:
            for j in range(n - 1, -1, -1):
                out[i, j] = x[j] - i
    return out


@case(lambda rng: (floats(rng, 9, dtype="float64"),))
def conditions_on_constants(x):
    """Branches on captured constants, which leave one arm dead."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        if VERBOSE:
            out[i] = 1000.0
        elif DEGREE == 2:
            out[i] = x[i] * x[i]
        else:
            out[i] = x[i]
    return out


@case(lambda rng: (ints(rng, 12, low=1, high=30, dtype="int64"),))
def collatz_steps(x):
    """A loop-carried integer with a branch on its parity and a second counter."""
    out = output_tensor((2, x.shape[0]), "int64")
    for i in range(x.shape[0]):
        value = x[i]
        odd = 0
        for _ in range(20):
            if value % 2 == 0:
                value //= 2
            else:
                value = 3 * value + 1
                odd += 1
        out[0, i] = value
        out[1, i] = odd
    return out


@case(lambda rng: (6, 8))
def mandelbrot(height, width):
    """Orbits of a fixed number of steps, frozen by a guard; only scalars come in."""
    out = output_tensor((height, width), "int32")
    for y, x in grid((height, width)):
        cr = -2.0 + 3.0 * x / width
        ci = -1.2 + 2.4 * y / height
        zr = 0.0
        zi = 0.0
        count = 0
        for _ in range(25):
            if zr * zr + zi * zi <= 4.0:
                new = zr * zr - zi * zi + cr
                zi = 2.0 * zr * zi + ci
                zr = new
                count += 1
        out[y, x] = count
    return out


@case(lambda rng: (floats(rng, 9),), mutates=(0,))
def bubble_sort(a):
    """A triangular sort in place by guarded swaps through a local."""
    n = a.shape[0]
    for last in range(n - 1, 0, -1):
        for i in range(last):
            if a[i] > a[i + 1]:
                held = a[i]
                a[i] = a[i + 1]
                a[i + 1] = held
    return a


@case(lambda rng: (ints(rng, 4, 9),), mutates=(0,))
def odd_even_sort_rows(a):
    """A sorting network by min and max: the start of a stepped range depends on the phase."""
    for r in parallel(a.shape[0]):
        for phase in range(a.shape[1]):
            for i in range(phase % 2, a.shape[1] - 1, 2):
                low = min(a[r, i], a[r, i + 1])
                high = max(a[r, i], a[r, i + 1])
                a[r, i] = low
                a[r, i + 1] = high
    return a


@case(lambda rng: (ints(rng, 9, low=0, high=5),))
def rank_sort(x):
    """Stable ranks counted over all pairs, then a store at a computed place."""
    n = x.shape[0]
    out = output_tensor((n,), x.dtype)
    for i in range(n):
        rank = 0
        for j in range(n):
            if x[j] < x[i] or (x[j] == x[i] and j < i):
                rank += 1
        out[rank] = x[i]
    return out


@case(lambda rng: (floats(rng, 300), floats(rng, 280)), mutates=(1,))
def ranges_that_move_along(a, y):
    """How long the innermost range is tells the middle loop nothing of its own iterator."""
    for k in range(1, 5):
        for i in range(y.shape[0]):
            for j in range(i + k, i + 2 * k + 1):
                y[i] += a[j]
    return y
