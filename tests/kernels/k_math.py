"""sqrt, exp, abs, floor, min, max and powers, and what floats do at their edges.

Exponents are applied to values whose results are exact, since CPython's power rounds differently from x * x.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import SPECIAL, bools, case, floats, ints, pairs

MODULO = (0.0, -0.0, 0.75, -0.75, 2.5, -3.0, 7.25, -1e-3, 1e20, np.inf, -np.inf, np.nan)
EXACT = (0.25, -1.5, 4.0, -8.0, 0.0625, 3.0, 9.0)


@case(lambda rng: pairs(MODULO, "float64"))
def float_divmod(a, b):
    """// and % of float64 on all signs, zeros, infinities and NaN."""
    out = output_tensor((2, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = a[i] // b[i]
        out[1, i] = a[i] % b[i]
    return out


@case(lambda rng: (floats(rng, 60), floats(rng, 60) * np.float32(0.1)))
def float_divmod_rounded(a, b):
    """// and % of float32 whose quotients are not exact, and by literals."""
    out = output_tensor((4, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = a[i] // b[i]
        out[1, i] = a[i] % b[i]
        out[2, i] = a[i] // 0.1
        out[3, i] = a[i] % -0.3
    return out


@case(lambda rng: (10, 0.3))
def float_divmod_weak(n, width):
    """// and % among weak floats of both signs."""
    out = output_tensor((3, n), "float64")
    for i in range(n):
        t = (i - 5) * 0.7
        out[0, i] = t // width
        out[1, i] = t % width
        out[2, i] = t % -width + -t // 0.25
    return out


@case(lambda rng: pairs(SPECIAL, "float32"))
def comparisons_with_specials(a, b):
    """All six comparisons, and their negations, on zeros, infinities and NaN."""
    out = output_tensor((9, a.shape[0]), "bool")
    for i in range(a.shape[0]):
        out[0, i] = a[i] == b[i]
        out[1, i] = a[i] != b[i]
        out[2, i] = a[i] < b[i]
        out[3, i] = a[i] <= b[i]
        out[4, i] = a[i] > b[i]
        out[5, i] = a[i] >= b[i]
        out[6, i] = not a[i] < b[i]
        out[7, i] = not (a[i] == b[i] or a[i] > b[i])
        out[8, i] = a[i] == a[i] and not b[i] >= a[i]
    return out


@case(lambda rng: pairs(SPECIAL, "float64"))
def branches_on_specials(a, b):
    """Branch and ternary go to the else side on NaN, whichever way the comparison is written."""
    out = output_tensor((3, a.shape[0]), "float64")
    for i in range(a.shape[0]):
        if a[i] < b[i]:
            out[0, i] = 1.0
        elif a[i] >= b[i]:
            out[0, i] = 2.0
        else:
            out[0, i] = 3.0
        out[1, i] = a[i] if a[i] > b[i] else b[i]
        out[2, i] = b[i] if not a[i] > b[i] else a[i]
    return out


@case(lambda rng: pairs(SPECIAL, "float64"))
def min_max_of_specials(a, b):
    """min and max propagate NaN and put -0 below +0."""
    out = output_tensor((4, a.shape[0]), "float64")
    for i in range(a.shape[0]):
        out[0, i] = min(a[i], b[i])
        out[1, i] = max(a[i], b[i])
        out[2, i] = max(a[i], 0.0)
        out[3, i] = min(b[i], -0.0)
    return out


@case(
    lambda rng: (ints(rng, 8), ints(rng, 8, dtype="int64"), floats(rng, 8), floats(rng, 8, dtype="float64"))
)
def min_max_promote(a, b, x, y):
    """min and max of three and four arguments of mixed dtypes compute in the promoted one."""
    real = output_tensor((3, a.shape[0]), "float64")
    whole = output_tensor((2, a.shape[0]), "int64")
    for i in range(a.shape[0]):
        real[0, i] = min(a[i], x[i], y[i])
        real[1, i] = max(x[i], a[i], 0.1) / 3
        real[2, i] = max(x[i], 0.1, i) / 3
        whole[0, i] = max(a[i], b[i], -2, i - 4)
        whole[1, i] = min(i, 5, x.shape[0] - i)
    return real, whole


@case(lambda rng: (np.array(SPECIAL, dtype="float64"), np.array(SPECIAL, dtype="float32")))
def sqrt_of_specials(x, y):
    """Square roots of zeros, negatives, subnormals, infinities and NaN in both widths."""
    wide = output_tensor(x.shape, "float64")
    narrow = output_tensor(y.shape, "float32")
    for i in range(x.shape[0]):
        wide[i] = sqrt(x[i])
        narrow[i] = sqrt(y[i])
    return wide, narrow


@case(lambda rng: (ints(rng, 8, low=0, high=90), ints(rng, 8, low=0, high=90, dtype="int64")))
def functions_of_integers(a, b):
    """sqrt and exp of integers, strong and weak, are float64."""
    out = output_tensor((4, a.shape[0]), "float64")
    for i in range(a.shape[0]):
        out[0, i] = sqrt(a[i])
        out[1, i] = sqrt(b[i]) * 0.1
        out[2, i] = exp(a[i])
        out[3, i] = sqrt(i) + exp(-i)
    return out


@case(
    lambda rng: (np.array([0.0, -0.0, 1.0, -1.0, 89.5, -104.0, 88.72, np.inf, -np.inf, np.nan], "float32"),)
)
def exp_at_edges(x):
    """exp near overflow and underflow and at the special values, in both widths."""
    single = output_tensor(x.shape, "float32")
    double = output_tensor(x.shape, "float64")
    for i in range(x.shape[0]):
        single[i] = exp(x[i])
        double[i] = exp(float64(x[i]) * 8.0)
    return single, double


@case(lambda rng: (np.array(SPECIAL, dtype="float32"), floats(rng, len(SPECIAL), dtype="float64")))
def floor_and_abs(x, y):
    """floor and abs keep the dtype and the sign rules of zero; the fraction is y - floor(y)."""
    narrow = output_tensor((2, x.shape[0]), "float32")
    wide = output_tensor((3, x.shape[0]), "float64")
    for i in range(x.shape[0]):
        narrow[0, i] = floor(x[i])
        narrow[1, i] = abs(x[i])
        wide[0, i] = y[i] - floor(y[i])
        wide[1, i] = floor(-abs(y[i]))
        wide[2, i] = floor(i * 0.4) + abs(3 - i)
    return narrow, wide


@case(lambda rng: (ints(rng, 8), bools(rng, 8)))
def floor_and_abs_of_integers(a, p):
    """floor and abs of int32 stay int32, and abs of a bool stays bool."""
    out = output_tensor((3, a.shape[0]), "int32")
    flag = output_tensor(a.shape, "bool")
    for i in range(a.shape[0]):
        out[0, i] = floor(a[i]) // 2
        out[1, i] = abs(a[i]) // 2
        out[2, i] = abs(i - 4) // 2
        flag[i] = abs(p[i])
    return out, flag


@case(lambda rng: (np.array(EXACT, dtype="float32"), np.array(EXACT, dtype="float64")))
def float_powers(x, y):
    """** with exponents 2, 1, -1 and 0.5 on values with exact results."""
    narrow = output_tensor((3, x.shape[0]), "float32")
    wide = output_tensor((3, y.shape[0]), "float64")
    for i in range(x.shape[0]):
        narrow[0, i] = x[i] ** 2
        narrow[1, i] = x[i] ** 1
        narrow[2, i] = (x[i] * x[i]) ** 0.5
        wide[0, i] = -(y[i] ** 2)
        wide[1, i] = 2.0**2 / y[i] ** 1
        wide[2, i] = abs(y[i]) ** 0.5 if i != 1 and i != 3 and i != 5 else y[i]
    return narrow, wide


@case(lambda rng: (np.array([0.25, -2.0, 8.0, -0.0, np.inf, 1024.0], dtype="float64"),))
def float_reciprocal_power(x):
    """** -1 is a reciprocal, here of powers of two, zero and infinity."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        out[i] = x[i] ** -1
    return out


@case(lambda rng: (floats(rng, 9) * np.float32(4.0),))
def sigmoid_by_exp(x):
    """A logistic function that avoids overflow by a branch on the sign."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        if x[i] >= 0.0:
            out[i] = 1.0 / (1.0 + exp(-x[i]))
        else:
            e = exp(x[i])
            out[i] = e / (1.0 + e)
    return out


@case(lambda rng: (rng.random(9) * 50.0,))
def newton_square_root(x):
    """A fixed number of Newton steps beside the square root itself."""
    out = output_tensor((2, x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        r = 0.5 * (x[i] + 1.0)
        for _ in range(4):
            r = 0.5 * (r + x[i] / r)
        out[0, i] = r
        out[1, i] = r - sqrt(x[i])
    return out


@case(lambda rng: (floats(rng, 6, 3), floats(rng, 5, 3)))
def pairwise_distance(a, b):
    """A function applied to a finished reduction."""
    out = output_tensor((a.shape[0], b.shape[0]), a.dtype)
    for i, j in grid((a.shape[0], b.shape[0])):
        acc = 0.0
        for k in range(a.shape[1]):
            d = a[i, k] - b[j, k]
            acc += d * d
        out[i, j] = sqrt(acc)
    return out


@case(lambda rng: (floats(rng, 5, 3), floats(rng, 5, 3)))
def attention_row(q, k):
    """Scores, a stable exponential and a weighted sum, with a temporary that holds the scores of one row."""
    n, m = q.shape
    out = output_tensor((n, m), q.dtype)
    score = allocate((n,), q.dtype)
    for i in range(n):
        peak = float32(-1e30)
        for j in range(n):
            acc = 0.0
            for c in range(m):
                acc += q[i, c] * k[j, c]
            score[j] = acc / sqrt(m)
            peak = max(peak, score[j])
        total = float32(0.0)
        for j in range(n):
            score[j] = exp(score[j] - peak)
            total += score[j]
        for c in range(m):
            acc = 0.0
            for j in range(n):
                acc += score[j] * k[j, c]
            out[i, c] = acc / total
    return out
