"""Kernels on 8-, 16- and 32-bit and on unsigned integers: pixels, fixed point, checksums, hashes.

Every one would give other bits if its arithmetic ran in another width or signedness.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import bools, case, floats, int_pairs, ints

FNV_OFFSET = 0xCBF29CE484222325
FNV_PRIME = 0x100000001B3
GOLDEN = 0x9E3779B97F4A7C15
LIMITS8 = (-128, -127, -1, 0, 1, 7, 126, 127)
LIMITS_U64 = (0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1)


@case(lambda rng: int_pairs(LIMITS8, "int8"))
def wrapping_int8(a, b):
    """int8 wraps after every operation; division by zero gives 0 and -128 // -1 wraps."""
    out = output_tensor((6, a.shape[0]), "int8")
    for i in range(a.shape[0]):
        out[0, i] = a[i] + b[i] + 1
        out[1, i] = a[i] * b[i] - a[i]
        out[2, i] = a[i] // b[i]
        out[3, i] = a[i] % b[i]
        out[4, i] = -a[i]
        out[5, i] = abs(a[i]) >> 1
    return out


@case(lambda rng: (ints(rng, 3, 4, low=-128, high=128, dtype="int8"), ints(rng, 4, low=-128, dtype="int8")))
def quantised_dot(w, x):
    """int8 products summed in int32, scaled back by a rounding shift and clamped to int8."""
    out = output_tensor((w.shape[0],), "int8")
    for i in range(w.shape[0]):
        total = int32(0)
        for j in range(w.shape[1]):
            total += int32(w[i, j]) * x[j]
        out[i] = max(min((total + 64) >> 7, 127), -128)
    return out


@case(lambda rng: (ints(rng, 9, low=-(2**15), high=2**15, dtype="int16"), np.int16(-23170)))
def fixed_point_int16(a, gain):
    """Q15 multiplication: the product in int32, the sum back in int16."""
    out = output_tensor((2, a.shape[0]), "int16")
    for i in range(a.shape[0]):
        out[0, i] = (int32(a[i]) * int32(gain) + (1 << 14)) >> 15
        out[1, i] = a[i] * gain + a[i]
    return out


@case(lambda rng: (ints(rng, 5, 6, low=0, high=256, dtype="uint8"),))
def box_filter_uint8(image):
    """Sums of pixels: in uint8 they wrap, beside uint16 they do not."""
    wrapped = output_tensor((image.shape[0], image.shape[1] - 2), "uint8")
    mean = output_tensor((image.shape[0], image.shape[1] - 2), "uint8")
    for i, j in grid((image.shape[0], image.shape[1] - 2)):
        wrapped[i, j] = image[i, j] + image[i, j + 1] + image[i, j + 2]
        mean[i, j] = (uint16(image[i, j]) + image[i, j + 1] + image[i, j + 2]) // 3
    return wrapped, mean


@case(
    lambda rng: (
        ints(rng, 256, low=0, high=256, dtype="uint8"),
        ints(rng, 17, low=0, high=256, dtype="uint8"),
    )
)
def lookup_uint8(table, x):
    """A uint8 element as an index is never negative."""
    out = output_tensor(x.shape, "uint8")
    for i in range(x.shape[0]):
        out[i] = table[x[i]] ^ table[255 - x[i]]
    return out


@case(lambda rng: (ints(rng, 13, low=0, high=256, dtype="uint8"),))
def crc16(data):
    """CRC-16/CCITT: shifts and xors in uint16, a weak constant of its full width."""
    out = output_tensor((1,), "uint16")
    crc = uint16(0xFFFF)
    for i in range(data.shape[0]):
        crc = crc ^ (uint16(data[i]) << 8)
        for k in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
    out[0] = crc
    return out


@case(lambda rng: (ints(rng, 11, low=0, high=2**32, dtype="uint32"),))
def xorshift_uint32(seeds):
    """Rotations and xorshift: uint32 drops what leaves at the top and shifts zeros in."""
    out = output_tensor((2, seeds.shape[0]), "uint32")
    for i in range(seeds.shape[0]):
        x = seeds[i]
        out[0, i] = (x << 13) | (x >> 19)
        x = x ^ (x << 13)
        x = x ^ (x >> 17)
        x = x ^ (x << 5)
        out[1, i] = x * 2654435769
    return out


@case(lambda rng: (ints(rng, 13, low=0, high=256, dtype="uint8"),))
def fnv1a_uint64(data):
    """FNV-1a: captured constants beyond int64, products that wrap at 64 bits."""
    out = output_tensor((1,), "uint64")
    h = uint64(FNV_OFFSET)
    for i in range(data.shape[0]):
        h = (h ^ data[i]) * FNV_PRIME
    out[0] = h
    return out


@case(lambda rng: (rng.integers(0, 2**64, 9, "uint64"),))
def splitmix_uint64(state):
    """A weak local beyond int64 adopts uint64."""
    out = output_tensor(state.shape, "uint64")
    for i in range(state.shape[0]):
        step = GOLDEN
        z = state[i] + step
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB
        out[i] = z ^ (z >> 31)
    return out


