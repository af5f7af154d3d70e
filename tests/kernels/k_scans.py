"""Recurrences: each element follows from the one that the iteration before has stored."""
# ruff: noqa: F821
# mypy: ignore-errors

from corpus import case, floats, ints


@case(lambda rng: (floats(rng, 40), 0.75))
def smoothed(x, keep):
    """Forwards, through the output."""
    out = output_tensor(x.shape, x.dtype)
    out[0] = x[0]
    for i in range(1, x.shape[0]):
        out[i] = keep * out[i - 1] + x[i]
    return out


@case(lambda rng: (floats(rng, 17),), mutates=(0,))
def sum_to_the_end(x):
    """Backwards, in place."""
    for i in range(x.shape[0] - 2, -1, -1):
        x[i] += x[i + 1]
    return x


@case(lambda rng: (ints(rng, 23),), mutates=(0,))
def every_other(x):
    """Two steps at once."""
    for i in range(2, x.shape[0], 2):
        x[i] = x[i - 2] * 3 - x[i]
    return x


@case(lambda rng: (floats(rng, 7, 9),))
def paths_of_a_grid(cost):
    """From the row above and the element before."""
    out = output_tensor(cost.shape, cost.dtype)
    out[0, 0] = cost[0, 0]
    for j in range(1, cost.shape[1]):
        out[0, j] = out[0, j - 1] + cost[0, j]
    for i in range(1, cost.shape[0]):
        out[i, 0] = out[i - 1, 0] + cost[i, 0]
        for j in range(1, cost.shape[1]):
            out[i, j] = min(out[i - 1, j], out[i, j - 1]) + cost[i, j]
    return out


@case(lambda rng: (floats(rng, 1),))
def a_scan_that_does_not_run(x):
    """No element before the first one is read."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        out[i] = x[i]
    for i in range(5, x.shape[0]):
        out[i] += out[i - 1]
    return out


@case(lambda rng: (floats(rng, 12), floats(rng, 5)))
def sum_into_one_element(x, y):
    """An element that every iteration reads and stores."""
    out = output_tensor(y.shape, y.dtype)
    for j in range(y.shape[0]):
        out[j] = y[j]
        for i in range(x.shape[0]):
            if x[i] > 0.0:
                out[j] = out[j] * 0.5 + x[i]
            else:
                out[j] = out[j] - x[i] * y[j]
    return out


@case(lambda rng: (floats(rng, 3),))
def temporary_of_one_iteration(x):
    """A temporary that each iteration gets anew, which no iteration before has stored to."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        t = allocate((1,), "float32")
        t[0] += x[i]
        out[i] = t[0]
    return out


def _near_the_ends(rng, *shape):
    """int32 close to both limits and to 0."""
    base = rng.choice([-(2**31), 0, 2**31 - 4], shape)
    return (base + rng.integers(0, 4, shape)).astype("int32")


@case(lambda rng: tuple(_near_the_ends(rng, 5, 7) for _ in range(3)), mutates=(2,))
def least_steps_that_wrap(straight, above, d):
    """A minimum from element to element, through memory, whose + 1 wraps."""
    for r in range(d.shape[0]):
        for j in range(1, d.shape[1]):
            d[r, j] = min(straight[r, j], min(above[r, j], d[r, j - 1]) + 1)
    return d


@case(lambda rng: (_near_the_ends(rng, 3, 19), _near_the_ends(rng, 19)))
def clamped_walks(low, moves):
    """Largest of smallest from element to element, by rows; the value decides what is stored besides."""
    out = output_tensor(low.shape, "int32")
    turns = output_tensor((low.shape[0],), "int64")
    for i in range(low.shape[0]):
        at = low[i, 0]
        turns[i] = 0
        for j in range(low.shape[1]):
            at = max(low[i, j], min(at - moves[j], moves[j] + 1))
            out[i, j] = at
            if at < 0:
                turns[i] += j
            if at == 2:
                at = min(at, moves[0])
    return out, turns


@case(lambda rng: (ints(rng, 6, 8, dtype="int64"), ints(rng, 8, dtype="uint32")))
def chains_of_other_integers(a, b):
    """64 bits and unsigned: a smallest value, kept from one iteration to the next."""
    out = output_tensor(a.shape, "int64")
    least = output_tensor(b.shape, "uint32")
    for i in range(a.shape[0]):
        best = a[i, 0]
        for j in range(a.shape[1]):
            best = min(best + 1, a[i, j])
            out[i, j] = best
    now = b[0]
    for j in range(b.shape[0]):
        now = min(now + uint32(1), b[j])
        least[j] = now
    return out, least
