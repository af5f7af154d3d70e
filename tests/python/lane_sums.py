"""Sums in lanes at random sizes: machine code with 1 to 3 threads against the interpreter, bit for bit.

`lane_sums.py SEED ROUNDS` prints what differs; a process has one target, so test_lane_sums.py starts several.
"""
# mypy: ignore-errors

import sys
import warnings

import numpy as np

import kernelwright as kw


def of_rows(x, y):
    s = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s[i] += x[i, j]
    return s


def of_all(x, y):
    s = output_tensor((2,), x.dtype)
    total = 0.5
    squares = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j]
            squares += x[i, j] * x[i, j]
    s[0] = total
    s[1] = squares
    return s


def of_three_loops(x, y):
    s = output_tensor((1,), x.dtype)
    total = 0.0
    for r in range(3):
        for i in range(x.shape[0]):
            c = y[r, 0]
            for j in range(x.shape[1]):
                total += x[i, j] * c
    s[0] = total
    return s


def of_some(x, y):
    s = output_tensor((1,), x.dtype)
    total = 0.25
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 0.125:
                total += x[i, j] * y[i, j]
    s[0] = total
    return s


def of_elements_reached(x, y):
    s = output_tensor((3,), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 1e30:
                s[1] += x[i, j]
            if y[i, j] > 0.0:
                s[2] *= y[i, j]
    return s


def of_steps(x, y):
    s = output_tensor((1,), x.dtype)
    total = 0.0
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(0, x.shape[1], 2):
            total -= x[i, j]
    s[0] = total
    return s


def of_one_loop(x, y):
    s = output_tensor((1,), x.dtype)
    total = 1.0
    for j in range(1, x.shape[1]):
        d = x[0, j] - y[0, j]
        total += d * d
    s[0] = total
    return s


def of_exponentials(x, y):
    s = output_tensor((1,), x.dtype)
    e = output_tensor((x.shape[1],), x.dtype)
    total = 0.0
    for j in range(x.shape[1]):
        e[j] = exp(x[0, j])
        total += e[j]
    s[0] = total
    return s, e


def of_functions(x, y):
    s = output_tensor((1,), "float64")
    total = float64(0.0)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += float64(sqrt(abs(x[i, j])) / (2.0 + abs(y[i, j])))
    s[0] = total
    return s


def of_columns_apart(x, y):
    s = output_tensor((1,), x.dtype)
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j, 0] * y[0, j % y.shape[1]] * y[j, 0]
    s[0] = total
    return s


def of_a_triangle(x, y):
    s = output_tensor((1,), x.dtype)
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i if i < x.shape[1] else x.shape[1]):
            total += x[i, j]
    s[0] = total
    return s


def of_guarded_rows(x, y):
    s = output_tensor((2,), x.dtype)
    for i in range(x.shape[0]):
        if y[i, 0] > 0.0:
            for j in range(x.shape[1]):
                s[0] += x[i, j]
    for i in range(x.shape[0] - 1, -1, -1):
        if y[i, 0] <= 0.0:
            for j in range(x.shape[1]):
                if y[i, j] > 0.25:
                    s[1] += x[i, j] * y[i, j]
    return s


def of_long_steps(x, y):
    s = output_tensor((2,), x.dtype)
    for i in range(x.shape[0]):
        for _k in range(0 - 2**62, 2**62, 2**55):
            s[0] += x[i, 0] * 0.5
        for _k in range(2**62, 0 - 2**62, 0 - 3 * 2**54):
            s[1] += x[i, 0]
    return s


def of_a_loop_that_may_not_run(x, y):
    s = output_tensor((1,), x.dtype)
    n = x.shape[1] if x[0, 0] > 0.5 else 2**61
    total = 0.0
    if x[0, 0] > 0.5:
        for j in range(n):
            total += x[0, j % x.shape[1]]
    s[0] = total
    return s


KERNELS = [f for name, f in list(globals().items()) if name.startswith("of_")]
SHAPES = [(1, 63), (1, 64), (1, 4096), (2, 4096), (1, 12289), (64, 64), (3, 1), (5, 0), (70, 63), (9, 1000)]


def drawn(rng, number):
    if number < len(SHAPES):
        return SHAPES[number]
    rows = int(rng.choice([1, 2, 3, 17, 64, 65, 100]))
    return rows, int(rng.integers(1, max(2, int(rng.choice([130, 5000, 25000])) // rows)))


WAYS = (("interp", 1), ("", 1), ("", 2), ("", 3))


def ran(f, x, y, words, threads):
    """The bits of the results, NaNs as one, or the words of the error."""
    kw.set_threads(threads)
    with kw.debug(f"cache=off; {words}"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            got = kw.kernel(f)(x, y)
        except kw.errors.KernelIndexError as error:
            return str(error)
    return [np.where(np.isnan(a), np.nan, a).tobytes() for a in (got if isinstance(got, tuple) else (got,))]


def main(seed, rounds):
    rng = np.random.default_rng(seed)
    failures = 0
    for number in range(rounds):
        n, m = drawn(rng, number)
        dtype = ("float32", "float64", "float16")[int(rng.integers(0, 5)) % 3 if number % 2 else 0]
        x, y = (rng.standard_normal((n, m)).astype(dtype) for _ in range(2))
        if number % 5 == 4:
            x, y = np.asfortranarray(x), y[::-1]
        y = y if n >= 3 and m else np.ones((max(n, 3), max(m, 1)), dtype)
        for f in (
            [KERNELS[(number + k) % len(KERNELS)] for k in range(4)] if number >= len(SHAPES) else KERNELS
        ):
            results = [ran(f, x, y, words, threads) for words, threads in WAYS]
            if any(r != results[0] for r in results):
                print(f"{f.__name__} of {dtype}[{n}, {m}], seed {seed}, round {number}")
                failures += 1
    print(f"{rounds} rounds, {failures} differ")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
