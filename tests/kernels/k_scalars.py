"""Scalar arguments and captured constants.

Python scalars and captures are weak; NumPy scalars are strong and take part in promotion.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import case, floats, ints

EPSILON = 1e-3
OFFSET = -4
USE_BIAS = True


@case(lambda rng: (floats(rng, 7), 3, 0.1, True))
def weak_arguments(x, k, rate, flag):
    """int, float and bool arguments stay weak beside float32, also among themselves."""
    out = output_tensor((3, x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        out[0, i] = x[i] * k + rate
        out[1, i] = x[i] * (rate * k - 0.2)
        out[2, i] = x[i] * flag
    return out


@case(lambda rng: (ints(rng, 7), 0.1, 3))
def weak_float_beside_int32(a, rate, k):
    """A weak float argument lifts int32 to float64, a weak int does not."""
    real = output_tensor(a.shape, "float64")
    whole = output_tensor(a.shape, "int32")
    for i in range(a.shape[0]):
        real[i] = a[i] * rate
        whole[i] = a[i] * k - k // 2
    return real, whole


@case(lambda rng: (floats(rng, 7), np.float64(0.1)))
def strong_float64(x, rate):
    """A strong float64 lifts float32 to float64, where a weak one would not."""
    out = output_tensor(x.shape, "float64")
    for i in range(x.shape[0]):
        out[i] = x[i] * rate
    return out


@case(lambda rng: (floats(rng, 7, dtype="float64"), np.float32(0.1), np.float32(-2.5)))
def strong_float32(x, a, b):
    """Strong float32 scalars compute in float32 among themselves, with literals too."""
    out = output_tensor((2, x.shape[0]), "float64")
    for i in range(x.shape[0]):
        out[0, i] = x[i] + a * b
        out[1, i] = a * 0.3 + i
    return out


@case(lambda rng: (floats(rng, 7), np.int32(7), np.int64(-3), np.bool_(True)))
def strong_integers(x, a, b, p):
    """Strong int32, int64 and bool scalars promote like elements of tensors."""
    real = output_tensor((2, x.shape[0]), "float64")
    whole = output_tensor((3, x.shape[0]), "int64")
    for i in range(x.shape[0]):
        real[0, i] = x[i] * a
        real[1, i] = x[i] * p + b
        whole[0, i] = a * b + i
        whole[1, i] = a // b + a % b
        whole[2, i] = a * 400000000
    return real, whole


@case(lambda rng: (np.int32(2**31 - 1), np.int64(0), 5))
def strong_scalars_alone(a, zero, n):
    """No tensor comes in: strong scalars wrap, and a weak one divided by a strong zero is 0."""
    out = output_tensor((n,), "int64")
    for i in range(n):
        out[i] = (a + i) // 2 + i // (zero + i - i)
    return out


@case(lambda rng: (floats(rng, 9), 2, 8, np.int32(1)))
def scalar_bounds(x, lo, hi, first):
    """Loop bounds and subscripts from weak and strong integer arguments."""
    out = output_tensor((hi,), x.dtype)
    for i in range(lo, hi):
        out[i] = x[i] + x[first]
    for i in range(first, lo):
        out[i - first] = x[hi]
    return out


@case(lambda rng: (floats(rng, 6), False, np.bool_(True), 0.25))
def scalar_conditions(x, weak, strong, limit):
    """Branches on bool arguments and comparisons with a float argument."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        if weak or x[i] < limit:
            out[i] = x[i] if strong else limit
        elif strong and not weak:
            out[i] = limit
    return out


@case(lambda rng: (np.float32(2.0), np.float64(-0.0), 7.5, -3))
def scalars_only(a, b, c, k):
    """A kernel without tensors: each output element shows one promotion."""
    out = output_tensor((8,), "float64")
    out[0] = a / 3
    out[1] = a * b
    out[2] = c / k
    out[3] = c // k
    out[4] = c % k
    out[5] = b + k
    out[6] = a * c * 0.1
    out[7] = k // 2 + k % 2
    return out


@case(lambda rng: (floats(rng, 7),))
def captured_globals(x):
    """Module constants: a float, a negative int and a bool."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        out[i] = x[i] * EPSILON
        if USE_BIAS:
            out[i] += OFFSET
    return out


def _affine(scale, shift, clip):
    @case(lambda rng: (floats(rng, 8),))
    def captured_closure(x):
        """Constants of an enclosing function: an int, a float and a bool that folds a branch."""
        out = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            t = x[i] * scale + shift
            if clip:
                t = max(t, 0.0)
            out[i] = t
        return out

    return captured_closure


captured_closure = _affine(3, 0.1, True)


def _window(width):
    @case(lambda rng: (floats(rng, 9, dtype="float64"),))
    def captured_extent(x):
        """A captured int in an output extent, in loop bounds and in a weak division."""
        out = output_tensor((x.shape[0] - width + 1,), x.dtype)
        for i in range(x.shape[0] - width + 1):
            acc = 0.0
            for k in range(width):
                acc += x[i + k]
            out[i] = acc * (1 / width)
        return out

    return captured_extent


captured_extent = _window(4)


@case(lambda rng: (ints(rng, 6, dtype="int64"), 2**40, -(2**62)))
def large_weak_arguments(a, big, low):
    """Weak integers beyond 32 bits beside int64, in arithmetic and in comparisons."""
    out = output_tensor((2, a.shape[0]), "int64")
    flag = output_tensor(a.shape, "bool")
    for i in range(a.shape[0]):
        out[0, i] = a[i] * big + (big >> 3)
        out[1, i] = low // 3 - a[i]
        flag[i] = a[i] * big > -3 * big
    return out, flag


@case(lambda rng: (5, 2))
def iota_tables(n, m):
    """Tables made of loop variables alone: weak arithmetic reaches the store unconverted."""
    whole = output_tensor((n, m + 1), "int32")
    real = output_tensor((n, m + 1), "float32")
    for i, j in grid((n, m + 1)):
        whole[i, j] = i * (m + 1) - 2 * j
        real[i, j] = (i + 1) / (j + 3) - 0.1 * i
    return whole, real


@case(lambda rng: (floats(rng, 8), 30, np.int32(5)))
def argument_assigned_in_a_branch(x, n, m):
    """Arguments that a branch replaces: a weak int by an extent, an int32 by itself."""
    out = output_tensor((2, x.shape[0]), x.dtype)
    if n > x.shape[0]:
        n = x.shape[0]
    if x[0] > x[0]:
        m = m + m
    else:
        m -= int32(1)
    for i in range(n):
        out[0, i] = x[i]
    for i in range(m):
        out[1, i] = x[i] * n
    return out


@case(lambda rng: (floats(rng, 8), 1.5, np.float64(0.25), 2))
def argument_that_sums(x, s, t, w):
    """Weak and strong arguments that a loop adds to."""
    out = output_tensor((3,), "float64")
    for i in range(x.shape[0]):
        s += x[i]
        t += x[i]
        w = w + x[i]
    out[0] = s
    out[1] = t
    out[2] = w
    return out


@case(lambda rng: (floats(rng, 8), 6))
def argument_that_counts_down(x, n, step=2):
    """An argument that gives an extent first and then counts a while; a default that changes on its way."""
    out = output_tensor((n,), x.dtype)
    while n > 0:
        n -= step
        out[n] = x[n] * step
        if n < 3:
            step = 1
    return out
