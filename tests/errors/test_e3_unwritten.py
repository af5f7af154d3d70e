"""W301 and E310: elements that are read before anything wrote them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from diagnostics import Check, calls, warned

import kernelwright as kw
from kernelwright import KernelIndexError, UninitializedReadWarning

F32 = np.ones(4, np.float32)
I64 = np.arange(4)
debug = kw.kernel(debug=True)


@kw.kernel
def scales_nothing(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] *= a[i]
    return c


@kw.kernel
def reads_a_temporary(a):
    t = allocate(a.shape, a.dtype)
    for i in range(a.shape[0]):
        a[i] = t[i]
    return a


@kw.kernel
def finds_the_greatest(a):
    most = np.empty(1, a.dtype)
    for i in range(a.shape[0]):
        most[0] = max(most[0], a[i])
    return most


TOLD = """
    FILE:@5:{}: warning[W301]: '{}' may be read here before it is written
       @5 |         {}
          |         {}
          = note: unwritten elements are zero
          = help: write '{}' first; where zero is meant, say so: `{} = np.zeros(...)`
    """


def test_w301_uninitialized_read() -> None:
    """Warned once for a kernel, whatever is called later; as an error it stops the call."""
    scaled = TOLD.format(9, "c", "c[i] *= a[i]", "^~~~", "c", "c")
    warned(scales_nothing, (F32,), UninitializedReadWarning, scaled)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert scales_nothing(F32[:2]).tolist() == [0.0, 0.0]
        assert scales_nothing(I64).tolist() == [0, 0, 0, 0]
        with pytest.raises(UninitializedReadWarning, match=r"W301"):
            reads_a_temporary(F32.copy())
    again = kw.kernel(reads_a_temporary.__wrapped__)
    copied = TOLD.format(16, "t", "a[i] = t[i]", "       ^~~~", "t", "t")
    warned(again, (F32.copy(),), UninitializedReadWarning, copied)
    found = TOLD.format(23, "most", "most[0] = max(most[0], a[i])", " " * 14 + "^~~~~~~", "most", "most")
    warned(finds_the_greatest, (F32,), UninitializedReadWarning, found)


SILENT = [
    "c[i] += a[i]",
    "c[i] -= a[i]",
    "c[i] |= a[i]",
    "c[i] ^= a[i]",
    "c[i] = c[i] + a[i]",
    "c[i] = a[i] + c[i]",
    "c[i] = c[i] - a[i]",
    "c[i] = c[i] | a[i]",
    "c[i] = a[i] ^ c[i]",
    "c[i] = c[i] + a[i] - 2",
]
SPOKEN = [
    "c[i] *= a[i]",
    "c[i] /= a[i]",
    "c[i] //= a[i]",
    "c[i] %= a[i]",
    "c[i] &= a[i]",
    "c[i] <<= a[i]",
    "c[i] = c[i]",
    "c[i] = a[i] - c[i]",
    "c[i] = c[i] * 2 + a[i]",
    "c[i] = c[i - 1] + a[i] if i > 0 else 0",
    "c[i] = min(c[i], a[i])",
    "c[i] = max(a[i], c[i])",
    "c[i] = a[i] if c[i] == 0 else 1",
]
BUFFERS = {
    "output": ("output_tensor((4,), 'int64')", "return a, c"),
    "temporary": ("allocate((4,), 'int64')", "return a"),
    "empty": ("np.empty(4, 'int64')", "return a, c"),
    "empty temporary": ("np.empty_like(a)", "return a"),
    "zeros": ("np.zeros(4, 'int64')", "return a, c"),
    "zeros as a temporary": ("np.zeros_like(a)", "return a"),
    "ones": ("np.ones(4, dtype='int64')", "return a, c"),
    "full": ("np.full((4,), 3)", "return a, c"),
}


@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("statement", [*SILENT, *SPOKEN])
def test_reads_that_mean_to_start_from_zero_are_not_told(statement: str, buffer: str) -> None:
    made, returned = BUFFERS[buffer]
    text = f"def k(a):\n    c = {made}\n    for i in range(4):\n        {statement}\n        a[i] = c[i]\n"
    kernel = kw.kernel(f"{text}    {returned}\n", scope={"np": np})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel(np.arange(1, 5))
    filled = buffer.startswith(("zeros", "ones", "full"))
    assert len(caught) == (statement in SPOKEN and not filled)
    assert all(w.category is UninitializedReadWarning for w in caught)


@debug
def sums_without_a_start(a):
    c = np.empty((a.shape[0],), a.dtype)
    for i, j in grid(a.shape):
        if j > 0:
            c[i] += a[i, j]
        elif i < 1:
            c[i] = a[i, j]
    return c


@debug
def reads_the_row_above(a):
    c = np.empty_like(a)
    for i, j in grid(a.shape):
        c[i, j] = (c[i, j - 1] if j > 0 else a[i, j]) + (c[i, j + 1] if i + j == 2 else 0.0)
    return c


@debug
def reads_a_scratch_cube(a):
    t = np.empty((2, 2, a.shape[0]), a.dtype)
    t[0, 0, 0] = a[0]
    while t[1, 0, 1] > 0.0:
        t[0, 0, 1] = a[0]
    return a


@debug
def reads_one_number(a):
    c = np.empty((), a.dtype)
    c[()] += a[0]
    return c


FIRST_READS = [
    (
        sums_without_a_start,
        (np.ones((2, 2)),),
        """
        FILE:@6:13: error[E310]: element 1 of 'c' is read before it is written
           @6 |             c[i] += a[i, j]
              |             ^~~~
              = note: without debug=True it is 0
        """,
    ),
    (
        reads_the_row_above,
        (np.ones((3, 4)),),
        """
        FILE:@5:58: error[E310]: element [0, 3] of 'c' is read before it is written
           @5 |         c[i, j] = (c[i, j - 1] if j > 0 else a[i, j]) + (c[i, j + 1] if i + j == 2 else 0.0)
              |                                                          ^~~~~~~~~~~
              = note: without debug=True it is 0
        """,
    ),
    (
        reads_a_scratch_cube,
        (np.ones(3),),
        """
        FILE:@5:11: error[E310]: element 7 (row by row) of 't' is read before it is written
           @5 |     while t[1, 0, 1] > 0.0:
              |           ^~~~~~~~~~
              = note: without debug=True it is 0
        """,
    ),
    (
        reads_one_number,
        (np.ones(3),),
        """
        FILE:@4:5: error[E310]: 'c' is read before it is written
           @4 |     c[()] += a[0]
              |     ^~~~~
              = note: without debug=True it is 0
        """,
    ),
]


@pytest.mark.filterwarnings("ignore::kernelwright.UninitializedReadWarning")
@pytest.mark.parametrize("case", [calls(k, a, KernelIndexError, text) for k, a, text in FIRST_READS])
def test_e310_first_read(case: Check) -> None:
    case()


def reads_ahead(buffer: str) -> Any:
    text = f"""\
