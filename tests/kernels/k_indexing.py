"""Subscripts and memory layouts.

They cover loaded subscripts, computed subscripts, negative constants, and views with any strides.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import case, floats, ints


@case(lambda rng: (floats(rng, 9), ints(rng, 7, low=0, high=9)))
def gather(x, idx):
    """A load at a place read from an int32 tensor."""
    out = output_tensor(idx.shape, x.dtype)
    for i in range(idx.shape[0]):
        out[i] = x[idx[i]]
    return out


@case(lambda rng: (floats(rng, 6), rng.permutation(9)[:6].astype("int64")))
def scatter(x, idx):
    """A store at a place read from an int64 tensor; the places never hit stay zero."""
    out = output_tensor((9,), x.dtype)
    for i in range(x.shape[0]):
        out[idx[i]] = x[i]
    return out


@case(lambda rng: (floats(rng, 9), ints(rng, 9, low=0, high=3)))
def scatter_last_wins(x, idx):
    """Stores that hit the same place: the last iteration must win."""
    out = output_tensor((3,), x.dtype)
    for i in range(x.shape[0]):
        out[idx[i]] = x[i]
    return out


@case(lambda rng: (ints(rng, 60, low=0, high=7),))
def histogram(x):
    """Counts at loaded places after an explicit zero fill."""
    out = output_tensor((7,), "int64")
    for k in range(7):
        out[k] = 0
    for i in range(x.shape[0]):
        out[x[i]] += 1
    return out


@case(lambda rng: (ints(rng, 9, low=0, high=4), floats(rng, 9)))
def segment_sum_unzeroed(segment, x):
    """Accumulates at loaded places in an output that nothing has written before."""
    out = output_tensor((4,), x.dtype)
    for i in range(x.shape[0]):
        out[segment[i]] += x[i]
    return out


@case(lambda rng: (floats(rng, 7), rng.permutation(7), rng.permutation(7)))
def double_indirection(x, p, q):
    """A subscript of a subscript, and the inverse of a permutation by a store."""
    n = x.shape[0]
    out = output_tensor((n,), x.dtype)
    inverse = output_tensor((n,), "int64")
    for i in range(n):
        out[i] = x[p[q[i]]]
        inverse[p[i]] = i
    return out, inverse


@case(lambda rng: (floats(rng, 6, 4), ints(rng, 5, 3, low=0, high=6, dtype="int64")))
def embedding_bag(table, ids):
    """Whole rows gathered and summed: a loaded subscript outside a regular one."""
    out = output_tensor((ids.shape[0], table.shape[1]), table.dtype)
    for b in range(ids.shape[0]):
        for c in range(table.shape[1]):
            acc = 0.0
            for k in range(ids.shape[1]):
                acc += table[ids[b, k], c]
            out[b, c] = acc
    return out


@case(lambda rng: (np.sort(floats(rng, 9)), floats(rng, 8)))
def binary_search(table, keys):
    """A data-dependent subscript that is a local narrowed by branches."""
    out = output_tensor(keys.shape, "int32")
    for i in range(keys.shape[0]):
        low = 0
        high = table.shape[0]
        for _ in range(5):
            if low < high:
                mid = (low + high) // 2
                if table[mid] < keys[i]:
                    low = mid + 1
                else:
                    high = mid
        out[i] = low
    return out


@case(lambda rng: (floats(rng, 9),))
def pointer_chase(x):
    """A subscript carried from iteration to iteration, as in a linear congruence."""
    n = x.shape[0]
    out = output_tensor((n,), x.dtype)
    at = 4
    for i in range(n):
        out[i] = x[at]
        at = (at * 5 + 3) % n
    return out


@case(lambda rng: (floats(rng, 4, 5),))
def negative_constants(x):
    """Negative constant subscripts count from the end, in loads and in stores."""
    out = output_tensor((4,), x.dtype)
    out[-1] = x[-1, -1]
    out[-2] = x[0, -2]
    out[0] = x[-4, 0]
    out[-3] = x[-1, 2] - x[-2, -5]
    return out


@case(lambda rng: (floats(rng, 17)[::2], floats(rng, 27)[::3]))
def strided_views(a, b):
    """Inputs with strides of two and three elements."""
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = a[i] - b[i]
    return out


@case(lambda rng: (floats(rng, 8, dtype="float64")[::-1], floats(rng, 4, 6)[::-1, ::-2]))
def reversed_views(a, b):
    """Inputs with negative strides, one of them in both dimensions."""
    out = output_tensor((a.shape[0], b.shape[0], b.shape[1]), "float64")
    for k, i, j in grid((a.shape[0], b.shape[0], b.shape[1])):
        out[k, i, j] = a[k] * b[i, j]
    return out


@case(lambda rng: (floats(rng, 7, 5).T, floats(rng, 5, 4, 7).transpose(0, 2, 1)))
def transposed_views(a, b):
    """Inputs whose unit stride is not on the last dimension."""
    out = output_tensor(a.shape, a.dtype)
    for i, j in grid(a.shape):
        acc = 0.0
        for k in range(b.shape[2]):
            acc += b[i, j, k]
        out[i, j] = acc * a[i, j]
    return out


@case(lambda rng: (np.broadcast_to(floats(rng, 6), (4, 6)), np.broadcast_to(floats(rng, 4, 1), (4, 6))))
def broadcast_views(a, b):
    """Read-only inputs with stride 0, one on each dimension."""
    out = output_tensor(a.shape, a.dtype)
    for i, j in grid(a.shape):
        out[i, j] = a[i, j] * b[i, j] + a[i, j]
    return out


@case(lambda rng: (floats(rng, 6, 9)[1:5, 2:8:2], 0.5), mutates=(0,))
def strided_view_in_place(a, rate):
    """A mutated view inside a larger array: elements between must survive."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] * rate + i
    return a


