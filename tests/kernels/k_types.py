"""Promotion, casts and conversions on stores.

They pin which dtype each operation happens in: the data is chosen so that another dtype gives other bits.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import bools, case, floats, ints


@case(lambda rng: (ints(rng, 9), ints(rng, 9, dtype="int64")))
def ints_with_weak_floats(a, b):
    """Integer tensors beside a float literal compute in float64."""
    out = output_tensor((3, a.shape[0]), "float64")
    for i in range(a.shape[0]):
        out[0, i] = a[i] + 0.1
        out[1, i] = 0.7 * b[i]
        out[2, i] = a[i] - 0.3 * b[i]
    return out


@case(lambda rng: (ints(rng, 9, low=-(2**31), high=2**31), floats(rng, 9), ints(rng, 9, dtype="int64")))
def ints_with_float32(a, x, b):
    """int32 and int64 beside float32 promote to float64, not to float32."""
    out = output_tensor((2, x.shape[0]), "float64")
    for i in range(x.shape[0]):
        out[0, i] = a[i] * x[i]
        out[1, i] = x[i] / b[i] if b[i] != 0 else x[i] + b[i]
    return out


@case(lambda rng: (floats(rng, 9), floats(rng, 9, dtype="float64")))
def float32_with_float64(x, y):
    """Mixed floats promote to float64 and round once on the store to float32."""
    out = output_tensor((2, x.shape[0]), "float32")
    for i in range(x.shape[0]):
        out[0, i] = x[i] * y[i] + x[i]
        out[1, i] = x[i] * x[i] + y[i]
    return out


@case(
    lambda rng: (ints(rng, 9, low=-(2**31), high=2**31), ints(rng, 9, low=2**31, high=2**40, dtype="int64"))
)
def int32_with_int64(a, b):
    """int32 widens to int64 beside int64, before the product."""
    out = output_tensor((2, a.shape[0]), "int64")
    for i in range(a.shape[0]):
        out[0, i] = a[i] * b[i]
        out[1, i] = b[i] - a[i]
    return out


@case(lambda rng: (ints(rng, 9, low=1), ints(rng, 9, low=1), bools(rng, 9), bools(rng, 9)))
def true_division_of_integers(a, b, p, q):
    """int32 / int32, int32 / literal and bool / bool are float64 quotients."""
    out = output_tensor((3, a.shape[0]), "float64")
    for i in range(a.shape[0]):
        out[0, i] = a[i] / b[i]
        out[1, i] = a[i] / 3
        out[2, i] = p[i] / (q[i] | True)
    return out


@case(lambda rng: (bools(rng, 8), bools(rng, 8), ints(rng, 8), floats(rng, 8)))
def bool_arithmetic(p, q, a, x):
    """Of two bools + is or and * is and; beside other kinds a bool is 0 or 1."""
    flags = output_tensor((5, p.shape[0]), "bool")
    numbers = output_tensor((5, p.shape[0]), "float64")
    for i in range(p.shape[0]):
        flags[0, i] = p[i] + q[i]
        flags[1, i] = p[i] * q[i]
        flags[2, i] = ~p[i] ^ q[i]
        flags[3, i] = p[i] < q[i]
        flags[4, i] = p[i] & (a[i] > 0)
        numbers[0, i] = p[i] + 1
        numbers[1, i] = p[i] * 0.1
        numbers[2, i] = p[i] * x[i]
        numbers[3, i] = p[i] - a[i]
        numbers[4, i] = (p[i] << 3) | q[i]
    return flags, numbers


@case(lambda rng: (floats(rng, 9) * np.float32(50.0), floats(rng, 9, dtype="float64") * 1e9))
def float_stored_to_int(x, y):
    """A store to an integer tensor truncates toward zero."""
    narrow = output_tensor((2, x.shape[0]), "int32")
    wide = output_tensor((2, x.shape[0]), "int64")
    for i in range(x.shape[0]):
        narrow[0, i] = x[i]
        narrow[1, i] = -2.75
        wide[0, i] = y[i]
        wide[1, i] = x[i] * 0.5
    return narrow, wide


@case(lambda rng: (ints(rng, 9), ints(rng, 9, dtype="int64")), mutates=(0, 1))
def augmented_int_by_float(a, b):
    """Augmented element assignment computes in float64 and truncates on the way back, at every step."""
    for i in range(a.shape[0]):
        a[i] *= 1.5
        a[i] += 0.75
        b[i] /= 2
        b[i] -= 0.5
    return a, b


@case(
    lambda rng: (
        np.array([0.0, -0.0, 0.5, -3.0, np.nan, np.inf, 1e-40], "float32"),
        ints(rng, 7),
        bools(rng, 7),
    )
)
def stores_to_bool(x, a, p):
    """A store to a bool tensor is a comparison with zero, also for fractions and NaN."""
    out = output_tensor((4, x.shape[0]), "bool")
    for i in range(x.shape[0]):
        out[0, i] = x[i] * 0.1
        out[1, i] = a[i]
        out[2, i] = 0.25
        out[3, i] = p[i]
    return out


@case(lambda rng: (bools(rng, 6), floats(rng, 6)))
def bools_stored_to_numbers(p, x):
    """Bools and comparison results stored to numeric tensors are 0 or 1."""
    reals = output_tensor((2, p.shape[0]), "float32")
    whole = output_tensor((2, p.shape[0]), "int64")
    for i in range(p.shape[0]):
        reals[0, i] = p[i]
        reals[1, i] = x[i] > 0.0
        whole[0, i] = not p[i]
        whole[1, i] = i > 2
    return reals, whole


@case(lambda rng: (np.array([0.1, 0.2, 0.3, 0.5, 1 / 3], dtype="float32"), ints(rng, 5, low=0, high=2)))
def compare_with_weak_float(x, a):
    """A literal is rounded to float32 beside float32, and an int32 is widened beside a literal."""
    out = output_tensor((5, x.shape[0]), "bool")
    for i in range(x.shape[0]):
        out[0, i] = x[i] == 0.1
        out[1, i] = x[i] >= 0.2
        out[2, i] = float64(x[i]) == 0.1
        out[3, i] = a[i] < 0.5
        out[4, i] = x[i] > a[i]
    return out


@case(lambda rng: (ints(rng, 9, low=-(2**31), high=2**31), ints(rng, 9, dtype="int64")))
def compare_across_widths(a, b):
    """Comparisons of int32 with int64 and with literals that int32 cannot hold are exact."""
    out = output_tensor((4, a.shape[0]), "bool")
    for i in range(a.shape[0]):
        out[0, i] = a[i] < b[i] * 1000000000
        out[1, i] = a[i] < 3000000000
        out[2, i] = a[i] == -5000000000
        out[3, i] = -2147483649 < a[i] <= 2147483648
    return out


@case(lambda rng: (floats(rng, 9, dtype="float64") * 1e3,))
def all_casts(x):
    """Every cast name applied to one value, results combined per row."""
    out = output_tensor((6, x.shape[0]), "float64")
    for i in range(x.shape[0]):
        out[0, i] = float32(x[i])
        out[1, i] = float64(float32(x[i]) / float32(3.0))
        out[2, i] = int32(x[i])
        out[3, i] = int64(x[i]) * 3000000000
        out[4, i] = bool_(int32(x[i] * 0.001))
        out[5, i] = float32(int32(x[i])) * float32(0.1)
    return out


@case(lambda rng: (np.array([2**24 + 1, 2**24 + 3, -(2**25) - 2, 2**31 - 1, 2**31 - 65], dtype="int32"),))
def int32_rounds_to_float32(a):
    """Integers that float32 cannot hold round to nearest, ties to even, by cast and by store."""
    out = output_tensor((3, a.shape[0]), "float32")
    for i in range(a.shape[0]):
        out[0, i] = float32(a[i])
        out[1, i] = a[i]
        out[2, i] = a[i] + 1.0
    return out


@case(
    lambda rng: (np.array([2**53 + 1, -(2**53) - 3, 2**54 + 2**30 + 1, 2**63 - 1, 2**40 + 1], dtype="int64"),)
)
def int64_rounds_to_floats(a):
    """64-bit integers round once to float64, and once to float32 without a stop between."""
    double = output_tensor((2, a.shape[0]), "float64")
    single = output_tensor((2, a.shape[0]), "float32")
    for i in range(a.shape[0]):
        double[0, i] = a[i]
        double[1, i] = float64(a[i]) * 0.5
        single[0, i] = float32(a[i])
        single[1, i] = a[i]
    return double, single


@case(lambda rng: (floats(rng, 9) * np.float32(3.0), ints(rng, 9)))
def python_casts_are_weak(x, a):
    """int(), float() and bool() give weak values, which adopt the dtype they meet."""
    out = output_tensor((4, x.shape[0]), "float32")
    for i in range(x.shape[0]):
        out[0, i] = int(x[i]) * x[i]
        out[1, i] = float(a[i]) * x[i] * 0.1
        out[2, i] = float(x[i]) * 0.1 + 0.7
        out[3, i] = x[i] if bool(a[i]) else float(a[i]) / 3
    return out


@case(lambda rng: (floats(rng, 6),))
def generic_on_float32(x):
    """Conditions on x.dtype choose the arm for float32; the integer arm would not type."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        if x.dtype == "float32":
            out[i] = sqrt(abs(x[i])) * 0.1
        else:
            out[i] = (x[i] << 2) ^ 5
    return out


@case(lambda rng: (ints(rng, 6, dtype="int64"),))
def generic_on_int64(x):
    """The same conditions on an int64 argument reach the else arm through != and elif."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        if x.dtype == "bool":
            out[i] = ~x[i]
        elif x.dtype != "int64":
            out[i] = sqrt(abs(x[i])) * 0.1
        else:
            out[i] = (x[i] << 2) ^ 5
    return out


@case(lambda rng: (ints(rng, 7), floats(rng, 7), floats(rng, 7, dtype="float64")))
def select_promotes(a, x, y):
    """select promotes its two sides; both are evaluated whatever the condition."""
    out = output_tensor((4, a.shape[0]), "float64")
    for i in range(a.shape[0]):
        out[0, i] = select(a[i] > 0, x[i], y[i])
        out[1, i] = select(a[i] > 0, a[i], 0.1)
        out[2, i] = select(x[i] > 0.0, x[i], 0.1)
        out[3, i] = select(i > 3, a[i], x[i]) / 3
    return out
