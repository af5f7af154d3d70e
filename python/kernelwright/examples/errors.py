"""`make demo-errors`: ten mistakes that newcomers make, and what kernelwright says to each.

Every text is raised by a kernel of this file, nothing is canned.
"""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import kernelwright as kw

A = np.ones(4, np.float32)


@kw.kernel
def two_typing_errors(a):
    c = output_tensor(a.shape, a.dtype)
    top = maximum(a[0], a[1])
    for i in range(a.shape[0]):
        c[i] = sqr(a[i]) + top
    return c


@kw.kernel
def python_habits(a):
    c = output_tensor((1,), a.dtype)
    c[0] = sum(a)
    return c


@kw.kernel
def numpy_habits(a):
    c = output_tensor(a.shape, a.dtype)
    c[1:] = a[:-1]
    return c


@kw.kernel
def float_index(a):
    c = output_tensor((1,), a.dtype)
    c[0] = a[a.shape[0] / 2]
    return c


@kw.kernel
def too_bright(image):
    for i, j in grid(image.shape):
        image[i, j] = image[i, j] + 300
    return image


@kw.kernel
def two_dtypes(a, b):
    c = output_tensor((1,), b.dtype)
    s = a[0]
    for i in range(b.shape[0]):
        s = s + b[i]
    c[0] = s
    return c


@kw.kernel
def forgotten_input(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
        a[i] = 0.0
    return c


@kw.kernel
def one_step_too_far(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i + 1] - a[i]
    return c


def neighbours(a, i):
    return a[i - 1] + a[i + 1]


@kw.kernel
def far_inside_a_helper(a, n):
    c = output_tensor(a.shape, a.dtype)
    for i in range(1, n):
        c[i] = neighbours(a, i)
    return c


@kw.kernel
def missing_start_value(a):
    c = output_tensor((a.shape[0],), a.dtype)
    for i, j in grid(a.shape):
        c[i] += a[i, j]
    return c


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (two_typing_errors, (A,)),
    (python_habits, (A,)),
    (numpy_habits, (A,)),
    (float_index, (A,)),
    (too_bright, (np.zeros((2, 2), np.uint8),)),
    (two_dtypes, (A, A.astype(np.float64))),
    (forgotten_input, (A,)),
    (one_step_too_far, (A,)),
    (far_inside_a_helper, (A, 5)),
    (missing_start_value, (A.reshape(2, 2),)),
]


def outcome(kernel: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """What Python shows of the error or warning of a call, without the folder of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kernel(*args)
        except kw.errors.KernelError as e:
            text = "".join(traceback.format_exception_only(e))
        else:
            text = "\n".join(f"{w.category.__name__}: {w.message}" for w in caught)
    return text.replace(os.path.dirname(__file__) + os.sep, "").rstrip("\n")


def main() -> None:
    """Prints the ten."""
    for number, (kernel, args) in enumerate(CASES, 1):
        print(f"--- {number}. {kernel.__name__.replace('_', ' ')} ---\n{outcome(kernel, args)}\n")
    print("All codes, each with a failing and a mended kernel: python -m kernelwright.errors")


if __name__ == "__main__":
    main()
