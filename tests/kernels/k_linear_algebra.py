"""Dense and sparse linear algebra: products in several loop orders, solvers, factorisations in place.

They exercise loop interchange, triangular bounds, reversed loops and dependences carried by outer loops.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import case, floats, ints


def _well_conditioned(rng, n):
    return rng.standard_normal((n, n)) + 4.0 * np.eye(n)


def _positive_definite(rng, n):
    half = rng.standard_normal((n, n))
    return half @ half.T + n * np.eye(n)


@case(lambda rng: (floats(rng, 7, 9), floats(rng, 9, 5)))
def matmul_ijk(a, b):
    """A matrix product with a scalar accumulator."""
    out = output_tensor((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            acc = 0.0
            for k in range(a.shape[1]):
                acc += a[i, k] * b[k, j]
            out[i, j] = acc
    return out


@case(lambda rng: (floats(rng, 7, 9, dtype="float64"), floats(rng, 9, 5, dtype="float64")))
def matmul_ikj(a, b):
    """A matrix product that accumulates rows in the output, zeroed inside the outer loop."""
    n, m = a.shape
    out = output_tensor((n, b.shape[1]), "float64")
    for i in parallel(n):
        for j in range(b.shape[1]):
            out[i, j] = 0.0
        for k in range(m):
            for j in vectorize(b.shape[1]):
                out[i, j] += a[i, k] * b[k, j]
    return out


@case(lambda rng: (floats(rng, 6, 9), floats(rng, 9, 7)))
def matmul_tiled(a, b):
    """A tiled product: stepped outer loops, inner bounds that are a min of a tile end and the extent."""
    n, m = a.shape
    p = b.shape[1]
    out = output_tensor((n, p), "float32")
    for i, j in grid((n, p)):
        out[i, j] = 0.0
    for i0 in range(0, n, 4):
        for k0 in range(0, m, 4):
            for i in range(i0, min(i0 + 4, n)):
                for k in range(k0, min(k0 + 4, m)):
                    for j in range(p):
                        out[i, j] += a[i, k] * b[k, j]
    return out


@case(lambda rng: (floats(rng, 3, 4, 5), floats(rng, 3, 6, 5)))
def batched_matmul_transposed(a, b):
    """A rank-3 product with the second operand read as its transpose."""
    out = output_tensor((a.shape[0], a.shape[1], b.shape[1]), a.dtype)
    for s, i, j in grid((a.shape[0], a.shape[1], b.shape[1])):
        acc = 0.0
        for k in range(a.shape[2]):
            acc += a[s, i, k] * b[s, j, k]
        out[s, i, j] = acc
    return out


@case(lambda rng: (ints(rng, 5, 6), ints(rng, 6, 4)))
def matmul_int32(a, b):
    """An integer matrix product."""
    out = output_tensor((a.shape[0], b.shape[1]), "int32")
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            acc = int32(0)
            for k in range(a.shape[1]):
                acc += a[i, k] * b[k, j]
            out[i, j] = acc
    return out


@case(lambda rng: (floats(rng, 5, 8),))
def transpose(a):
    """Loads and stores whose unit strides lie on different loops."""
    n, m = a.shape
    out = output_tensor((m, n), a.dtype)
    for i in range(n):
        for j in range(m):
            out[j, i] = a[i, j]
    return out


@case(lambda rng: (floats(rng, 6, 6, dtype="float64"),), mutates=(0,))
def transpose_in_place(a):
    """A triangular swap through a local, on a mutated input."""
    for i in range(a.shape[0]):
        for j in range(i):
            held = a[i, j]
            a[i, j] = a[j, i]
            a[j, i] = held
    return a


@case(lambda rng: (floats(rng, 6, 9), floats(rng, 9), floats(rng, 6)))
def matvec_both_ways(a, x, y):
    """A times x and A-transposed times y in one kernel, one reduced per row and one per column."""
    right = output_tensor((a.shape[0],), a.dtype)
    left = output_tensor((a.shape[1],), a.dtype)
    for j in range(a.shape[1]):
        left[j] = 0.0
    for i in range(a.shape[0]):
        acc = 0.0
        for j in range(a.shape[1]):
            acc += a[i, j] * x[j]
            left[j] += y[i] * a[i, j]
        right[i] = acc
    return right, left


@case(lambda rng: (floats(rng, 7, 4),))
def gram_symmetric(a):
    """A triangular nest that writes each result to both halves."""
    n = a.shape[0]
    out = output_tensor((n, n), a.dtype)
    for i in range(n):
        for j in range(i + 1):
            acc = 0.0
            for k in range(a.shape[1]):
                acc += a[i, k] * a[j, k]
            out[i, j] = acc
            out[j, i] = acc
    return out


@case(lambda rng: (floats(rng, 2, 3), floats(rng, 3, 2)))
def kronecker(a, b):
    """Subscripts that combine two loops with a symbolic factor."""
    p, q = b.shape
    out = output_tensor((a.shape[0] * p, a.shape[1] * q), a.dtype)
    for i, j in grid(a.shape):
        for k, m in grid(b.shape):
            out[i * p + k, j * q + m] = a[i, j] * b[k, m]
    return out


@case(lambda rng: (_well_conditioned(rng, 7), floats(rng, 7, dtype="float64")))
def forward_substitution(low, b):
    """Each row needs all results before it."""
    n = b.shape[0]
    x = output_tensor((n,), b.dtype)
    for i in range(n):
        acc = b[i]
        for j in range(i):
            acc -= low[i, j] * x[j]
        x[i] = acc / low[i, i]
    return x


@case(lambda rng: (_well_conditioned(rng, 7), floats(rng, 7, dtype="float64")), mutates=(1,))
def back_substitution_in_place(up, b):
    """A reversed outer loop around a triangular inner loop, solving in the right-hand side."""
    n = b.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= up[i, j] * b[j]
        b[i] = b[i] / up[i, i]
    return b


@case(lambda rng: (_well_conditioned(rng, 7),), mutates=(0,))
def lu_in_place(a):
    """An LU factorisation without pivoting: every loop bound depends on the outermost loop."""
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


@case(lambda rng: (_positive_definite(rng, 6),), warns=("W301",))
def cholesky(a):
    """A factor whose upper half stays unwritten, hence zero."""
    n = a.shape[0]
    low = output_tensor((n, n), "float64")
    for j in range(n):
        diag = a[j, j]
        for k in range(j):
            diag -= low[j, k] * low[j, k]
        root = sqrt(diag)
        low[j, j] = root
        for i in range(j + 1, n):
            acc = a[i, j]
            for k in range(j):
                acc -= low[i, k] * low[j, k]
            low[i, j] = acc / root
    return low


@case(lambda rng: (ints(rng, 7, 7, low=1, high=60),), mutates=(0,))
def floyd_warshall(d):
    """All shortest paths in place: three equal loops of which only the outermost is ordered."""
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


@case(lambda rng: (floats(rng, 6, 6), floats(rng, 6)))
def trace_and_quadratic_form(a, x):
    """A diagonal access and a product of three factors summed over two loops."""
    out = output_tensor((2,), a.dtype)
    trace = 0.0
    form = 0.0
    for i in range(a.shape[0]):
        trace += a[i, i]
        for j in range(a.shape[1]):
            form += x[i] * a[i, j] * x[j]
    out[0] = trace
    out[1] = form
    return out


@case(lambda rng: (floats(rng, 3, 8), floats(rng, 8)))
def banded_matvec(bands, x):
    """Three bands of a matrix, with clipped bounds written as max and min."""
    n = x.shape[0]
    y = output_tensor((n,), x.dtype)
    for i in range(n):
        acc = float32(0.0)
        for k in range(max(i - 1, 0), min(i + 2, n)):
            acc += bands[k - i + 1, i] * x[k]
        y[i] = acc
    return y


@case(
    lambda rng: (
        np.array([0, 2, 2, 5, 6], dtype="int32"),
        np.array([0, 3, 1, 2, 4, 0], dtype="int32"),
        floats(rng, 6),
        floats(rng, 5),
    )
)
def csr_matvec(start, col, value, x):
    """Loop bounds and subscripts both loaded from integer tensors; one row is empty."""
    y = output_tensor((start.shape[0] - 1,), x.dtype)
    for i in range(start.shape[0] - 1):
        acc = float32(0.0)
        for k in range(start[i], start[i + 1]):
            acc += value[k] * x[col[k]]
        y[i] = acc
    return y


@case(lambda rng: (_well_conditioned(rng, 4), floats(rng, 4, dtype="float64")))
def power_iteration(a, start):
    """A sequential outer loop around two temporaries and a normalisation."""
    n = start.shape[0]
    v = output_tensor((n,), "float64")
    w = allocate((n,), "float64")
    for i in range(n):
        v[i] = start[i]
    for _ in range(5):
        norm = 0.0
        for i in range(n):
            acc = 0.0
            for j in range(n):
                acc += a[i, j] * v[j]
            w[i] = acc
            norm += acc * acc
        for i in range(n):
            v[i] = w[i] / sqrt(norm)
    return v
