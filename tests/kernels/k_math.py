"""The functions of the language, powers, and what floats do at their edges.

Exponents are applied to values whose results are exact, since CPython's power rounds differently from x * x.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import math
from math import floor as floor_of

import numpy as np

from corpus import SPECIAL, bools, case, floats, int_pairs, ints, pairs

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


def angles(rng, dtype):
    """Ordinary numbers beside special ones, of both signs."""
    return np.concatenate([floats(rng, 9, dtype=dtype), np.array(SPECIAL, dtype)])


@case(lambda rng: (angles(rng, "float32"), angles(rng, "float64")))
def exponentials_and_logarithms(x, y):
    """exp2, expm1, sigmoid and the four logarithms in both widths."""
    narrow = output_tensor((7, x.shape[0]), x.dtype)
    wide = output_tensor((7, y.shape[0]), y.dtype)
    for i in range(x.shape[0]):
        narrow[0, i] = exp2(x[i])
        narrow[1, i] = expm1(x[i])
        narrow[2, i] = sigmoid(x[i])
        narrow[3, i] = log(abs(x[i]))
        narrow[4, i] = log2(x[i])
        narrow[5, i] = log10(abs(x[i]))
        narrow[6, i] = log1p(x[i])
        wide[0, i] = exp2(y[i])
        wide[1, i] = expm1(y[i])
        wide[2, i] = sigmoid(y[i])
        wide[3, i] = log(y[i])
        wide[4, i] = log2(abs(y[i]))
        wide[5, i] = log10(y[i])
        wide[6, i] = log1p(abs(y[i]))
    return narrow, wide


@case(lambda rng: (angles(rng, "float32"), angles(rng, "float64")))
def circular_functions(x, y):
    """sin, cos, tan and their inverses."""
    narrow = output_tensor((6, x.shape[0]), x.dtype)
    wide = output_tensor((6, y.shape[0]), y.dtype)
    for i in range(x.shape[0]):
        narrow[0, i] = sin(x[i])
        narrow[1, i] = cos(x[i])
        narrow[2, i] = tan(x[i])
        narrow[3, i] = asin(x[i] * 0.25)
        narrow[4, i] = acos(x[i] * 0.25)
        narrow[5, i] = atan(x[i])
        wide[0, i] = sin(y[i])
        wide[1, i] = cos(y[i] * 1e9)
        wide[2, i] = tan(y[i])
        wide[3, i] = asin(y[i] * 0.25)
        wide[4, i] = acos(y[i] * 0.25)
        wide[5, i] = atan(y[i])
    return narrow, wide


@case(lambda rng: (angles(rng, "float32"), angles(rng, "float64")))
def hyperbolic_and_error_functions(x, y):
    """sinh, cosh, tanh, erf, erfc and rsqrt."""
    narrow = output_tensor((6, x.shape[0]), x.dtype)
    wide = output_tensor((6, y.shape[0]), y.dtype)
    for i in range(x.shape[0]):
        narrow[0, i] = sinh(x[i])
        narrow[1, i] = cosh(x[i])
        narrow[2, i] = tanh(x[i])
        narrow[3, i] = erf(x[i])
        narrow[4, i] = erfc(x[i])
        narrow[5, i] = rsqrt(x[i])
        wide[0, i] = sinh(y[i])
        wide[1, i] = cosh(y[i])
        wide[2, i] = tanh(y[i])
        wide[3, i] = erf(y[i])
        wide[4, i] = erfc(y[i])
        wide[5, i] = rsqrt(abs(y[i]))
    return narrow, wide


@case(lambda rng: pairs(SPECIAL, "float32"))
def functions_of_two_floats(a, b):
    """atan2, power, fmod and ceil_div on all pairs of special values."""
    out = output_tensor((5, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = atan2(a[i], b[i])
        out[1, i] = power(a[i], b[i])
        out[2, i] = fmod(a[i], b[i])
        out[3, i] = ceil_div(a[i], b[i])
        out[4, i] = power(a[i], 3) + atan2(1, b[i])
    return out


@case(lambda rng: (np.array(SPECIAL, dtype="float32"), np.array(SPECIAL, dtype="float64") * 1.25))
def rounding_and_classes(x, y):
    """ceil, trunc, round, sign and the three questions about a float."""
    narrow = output_tensor((4, x.shape[0]), x.dtype)
    wide = output_tensor((4, y.shape[0]), y.dtype)
    flags = output_tensor((4, y.shape[0]), "bool")
    for i in range(x.shape[0]):
        narrow[0, i] = ceil(x[i])
        narrow[1, i] = trunc(x[i])
        narrow[2, i] = np.round(x[i])
        narrow[3, i] = sign(x[i])
        wide[0, i] = ceil(y[i])
        wide[1, i] = trunc(y[i])
        wide[2, i] = np.round(y[i]) + round(i * 0.5)
        wide[3, i] = sign(y[i]) + sign(i - 3) + ceil(i * 0.3)
        flags[0, i] = isnan(x[i])
        flags[1, i] = isinf(y[i])
        flags[2, i] = isfinite(x[i])
        flags[3, i] = isfinite(i) and not isnan(i * 0.5)
    return narrow, wide, flags


@case(
    lambda rng: (
        np.array([0.5, 1.5, -0.5, -2.5, 2.0**53, -(2.0**53), 1e15 + 0.5, -0.0, 17.5, -3.75]),
        np.array([0.5, 1.5, -0.5, -2.5, 16777216.0, -7.25, 3.5, -0.0, 17.5, -3.75], "float32"),
        np.arange(0, 250, 25, "uint8"),
    )
)
def rounding_to_python_ints(x, y, k):
    """round, math.floor, math.ceil and math.trunc give ints: no sum of theirs is rounded to a float."""
    out = output_tensor((9, x.shape[0]), "int64")
    for i in range(x.shape[0]):
        out[0, i] = math.floor(x[i]) * 1003 + 1
        out[1, i] = math.ceil(x[i]) + 1
        out[2, i] = math.trunc(x[i]) - 1
        out[3, i] = round(x[i]) * 3
        out[4, i] = math.floor(y[i]) * 1000003
        out[5, i] = round(y[i]) + floor_of(y[i] * 2)
        out[6, i] = math.floor(k[i]) - 1000 + round(k[i])
        out[7, i] = k[math.floor(i * 0.5)]
        out[8, i] = math.ceil(i / 3) + round(i / 2) + math.trunc(i * -0.4)
    return out


@case(lambda rng: int_pairs((0, 1, -1, 2, -3, 7, -8, 100, 2**31 - 1, -(2**31)), "int32"))
def functions_of_two_integers(a, b):
    """fmod, ceil_div, power, popcount and sign keep int32, and weak integers stay whole."""
    out = output_tensor((6, a.shape[0]), a.dtype)
    wide = output_tensor((3, a.shape[0]), "int64")
    for i in range(a.shape[0]):
        out[0, i] = fmod(a[i], b[i])
        out[1, i] = ceil_div(a[i], b[i])
        out[2, i] = power(a[i], b[i])
        out[3, i] = popcount(a[i])
        out[4, i] = sign(a[i]) + round(b[i]) // 2
        out[5, i] = isnan(a[i]) or isfinite(b[i])
        wide[0, i] = power(i - 50, 3) + power(2, i)
        wide[1, i] = popcount(i - 50) + fmod(i - 50, 7)
        wide[2, i] = ceil_div(i - 50, 7)
    return out, wide


@case(lambda rng: (ints(rng, 8), bools(rng, 8)))
def functions_by_other_names(a, p):
    """NumPy's and math's names of the functions, on integers, which become float64."""
    out = output_tensor((6, a.shape[0]), "float64")
    for i in range(a.shape[0]):
        out[0, i] = np.arctan2(a[i], 3)
        out[1, i] = np.arcsin(a[i] * 0.1) + math.acos(i * 0.125)
        out[2, i] = np.rint(a[i] * 0.5)
        out[3, i] = math.log2(i + 1) + np.power(a[i], 2)
        out[4, i] = math.erf(a[i]) + np.sign(a[i])
        out[5, i] = math.atan(i) + popcount(p[i])
    return out


@case(lambda rng: (floats(rng, 70), floats(rng, 70, dtype="float64"), floats(rng, 9).astype("float16")))
def functions_called_many_times(x, y, z):
    """So many calls that they share code of their own: in vectors, one by one, of one and two arguments."""
    a = output_tensor(x.shape, x.dtype)
    b = output_tensor(y.shape, y.dtype)
    c = output_tensor(z.shape, z.dtype)
    d = output_tensor((2,), "float64")
    for i in range(x.shape[0]):
        t = x[i]
        for _ in const_range(18):
            t = sin(t) * 2 + exp(t * 0.125)
        a[i] = t
    for i in range(y.shape[0]):
        t = y[i]
        u = y[i]
        for _ in const_range(18):
            t = power(abs(t) + 0.5, 0.75)
            u = atan2(u, t) if u > 0 else u + cos(t)
        b[i] = t + u
    for i in range(z.shape[0]):
        t = z[i]
        for _ in const_range(18):
            t = tanh(t) + float16(0.5)
        c[i] = t
    s = y[0]
    for _ in const_range(18):
        s = log1p(abs(s)) + sin(s)
    d[0] = s
    d[1] = fmod(s, 0.25)
    return a, b, c, d
