"""Scalar locals and local buffers.

They cover what a name means along the program: retyping, merging of weak and strong, carrying, scratch rows.
"""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import bools, case, floats, ints


@case(lambda rng: (floats(rng, 9),))
def retyped_name(x):
    """One name that is a weak int, a float32, a bool and an int32 in turn."""
    out = output_tensor(x.shape, "int32")
    for i in range(x.shape[0]):
        t = 3
        t = x[i] * t
        t = t > 1.0
        t = int32(t) + 2
        out[i] = t
    return out


@case(lambda rng: (floats(rng, 6), ints(rng, 5)))
def scratch_name_of_two_types(x, a):
    """The same scratch name in two loops, float32 in one and int32 in the other."""
    real = output_tensor(x.shape, x.dtype)
    whole = output_tensor(a.shape, a.dtype)
    for i in range(x.shape[0]):
        t = x[i] * x[i]
        real[i] = t + t
    for i in range(a.shape[0]):
        t = a[i] * a[i]
        whole[i] = t - 1
    return real, whole


@case(lambda rng: (floats(rng, 9), bools(rng, 9)))
def weak_or_strong(x, p):
    """A weak float, a float32 and a weak int from three arms merge to float32."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        if p[i]:
            t = 0.1
        elif x[i] > 0.0:
            t = x[i]
        else:
            t = 2
        out[i] = t * x[i]
    return out


@case(lambda rng: (floats(rng, 9), bools(rng, 9)))
def weak_int_or_float(x, p):
    """A weak int merges with a float32 in a ternary and in a carried local."""
    out = output_tensor((2, x.shape[0]), x.dtype)
    carried = 1
    for i in range(x.shape[0]):
        t = 3 if p[i] else x[i]
        carried = carried + t * x[i]
        out[0, i] = t - x[i]
        out[1, i] = carried
    return out


@case(lambda rng: (ints(rng, 9), 4))
def weak_merges_with_weak(x, k):
    """Weak int with weak float merge to a weak float, weak int with weak int stay weak."""
    out = output_tensor(x.shape, "float64")
    for i in range(x.shape[0]):
        step = i if i > k else k
        ratio = 1 if i > k else 0.1
        out[i] = x[i] * step + ratio
    return out


@case(lambda rng: (floats(rng, 9),))
def assigned_in_every_branch(x):
    """A local born inside the arms of an elif chain and read after it."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            t = x[i] - 1.0
        elif x[i] < -1.0:
            t = x[i] + 1.0
        else:
            t = x[i] * 0.3
        out[i] = t * t
    return out


@case(lambda rng: (floats(rng, 9),))
def overwritten_in_some_branches(x):
    """A default that some paths overwrite, once depending on its old value."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        t = x[i]
        if i % 3 == 1:
            t = x[i] * 0.5
            if x[i] > 0.0:
                t += 7.0
        elif i % 3 == 2:
            t = t * t
        out[i] = t
    return out


@case(lambda rng: (12,))
def fibonacci(n):
    """Two carried weak integers that rotate through a third name."""
    out = output_tensor((n,), "int64")
    a = 0
    b = 1
    for i in range(n):
        out[i] = a
        c = a + b
        a = b
        b = c
    return out


@case(lambda rng: (floats(rng, 9),))
def carried_across_outer_loop(x):
    """A local carried through both loops of a nest, and one that is reset in between."""
    out = output_tensor((3, x.shape[0]), x.dtype)
    far = float32(1.0)
    for k in range(3):
        near = float32(0.0)
        for i in range(x.shape[0]):
            far = far * 0.75 + x[i]
            near = near * 0.75 + x[i]
            out[k, i] = far - near
    return out


@case(lambda rng: (floats(rng, 9),))
def read_after_loop(x):
    """Locals whose last values are read after the loop that set them."""
    out = output_tensor((3,), x.dtype)
    last = float32(0.0)
    peak = x[0]
    where = 0
    for i in range(x.shape[0]):
        last = x[i]
        if x[i] > peak:
            peak = x[i]
            where = i
    out[0] = last
    out[1] = peak
    out[2] = where
    return out


@case(lambda rng: (ints(rng, 9), floats(rng, 9, dtype="float64")))
def augmented_scalars(a, x):
    """Every augmented operator on a scalar local."""
    whole = output_tensor(a.shape, "int32")
    real = output_tensor(x.shape, "float64")
    for i in range(a.shape[0]):
        t = a[i]
        t += 7
        t -= 2
        t *= 5
        t //= 3
        t %= 11
        t <<= 4
        t >>= 1
        t &= 0x3C
        t |= 1
        t ^= a[i]
        whole[i] = t
        r = x[i]
        r += 0.5
        r -= x[i] * 0.25
        r *= r
        r /= 0.3
        r //= 0.5
        r %= 7.25
        real[i] = r
    return whole, real


@case(lambda rng: (floats(rng, 9),))
def horner(x):
    """A polynomial by a chain of updates that starts from a weak coefficient."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        p = 0.3
        p = p * x[i] - 1.7
        p = p * x[i] + 0.9
        p = p * x[i] - 2.1
        out[i] = p
    return out


