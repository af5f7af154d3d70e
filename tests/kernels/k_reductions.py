"""Kernels that fold many elements into few, and scans.

The strict mode promises source order, so the data has full mantissas and every other order shows.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import bools, case, floats, ints


@case(lambda rng: (floats(rng, 9, 9),))
def sum_all(x):
    """One scalar accumulator over a two-dimensional nest."""
    out = output_tensor((1,), x.dtype)
    acc = 0.0
    for i, j in grid(x.shape):
        acc += x[i, j]
    out[0] = acc
    return out


@case(lambda rng: (floats(rng, 200), floats(rng, 200)))
def dot(a, b):
    """A sum longer than any vector lane count, through the reduce hint."""
    out = output_tensor((1,), "float32")
    acc = float32(0.0)
    for i in reduce(a.shape[0]):
        acc = acc + a[i] * b[i]
    out[0] = acc
    return out


@case(lambda rng: (floats(rng, 150), floats(rng, 150)))
def dot_in_float64(a, b):
    """float32 elements widened before the product, accumulated in float64."""
    out = output_tensor((1,), "float64")
    acc = float64(0.0)
    for i in range(a.shape[0]):
        acc += float64(a[i]) * float64(b[i])
    out[0] = acc
    return out


@case(lambda rng: (floats(rng, 6, 8),))
def row_sums(x):
    """An accumulator that starts anew in each outer iteration."""
    out = output_tensor((x.shape[0],), x.dtype)
    for i in parallel(x.shape[0]):
        acc = 0.0
        for j in reduce(x.shape[1]):
            acc += x[i, j]
        out[i] = acc
    return out


@case(lambda rng: (floats(rng, 8, 6),))
def column_sums_in_output(x):
    """Output elements are the accumulators, with the reduced loop outside."""
    out = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        out[j] = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += x[i, j]
    return out


@case(lambda rng: (floats(rng, 5, 9, dtype="float64"),))
def alternating_sum(x):
    """An accumulator that is both added to and subtracted from, starting at a literal with a fraction."""
    out = output_tensor((x.shape[0],), "float64")
    for i in range(x.shape[0]):
        acc = 0.1
        for j in range(x.shape[1]):
            if j % 2 == 0:
                acc += x[i, j]
            else:
                acc -= x[i, j]
        out[i] = acc
    return out


@case(lambda rng: (floats(rng, 9) * np.float32(0.5) + np.float32(1.0),))
def product(x):
    """A multiplicative accumulator."""
    out = output_tensor((1,), "float32")
    acc = 1.0
    for i in range(x.shape[0]):
        acc *= x[i]
    out[0] = acc
    return out


@case(lambda rng: (floats(rng, 6, 7),))
def row_extremes(x):
    """A minimum and a maximum folded by one loop."""
    out = output_tensor((2, x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        low = x[i, 0]
        high = x[i, 0]
        for j in range(1, x.shape[1]):
            low = min(low, x[i, j])
            high = max(high, x[i, j])
        out[0, i] = low
        out[1, i] = high
    return out


@case(lambda rng: (ints(rng, 6, 9, low=0, high=5).astype("float32"),))
def argmax_rows(x):
    """A weak index travels with a strong maximum; ties keep the first."""
    out = output_tensor((x.shape[0],), "int64")
    for i in range(x.shape[0]):
        best = x[i, 0]
        at = 0
        for j in range(1, x.shape[1]):
            at = j if x[i, j] > best else at
            best = x[i, j] if x[i, j] > best else best
        out[i] = at
    return out


@case(lambda rng: (np.where(rng.random((3, 7)) < 0.2, np.nan, rng.standard_normal((3, 7))),))
def maximum_skipping_nan(x):
    """A guarded comparison fold, where NaN never wins."""
    out = output_tensor((x.shape[0],), "float64")
    for i in range(x.shape[0]):
        best = -1e30
        for j in range(x.shape[1]):
            if x[i, j] > best:
                best = x[i, j]
        out[i] = best
    return out


@case(lambda rng: (floats(rng, 40) * np.float32(1000.0),))
def kahan_sum(x):
    """A compensated sum: any algebraic rewriting makes the compensation vanish."""
    out = output_tensor((2,), "float32")
    total = float32(0.0)
    lost = float32(0.0)
    for i in range(x.shape[0]):
        term = x[i] - lost
        wider = total + term
        lost = (wider - total) - term
        total = wider
    out[0] = total
    out[1] = lost
    return out


@case(lambda rng: (floats(rng, 4, 9, dtype="float64"),))
def welford_variance(x):
    """Two accumulators that feed each other, with a division by the loop variable."""
    out = output_tensor((x.shape[0], 2), "float64")
    for i in range(x.shape[0]):
        mean = 0.0
        spread = 0.0
        for j in range(x.shape[1]):
            delta = x[i, j] - mean
            mean = mean + delta / (j + 1)
            spread = spread + delta * (x[i, j] - mean)
        out[i, 0] = mean
        out[i, 1] = spread / x.shape[1]
    return out


@case(lambda rng: (floats(rng, 5, 9),))
def softmax(x):
    """Three dependent inner loops per row, exponentials kept in the output."""
    n, m = x.shape
    out = output_tensor((n, m), x.dtype)
    for i in range(n):
        peak = x[i, 0]
        for j in range(1, m):
            peak = max(peak, x[i, j])
        total = 0.0
        for j in range(m):
            out[i, j] = exp(x[i, j] - peak)
            total += out[i, j]
        for j in range(m):
            out[i, j] /= total
    return out


@case(lambda rng: (floats(rng, 4, 9), floats(rng, 9), floats(rng, 9)))
def layernorm(x, gamma, beta):
    """Two-pass moments divided by a weak extent, then scale and shift."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        mean = 0.0
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean /= x.shape[1]
        var = 0.0
        for j in range(x.shape[1]):
            var += (x[i, j] - mean) * (x[i, j] - mean)
        inv = 1.0 / sqrt(var / x.shape[1] + 1e-5)
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) * inv * gamma[j] + beta[j]
    return out


