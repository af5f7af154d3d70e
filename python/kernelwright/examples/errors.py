"""`make demo-errors`: ten mistakes that newcomers make, and what kernelwright says to each.

Every text is raised by a kernel of `mistakes`, nothing is canned.
"""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import kernelwright as kw

from . import mistakes

A = np.ones(4, np.float32)
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (mistakes.two_typing_errors, (A,)),
    (mistakes.python_habits, (A,)),
    (mistakes.numpy_habits, (A,)),
    (mistakes.float_index, (A,)),
    (mistakes.too_bright, (np.zeros((2, 2), np.uint8),)),
    (mistakes.two_dtypes, (A.astype(np.int32), A.astype(np.float64))),
    (mistakes.forgotten_input, (A,)),
    (mistakes.one_step_too_far, (A,)),
    (mistakes.far_inside_a_helper, (A, 5)),
    (mistakes.missing_start_value, (A.reshape(2, 2),)),
]


def outcome(kernel: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Returns what Python shows of the error or warning of a call, without the folder of this file."""
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
    """Prints all ten."""
    for number, (kernel, args) in enumerate(CASES, 1):
        print(f"--- {number}. {kernel.__name__.replace('_', ' ')} ---\n{outcome(kernel, args)}\n")
    print("All codes, each with a failing and a mended kernel: python -m kernelwright.errors")


if __name__ == "__main__":
    main()
