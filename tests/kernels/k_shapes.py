"""Ranks 0 to 4, zero extents, and what a kernel can do with shapes.

Extents also enter arithmetic as weak integers, and extents of outputs come from slices and sums of shapes.
"""
# ruff: noqa: F821, RUF005
# mypy: ignore-errors

import numpy as np

from corpus import case, floats, ints


@case(lambda rng: (np.array(-1.75, "float64"), np.array(3, "int32"), np.array(True)))
def rank0_of_three_dtypes(x, n, flag):
    """Rank-0 inputs as value, as loop bound and as condition."""
    out = output_tensor((), "float64")
    acc = x[()]
    for i in range(n[()]):
        acc = acc * x[()] + i
    out[()] = acc if flag[()] else -acc
    return out


@case(lambda rng: (floats(rng, 1),))
def rank1_of_one(x):
    """An extent of one, where a loop and a literal subscript meet."""
    out = output_tensor((1, x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        out[0, i] = x[0] + x[i]
    return out


@case(lambda rng: (floats(rng, 2, 3, 4),))
def permute_rank3(x):
    """A cyclic permutation of three dimensions."""
    a, b, c = x.shape
    out = output_tensor((c, a, b), x.dtype)
    for i, j, k in grid((a, b, c)):
        out[k, i, j] = x[i, j, k]
    return out


@case(lambda rng: (floats(rng, 2, 3, 4, 5),))
def rank4_batch_norm(x):
    """Statistics over three of four dimensions, the channel in the second."""
    n, c, h, w = x.shape
    out = output_tensor(x.shape, x.dtype)
    for ch in range(c):
        mean = float32(0.0)
        for i, p, q in grid((n, h, w)):
            mean += x[i, ch, p, q]
        mean /= n * h * w
        var = float32(0.0)
        for i, p, q in grid((n, h, w)):
            var += (x[i, ch, p, q] - mean) * (x[i, ch, p, q] - mean)
        scale = 1.0 / sqrt(var / (n * h * w) + 0.001)
        for i, p, q in grid((n, h, w)):
            out[i, ch, p, q] = (x[i, ch, p, q] - mean) * scale
    return out


@case(lambda rng: (ints(rng, 2, 2, 3, 3, dtype="int64"),))
def pixel_shuffle(x):
    """A rank-4 input reordered into rank 3 with products of extents."""
    out = output_tensor((x.shape[0] * x.shape[2], x.shape[1], x.shape[3]), x.dtype)
    for a, b, c, d in grid(x.shape):
        out[c * x.shape[0] + a, b, d] = x[a, b, c, d]
    return out


@case(lambda rng: (floats(rng, 0), 2.0))
def empty_vector(x, alpha):
    """A zero extent: loops do not run and the output is empty."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        out[i] = alpha * x[i] + x[0]
    return out


@case(lambda rng: (floats(rng, 3, 0, dtype="float64"), floats(rng, 0, 4, dtype="float64")))
def empty_contraction(a, b):
    """A matrix product over a zero extent is a matrix of zeros."""
    out = output_tensor((a.shape[0], b.shape[1]), "float64")
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            acc = float64(0.0)
            for k in range(a.shape[1]):
                acc += a[i, k] * b[k, j]
            out[i, j] = acc
    return out


@case(lambda rng: (floats(rng, 4, 0, 3), floats(rng, 4)))
def empty_middle(x, y):
    """A zero extent in the middle of a rank-3 input beside a full one."""
    out = output_tensor((x.shape[0], x.shape[2]), "float32")
    for i in range(x.shape[0]):
        for k in range(x.shape[2]):
            out[i, k] = y[i]
            for j in range(x.shape[1]):
                out[i, k] += x[i, j, k]
    return out


@case(lambda rng: (ints(rng, 0, 5),), mutates=(0,))
def empty_in_place(a):
    """An empty array mutated in place comes back as it was."""
    for i, j in grid(a.shape):
        a[i, j] = i + j
    return a


@case(lambda rng: (floats(rng, 3, 4, 5),))
def shape_slices(x):
    """Output shapes cut and joined from the input's: [:-1], [1:], [::2], + and a tuple of one."""
    head = output_tensor(x.shape[:-1], x.dtype)
    tail = output_tensor(x.shape[1:] + (2,), x.dtype)
    ends = output_tensor(x.shape[::2], x.dtype)
    for i, j, k in grid(x.shape):
        head[i, j] = x[i, j, 0]
        tail[j, k, 0] = x[0, j, k]
        tail[j, k, 1] = x[2, j, k]
        ends[i, k] = x[i, 1, k]
    return head, tail, ends


@case(lambda rng: (floats(rng, 3, 4), floats(rng, 5, 4)))
def concatenate(a, b):
    """An extent that is the sum of two, written by two loops with an offset."""
    out = output_tensor((a.shape[0] + b.shape[0],) + a.shape[1:], a.dtype)
    for i, j in grid(a.shape):
        out[i, j] = a[i, j]
    for i, j in grid(b.shape):
        out[a.shape[0] + i, j] = b[i, j]
    return out


@case(lambda rng: (floats(rng, 4, 6),))
def shapes_as_values(x):
    """shape[-1], len and ndim as weak integers in float and integer arithmetic."""
    real = output_tensor((3,), x.dtype)
    whole = output_tensor((3,), "int32")
    real[0] = x[0, 0] * x.shape[-1]
    real[1] = x[1, 1] / len(x)
    real[2] = x.shape[0] / x.shape[-1] + x.ndim
    whole[0] = x.shape[-2] * x.shape[1] - x.ndim
    whole[1] = x.shape[-1] // x.shape[0]
    whole[2] = -len(x) % 3
    return real, whole


@case(lambda rng: (floats(rng, 5),))
def by_rank_one(x):
    """A condition on ndim drops the arm that would subscript a vector twice."""
    out = output_tensor(x.shape, x.dtype)
    if x.ndim == 2:
        for i, j in grid(x.shape):
            out[i, j] = x[i, j] + 2.0
    else:
        for i in range(x.shape[0]):
            out[i] = x[i] + 1.0
    return out


@case(lambda rng: (floats(rng, 5, 3),))
def by_rank_two(x):
    """The same kernel on a matrix, through elif."""
    out = output_tensor(x.shape, x.dtype)
    if x.ndim == 1:
        for i in range(x.shape[0]):
            out[i] = x[i] + 1.0
    elif x.ndim == 2:
        for i, j in grid(x.shape):
            out[i, j] = x[i, j] + 2.0
    return out


@case(lambda rng: (floats(rng, 3, 2), 3, 2))
def tile(x, down, across):
    """Output extents multiplied by scalar arguments, four loops deep."""
    n, m = x.shape
    out = output_tensor((n * down, m * across), x.dtype)
    for a, b in grid((down, across)):
        for i, j in grid((n, m)):
            out[a * n + i, b * m + j] = x[i, j]
    return out


@case(lambda rng: (floats(rng, 3, 4), 2))
def pad_with_constant(x, border):
    """A border written first everywhere, the inside over it."""
    n, m = x.shape
    out = output_tensor((n + 2 * border, m + 2 * border), x.dtype)
    for i, j in grid((n + 2 * border, m + 2 * border)):
        out[i, j] = -1.0
    for i, j in grid((n, m)):
        out[i + border, j + border] = x[i, j]
    return out


@case(lambda rng: (floats(rng, 4), floats(rng, 3), floats(rng, 2), ints(rng, 2)))
def outer_product_rank4(a, b, c, d):
    """Four vectors, each of which knows one loop of four."""
    out = output_tensor((len(a), len(b), len(c), len(d)), "float64")
    for i in range(len(a)):
        for j in range(len(b)):
            for k in range(len(c)):
                for m in range(len(d)):
                    out[i, j, k, m] = a[i] * b[j] * c[k] * d[m]
    return out


@case(lambda rng: (floats(rng, 41, 3), floats(rng, 41, 3), floats(rng, 41, 5)))
def rows_end_to_end(p, v, wide):
    """Short rows: of arrays alike, beside one with longer rows, under a condition, of a constant length."""
    near = output_tensor(p.shape, p.dtype)
    far = output_tensor(p.shape, p.dtype)
    fixed = output_tensor(p.shape, p.dtype)
    for i in range(p.shape[0]):
        for k in range(p.shape[1]):
            near[i, k] = p[i, k] + 0.5 * v[i, k]
    for i in range(p.shape[0]):
        for k in range(p.shape[1]):
            far[i, k] = p[i, k] - wide[i, k]
    for i in range(2, p.shape[0] - 1):
        for k in range(3):
            if v[i, k] > 0.0:
                fixed[i, k] = p[i, k] * p[0, 1]
    return near, far, fixed


@case(lambda rng: (floats(rng, 2, 19, 7), floats(rng, 7)), mutates=(0,))
def planes_of_short_rows(x, w):
    """Rows within planes, in place; and rows beside one that all of them share."""
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                x[b, i, j] = x[b, i, j] * x[b, i, j] + w[0]
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                x[1 - b, i, j] += w[j] + x[b, i, j]
    return x


@case(lambda rng: (floats(rng, 4),))
def a_temporary_of_no_iteration(x):
    c = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        c[i] = x[i]
        for j in range(0):
            t = allocate((3,), x.dtype)
            t[i] = x[i]
            c[i] += t[i]
    return c