@case(lambda rng: (floats(rng, 9),))
def prefix_sum(x):
    """A running sum kept in a local."""
    out = output_tensor(x.shape, x.dtype)
    run = 0.0
    for i in range(x.shape[0]):
        run += x[i]
        out[i] = run
    return out


@case(lambda rng: (floats(rng, 9),))
def prefix_sum_through_output(x):
    """A running sum that reads the output element of the iteration before."""
    out = output_tensor(x.shape, x.dtype)
    out[0] = x[0]
    for i in range(1, x.shape[0]):
        out[i] = out[i - 1] + x[i]
    return out


@case(lambda rng: (floats(rng, 3, 8, dtype="float64"),))
def suffix_products(x):
    """A scan that runs backwards."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        run = 1.0
        for j in range(x.shape[1] - 1, -1, -1):
            run *= x[i, j]
            out[i, j] = run
    return out


@case(lambda rng: (bools(rng, 5, 4),))
def any_all_count(b):
    """Bool accumulators by | and &, and a count of bools that turns int64."""
    flags = output_tensor((b.shape[0], 2), "bool")
    count = output_tensor((b.shape[0],), "int64")
    for i in range(b.shape[0]):
        some = False
        every = True
        hits = 0
        for j in range(b.shape[1]):
            some = some | b[i, j]
            every = every & b[i, j]
            hits += b[i, j]
        flags[i, 0] = some
        flags[i, 1] = every
        count[i] = hits
    return flags, count


@case(lambda rng: (floats(rng, 4, 3, 5), bools(rng, 4, 3, 5)))
def masked_band_sum(x, mask):
    """A guarded sum over two loops that are inner to the kept one."""
    out = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        acc = float32(0.0)
        for i in range(x.shape[0]):
            for k in range(x.shape[2]):
                if mask[i, j, k]:
                    acc += x[i, j, k]
        out[j] = acc
    return out


@case(lambda rng: (ints(rng, 7, 9, dtype="int64"),))
def integer_moments(x):
    """Integer sums, whose order is free, beside their own squares."""
    out = output_tensor((2,), "int64")
    first = 0
    second = 0
    for i, j in grid(x.shape):
        first += x[i, j]
        second += x[i, j] * x[i, j]
    out[0] = first
    out[1] = second
    return out


@case(lambda rng: (ints(rng, 5, low=0, high=70), floats(rng, 70)))
def sums_of_data_lengths(lengths, x):
    """The inner loop's length comes from data by way of a local: only it is the band of the sum."""
    out = output_tensor((1,), x.dtype)
    out[0] = 0.0
    for i in range(lengths.shape[0]):
        m = lengths[i]
        for j in range(m):
            out[0] += x[j]
    return out


@case(lambda rng: (floats(rng, 9001),))
def sums_of_every_other_element(x):
    """One loop with a step each, forwards and backwards: how many blocks there are follows from the shape."""
    out = output_tensor((2,), x.dtype)
    out[0] = 0.0
    out[1] = 0.5
    for i in range(0, x.shape[0], 2):
        out[0] += x[i]
    for i in range(x.shape[0] - 1, -1, -3):
        out[1] += x[i]
    return out


