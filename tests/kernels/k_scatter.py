"""Sums at elements that a loop chooses; and loops that write what their own bounds or subscripts read.

Values are small integers, so that sums are exact in any order.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import case


def whole(rng, n, dtype="float64"):
    """Small integers as floats."""
    return rng.integers(-8, 9, n).astype(dtype)


def weights(rng, n=200, bins=5):
    """(sums, indices, terms)."""
    return np.zeros(bins), rng.integers(0, bins, n), whole(rng, n)


@case(weights, mutates=(0,), exact=True)
def histogram_by_local(h, idx, w):
    """The element is a local of the loop."""
    for i in range(w.shape[0]):
        b = idx[i]
        h[b] += w[i]
    return h


@case(weights, mutates=(0,), exact=True)
def histogram_by_clamped_local(h, idx, w):
    """Clamped, then changed under a condition."""
    for i in range(w.shape[0]):
        b = min(max(idx[i] + 1, 0), h.shape[0] - 1)
        if b == 2:
            b = 1
        h[b] += w[i]
    return h


@case(lambda rng: (np.zeros(4, "float32"), whole(rng, 300, "float32")), mutates=(0,), exact=True)
def histogram_by_cast(h, x):
    """The element is computed from the term."""
    for i in range(x.shape[0]):
        b = int((x[i] + 8.0) * 0.25) % 4
        h[b] += x[i]
    return h


@case(lambda rng: (np.zeros(3), np.array([2, 0, 1, 2]), whole(rng, (4, 70))), mutates=(0,), exact=True)
def segment_sums(h, seg, x):
    """The outer loop chooses the element, the inner one sums."""
    for i in range(x.shape[0]):
        s = seg[i]
        for j in range(x.shape[1]):
            h[s] += x[i, j]
    return h


@case(lambda rng: (whole(rng, 500), whole(rng, 500)), exact=True)
def group_sums(w, x):
    """A counter walks through the elements."""
    o = output_tensor((w.shape[0] + 1,), w.dtype)
    g = 0
    for i in range(x.shape[0]):
        if w[i] > 4:
            g += 1
        o[g] += x[i]
    return o


@case(lambda rng: (np.zeros(2, "int64"), whole(rng, 300)), mutates=(0,), exact=True)
def cursor_in_memory(pos, x):
    """The element is read from memory that the loop writes."""
    o = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        o[pos[0]] += x[i]
        if x[i] > 5:
            pos[0] += 1
        pos[1] = i % 7
        o[pos[1]] += x[i]
    return o, pos


def bin_of(x, n):
    """An element of n."""
    return min(int(x + 8.0) // 4, n - 1)


def put(h, b, v):
    """Adds to an element."""
    h[b] += v


@case(lambda rng: (np.zeros(4), np.zeros(4), whole(rng, 200)), mutates=(0, 1), exact=True)
def histogram_by_helpers(h, g, x):
    """A helper gives the element, another one writes it."""
    for i in range(x.shape[0]):
        h[bin_of(x[i], h.shape[0])] += x[i]
        put(g, bin_of(x[i] * 0.5, 4), x[i])
    return h, g


@case(
    lambda rng: (np.ones(5), rng.integers(0, 5, 90), rng.choice([-1.0, 1.0, 2.0, 0.5], 90)),
    mutates=(0,),
    exact=True,
)
def products_by_local(h, idx, w):
    """Products of powers of two, exact in any order."""
    for i in range(w.shape[0]):
        b = idx[i]
        h[b] *= w[i]
    return h


@case(
    lambda rng: (np.zeros((3, 4)), rng.integers(0, 3, 150), rng.integers(0, 4, 150), whole(rng, 150)),
    mutates=(0,),
    exact=True,
)
def histogram_of_two(h, rows, columns, w):
    """Two locals choose the element."""
    for i in range(w.shape[0]):
        r = rows[i]
        c = columns[i]
        h[r, c] += w[i]
    return h


@case(lambda rng: (whole(rng, (2, 70)),), exact=True)
def sum_that_never_runs(z):
    """A loop without iterations around a sum has no dependences, which makes it no parallel loop."""
    s = output_tensor((), z.dtype)
    for i in range(0):
        for j in range(z.shape[1]):
            s[()] += z[0, j]
    return s


@case(weights, mutates=(0,), exact=True)
def sum_at_one_loaded_element(h, idx, w):
    """A local that loads the same element in each iteration."""
    for i in range(w.shape[0]):
        b = idx[0]
        h[b] += w[i]
    return h


@case(lambda rng: (whole(rng, 300), 5), exact=True)
def sum_at_one_chosen_element(x, n):
    """A local that is the same in each iteration."""
    h = output_tensor((4,), x.dtype)
    for i in range(x.shape[0]):
        b = n // 2
        d = b + 1
        h[d] += x[i]
    return h


@case(weights, mutates=(0,), warns=("W301",), exact=True)
def least_and_greatest_by_local(h, idx, w):
    """Selections at chosen elements."""
    most = output_tensor(h.shape, h.dtype)
    at = output_tensor(h.shape, "int64")
    for i in range(w.shape[0]):
        b = idx[i]
        h[b] = min(h[b], w[i])
        if w[i] > most[b]:
            most[b] = w[i]
            at[b] = i
    return h, most, at


def counted(rng, n=20000):
    """(counts, values): the first count is the number of values."""
    cnt = np.ones(n, "int64")
    cnt[0] = n
    return cnt, whole(rng, n)


@case(counted, mutates=(0,), exact=True)
def bound_in_memory_that_the_loop_writes(cnt, x):
    """The bound is read once, before the loop writes it."""
    y = output_tensor((x.shape[0],), x.dtype)
    for j in range(min(cnt[0], x.shape[0])):
        cnt[j] = 0
        y[j] = x[j] * 2.0
    return y, cnt


@case(counted, mutates=(0,), exact=True)
def sum_over_a_bound_that_the_loop_writes(cnt, x):
    """Likewise the lower bound of a sum."""
    s = 0.0
    for j in range(max(cnt[1], 0), x.shape[0]):
        s += x[j]
        cnt[j] = 7
    o = output_tensor((1,), x.dtype)
    o[0] = s
    return o, cnt


@case(lambda rng: (rng.integers(0, 40, 100), whole(rng, 100)), warns=("W301",), exact=True)
def read_of_what_chosen_columns_wrote(idx, x):
    """A local as subscript is another element in each iteration: what is not written reads as zero."""
    n = x.shape[0]
    t = allocate((n, 40), x.dtype)
    y = output_tensor((n,), x.dtype)
    for i in range(n):
        b = idx[i]
        s = 0.0
        for q in range(i):
            s = s + t[q, b]
        y[i] = s
        t[i, b] = x[i]
    return y


@case(lambda rng: (np.array([10]), whole(rng, 300)), mutates=(0,), exact=True)
def writes_up_to_a_bound_that_moves(p, x):
    """Two loops whose bounds read one element at two times leave a gap."""
    t = output_tensor((x.shape[0],), x.dtype)
    for i in range(p[0]):
        t[i] = x[i]
    p[0] = p[0] + 3
    for i in range(p[0], x.shape[0]):
        t[i] = x[i]
    return t, p


def within(base, at):
    """(a view of one element, the array around it)."""
    return base[at : at + 1], base


@case(lambda rng: within(whole(rng, 100), 5), mutates=(0, 1), exact=True)
def sum_into_its_own_terms(s, x):
    """The sum is one of its terms: arguments that share memory keep the order of the source."""
    for i in range(x.shape[0]):
        s[0] += x[i]
    return s, x
