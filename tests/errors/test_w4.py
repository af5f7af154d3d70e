"""W401 to W405: hints whose claim is false or could not be proved; their texts are in cases/w40*.txt."""

from __future__ import annotations

import numpy as np
import pytest
from diagnostics import CASES, warned

import kernelwright as kw
from kernelwright import HintIgnoredWarning

F32 = np.ones(4, np.float32)
I64 = np.arange(4)


@kw.kernel
def factorises(a):
    n = a.shape[0]
    for k in parallel(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


@kw.kernel
def keeps_the_last(a):
    c = output_tensor((1,), a.dtype)
    for i in parallel(a.shape[0]):
        c[0] = a[i]
    return c


@kw.kernel
def shifts(a):
    for i in parallel(a.shape[0] - 2, 0, -1):
        a[i] = a[i - 1]
    return a


@kw.kernel
def below(a, p):
    for t in range(3):
        for i in parallel(a.shape[0]):
            if i > p and p >= t:
                a[i] += a[i - p - 1]
    return a


@kw.kernel
def positive(a):
    c = output_tensor(a.shape, a.dtype)
    for i in parallel(a.shape[0] - 1):
        if a[i] > 0:
            c[i] = 1.0
            c[i + 1] = 2.0
    return c


@kw.kernel
def shares_a_temporary(a):
    t = allocate((2,), a.dtype)
    for i in parallel(a.shape[0]):
        t[0] = a[i]
        t[1] = 2.0 * a[i]
        a[i] = t[0] + t[1]
    return a


@kw.kernel
def carries_a_scalar(a):
    last = float32(0.0)
    for i in parallel(a.shape[0]):
        now = a[i]
        a[i] = now - last
        last = now
    return a


@kw.kernel
def leaves(a):
    for i in parallel(a.shape[0]):
        if a[i] > 3:
            break
        a[i] = 0.0
    return a


@kw.kernel
def not_a_sum(a):
    s = float32(0.0)
    for i in reduce(a.shape[0]):
        s += a[i]
        a[i] = s
    return a


@kw.kernel
def running_sum(a):
    for i in range(a.shape[0]):
        for j in vectorize(1, a.shape[1]):
            a[i, j] = a[i, j] + a[i, j - 1]
    return a


@kw.kernel
def inlines(a):
    for i in parallel(a.shape[0]):
        smooth(a, i)
    return a


def smooth(x, i):
    for j in vectorize(1, x.shape[1]):
        x[i, j] += x[i, j - 1]


@kw.kernel
def scatters(x, idx):
    y = output_tensor(x.shape, x.dtype)
    for i in parallel(x.shape[0]):
        for j in range(2):
            y[idx[i]] = x[i] + j
    return y


@kw.kernel
def histogram(x):
    n = output_tensor((4,), "int32")
    for j in range(4):
        n[j] = 0
    for i in vectorize(x.shape[0]):
        k = x[i]
        n[k] += 1
    return n


@kw.kernel
def dots(a, b):
    c = output_tensor((1,), a.dtype)
    s = float32(0.0)
    for i in range(a.shape[0]):
        for j in parallel(i):
            s += a[j] * b[i]
    c[0] = s
    return c


@kw.kernel
def finds_the_largest(a):
    c = output_tensor((2,), a.dtype)
    best = a[0]
    at = 0
    for i in parallel(1, a.shape[0]):
        if a[i] > best:
            best = a[i]
            at = i
    c[0] = best
    c[1] = at
    return c


@kw.kernel
def follows(a, p):
    for i in parallel(a.shape[0]):
        a[i] = a[p[i]]
    return a


@kw.kernel
def squares(a):
    for i in parallel(2):
        a[i * i] = 0.0
    return a


@kw.kernel
def far(a, p):
    for i in parallel(a.shape[0]):
        if i >= p and p > 4000000000:
            a[i] = a[i - p]
    return a


def check(kernel: kw.Kernel, code: str, *args: object) -> None:
    """The call warns once with the text that stands under the kernel's name in the file of the code."""
    blocks = (CASES / f"{code}.txt").read_text().split("## ")
    named = {block.split("\n", 1)[0]: block.split("\n", 1)[1] for block in blocks if block}
    text = named[kernel.__name__]
    assert f": warning[{code.upper()}]: " in text
    fresh = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    warned(kernel, fresh, HintIgnoredWarning, text)


SQUARE = np.eye(4, dtype=np.float32)


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        (factorises, (SQUARE,)),
        (keeps_the_last, (F32,)),
        (shifts, (F32,)),
        (below, (F32, 1)),
        (positive, (F32,)),
        (shares_a_temporary, (F32,)),
        (carries_a_scalar, (F32,)),
        (leaves, (F32,)),
        (not_a_sum, (F32,)),
    ],
)
def test_w401_dependent_iterations(kernel: kw.Kernel, args: tuple[object, ...]) -> None:
    check(kernel, "w401", *args)


@pytest.mark.parametrize("kernel", [running_sum, inlines])
def test_w402_dependent_lanes(kernel: kw.Kernel) -> None:
    check(kernel, "w402", SQUARE)


def test_w403_repeated_index() -> None:
    check(scatters, "w403", F32, I64)
    check(histogram, "w403", I64)


def test_w404_ordered_reduction() -> None:
    check(dots, "w404", F32, F32)
    check(finds_the_largest, "w404", F32)


def test_w405_unproved() -> None:
    check(follows, "w405", F32, I64)
    check(squares, "w405", F32)
    check(far, "w405", F32, 3)
