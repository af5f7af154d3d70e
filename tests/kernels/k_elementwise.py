"""Kernels where every output element depends on the inputs at its own place.

They pin single roundings: no fma, no reassociation, no reciprocal, signs of zero kept.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import SPECIAL, bools, case, floats


@case(lambda rng: (floats(rng, 9), floats(rng, 9), 2.7))
def saxpy(x, y, alpha):
    """A weak Python float becomes float32 beside float32 elements."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        out[i] = alpha * x[i] + y[i]
    return out


@case(lambda rng: (floats(rng, 4, 7, dtype="float64"), floats(rng, 4, 7, dtype="float64")))
def axpby_grid(x, y):
    """A two-variable grid with two literals of different exactness."""
    out = output_tensor(x.shape, "float64")
    for i, j in grid(x.shape):
        out[i, j] = 0.1 * x[i, j] + 4.0 * y[i, j]
    return out


@case(lambda rng: (floats(rng, 9, 9), floats(rng, 9, 9), floats(rng, 9, 9)))
def fma_temptation(a, b, c):
    """Products beside sums and differences, each of which an fma would round differently."""
    out = output_tensor(a.shape, a.dtype)
    for i, j in grid(a.shape):
        out[i, j] = (a[i, j] * b[i, j] - c[i, j] * c[i, j]) + (c[i, j] + b[i, j] * b[i, j])
    return out


@case(lambda rng: (floats(rng, 9), floats(rng, 9) * np.float32(1e6)))
def reassociation_temptation(a, b):
    """Sums that cancel exactly on paper and not in floating point."""
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = ((a[i] + b[i]) - b[i]) + (a[i] * 3.0 - a[i] - a[i] - a[i])
    return out


@case(lambda rng: (floats(rng, 9, 8),))
def divide_by_constants(x):
    """Divisions by a power of two and by others: a reciprocal is allowed for the first only."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in vectorize(x.shape[1]):
            out[i, j] = x[i, j] / 3.0 + x[i, j] / 8.0 - x[i, j] / 0.7
    return out


@case(lambda rng: (floats(rng, 9),))
def weak_subexpression(x):
    """A weak float64 subexpression is rounded to float32 once, at the strong operand."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        out[i] = x[i] * (1.0 / 3.0 + 0.1 * 0.7)
    return out


@case(lambda rng: (np.array(SPECIAL, dtype="float32"),))
def signs_of_zero(x):
    """Negation, 0 - x, x * -1 and x + 0 differ on zeros and must not be folded into each other."""
    out = output_tensor((x.shape[0], 5), x.dtype)
    for i in range(x.shape[0]):
        out[i, 0] = -x[i]
        out[i, 1] = 0.0 - x[i]
        out[i, 2] = x[i] * -1.0
        out[i, 3] = x[i] + 0.0
        out[i, 4] = x[i] - x[i]
    return out


@case(lambda rng: (np.array(SPECIAL, dtype="float64"), floats(rng, len(SPECIAL), dtype="float64")))
def products_with_specials(x, y):
    """x * 0, x / x and x * y / y on infinities and NaN: none of them simplifies."""
    out = output_tensor((3, x.shape[0]), "float64")
    for i in range(x.shape[0]):
        out[0, i] = x[i] * 0.0
        out[1, i] = x[i] / x[i]
        out[2, i] = x[i] * y[i] / y[i]
    return out


@case(lambda rng: (floats(rng, 5, 6),))
def leaky_relu(x):
    """A ternary with a strong and a strong arm."""
    out = output_tensor(x.shape, x.dtype)
    for i, j in grid(x.shape):
        out[i, j] = x[i, j] if x[i, j] > 0.0 else 0.01 * x[i, j]
    return out


@case(lambda rng: (floats(rng, 8, dtype="float64"),))
def clamp(x):
    """Nested min and max with weak bounds."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(len(x)):
        out[i] = max(-1.25, min(x[i], 1.5))
    return out


@case(lambda rng: (floats(rng, 5, 7), floats(rng, 7), floats(rng, 5)))
def row_and_column_bias(x, row, col):
    """Operands that lack one of the loop variables."""
    out = output_tensor(x.shape, x.dtype)
    for i in parallel(x.shape[0]):
        for j in vectorize(x.shape[1]):
            out[i, j] = (x[i, j] + row[j]) * col[i]
    return out


@case(lambda rng: (bools(rng, 6, 6), floats(rng, 6, 6), floats(rng, 6, 6)))
def blend_by_mask(mask, a, b):
    """A bool element is a condition as it stands."""
    out = output_tensor(a.shape, a.dtype)
    for i, j in grid(a.shape):
        out[i, j] = select(mask[i, j], a[i, j], b[i, j])
    return out


@case(lambda rng: (floats(rng, 3, 5, dtype="float64"),))
def passes_over_one_output(x):
    """Later loops read what earlier loops wrote to the output, in program order."""
    out = output_tensor(x.shape, x.dtype)
    for i, j in grid(x.shape):
        out[i, j] = x[i, j] * x[i, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = out[i, j] + 1.0
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            out[i, j] /= x[i, j]
    return out


@case(lambda rng: (floats(rng, 9),))
def reverse_through_temporary(x):
    """A temporary is filled in one direction and read in the other."""
    n = x.shape[0]
    tmp = allocate((n,), x.dtype)
    out = output_tensor((n,), x.dtype)
    for i in range(n):
        tmp[i] = x[i] - 0.5
    for i in range(n):
        out[i] = tmp[n - 1 - i] * x[i]
    return out


@case(lambda rng: (floats(rng, 4), floats(rng, 4)))
def interleave(a, b):
    """Two stores of one iteration that fill even and odd places."""
    out = output_tensor((2 * a.shape[0],), a.dtype)
    for i in range(a.shape[0]):
        out[2 * i] = a[i]
        out[2 * i + 1] = b[i]
    return out


@case(lambda rng: (rng.random(7),))
def logistic_map(x):
    """An inner time loop that updates one output element again and again."""
    out = output_tensor(x.shape, "float64")
    for i in range(x.shape[0]):
        out[i] = x[i]
        for _ in range(9):
            out[i] = 3.7 * out[i] * (1.0 - out[i])
    return out


@case(lambda rng: (floats(rng, 9, 4),))
def signum_by_comparisons(x):
    """Nested ternaries of literals only, stored to int32."""
    out = output_tensor(x.shape, "int32")
    for i, j in grid(x.shape):
        out[i, j] = 1 if x[i, j] > 0.75 else -1 if x[i, j] < -0.75 else 0
    return out


@case(lambda rng: (floats(rng, 9) * np.float32(1e-38), floats(rng, 9) * np.float32(1e-3)))
def subnormals(a, b):
    """Products and sums below the smallest normal float32: no flush to zero."""
    out = output_tensor((2, a.shape[0]), "float32")
    for i in range(a.shape[0]):
        out[0, i] = a[i] * b[i]
        out[1, i] = a[i] * b[i] + a[i] * 0.01
    return out