@case(lambda rng: (floats(rng, 5, dtype="float64"), floats(rng, 7, dtype="float64")))
def horner_over_coefficients(coefficients, x):
    """A polynomial whose coefficients are a tensor, highest first."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        p = coefficients[0]
        for k in range(1, coefficients.shape[0]):
            p = p * x[i] + coefficients[k]
        out[i] = p
    return out


@case(lambda rng: (floats(rng, 4, 6),))
def scratch_row(x):
    """One scratch row, declared outside, refilled in every iteration."""
    n, m = x.shape
    row = allocate((m,), x.dtype, "local")
    out = output_tensor((n, m), x.dtype)
    for i in range(n):
        for j in range(m):
            row[j] = x[i, j] * x[i, j]
        for j in range(m):
            out[i, j] = row[m - 1 - j] + x[i, j]
    return out


@case(lambda rng: (floats(rng, 5),), warns=("W301",))
def fresh_zeros_each_time(x):
    """A buffer allocated inside a loop is zero in every iteration, although the one before added to it."""
    n = x.shape[0]
    out = output_tensor((n, n), x.dtype)
    for i in range(n):
        tmp = allocate((n,), x.dtype)
        for k in range(i + 1):
            tmp[k] += x[k] * i
        for j in range(n):
            out[i, j] = tmp[j]
    return out


@case(lambda rng: (floats(rng, 6, dtype="float64"),))
def growing_buffer(x):
    """A buffer whose extent is the outer loop variable plus one."""
    n = x.shape[0]
    out = output_tensor((n,), x.dtype)
    for i in range(n):
        head = allocate((i + 1,), "float64")
        for j in range(i + 1):
            head[j] = x[j] * 0.5
        acc = 0.0
        for j in range(i + 1):
            acc += head[i - j] * x[j]
        out[i] = acc
    return out


@case(lambda rng: (ints(rng, 40, low=0, high=5),))
def local_histogram(x):
    """A small int32 buffer zeroed by hand, bumped at loaded places and scanned."""
    counts = allocate((5,), "int32")
    out = output_tensor((5,), "int32")
    for k in range(5):
        counts[k] = 0
    for i in range(x.shape[0]):
        counts[x[i]] += 1
    run = int32(0)
    for k in range(5):
        run += counts[k]
        out[k] = run
    return out


@case(lambda rng: (np.array([3.0, 1.0, np.nan, 2.0, -5.0, 2.0], "float64"),))
def previous_values(x):
    """A window of three carried locals in place of repeated loads."""
    out = output_tensor(x.shape, x.dtype)
    older = 0.0
    old = 0.0
    for i in range(x.shape[0]):
        new = x[i]
        out[i] = (older + old) + new
        older = old
        old = new
    return out


@case(lambda rng: (floats(rng, 6),), warns=("W301",))
def temporary_that_forgets(x):
    """A temporary of an iteration does not hold what the iterations before it wrote."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        t = allocate(x.shape, x.dtype)
        s = float64(0.0)
        for j in range(i):
            s += t[j]
        t[i] = x[i]
        out[i] = s + t[i]
    return out


