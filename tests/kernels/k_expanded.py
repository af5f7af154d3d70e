"""const_range, grid points as tuples, scheduling scopes and asserts."""
# ruff: noqa: F821
# mypy: ignore-errors

from corpus import case, floats, ints

TAPS = (0.25, 0.5, 0.25)


@case(lambda rng: (floats(rng, 12),))
def taps_of_a_constant_filter(x):
    """The variable of const_range indexes a captured tuple and a tensor; counts up and down by steps."""
    out = output_tensor((3, x.shape[0] - 2), x.dtype)
    for i, j in grid((x.shape[0] - 2, 3)):
        out[j, i] = 0.5
    for i in range(x.shape[0] - 2):
        for k in const_range(3):
            out[0, i] += TAPS[k] * x[i + k]
        for k in const_range(2, -1, -2):
            out[1, i] = out[1, i] * 2.0 + x[i + k]
        for k in const_range(1, 1):
            out[2, i] = 1.0
    return out


@case(lambda rng: (ints(rng, 6, 4),))
def locals_of_each_copy(x):
    """Names, cells of inner loops, buffers and constant branches of each copy of a const_range."""
    out = output_tensor((x.shape[0],), "int64")
    for i in range(x.shape[0]):
        total = 0
        for k in const_range(4):
            t = allocate((2,), "int64")
            t[k % 2] = x[i, k]
            if k == 0:
                first = t[0]
            elif k == 3:
                total += first * t[1]
            best = 0
            for j in range(4):
                seen = x[i, j] * k
                if seen > best:
                    best = seen
                    seen = 0
                best += seen
            total += best
        out[i] = total + first
    return out


@case(lambda rng: (ints(rng, 8, 6, low=-2, high=6),))
def jumps_in_a_const_range(x):
    """A break leaves all copies, a continue one; types and names flow from copy to copy."""
    out = output_tensor((3, x.shape[0]), "float64")
    for i in range(x.shape[0]):
        total = 0
        last = -1
        carried = 0
        for k in const_range(6):
            if x[i, k] == 0:
                continue
            if k > 0:
                total += carried
            carried = x[i, k] * k
            total += x[i, k]
            if total > 9:
                last = k + 0.5
                break
            for j in const_range(2):
                if j == 1 and x[i, j] < 0:
                    break
                total += j
            if k == 0 or x[i, 0] == 0:
                carried = 1
        out[0, i] = total
        out[1, i] = last
        if x[i, 0] > 3:
            continue
        out[2, i] = total
    return out


@case(lambda rng: (floats(rng, 4, 5, 3),), warns=("W301",))
def points_of_a_grid(x):
    """One variable for all indices: as a subscript, taken apart, unpacked, in arithmetic."""
    out = output_tensor(x.shape, x.dtype)
    row = output_tensor((x.shape[0],), "int64")
    for p in grid(x.shape):
        i, j, k = p
        out[p] = x[p] * 2.0 + (p[0] - p[-1]) + len(p)
        if k == 1:
            continue
        row[i] += j
    for p in grid(x.shape[:1]):
        row[p] *= 2
    for q in grid((2, 2)):
        out[q + (0,)] -= x[(1,) + q]
    for p in grid(()):
        row[0] += 1
        break
    return out, row


@case(lambda rng: (floats(rng, 6),))
def scopes_and_asserts(x):
    """AKG's scheduling scopes do nothing, and asserts that hold neither."""
    out = output_tensor(x.shape, x.dtype)
    assert x.shape[0] > 0
    with block_realize(out):
        with attr("pragma_vectorize", 1), attr("other", x.shape[0]):
            for i in range(x.shape[0]):
                with attr("unroll", True):
                    y = x[i] + 1.0
                    assert y == y or y != y, "never fails"
                    if y > 2.0:
                        continue
                out[i] = y
    return out
