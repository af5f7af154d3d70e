"""Loops of few iterations around long ones, by more threads than the outer loop has iterations.

`few_rows.py` prints what differs from one thread; test_few_rows.py lets threads share loops of any length.
"""
# mypy: ignore-errors

import sys

import numpy as np

import kernelwright as kw


def of_rows(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * 2.0 + i
    return y


def of_rows_in_place(x):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] * x[i, j] + 1.0
    return x


def of_inner_rows(x):
    y = output_tensor((x.shape[0], x.shape[1] - 2), x.dtype)
    for i in range(x.shape[0]):
        shift = x[i, 0] * 0.5
        for j in range(1, x.shape[1] - 1):
            y[i, j - 1] = x[i, j - 1] + x[i, j + 1] - shift
    return y


def of_rows_backwards(x):
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(x.shape[1] - 1, -1, -3):
            x[i, j] = x[i, j] * x[i, j] - j
    return x


def of_sums(x):
    y = output_tensor((2, x.shape[1]), x.dtype)
    for i in range(2):
        for j in range(x.shape[1]):
            s = 0.0
            for k in range(x.shape[0]):
                s += x[k, j] * (i + 1)
            y[i, j] = s
    return y


def of_turned_rows(x):
    y = output_tensor((x.shape[1], x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j, i] = x[i, j]
    return y


def of_lengths(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            t = x[i, j]
            while t > 0.25:
                t = t * 0.5
            y[i, j] = t
    return y


def of_three_loops(x):
    y = output_tensor((3, x.shape[0], x.shape[1]), x.dtype)
    for p in range(3):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[p, i, j] = x[i, j] + p
    return y


def main():
    rng = np.random.default_rng(5)
    failures = 0
    for f in [f for name, f in list(globals().items()) if name.startswith("of_")]:
        k = kw.kernel(f)
        for shape in [
            (0, 5),
            (1, 3),
            (1, 64),
            (1, 1000),
            (2, 7),
            (3, 640),
            (5, 129),
            (7, 3),
            (40, 70),
            (3, 33000),
        ]:
            for dtype in ("float32", "float64"):
                x = rng.standard_normal(shape).astype(dtype)
                wanted = None
                for threads in (1, 2, 3, 8, 16):
                    kw.set_threads(threads)
                    got = k(x.copy())
                    wanted = got if wanted is None else wanted
                    if got.tobytes() != wanted.tobytes():
                        print(f"{f.__name__} of {dtype}{shape}, {threads} threads")
                        failures += 1
                    turned = np.ascontiguousarray(x[:, ::-1])[:, ::-1]
                    if k(turned).tobytes() != wanted.tobytes():
                        print(f"{f.__name__} of {dtype}{shape} backwards, {threads} threads")
                        failures += 1
                with kw.debug("cache=off; interp"):
                    if x.size < 3000 and k(x.copy()).tobytes() != wanted.tobytes():
                        print(f"{f.__name__} of {dtype}{shape}, interpreter")
                        failures += 1
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