@case(lambda rng: int_pairs(LIMITS_U64, "uint64"))
def divmod_uint64(a, b):
    """Quotients, remainders and shifts with the top bit set; negation wraps."""
    out = output_tensor((5, a.shape[0]), "uint64")
    for i in range(a.shape[0]):
        out[0, i] = a[i] // b[i]
        out[1, i] = a[i] % b[i]
        out[2, i] = a[i] >> (b[i] & 127)
        out[3, i] = -a[i]
        out[4, i] = max(a[i], 3) - min(b[i], 5)
    return out


@case(
    lambda rng: (
        np.array([-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1], "int64"),
        np.array([2**64 - 1, 2**63, 0, 2, 2**53, 2**63 - 1], "uint64"),
        np.array([-128, -1, 0, 1, 100, 127], "int8"),
        np.array([0, 255, 128, 1, 100, 127], "uint8"),
    )
)
def signed_beside_unsigned(a, b, c, d):
    """Comparisons are of numbers; arithmetic of int64 with uint64 is float64, of int8 with uint8 int16."""
    flags = output_tensor((6, a.shape[0]), "bool")
    real = output_tensor((2, a.shape[0]), "float64")
    wide = output_tensor((2, a.shape[0]), "int16")
    for i in range(a.shape[0]):
        flags[0, i] = a[i] < b[i]
        flags[1, i] = b[i] <= a[i]
        flags[2, i] = a[i] == b[i]
        flags[3, i] = c[i] != b[i]
        flags[4, i] = c[i] >= d[i]
        flags[5, i] = -1 < d[i] < 300
        real[0, i] = a[i] + b[i]
        real[1, i] = c[i] / d[i]
        wide[0, i] = c[i] * d[i]
        wide[1, i] = c[i] - d[i]
    return flags, real, wide


@case(lambda rng: (bools(rng, 8), bools(rng, 8), ints(rng, 8, dtype="int8")))
def int8_from_bools(p, q, a):
    """`//`, `%` and shifts of two bools are int8, and so is a bool beside int8."""
    out = output_tensor((5, p.shape[0]), "int8")
    for i in range(p.shape[0]):
        out[0, i] = (p[i] // q[i]) - 100 - 100
        out[1, i] = (p[i] % q[i]) * 127 * 2
        out[2, i] = p[i] << q[i] << q[i]
        out[3, i] = p[i] * a[i] * 100
        out[4, i] = 100 * (p[i] >> q[i]) * 3
    return out


@case(lambda rng: (np.uint8(200), np.int16(-7), ints(rng, 3, dtype="int16")))
def narrow_scalars_in_shapes(n, k, a):
    """An extent computed in uint8 wraps as it does in NumPy, and int16 widens it."""
    wrapped = output_tensor((n + n // 2,), "uint16")
    widened = output_tensor((n + k, a.shape[0]), "int16")
    for i in range(wrapped.shape[0]):
        wrapped[i] = i * n
    for i, j in grid(widened.shape):
        widened[i, j] = a[j] * k + i
    return wrapped, widened


@case(lambda rng: (ints(rng, 9, low=0, high=256, dtype="uint8"), ints(rng, 9, dtype="int16")))
def merges_of_narrow_types(a, b):
    """A weak constant takes the narrow type of the other path; the loop's accumulator stays uint8."""
    out = output_tensor((3, a.shape[0]), "uint8")
    for i in range(a.shape[0]):
        x = 0
        if b[i] > 0:
            x = a[i]
        out[0, i] = x * 3
        out[1, i] = a[i] if b[i] > 0 else 255
        total = 250
        for j in range(i):
            total = total + a[j]
        out[2, i] = total
    return out


@case(lambda rng: (floats(rng, 9) * np.float32(20), ints(rng, 9, low=-(2**31), high=2**31)))
def stores_to_narrow_types(x, a):
    """Stores of in-range floats truncate; casts between integers wrap."""
    small = output_tensor((3, x.shape[0]), "int8")
    large = output_tensor((3, x.shape[0]), "uint16")
    for i in range(x.shape[0]):
        small[0, i] = x[i]
        small[1, i] = int8(a[i])
        small[2, i] = int8(uint8(a[i]))
        large[0, i] = abs(x[i]) * 100
        large[1, i] = uint16(a[i])
        large[2, i] = uint16(int16(a[i]))
    return small, large


@case(lambda rng: (ints(rng, 4, 5, low=0, high=256, dtype="uint8"),), mutates=(0,))
def invert_in_place_uint8(image):
    """Augmented assignment in uint8, rows through a strided view of columns."""
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            image[i, j] ^= 255
            image[i, j] += i * 3 + j
            image[i, j] >>= 1
    return image


@case(
    lambda rng: (
        ints(rng, 5, 71, low=0, high=256, dtype="uint8"),
        ints(rng, 5, 71, low=-128, high=128, dtype="int8"),
    )
)
def sums_of_bytes_in_more_bits(a, b):
    """Sums that 16 bits hold, sums that they just do not hold, and names for them."""
    c = output_tensor((4, a.shape[0], a.shape[1]), "int32")
    d = output_tensor(a.shape, "uint8")
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            x = int32(a[i, j]) * 2 - int32(b[i, j]) * 3
            y = max(abs(x) + 7, -x)
            c[0, i, j] = x if x < y - 200 else -y
            c[1, i, j] = int32(b[i, j]) * 256 * int32(b[i, j])
            c[2, i, j] = int32(a[i, j]) * 128 + int32(b[i, j])
            c[3, i, j] = int32(a[i, j]) * 129
            d[i, j] = min(x + y, 255)
    return c, d
