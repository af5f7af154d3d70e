"""While loops, break and continue: what they leave behind, and what they must not claim."""
# ruff: noqa: F821
# mypy: ignore-errors

import numpy as np

from corpus import case, floats, ints


@case(lambda rng: (np.abs(floats(rng, 9, dtype="float64")) + 0.1,))
def newton_root(x):
    """A while over two scalars that change each other."""
    out = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y = x[i]
        step = y
        while step * step > 1e-20:
            step = (y - x[i] / y) * 0.5
            y = y - step
        out[i] = y
    return out


@case(lambda rng: (ints(rng, 12, low=0, high=3),))
def while_reads_its_condition(x):
    """The condition indexes by what the body changes, and is guarded by its left side."""
    out = output_tensor((2,), "int64")
    k = 0
    while k < x.shape[0] and x[k] < 2:
        k += 1
    out[0] = k
    k = x.shape[0] - 1
    while k >= 0 and x[k] != 1:
        k -= 1
    out[1] = k
    return out


@case(lambda rng: (ints(rng, 20, low=-4, high=5),))
def condition_before_a_continue(x):
    """`continue` goes to the condition, which reads an element each time."""
    out = output_tensor((3,), "int64")
    k = 0
    total = 0
    skipped = 0
    while x[k] + x[k + 1] < 100 and k < 17:
        k += 1
        if x[k] < 0:
            skipped += 1
            continue
        total += k
    out[0] = k
    out[1] = total
    out[2] = skipped
    return out


@case(lambda rng: (floats(rng, 7, 9),))
def first_positive_of_rows(x):
    """`break` leaves the inner loop only; the default is overwritten where it is taken."""
    out = output_tensor((x.shape[0],), "int64")
    for i in range(x.shape[0]):
        out[i] = -1
        for j in range(x.shape[1]):
            if x[i, j] > 1.0:
                out[i] = j
                break
    return out


@case(lambda rng: (floats(rng, 6, 5, 4),))
def break_leaves_the_grid(x):
    """One `break` ends all loops of a grid; `continue` goes to the next point."""
    seen = output_tensor(x.shape, "int32")
    for i, j, k in grid(x.shape):
        if x[i, j, k] < 0.0:
            continue
        seen[i, j, k] = 1
        if i * j + k == 7:
            break
    return seen


@case(lambda rng: (floats(rng, 30),))
def unwritten_behind_continue(x):
    """Elements that an early end leaves unwritten are zero."""
    out = output_tensor((2, x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        if x[i] < 0.0:
            continue
        out[0, i] = x[i]
    for i in range(x.shape[0]):
        out[1, i] = x[i] + 1.0
        if x[i] > 2.5:
            break
    return out


@case(lambda rng: (floats(rng, 30),))
def earlier_iterations_behind_jumps(x):
    """What an iteration that ended early wrote is read by later ones, and what it left out too."""
    out = output_tensor(x.shape, x.dtype)
    t = allocate(x.shape, x.dtype)
    for i in range(x.shape[0]):
        t[i] = x[i]
        if x[i] < -1.0:
            t[i] = -1.0
            continue
        out[i] = t[max(i - 1, 0)] * 2.0
    return out


@case(lambda rng: (floats(rng, 40, dtype="float32"), floats(rng, 40, dtype="float64")))
def types_that_meet_behind_a_break(x, y):
    """A Python number before the loop and a strong one at the break: the merge is behind the loop."""
    out = output_tensor((5,), "float64")
    found = 0
    for i in range(x.shape[0]):
        if x[i] > 2.0:
            found = x[i]
            break
    out[0] = found
    last = -1
    for i in range(y.shape[0]):
        if y[i] > 100.0:
            last = y[i]
            break
    out[1] = last
    for i in range(3):
        kept = 0
        while i < 2:
            kept = 2.5
            break
        out[i + 2] = kept
    return out


@case(lambda rng: (ints(rng, 10, low=1, high=60, dtype="int64"),))
def assigned_on_the_only_way_out(x):
    """`while True` is left by its break alone, so what stands before the break is assigned."""
    out = output_tensor((2, x.shape[0]), "int64")
    for i in range(x.shape[0]):
        n = x[i]
        steps = 0
        while True:
            steps += 1
            half = n // 2
            if half < 2:
                rest = n - half
                break
            n = half
        out[0, i] = half + rest
        out[1, i] = steps
    return out


@case(lambda rng: (ints(rng, 25, low=0, high=9),))
def branches_that_end_early(x):
    """Names assigned on the one path that goes on, or on all of them that do."""
    out = output_tensor(x.shape, "int32")
    for i in range(x.shape[0]):
        if x[i] == 0:
            continue
        elif x[i] < 4:
            scale = 10
        else:
            if x[i] == 8:
                break
            scale = 100
            only = x[i]
            if only == 7:
                out[i] = only
                continue
        if x[i] == 5:
            continue
            out[i] = undefined_name
        else:
            shift = i
        out[i] = scale * x[i] + shift
    return out


@case(lambda rng: (floats(rng, 5, 70), floats(rng, 5, 70)))
def sums_around_jumps(x, y):
    """Sums in while loops, in loops that end early, and beside them."""
    out = output_tensor((x.shape[0], 4), x.dtype)
    for i in range(x.shape[0]):
        j = 0
        while j < x.shape[1]:
            out[i, 0] += x[i, j]
            j += 1
        for j in range(x.shape[1]):
            if y[i, j] > 0.5:
                continue
            out[i, 1] += x[i, j] * y[i, j]
        for j in range(x.shape[1]):
            out[i, 2] += y[i, j]
            if out[i, 2] > 5.0:
                break
        if y[i, 0] > 1.0:
            continue
        for j in range(x.shape[1]):
            out[i, 3] += x[i, j]
    return out


@case(lambda rng: (ints(rng, 15, low=0, high=50),))
def insertion_sort(x):
    """A while that walks down with a short-circuit bound, over a temporary."""
    n = x.shape[0]
    out = output_tensor((n,), x.dtype)
    for i in range(n):
        out[i] = x[i]
    for i in range(1, n):
        key = out[i]
        j = i - 1
        while j >= 0 and out[j] > key:
            out[j + 1] = out[j]
            j -= 1
        out[j + 1] = key
    return out


@case(lambda rng: (ints(rng, 64, low=0, high=100),), warns=("W301",))
def sieve_by_whiles(x):
    """Nested whiles with a data-dependent stride and a continue in each."""
    n = x.shape[0]
    marks = output_tensor((n,), "int32")
    p = 1
    while p + 1 < n:
        p += 1
        if marks[p] != 0:
            continue
        m = p * p
        while m < n:
            m += p
            if (m - p) % 2 == 0 and p > 2:
                continue
            marks[m - p] = p
    return marks
