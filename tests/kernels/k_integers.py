"""Integer arithmetic: division and shifts at their edges, wrapping, hashing, number theory.

NumPy's rules hold for strong integers: wrap on overflow, zero on division by zero, any shift count.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import bools, case, int_pairs, ints

SIGNED = (-9, -7, -2, -1, 0, 1, 2, 3, 8)
LIMITS32 = (-(2**31), -(2**31) + 1, -1, 0, 1, 65537, 2**31 - 1)
LIMITS64 = (-(2**63), -(2**63) + 1, -1, 0, 1, 2**32 + 1, 2**63 - 1)
COUNTS = (0, 1, 5, 31, 32, 33, 63, 64, 1000, -1, -40)


@case(lambda rng: int_pairs(SIGNED, "int32"))
def divmod_int32(a, b):
    """// and % on every combination of signs, with zero as dividend and divisor."""
    out = output_tensor((2, a.shape[0]), "int32")
    for i in range(a.shape[0]):
        out[0, i] = a[i] // b[i]
        out[1, i] = a[i] % b[i]
    return out


@case(lambda rng: int_pairs(LIMITS64, "int64"))
def divmod_int64_limits(a, b):
    """// and % at the 64-bit limits, with -2**63 by -1 among them."""
    out = output_tensor((2, a.shape[0]), "int64")
    for i in range(a.shape[0]):
        out[0, i] = a[i] // b[i]
        out[1, i] = a[i] % b[i]
    return out


@case(lambda rng: (np.array((*LIMITS32, -17, -8, 7, 100), dtype="int32"),))
def divide_by_int_constants(a):
    """Constant divisors: powers of two of either sign, others, and -1 beside the smallest value."""
    out = output_tensor((9, a.shape[0]), "int32")
    for i in range(a.shape[0]):
        out[0, i] = a[i] // 8
        out[1, i] = a[i] % 8
        out[2, i] = a[i] // -8
        out[3, i] = a[i] % -8
        out[4, i] = a[i] // 7
        out[5, i] = a[i] % -7
        out[6, i] = a[i] // -1
        out[7, i] = a[i] % -1
        out[8, i] = a[i] // 1
    return out


@case(lambda rng: (3,))
def divmod_weak(offset):
    """// and % among weak integers of all signs, with a guard against zero."""
    out = output_tensor((2, 15, 7), "int64")
    for i in range(-7, 8):
        for j in range(-3, 4):
            if j != 0:
                out[0, i + 7, j + 3] = i // j + (i - offset) // 2
                out[1, i + 7, j + 3] = i % j - (i + offset) % -4
    return out


@case(lambda rng: (ints(rng, 6, dtype="int64"),))
def divide_by_loop_variable(a):
    """A weak divisor that passes through zero beside a strong dividend: the quotient is 0 there."""
    out = output_tensor((2, a.shape[0], 5), "int64")
    for i in range(a.shape[0]):
        for k in range(5):
            out[0, i, k] = a[i] // (k - 2)
            out[1, i, k] = a[i] % (k - 2)
    return out


@case(lambda rng: int_pairs(LIMITS32, "int32"))
def wrap_int32(a, b):
    """Sums, differences, products, negation and abs of int32 wrap."""
    out = output_tensor((6, a.shape[0]), "int32")
    for i in range(a.shape[0]):
        out[0, i] = a[i] + b[i]
        out[1, i] = a[i] - b[i]
        out[2, i] = a[i] * b[i]
        out[3, i] = -a[i]
        out[4, i] = abs(a[i])
        out[5, i] = a[i] + 2147483647
    return out


@case(lambda rng: int_pairs(LIMITS64, "int64"))
def wrap_int64(a, b):
    """The same at 64 bits, and comparisons that must not be simplified by moving terms across."""
    out = output_tensor((4, a.shape[0]), "int64")
    flag = output_tensor((2, a.shape[0]), "bool")
    for i in range(a.shape[0]):
        out[0, i] = a[i] + b[i]
        out[1, i] = a[i] - b[i]
        out[2, i] = a[i] * b[i]
        out[3, i] = -a[i] + abs(b[i])
        flag[0, i] = a[i] + 1 > a[i]
        flag[1, i] = a[i] - b[i] > 0
    return out, flag


@case(lambda rng: int_pairs(COUNTS, "int32"))
def shifts_int32(a, count):
    """Shifts by counts that are negative or too large follow NumPy, not the processor."""
    out = output_tensor((4, a.shape[0]), "int32")
    for i in range(a.shape[0]):
        out[0, i] = a[i] << count[i]
        out[1, i] = a[i] >> count[i]
        out[2, i] = ~a[i] >> count[i]
        out[3, i] = 1 << count[i]
    return out


@case(lambda rng: int_pairs(COUNTS, "int64"))
def shifts_int64(a, count):
    """64-bit shifts by loaded counts and by constants up to 63."""
    out = output_tensor((4, a.shape[0]), "int64")
    for i in range(a.shape[0]):
        out[0, i] = a[i] << count[i]
        out[1, i] = (-a[i] - 1) >> count[i]
        out[2, i] = a[i] << 63
        out[3, i] = -3 >> count[i]
    return out


@case(lambda rng: (ints(rng, 9), ints(rng, 9), ints(rng, 9, dtype="int64")))
def bitwise_mixed(a, b, c):
    """& | ^ ~ over int32, int64 and literals, with Python's precedence."""
    out = output_tensor((4, a.shape[0]), "int64")
    for i in range(a.shape[0]):
        out[0, i] = a[i] & b[i] | ~c[i]
        out[1, i] = a[i] ^ b[i] & 6 | 1
        out[2, i] = ~(a[i] | c[i]) ^ -1
        out[3, i] = (a[i] & 255) << 4 ^ c[i]
    return out


