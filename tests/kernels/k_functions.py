"""Python functions that kernels call: inlined, scalars by value, tensors by reference."""
# ruff: noqa: F821
# mypy: ignore-errors

import kernelwright as kw
from corpus import case, floats, ints

SCALE = 3


def clamp(x, low=0.0, high=1.0):
    """Defaults, and a parameter that is assigned."""
    x = max(x, low)
    return min(x, high)


def row_sum(a, i):
    """A loop over a tensor of the caller."""
    total = a[i, 0]
    for j in range(1, a.shape[1]):
        if a[i, j] < -3.0:
            continue
        total += a[i, j]
    return total


def scaled(v):
    """A captured constant of its own module, and a call of another function."""
    return clamp(v * SCALE, high=2.0) + v * v


def fill(out, i, value):
    """Writes an element of the caller's tensor."""
    for j in range(out.shape[1]):
        out[i, j] = value + j


def find(a, wanted):
    """A while with a break; the result is an index."""
    k = 0
    while True:
        if k >= a.shape[0] or a[k] == wanted:
            break
        k += 1
    return k


def weighted(x, *, scale=2.0, shift):
    """Parameters that are given by keyword alone, one with a default before one without."""
    return x * scale + shift


def bump(t, i):
    """Writes an element of the caller's tensor and returns what it holds then."""
    t[i] = t[i] * 2 + 1
    return t[i]


@kw.kernel
def square(x):
    """A kernel that another one calls."""
    return x * x


@case(lambda rng: (floats(rng, 9),))
def calls_with_defaults_and_keywords(x):
    """Positional, keyword and default arguments; nested calls; a kernel called like a function."""
    out = output_tensor((4, x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        out[0, i] = clamp(x[i])
        out[1, i] = clamp(high=0.5, x=x[i], low=-0.5) - clamp(x[i], 0.25)
        out[2, i] = scaled(x[i]) * scaled(clamp(x[i]))
        out[3, i] = square(x[i]) + square(i)
    return out


@case(lambda rng: (floats(rng, 4, 7),))
def calls_with_tensors(x):
    """Loops over the caller's tensors, writes of them, and results in names."""
    sums = output_tensor((x.shape[0],), x.dtype)
    table = output_tensor((x.shape[0], 3), x.dtype)
    for i in range(x.shape[0]):
        sums[i] = row_sum(x, i)
        fill(table, i, sums[i])
        best = row_sum(x, i) - row_sum(x, 0)
        sums[i] += best
    return sums, table


@case(lambda rng: (ints(rng, 9, low=0, high=6), ints(rng, 9, low=0, high=6)))
def calls_that_may_not_happen(x, w):
    """Calls behind `and` and `or`, in ternaries and in the condition of a while."""
    out = output_tensor((3, x.shape[0]), "int64")
    for i in range(x.shape[0]):
        out[0, i] = find(w, x[i]) if x[i] < 3 else -1
        if x[i] > 1 and x[find(w, 99) - 1] > 2 or find(w, x[i]) == 0:
            out[1, i] = 1
        n = 0
        while n + find(w, x[i]) < 12:
            n += 2
        out[2, i] = n
    return out


@case(lambda rng: (floats(rng, 9),))
def calls_of_a_helper_with_keyword_only_parameters(x):
    out = output_tensor((2, x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        out[0, i] = weighted(x[i], shift=0.5)
        out[1, i] = weighted(shift=x[i], x=x[i], scale=3)
    return out


@case(lambda rng: (ints(rng, 6), ints(rng, 6, low=0, high=6)), mutates=(0, 1))
def writing_calls_in_expressions(x, w):
    """Helpers that write what the operands on both sides of the call read: each has its value of then."""
    out = output_tensor((8, x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        out[0, i] = x[i] - bump(x, i) * x[i]
        x[i] += bump(x, i)
        out[1, i] = max(x[i], 3, bump(x, i), x[i]) - (x[i] if x[i] > 0 else -x[i])
        out[2, i] = x[i] < bump(x, i)
        w[bump(w, i) % 6] -= w[i] + bump(w, 0)
        w[abs(w[i]) % 6] = w[i] + bump(w, i)
        w[abs(w[0]) % 6] += bump(w, 0)
        if x[i] > 5 and bump(x, 0) > x[1] or w[i] > 2:
            out[3, i] = clamp(x[0], bump(x, 0), x[0])
        out[4, i] = bump(x, i) if w[i] > 0 else x[i] + bump(w, i)
        t = (x[i], bump(x, i), x[i])
        out[5, i] = t[0] + t[1] * t[2]
        n = 0
        while n < 4 and x[i] + bump(x, i) != 7:
            n += 1
        out[6, i] = n
        for k in range(w[i] % 3, bump(w, i) % 5):
            out[7, i] += k
    return out, x, w