@case(lambda rng: (floats(rng, 150), np.abs(ints(rng, 150))))
def several_iterations_into_one_element(x, k):
    """Neighbours, and iterations some elements apart, accumulate into one element."""
    top = output_tensor((75,), x.dtype)
    rest = output_tensor((4,), k.dtype)
    halves = output_tensor((75,), k.dtype)
    for j in range(75):
        top[j] = -1e30
        halves[j] = 0
    for j in range(4):
        rest[j] = 0
    for i in range(x.shape[0]):
        top[i // 2] = max(top[i // 2], exp(sin(x[i]) * cos(x[i])) + exp(x[i] * 0.25) + tanh(x[i]))
    for i in range(x.shape[0]):
        rest[i % 4] += (k[i] * k[i] + 3) * (k[i] - 5) * (k[i] + 7) * (k[i] * 11 - 2)
    for i in range(x.shape[0]):
        halves[i // 2] += (k[i] * k[i] + 3) * (k[i] - 5) * (k[i] + 7) * (k[i] * 11 - 2) * (k[i] + 3)
    return top, rest, halves


@case(lambda rng: (floats(rng, 12),))
def one_iteration_of_a_huge_step(x):
    c = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0] - 1, -1, -(2**63)):
        c[i] = exp(x[i]) * x[i]
    for i in range(0, x.shape[0], 2**62):
        c[i] = exp(x[i]) * x[i]
    return c


@case(lambda rng: (floats(rng, 5, 70), floats(rng, 6, 70)))
def cosines(a, b):
    """Sums of two orders in one loop: the product of matrices in source order, the squares in lanes."""
    c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            ab = 0.0
            aa = 0.0
            bb = 0.0
            for k in range(a.shape[1]):
                aa += a[i, k] * a[i, k]
                ab += a[i, k] * b[j, k]
                bb += b[j, k] * b[j, k]
            c[i, j] = ab / sqrt(aa * bb)
    return c


def nearest(rng, width, dtype="float64"):
    return floats(rng, 70, width, dtype=dtype), floats(rng, 5, width, dtype=dtype)


def find_nearest(x, c, label):
    """The nearest centre of each point: sums as long as the points are wide."""
    for i in range(x.shape[0]):
        best = 1e300
        for q in range(c.shape[0]):
            s = 0.0
            for j in range(x.shape[1]):
                t = x[i, j] - c[q, j]
                s += t * t
            if s < best:
                best = s
                label[i] = q


@case(lambda rng: nearest(rng, 3))
def nearest_in_three_dimensions(x, c):
    """Sums of fewer terms than lanes keep the source order in every mode."""
    label = output_tensor((x.shape[0],), "int64")
    find_nearest(x, c, label)
    return label


@case(lambda rng: nearest(rng, 63, "float32"))
def nearest_in_63_dimensions(x, c):
    """The longest sums that keep the source order."""
    label = output_tensor((x.shape[0],), "int64")
    find_nearest(x, c, label)
    return label


@case(lambda rng: nearest(rng, 64, "float32"))
def nearest_in_64_dimensions(x, c):
    """The shortest sums in lanes."""
    label = output_tensor((x.shape[0],), "int64")
    find_nearest(x, c, label)
    return label


@case(lambda rng: (floats(rng, 0, 5),))
def sums_of_no_rows(x):
    """Nothing runs, in either version."""
    out = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i, j]
        out[j] = s
    return out


@case(
    lambda rng: (floats(rng, 3, 40), floats(rng, 4000).reshape(100, 40), floats(rng, 10000).reshape(100, 100))
)
def recurrent_cell(x, w, u):
    """One sum keeps the source order, as contractions do, and the other may run in lanes."""
    steps, hidden = x.shape[0], u.shape[0]
    out = output_tensor((steps, hidden), x.dtype)
    h = allocate((hidden,), x.dtype)
    g = allocate((hidden,), x.dtype)
    for j in range(hidden):
        h[j] = 0.0
    for t in range(steps):
        for j in range(hidden):
            a = 0.0
            for k in range(x.shape[1]):
                a += w[j, k] * x[t, k]
            b = 0.0
            for k in range(hidden):
                b += u[j, k] * h[k]
            g[j] = a + b
        for j in range(hidden):
            h[j] = g[j] / (1.0 + abs(g[j]))
            out[t, j] = h[j]
    return out


def add_to_nearest(x, c, label, total):
    for i in range(x.shape[0]):
        best = 1e300
        at = 0
        for q in range(c.shape[0]):
            s = 0.0
            for j in range(x.shape[1]):
                t = x[i, j] - c[q, j]
                s += t * t
            if s < best:
                best = s
                at = q
        label[i] = at
        for j in range(x.shape[1]):
            total[at, j] = total[at, j] + x[i, j]


@case(
    lambda rng: (ints(rng, 40, 8, dtype="float64"), ints(rng, 5, 8, dtype="float64"), np.zeros((5, 8))),
    mutates=(2,),
    exact=True,
)
def sums_of_the_nearest_in_few_dimensions(x, c, total):
    """The loop around scatters, so that threads may share a sum; short sums have a version of their own."""
    label = output_tensor((x.shape[0],), "int64")
    add_to_nearest(x, c, label, total)
    return label, total


@case(
    lambda rng: (ints(rng, 9, 100, dtype="float64"), ints(rng, 5, 100, dtype="float64"), np.zeros((5, 100))),
    mutates=(2,),
    exact=True,
)
def sums_of_the_nearest_in_many_dimensions(x, c, total):
    label = output_tensor((x.shape[0],), "int64")
    add_to_nearest(x, c, label, total)
    return label, total