@case(lambda rng: (bools(rng, 8), bools(rng, 8), ints(rng, 8)))
def bitwise_bools(p, q, a):
    """& | ^ ~ on bools stay bool; beside an int32 they give int32."""
    flag = output_tensor((3, p.shape[0]), "bool")
    number = output_tensor((2, p.shape[0]), "int32")
    for i in range(p.shape[0]):
        flag[0, i] = p[i] & ~q[i] | q[i] ^ (a[i] > 0)
        flag[1, i] = ~(p[i] | q[i])
        flag[2, i] = p[i] ^ True
        number[0, i] = p[i] & a[i]
        number[1, i] = a[i] ^ q[i]
    return flag, number


@case(lambda rng: (ints(rng, 9, low=-(2**31), high=2**31),))
def murmur_mix(x):
    """A 32-bit finaliser: wrapping products by literals, logical shifts made of >> and a mask."""
    out = output_tensor(x.shape, "int32")
    for i in range(x.shape[0]):
        h = x[i]
        h ^= (h >> 16) & 0xFFFF
        h *= -2048144789
        h ^= (h >> 13) & 0x7FFFF
        h *= -1028477387
        h ^= (h >> 16) & 0xFFFF
        out[i] = h
    return out


@case(lambda rng: (ints(rng, 6, low=-(2**63), high=2**63 - 1, dtype="int64"),))
def xorshift64(x):
    """A 64-bit generator stepped several times, then scaled to a float."""
    out = output_tensor(x.shape, "int64")
    unit = output_tensor(x.shape, "float64")
    for i in range(x.shape[0]):
        s = x[i]
        for _ in range(5):
            s ^= s << 13
            s ^= (s >> 7) & 0x1FFFFFFFFFFFFFF
            s ^= s << 17
        out[i] = s
        unit[i] = (s >> 11) / 9007199254740992.0
    return out, unit


@case(lambda rng: (ints(rng, 5, 8, low=0, high=256),))
def fnv_rows(data):
    """A hash folded over each row: order matters and the product wraps."""
    out = output_tensor((data.shape[0],), "int32")
    for i in range(data.shape[0]):
        h = int32(-2128831035)
        for j in range(data.shape[1]):
            h = (h ^ data[i, j]) * 16777619
        out[i] = h
    return out


@case(lambda rng: (np.array((*LIMITS32, 0x55555555, -1234567), dtype="int32"),))
def popcount_and_reverse(x):
    """Bits counted and mirrored one at a time with shifts by the loop variable."""
    out = output_tensor((2, x.shape[0]), "int32")
    for i in range(x.shape[0]):
        ones = int32(0)
        mirror = int32(0)
        for bit in range(32):
            one = (x[i] >> bit) & 1
            ones += one
            mirror = mirror << 1 | one
        out[0, i] = ones
        out[1, i] = mirror
    return out


@case(lambda rng: (ints(rng, 9, low=0, high=200), ints(rng, 9, low=0, high=200)))
def euclid_gcd(a, b):
    """Two carried integers that change roles under a guard."""
    out = output_tensor(a.shape, "int32")
    for i in range(a.shape[0]):
        p = a[i]
        q = b[i]
        for _ in range(13):
            if q != 0:
                rest = p % q
                p = q
                q = rest
        out[i] = p
    return out


@case(lambda rng: (ints(rng, 9, low=1, high=2**40, dtype="int64"),))
def integer_square_root(x):
    """Newton's iteration in integers, whose divisor is data."""
    out = output_tensor(x.shape, "int64")
    for i in range(x.shape[0]):
        root = int64(1) << 21
        for _ in range(30):
            root = min(root, (root + x[i] // root) // 2)
        out[i] = root
    return out


@case(lambda rng: (30,))
def sieve(n):
    """Composites marked in a bool output through a product subscript under a guard."""
    prime = output_tensor((n,), "bool")
    for i in range(2, n):
        prime[i] = True
    for i in range(2, n):
        for j in range(2, n):
            if i * j < n:
                prime[i * j] = False
    return prime


@case(lambda rng: (9,), warns=("W301",))
def pascal_triangle(n):
    """A triangular recurrence reduced by a modulus; the upper half stays zero."""
    out = output_tensor((n, n), "int32")
    for i in range(n):
        out[i, 0] = 1
        for j in range(1, i + 1):
            if j == i:
                out[i, j] = 1
            else:
                out[i, j] = (out[i - 1, j - 1] + out[i - 1, j]) % 13
    return out


@case(lambda rng: (ints(rng, 9, low=-40, high=41), ints(rng, 9, dtype="int64")))
def integer_powers(a, b):
    """** with exponents 2 and 3 on int32, int64 and weak integers, and under unary minus."""
    out = output_tensor((4, a.shape[0]), "int64")
    for i in range(a.shape[0]):
        out[0, i] = a[i] ** 2
        out[1, i] = b[i] ** 3 - b[i] ** 2
        out[2, i] = -(a[i] ** 3) + -(a[i] ** 2)
        out[3, i] = i**3 - 2**3
    return out


@case(lambda rng: (ints(rng, 9, low=1), ints(rng, 9, low=1), ints(rng, 9, low=1)))
def precedence(a, b, c):
    """Left-associative chains and unary operators where another grouping gives another value."""
    out = output_tensor((6, a.shape[0]), "int32")
    for i in range(a.shape[0]):
        out[0, i] = a[i] - b[i] - c[i]
        out[1, i] = a[i] * 7 // b[i] * c[i]
        out[2, i] = -a[i] // b[i] + -c[i] % 4
        out[3, i] = a[i] + b[i] << 1 + 1
        out[4, i] = ~a[i] + 1 & b[i] * 3
        out[5, i] = +a[i] - -b[i] - ~-c[i]
    return out
