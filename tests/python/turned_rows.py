"""Run by test_turned_rows.py: prints "right"."""

# mypy: ignore-errors

import numpy as np

import kernelwright as kw


def turn(a):
    c = output_tensor((a.shape[1], a.shape[0]), a.dtype)
    for i in range(a.shape[1]):
        for j in range(a.shape[0]):
            c[i, j] = a[j, i]
    return c


def turn_by_rows(a):
    c = output_tensor((a.shape[1], a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[j, i] = a[i, j]
    return c


def channels_last(a):
    c = output_tensor((a.shape[1], a.shape[2], a.shape[0]), a.dtype)
    for h in range(a.shape[1]):
        for w in range(a.shape[2]):
            for k in range(a.shape[0]):
                c[h, w, k] = a[k, h, w] + a[k, h, w]
    return c


def sums(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        total = a[i, 0] * 0
        for j in range(a.shape[1]):
            total = total + a[i, j]
            c[i, j] = total
    return c


def within(shape, dtype):
    memory = np.full([n + 2 for n in shape], 77, dtype)
    return memory, memory[tuple(slice(1, -1) for _ in shape)]


def check(kernel, a, want):
    memory, out = within(want.shape, want.dtype)
    kernel(a, out=out)
    assert (out == want).all(), (kernel, a.shape, a.dtype)
    out[...] = 77
    assert (memory == 77).all(), ("beside", kernel, a.shape, a.dtype)


turn, turn_by_rows, channels_last, sums = map(kw.kernel, (turn, turn_by_rows, channels_last, sums))
for dtype in (np.float32, np.float64, np.int32, np.int64, np.int16):
    for m in (1, 3, 8, 15, 16, 17, 28, 33, 40):
        for n in (1, 2, 7, 8, 9, 15, 16, 23, 24, 31, 32, 33, 56, 63, 65):
            a = np.arange(m * n).reshape(m, n).astype(dtype)
            check(turn, a, a.T)
            check(turn_by_rows, a, a.T)
            check(sums, a, np.cumsum(a, axis=1, dtype=dtype))
            if n < 33:
                b = np.arange(m * 2 * n).reshape(m, 2, n).astype(dtype)
                check(channels_last, b, 2 * b.transpose(1, 2, 0))
    for m, n in ((255, 257), (256, 16), (257, 33), (513, 8), (17, 600)):  # beyond one block
        a = np.arange(m * n).reshape(m, n).astype(dtype)
        for kernel in (turn, turn_by_rows):
            check(kernel, a, a.T), check(kernel, a.T, a)
print("right")
