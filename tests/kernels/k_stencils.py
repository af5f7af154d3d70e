"""Neighbourhood kernels: finite differences, convolutions, pooling, cellular automata.

They cover halos by bounds, by guards, by clamping, by wrapping and by reflection.
"""
# ruff: noqa: F821
# mypy: ignore-errors

from corpus import bools, case, floats, ints


@case(lambda rng: (floats(rng, 7, 9),))
def five_point(u):
    """An interior stencil; the border of the output stays unwritten, hence zero."""
    n, m = u.shape
    out = output_tensor(u.shape, u.dtype)
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) - 4.0 * u[i, j]
    return out


@case(lambda rng: (floats(rng, 7, 7, dtype="float64"),))
def jacobi_ping_pong(u):
    """Time steps that alternate between a temporary and the output, borders copied first."""
    n, m = u.shape
    out = output_tensor((n, m), u.dtype)
    tmp = allocate((n, m), u.dtype)
    for i, j in grid((n, m)):
        out[i, j] = u[i, j]
        tmp[i, j] = u[i, j]
    for _ in range(3):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                tmp[i, j] = 0.25 * (out[i - 1, j] + out[i + 1, j] + out[i, j - 1] + out[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                out[i, j] = 0.25 * (tmp[i - 1, j] + tmp[i + 1, j] + tmp[i, j - 1] + tmp[i, j + 1])
    return out


@case(lambda rng: (floats(rng, 6, 7),), mutates=(0,))
def gauss_seidel_in_place(u):
    """Each update reads neighbours of this sweep and of the last one."""
    for _ in range(2):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


@case(lambda rng: (floats(rng, 8, 8),), mutates=(0,))
def red_black_in_place(u):
    """A checkerboard sweep by a condition on the parity of i + j."""
    for colour in range(2):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                if (i + j) % 2 == colour:
                    u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


@case(lambda rng: (floats(rng, 9), 0.1))
def heat_periodic(u, rate):
    """Neighbours found by a remainder, which never goes negative for a positive divisor."""
    n = u.shape[0]
    out = output_tensor((n,), u.dtype)
    for i in range(n):
        out[i] = u[i] + rate * (u[(i + 1) % n] - 2.0 * u[i] + u[(i - 1) % n])
    return out


@case(lambda rng: (floats(rng, 9), floats(rng, 3)))
def conv1d_valid(x, w):
    """A convolution with a flipped filter and an output extent made of two shapes."""
    taps = w.shape[0]
    out = output_tensor((x.shape[0] - taps + 1,), x.dtype)
    for i in range(out.shape[0]):
        acc = 0.0
        for k in range(taps):
            acc += x[i + k] * w[taps - 1 - k]
        out[i] = acc
    return out


@case(lambda rng: (floats(rng, 9, dtype="float64"), floats(rng, 4, dtype="float64")))
def conv1d_full(x, w):
    """A scatter-style full convolution that adds every product to its place."""
    n = x.shape[0]
    taps = w.shape[0]
    out = output_tensor((n + taps - 1,), "float64")
    for i in range(n + taps - 1):
        out[i] = 0.0
    for i in range(n):
        for k in range(taps):
            out[i + k] += x[i] * w[k]
    return out


@case(lambda rng: (floats(rng, 7, 8), floats(rng, 3, 3)))
def conv2d_same(x, w):
    """Zero padding by a guard of four comparisons in front of the load."""
    n, m = x.shape
    out = output_tensor((n, m), x.dtype)
    for i, j in grid((n, m)):
        acc = float32(0.0)
        for p in range(3):
            for q in range(3):
                if 0 <= i + p - 1 < n and 0 <= j + q - 1 < m:
                    acc += x[i + p - 1, j + q - 1] * w[p, q]
        out[i, j] = acc
    return out


@case(lambda rng: (floats(rng, 1, 2, 7, 7), floats(rng, 3, 2, 3, 3)))
def conv2d_nchw_stride2(x, w):
    """A rank-4 convolution with stride 2: seven loops, extents with a floor division."""
    batch, chan, height, width = x.shape
    out = output_tensor((batch, w.shape[0], (height - 3) // 2 + 1, (width - 3) // 2 + 1), x.dtype)
    for b in range(batch):
        for o in range(w.shape[0]):
            for i in range((height - 3) // 2 + 1):
                for j in range((width - 3) // 2 + 1):
                    acc = 0.0
                    for c in range(chan):
                        for p in range(w.shape[2]):
                            for q in range(w.shape[3]):
                                acc += x[b, c, 2 * i + p, 2 * j + q] * w[o, c, p, q]
                    out[b, o, i, j] = acc
    return out


@case(lambda rng: (floats(rng, 9, 3), floats(rng, 3, 3)))
def depthwise_dilated(x, w):
    """A dilated convolution per channel, the channel last and never reduced."""
    out = output_tensor((x.shape[0] - 4, x.shape[1]), x.dtype)
    for i in range(x.shape[0] - 4):
        for c in range(x.shape[1]):
            out[i, c] = x[i, c] * w[0, c] + x[i + 2, c] * w[1, c] + x[i + 4, c] * w[2, c]
    return out


@case(lambda rng: (floats(rng, 8, 6),))
def max_pool_2x2(x):
    """A min-max fold of four loads at doubled subscripts."""
    out = output_tensor((x.shape[0] // 2, x.shape[1] // 2), x.dtype)
    for i, j in grid((x.shape[0] // 2, x.shape[1] // 2)):
        out[i, j] = max(x[2 * i, 2 * j], x[2 * i + 1, 2 * j], x[2 * i, 2 * j + 1], x[2 * i + 1, 2 * j + 1])
    return out


@case(lambda rng: (ints(rng, 9, 7),))
def box_blur_clamped(x):
    """Clamped neighbour subscripts by min and max, an integer mean by floor division."""
    n, m = x.shape
    out = output_tensor((n, m), x.dtype)
    for i, j in grid((n, m)):
        acc = int32(0)
        for p in range(-1, 2):
            for q in range(-1, 2):
                acc += x[min(max(i + p, 0), n - 1), min(max(j + q, 0), m - 1)]
        out[i, j] = acc // 9
    return out


@case(lambda rng: (floats(rng, 8),))
def smooth_reflected(x):
    """Reflection at both ends by ternary subscripts, where the arm not taken would be out of range."""
    n = x.shape[0]
    out = output_tensor((n,), x.dtype)
    for i in range(n):
        before = x[i - 1 if i > 0 else 1]
        after = x[i + 1 if i + 1 < n else n - 2]
        out[i] = (before + after) * 0.5 - x[i]
    return out


@case(lambda rng: (bools(rng, 7, 8).astype("int32"),))
def game_of_life(cells):
    """A cellular automaton on a torus: remainders in both subscripts and a rule on a count."""
    n, m = cells.shape
    out = output_tensor((n, m), "int32")
    for i, j in grid((n, m)):
        around = -cells[i, j]
        for p in range(3):
            for q in range(3):
                around += cells[(i + p - 1) % n, (j + q - 1) % m]
        out[i, j] = 1 if around == 3 or (around == 2 and cells[i, j] == 1) else 0
    return out


@case(lambda rng: (bools(rng, 9),))
def rule_110(row):
    """Generations of a one-dimensional automaton, one output row from the row above, all in bools."""
    n = row.shape[0]
    out = output_tensor((6, n), "bool")
    for j in range(n):
        out[0, j] = row[j]
    for t in range(1, 6):
        for j in range(n):
            left = out[t - 1, (j - 1) % n]
            here = out[t - 1, j]
            right = out[t - 1, (j + 1) % n]
            out[t, j] = (here | right) & ~(left & here & right)
    return out


@case(lambda rng: (floats(rng, 6, 7),))
def sobel_magnitude(x):
    """Two stencils on one window joined by a square root."""
    out = output_tensor((x.shape[0] - 2, x.shape[1] - 2), x.dtype)
    for i in range(x.shape[0] - 2):
        for j in range(x.shape[1] - 2):
            gx = (
                (x[i, j + 2] - x[i, j])
                + 2.0 * (x[i + 1, j + 2] - x[i + 1, j])
                + (x[i + 2, j + 2] - x[i + 2, j])
            )
            gy = (
                (x[i + 2, j] - x[i, j])
                + 2.0 * (x[i + 2, j + 1] - x[i, j + 1])
                + (x[i + 2, j + 2] - x[i, j + 2])
            )
            out[i, j] = sqrt(gx * gx + gy * gy)
    return out


@case(lambda rng: (floats(rng, 9), floats(rng, 9)), mutates=(0, 1))
def leapfrog_in_place(e, h):
    """Two mutated inputs that update each other in turn over a time loop."""
    n = e.shape[0]
    for _ in range(4):
        for i in range(1, n):
            e[i] += 0.5 * (h[i] - h[i - 1])
        for i in range(n - 1):
            h[i] += 0.5 * (e[i + 1] - e[i])
    return e, h


@case(lambda rng: (ints(rng, 6, 8, low=0, high=20),))
def cheapest_path(cost):
    """Dynamic programming: each cell takes the least of three cells in the row above."""
    n, m = cost.shape
    best = output_tensor((n, m), cost.dtype)
    for j in range(m):
        best[0, j] = cost[0, j]
    for i in range(1, n):
        for j in range(m):
            least = best[i - 1, j]
            if j > 0:
                least = min(least, best[i - 1, j - 1])
            if j < m - 1:
                least = min(least, best[i - 1, j + 1])
            best[i, j] = least + cost[i, j]
    return best


@case(lambda rng: (floats(rng, 21, 37), floats(rng, 3, 3)))
def padded_window(x, k):
    """Zeros around an image by a guard over all taps; long enough to have an inside."""
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s = 0.0
            for di in range(3):
                for dj in range(3):
                    ii = i + di - 1
                    jj = j + dj - 1
                    if ii >= 0 and ii < x.shape[0] and jj >= 0 and jj < x.shape[1]:
                        s = s + x[ii, jj] * k[di, dj]
            y[i, j] = s
    return y


@case(lambda rng: (floats(rng, 19, 40), 1.5))
def wrapped_plane(a, rate):
    """Neighbours around a torus, in both directions, and those two places away."""
    h, w = a.shape
    c = output_tensor(a.shape, a.dtype)
    for i in range(h):
        for j in range(w):
            near = a[(i + 1) % h, j] + a[(i - 1) % h, j] + a[i, (j + 1) % w] + a[i, (j - 1) % w]
            c[i, j] = near - rate * a[(i + 2) % h, (j - 2) % w]
    return c


@case(lambda rng: (floats(rng, 50), floats(rng, 5)))
def strided_window_with_padding(x, k):
    """Windows that begin outside, two places apart; the last ones end outside."""
    n = x.shape[0]
    y = output_tensor(((n + 1) // 2,), x.dtype)
    for i in range((n + 1) // 2):
        best = x[2 * i]
        for t in range(5):
            at = 2 * i + t - 2
            if 0 <= at < n:
                best = max(best, x[at] * k[t])
        y[i] = best
    return y


@case(lambda rng: (floats(rng, 33),), mutates=(0,))
def ends_in_place(x):
    """Iterations that leave early at both ends, and others that read what was written."""
    n = x.shape[0]
    for i in range(n):
        if i < 2:
            continue
        if i >= n - 3:
            x[i] = 0.5
            continue
        x[i] = x[i - 2] + x[i + 3]
    return x


def held(v, low, high):
    return low if v < low else (high if v > high else v)


@case(lambda rng: (floats(rng, 6, 41),))
def clamped_by_a_helper(a):
    """A clamp by nested choices in a function of the user."""
    h, w = a.shape
    c = output_tensor(a.shape, a.dtype)
    for i in range(h):
        for j in range(w):
            c[i, j] = a[i, held(j + 1, 0, w - 1)] + a[i, held(j - 1, 0, w - 1)] - a[held(i, 1, h - 1), j]
    return c


@case(lambda rng: (floats(rng, 5, 70), 0.25, 0.75))
def limited_by_branches(a, low, high):
    """Lanes that take a branch for one value."""
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            v = a[i, j]
            if v < low:
                v = low
            elif v > high:
                v = high
                if v > 0.5:
                    v = v - 0.5
            c[i, j] = v
    return c
