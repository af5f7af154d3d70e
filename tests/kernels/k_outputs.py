"""What comes back: several outputs, mutated inputs, unwritten and half-written buffers.

Outputs nobody wrote are zero; reading one too early is zero as well, with warning W301.
"""
# ruff: noqa: F821
# mypy: ignore-errors

from corpus import bools, case, floats, ints


@case(lambda rng: (floats(rng, 4, 5),))
def square_onto_unwritten(x):
    """Adds to output elements that nothing has written yet."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = out[i, j] + x[i, j] * x[i, j]
    return out


@case(lambda rng: (floats(rng, 6),), warns=("W301",))
def reads_beyond_what_it_wrote(x):
    """Each element reads its right neighbour, which is written later and reads as zero."""
    n = x.shape[0]
    out = output_tensor((n,), x.dtype)
    for i in range(n - 1):
        out[i] = x[i] + 2.0 * out[i + 1]
    return out


@case(lambda rng: (floats(rng, 4, 3),))
def declared_by_keywords(x):
    """Buffers whose shape, dtype and scope are named."""
    tmp = allocate(dtype="float64", shape=x.shape[0], scope="local")
    out = output_tensor(x.shape[0], dtype=float64)
    copy = output_tensor(dtype=x.dtype, shape=x.shape)
    for i in range(x.shape[0]):
        tmp[i] = 0.0
        for j in range(x.shape[1]):
            tmp[i] += x[i, j]
            copy[i, j] = x[i, j]
        out[i] = tmp[i]
    return out, copy


@case(lambda rng: (ints(rng, 7),), warns=("W301",))
def unwritten_temporary(a):
    """A temporary that is written on some paths only and read on all."""
    tmp = allocate(a.shape, "int32")
    out = output_tensor(a.shape, "int32")
    for i in range(a.shape[0]):
        if a[i] > 0:
            tmp[i] = a[i] * 10
    for i in range(a.shape[0]):
        out[i] = tmp[i] + a[i]
    return out


@case(lambda rng: (floats(rng, 9),))
def every_third(x):
    """Only every third element is written; the rest is zero."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(0, x.shape[0], 3):
        out[i] = x[i]
    return out


@case(lambda rng: (floats(rng, 5, 5),))
def lower_triangle(x):
    """The upper half of the output is never written."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(i + 1):
            out[i, j] = x[i, j]
    return out


@case(lambda rng: (floats(rng, 9, dtype="float64"),))
def compact_positives(x):
    """A store at a running count leaves a tail of unknown length unwritten."""
    out = output_tensor(x.shape, x.dtype)
    count = output_tensor((1,), "int32")
    kept = 0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            out[kept] = x[i]
            kept += 1
    count[0] = kept
    return out, count


@case(lambda rng: (floats(rng, 3),))
def never_written(x):
    """One output is copied, another is not touched at all."""
    out = output_tensor(x.shape, x.dtype)
    zeros = output_tensor((2, x.shape[0]), "int64")
    for i in range(x.shape[0]):
        out[i] = x[i]
    return out, zeros


@case(lambda rng: (floats(rng, 6, 4),))
def five_dtypes(x):
    """Five outputs, one of each dtype, returned in another order than declared."""
    flags = output_tensor(x.shape, "bool")
    small = output_tensor(x.shape, "int32")
    large = output_tensor(x.shape, "int64")
    single = output_tensor(x.shape, float32)
    double = output_tensor(x.shape, float64)
    for i, j in grid(x.shape):
        flags[i, j] = x[i, j] > 0.0
        small[i, j] = x[i, j] * 10.0
        large[i, j] = float64(x[i, j]) * 1e10
        single[i, j] = x[i, j] * 0.1
        double[i, j] = x[i, j] / 3.0
    return double, flags, large, small, single


@case(lambda rng: (floats(rng, 8), 3))
def dtype_arguments(x, n):
    """Dtypes given as x.dtype, as a string and as cast names; extents made of a scalar argument."""
    a = output_tensor((n,), x.dtype)
    b = output_tensor((n + 1,), bool_)
    c = output_tensor((2 * n,), int64)
    d = output_tensor((n, n), "float64")
    for i in range(n):
        a[i] = x[i]
        b[i + 1] = x[i] > 0.0
        c[2 * i] = i - n
        for j in range(n):
            d[i, j] = x[i] * x[j]
    return a, b, c, d


@case(lambda rng: (floats(rng, 5, 6),))
def outputs_feed_each_other(x):
    """One output is computed from another, in the same nest and in a later one."""
    doubled = output_tensor(x.shape, x.dtype)
    shifted = output_tensor(x.shape, x.dtype)
    total = output_tensor((x.shape[0],), x.dtype)
    for i, j in grid(x.shape):
        doubled[i, j] = x[i, j] * 2.0
        shifted[i, j] = doubled[i, j] + 0.1
    for i in range(x.shape[0]):
        acc = 0.0
        for j in range(x.shape[1]):
            acc += doubled[i, j] * shifted[i, j]
        total[i] = acc
    return doubled, shifted, total


@case(lambda rng: (floats(rng, 7),), mutates=(0,))
def scale_in_place(a):
    """An input mutated in place and returned."""
    for i in range(a.shape[0]):
        a[i] = a[i] * 0.7 - 1.0
    return a


@case(lambda rng: (floats(rng, 7), ints(rng, 7)), mutates=(1,))
def output_and_mutated_input(x, state):
    """An output beside a mutated input of another dtype, returned first."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        out[i] = x[i] * state[i]
        state[i] += 1 if x[i] > 0.0 else -1
    return state, out


@case(lambda rng: (floats(rng, 6, dtype="float64"),), mutates=(0,))
def several_passes_in_place(a):
    """Later passes over a mutated input see what earlier passes wrote, some of it beside their place."""
    n = a.shape[0]
    for i in range(n):
        a[i] = a[i] * 2.0
    for i in range(n - 1):
        a[i] = a[i + 1] - a[i]
    for i in range(n - 1, 0, -1):
        a[i] = a[i] + a[i - 1]
    return a


@case(lambda rng: (floats(rng, 8),), mutates=(0,))
def reverse_in_place(a):
    """A swap of both ends, which meets itself in the middle."""
    n = a.shape[0]
    for i in range(n // 2):
        held = a[i]
        a[i] = a[n - 1 - i]
        a[n - 1 - i] = held
    return a


@case(lambda rng: (floats(rng, 6), floats(rng, 6), bools(rng, 6)), mutates=(0, 1))
def conditional_swap(a, b, p):
    """Two mutated inputs exchanged where a third says so."""
    for i in range(a.shape[0]):
        if p[i]:
            held = a[i]
            a[i] = b[i]
            b[i] = held
    return b, a


@case(lambda rng: (floats(rng, 5), floats(rng, 5)), mutates=(0,))
def sgd_momentum(w, g):
    """A mutated input beside a fresh output that depends on its old and its new value."""
    step = output_tensor(w.shape, w.dtype)
    for i in range(w.shape[0]):
        old = w[i]
        w[i] -= 0.1 * (g[i] + 0.01 * w[i])
        step[i] = w[i] - old
    return w, step


@case(lambda rng: (floats(rng, 5),))
def tuple_of_one_output(x):
    """The comma makes the result a tuple."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        out[i] = x[i] * 2.0
    return (out,)


@case(lambda rng: (floats(rng, 5),))
def tuple_of_one_input(x):
    """An input in a tuple of its own."""
    for i in range(x.shape[0]):
        x[i] = x[i] * 2.0
    return (x,)
