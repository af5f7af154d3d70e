"""Kernels on float16 and bfloat16: every operation rounds to 16 bits, accumulation is written in float32.

Beside bfloat16 no Python floats occur: ml_dtypes makes float32 of the two, the language keeps bfloat16.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import ml_dtypes

from corpus import SPECIAL, case, floats, ints, pairs

BF16 = ml_dtypes.bfloat16


@case(lambda rng: (floats(rng, 3, 6, dtype="float16"),))
def softmax_float16(x):
    """exp, sum and quotient in float16, each rounded."""
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        total = float16(0)
        for j in range(x.shape[1]):
            y[i, j] = exp(x[i, j] - top)
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / total
    return y


@case(lambda rng: (floats(rng, 4, 5, dtype="float16"), floats(rng, 5, 3, dtype="float16")))
def matmul_float16(a, b):
    """The same product accumulated in float32 and in float16."""
    wide = output_tensor((a.shape[0], b.shape[1]), "float16")
    narrow = output_tensor((a.shape[0], b.shape[1]), "float16")
    for i, j in grid((a.shape[0], b.shape[1])):
        total = float32(0)
        for k in range(a.shape[1]):
            total += float32(a[i, k]) * float32(b[k, j])
            narrow[i, j] += a[i, k] * b[k, j]
        wide[i, j] = total
    return wide, narrow


@case(lambda rng: pairs(SPECIAL, "float16"))
def special_values_float16(a, b):
    """NaN, infinities, signed zeros and subnormals through the operators and comparisons."""
    out = output_tensor((7, a.shape[0]), "float16")
    flags = output_tensor((3, a.shape[0]), "bool")
    for i in range(a.shape[0]):
        out[0, i] = a[i] + b[i] * 2.5
        out[1, i] = a[i] // b[i]
        out[2, i] = a[i] % b[i]
        out[3, i] = min(a[i], b[i]) - max(a[i], b[i])
        out[4, i] = -a[i] / 3
        out[5, i] = sqrt(abs(a[i])) + floor(b[i])
        out[6, i] = a[i] ** 2
        flags[0, i] = a[i] < b[i]
        flags[1, i] = a[i] >= 0.1
        flags[2, i] = not a[i]
    return out, flags


@case(lambda rng: (floats(rng, 9, dtype="float16"), 0.1, 3))
def weak_beside_float16(x, rate, k):
    """Python numbers adopt float16, rounded once; the rest of the expression stays there."""
    out = output_tensor((3, x.shape[0]), "float16")
    for i in range(x.shape[0]):
        out[0, i] = x[i] * 0.1 + 0.7
        out[1, i] = x[i] * rate - k
        out[2, i] = x[i] / 3 if i % 2 else 0.3
    return out


@case(
    lambda rng: (
        floats(rng, 7, dtype="float16"),
        ints(rng, 7, dtype="int8"),
        ints(rng, 7, low=-(2**15), high=2**15, dtype="int16"),
        ints(rng, 7),
    )
)
def promotions_of_float16(x, a, b, c):
    """int8 keeps float16, int16 makes it float32, int32 float64; sqrt of int8 is float16."""
    half = output_tensor((2, x.shape[0]), "float16")
    single = output_tensor((2, x.shape[0]), "float32")
    double = output_tensor(x.shape, "float64")
    for i in range(x.shape[0]):
        half[0, i] = x[i] * a[i]
        half[1, i] = sqrt(abs(a[i])) * 0.3
        single[0, i] = x[i] * b[i]
        single[1, i] = exp(int16(a[i])) * 0.3
        double[i] = x[i] / 3 * c[i]
    return half, single, double


@case(
    lambda rng: (floats(rng, 8, dtype="float64") * 1e4, ints(rng, 8, low=-(2**40), high=2**40, dtype="int64"))
)
def rounded_to_float16(y, n):
    """Stores and casts to float16 round once, from float64 and from int64; overflow is infinity."""
    out = output_tensor((4, y.shape[0]), "float16")
    for i in range(y.shape[0]):
        out[0, i] = y[i]
        out[1, i] = float16(y[i] * 0.001) * 3
        out[2, i] = n[i] % 70000
        out[3, i] = n[i]
    return out


@case(lambda rng: (floats(rng, 9, dtype=BF16), floats(rng, 9, dtype=BF16), BF16(0.3)))
def axpy_bfloat16(x, y, alpha):
    """A strong bfloat16 scalar; product and sum round apart."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        out[i] = alpha * x[i] + y[i]
    return out