@case(lambda rng: (floats(rng, 3) * 0.5 + 1.0,))
def squares_of_squares(x):
    """Sixteen squarings: a value that each level uses twice."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y = (((x[i] ** 2) ** 2) ** 2) ** 2
        z = ((((y * 1.0e-3) ** 2) ** 2) ** 2) ** 2
        out[i] = (((((z**2) ** 2) ** 2) ** 2) ** 2) ** 2
    return out


@case(lambda rng: (floats(rng, 4, 3),))
def two_loops_with_a_temporary_of_one_name(x):
    """Each loop has a temporary of its own, with another shape and dtype."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        t = allocate((x.shape[1],), x.dtype)
        for j in range(x.shape[1]):
            t[j] = x[i, j] * 2.0
        for j in range(x.shape[1]):
            out[i, j] = t[j]
    for j in range(x.shape[1]):
        t = allocate((x.shape[0],), "float64")
        for i in range(x.shape[0]):
            t[i] = out[i, j]
        for i in range(x.shape[0]):
            out[i, j] += t[x.shape[0] - 1 - i]
    return out


@case(lambda rng: (ints(rng, 4, dtype="int64"),))
def tuples_keep_their_values(x):
    """What a tuple was made of changes afterwards: names, and elements."""
    out = output_tensor((4,), "int64")
    n = x[0]
    n = n * 2
    t = (n, out.shape, (x[1], n + 1))
    n = n + 10
    out[0] = 7
    u = (out[0], n)
    out[0] = 5
    out[1] = t[0] + t[2][0] * t[2][1]
    out[2] = u[0] + u[1]
    out[3] = n
    return out


@case(lambda rng: (floats(rng, 9), bools(rng, 9)))
def tuples_of_two_paths(x, p):
    """Tuples that branches assign merge item by item, also where one item is a tuple."""
    out = output_tensor((4, x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        t = (1, (x[i], 2))
        if p[i]:
            t = (3, (t[0], 0.5))
        out[0, i] = t[0]
        out[1, i] = t[1][0]
        out[2, i] = t[1][1] * x[i]
        if p[i]:
            u = (i, x[i])
        else:
            u = (t[0], t[1][0])
        out[3, i] = u[0] + u[1]
    return out


@case(lambda rng: (ints(rng, 9, dtype="int64"),))
def carried_tuple(a):
    """A tuple that each iteration makes of its own items, which jumps may cut short."""
    out = output_tensor((2, a.shape[0]), "int64")
    p = (0, 1)
    for i in range(a.shape[0]):
        out[0, i] = p[0]
        p = (p[1], p[0] + p[1])
    q = (a[0], a[1])
    for i in range(a.shape[0]):
        if a[i] > q[0]:
            q = (a[i], q[0])
            continue
        if a[i] == 0:
            break
        out[1, i] = q[1] - a[i]
        q = (q[1], q[0])
    return out


@case(lambda rng: (floats(rng, 3),))
def tuple_of_copies(x):
    """Copies of a body hand a tuple on, with constants in it as long as one way alone leads there."""
    out = output_tensor((5,), x.dtype)
    t = (1, 2)
    for k in const_range(3):
        if x[k] > 0:
            t = (k, t[0])
            continue
        t = (t[1], t[0] + k)
    out[0] = t[0]
    out[1] = t[1]
    s = (2, 0)
    s = (s[1], s[0])
    out[s[0] + 2] = x[s[1]]
    return out


@case(lambda rng: (floats(rng, 4, 37), floats(rng, 4)))
def one_name_for_sums_of_two_loops(a, w):
    """A name set before two loops that both sum into it: each iteration begins anew."""
    out = output_tensor((2, a.shape[0]), a.dtype)
    s = w[0]
    out[0, 0] = s
    for i in range(a.shape[0]):
        s = 0.0
        t = w[i]
        for j in range(a.shape[1]):
            s += a[i, j] * t
        out[0, i] += s
    for i in range(a.shape[0]):
        if w[i] < 0.0:
            continue
        s = 0.0
        t = w[i] * w[i]
        for j in range(a.shape[1]):
            s += a[i, j]
        out[1, i] = s + t
    return out