def k(a):
    c = {buffer}
    for i in range(4):
        if i < 3:
            a[i] = c[i + 1] + 1
        c[i] += a[i]
    return a, c
"""
    return kw.kernel(text, scope={"np": np}, debug=True)


@pytest.mark.filterwarnings("ignore::kernelwright.UninitializedReadWarning")
@pytest.mark.parametrize(
    "buffer", ["output_tensor(a.shape, a.dtype)", "np.zeros(4, a.dtype)", "np.zeros_like(a)"]
)
def test_zeros_of_other_buffers_are_read_in_debug_mode_too(buffer: str) -> None:
    a, c = reads_ahead(buffer)(np.full(4, 5.0))
    assert (a.tolist(), c.tolist()) == ([1.0, 1.0, 1.0, 5.0], [1.0, 1.0, 1.0, 5.0])
    with pytest.raises(KernelIndexError, match=r"E310\]: element 1 of 'c' is read before it is written"):
        reads_ahead("np.empty_like(a)")(np.full(4, 5.0))


@debug
def reads_a_cleared_temporary(a):
    t = allocate(a.shape, a.dtype)
    for i in range(a.shape[0]):
        t[i] += a[i] + t[0]
        a[i] = t[i]
    return a


@pytest.mark.filterwarnings("ignore::kernelwright.UninitializedReadWarning")
def test_the_zeros_of_a_temporary_are_read_in_debug_mode_too() -> None:
    assert reads_a_cleared_temporary(np.ones(3)).tolist() == [1.0, 2.0, 2.0]


def test_debug_still_warns_of_first_reads() -> None:
    @debug
    def scales(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0] - 9):
            c[i] *= a[i]
        return c

    warned(
        scales,
        (F32,),
        UninitializedReadWarning,
        """
        FILE:@5:13: warning[W301]: 'c' may be read here before it is written
           @5 |             c[i] *= a[i]
              |             ^~~~
              = note: unwritten elements are zero
              = help: write 'c' first; where zero is meant, say so: `c = np.zeros(...)`
        """,
    )