@case(lambda rng: (floats(rng, 70, dtype=BF16), floats(rng, 70, dtype=BF16)))
def dot_bfloat16(x, y):
    """Accumulated in float32, and in bfloat16, where small terms are lost."""
    out = output_tensor((2,), "float32")
    exact = float32(0)
    rough = bfloat16(0)
    for i in range(x.shape[0]):
        exact += float32(x[i]) * float32(y[i])
        rough += x[i] * y[i]
    out[0] = exact
    out[1] = rough
    return out


@case(lambda rng: pairs(SPECIAL, BF16))
def special_values_bfloat16(a, b):
    """NaN, infinities, signed zeros and subnormals in bfloat16."""
    out = output_tensor((6, a.shape[0]), "bfloat16")
    flags = output_tensor((3, a.shape[0]), "bool")
    for i in range(a.shape[0]):
        out[0, i] = a[i] + b[i] * 3
        out[1, i] = a[i] // b[i]
        out[2, i] = a[i] % b[i]
        out[3, i] = min(a[i], b[i]) - max(a[i], b[i])
        out[4, i] = -a[i] / 3
        out[5, i] = sqrt(abs(a[i])) + floor(b[i])
        flags[0, i] = a[i] < b[i]
        flags[1, i] = a[i] >= 1
        flags[2, i] = a[i] == b[i]
    return out, flags


@case(
    lambda rng: (
        floats(rng, 7, dtype=BF16),
        floats(rng, 7, dtype="float16"),
        ints(rng, 7, dtype="int8"),
        ints(rng, 7, dtype="uint16"),
        ints(rng, 7, low=-(2**31), high=2**31),
    )
)
def promotions_of_bfloat16(x, h, a, b, c):
    """int8 keeps bfloat16; float16 and uint16 make it float32, int32 float64."""
    kept = output_tensor(x.shape, "bfloat16")
    single = output_tensor((2, x.shape[0]), "float32")
    double = output_tensor(x.shape, "float64")
    for i in range(x.shape[0]):
        kept[i] = x[i] * a[i]
        single[0, i] = x[i] * h[i]
        single[1, i] = x[i] + b[i]
        double[i] = x[i] * c[i]
    return kept, single, double


@case(lambda rng: (ints(rng, 4, 6, low=-127, high=128, dtype="int8"), floats(rng, 4, dtype=BF16)))
def dequantise_to_bfloat16(q, scale):
    """int8 weights times bfloat16 scales, and back by rounding in float32."""
    out = output_tensor(q.shape, "bfloat16")
    back = output_tensor(q.shape, "int8")
    for i, j in grid(q.shape):
        out[i, j] = q[i, j] * scale[i]
        back[i, j] = floor(float32(out[i, j]) / float32(scale[i]) + float32(0.5))
    return out, back


@case(lambda rng: (floats(rng, 6, dtype=BF16), floats(rng, 6, dtype="float16")), mutates=(0, 1))
def in_place_halves(x, h):
    """Augmented assignment rounds at every step, through a temporary of 16 bits as well."""
    t = allocate(x.shape, "bfloat16")
    for i in range(x.shape[0]):
        t[i] = x[i] * x[i]
        x[i] += t[i]
        x[i] *= 3
        h[i] /= 3
        h[i] -= 0.1
    return x, h


@case(lambda rng: (floats(rng, 9, dtype=BF16), floats(rng, 9, dtype="float16")))
def generic_on_halves(x, h):
    """Locals merge with weak numbers; conditions on the dtype choose the arm."""
    out = output_tensor((2, x.shape[0]), "float32")
    for i in range(x.shape[0]):
        y = 0
        if x[i] > 1:
            y = x[i]
        z = 1
        if h[i] < 0:
            z = h[i] / 3
        out[0, i] = y * y if x.dtype == bfloat16 else -1
        out[1, i] = z * z if h.dtype == "float16" else -1
    return out