@case(lambda rng: (ints(rng, 9)[::-1],), mutates=(0,))
def reversed_view_in_place(a):
    """A running sum through a mutated view with a negative stride."""
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1]
    return a


@case(lambda rng: (floats(rng, 6, 6, dtype="float64"),))
def diagonals(a):
    """The main diagonal, the other one, and one above, by affine subscripts."""
    n = a.shape[0]
    out = output_tensor((3, n), a.dtype)
    for i in range(n):
        out[0, i] = a[i, i]
        out[1, i] = a[i, n - 1 - i]
    for i in range(n - 1):
        out[2, i + 1] = a[i, i + 1]
    return out


@case(lambda rng: (floats(rng, 24),))
def unflatten_by_division(x):
    """Subscripts with // and % of a loop variable by constants."""
    out = output_tensor((4, 2, 3), x.dtype)
    for k in range(x.shape[0]):
        out[k // 6, k // 3 % 2, k % 3] = x[k]
    return out


@case(lambda rng: (floats(rng, 6), 4))
def roll(x, shift):
    """A rotation by a scalar argument through a remainder."""
    n = x.shape[0]
    out = output_tensor((n,), x.dtype)
    for i in range(n):
        out[(i + shift) % n] = x[i]
    return out


@case(lambda rng: (floats(rng, 8),))
def bit_reversal(x):
    """A permutation whose subscript is built from shifts and masks of the loop variable."""
    out = output_tensor((8,), x.dtype)
    for i in range(8):
        out[(i & 1) << 2 | (i & 2) | i >> 2] = x[i]
    return out


@case(lambda rng: (floats(rng, 9), floats(rng, 9)))
def subscript_from_float(x, position):
    """Linear interpolation at places cut from floats by int(), clamped to the valid range."""
    n = x.shape[0]
    out = output_tensor((n,), x.dtype)
    for i in range(n):
        place = min(max(position[i] + 4.0, 0.0), 7.5)
        cell = int(place)
        part = place - cell
        out[i] = x[cell] * (1.0 - part) + x[cell + 1] * part
    return out


@case(lambda rng: (np.array(3.5, "float32"), np.array(-2, "int64")), mutates=(1,))
def rank_zero(scale, count):
    """Rank-0 tensors read and written at [()], one of them in place."""
    out = output_tensor((), "float32")
    out[()] = scale[()] * 0.1
    for i in range(4):
        out[()] += scale[()] * i
        count[()] += i
    return out, count


@case(lambda rng: (floats(rng, 5), rng.integers(-9, 9, 7)))
def wraps_around(x, offset):
    """Remainders by an extent, of numbers of both signs: in bounds without a check."""
    n = x.shape[0]
    out = output_tensor(offset.shape, x.dtype)
    for i in range(offset.shape[0]):
        out[i] = x[offset[i] % n] - x[(i - 3) % x.shape[0]] * x[i * i % (n + n - 1) // 2]
    return out


def rows_of(rng, rows, longest, extent):
    """Where rows of random lengths begin and end, and a place below the extent for each of their entries."""
    begin = np.concatenate([[0], rng.integers(0, longest, rows).cumsum()])
    return begin, ints(rng, int(begin[-1]), low=0, high=extent, dtype="int64")


def sparse(rng, rows, longest):
    begin, at = rows_of(rng, rows, longest, rows)
    return begin, at, floats(rng, at.size), floats(rng, rows)


@case(lambda rng: sparse(rng, 9, 7))
def sparse_rows(begin, at, value, x):
    """Sums over ranges read from a tensor, some of them empty, all shorter than a row of lanes."""
    out = output_tensor((begin.shape[0] - 1,), x.dtype)
    for i in range(begin.shape[0] - 1):
        total = 0.0
        for p in range(begin[i], begin[i + 1]):
            total += value[p] * x[at[p]]
        out[i] = total
    return out


@case(lambda rng: sparse(rng, 5, 200))
def sparse_long_rows(begin, at, value, x):
    """The same with rows on both sides of the 64 lanes, into an element and not a local."""
    out = output_tensor((begin.shape[0] - 1,), x.dtype)
    for i in range(begin.shape[0] - 1):
        out[i] = 1.0
        for p in range(begin[i], begin[i + 1]):
            out[i] += value[p] * x[at[p]]
    return out


@case(lambda rng: (np.array([2, 7], "int64"), floats(rng, 9)))
def range_with_offset(ends, x):
    """A range read from a tensor, with a subscript that lies beside its loop variable."""
    out = output_tensor((9,), x.dtype)
    for p in range(ends[0], ends[1]):
        out[p - 1] = x[p + 1]
    return out


@case(lambda rng: (ints(rng, 6, low=0, high=3), ints(rng, 9, low=0, high=3)))
def edit_distance(a, b):
    """A table whose border is written first; each element follows from three neighbours."""
    d = output_tensor((a.shape[0] + 1, b.shape[0] + 1), "int32")
    for k in range(a.shape[0] + 1):
        d[k, 0] = k
    for k in range(b.shape[0] + 1):
        d[0, k] = k
    for r in range(1, a.shape[0] + 1):
        for j in range(1, b.shape[0] + 1):
            step = d[r - 1, j - 1]
            if a[r - 1] != b[j - 1]:
                step += 1
            d[r, j] = min(step, min(d[r - 1, j], d[r, j - 1]) + 1)
    return d
