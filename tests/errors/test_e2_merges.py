"""E210 to E216: merged types, tensor names, index types, truth values, constants and dtypes."""

from __future__ import annotations

import numpy as np
import pytest
from diagnostics import Check, calls, texts

import kernelwright as kw
from kernelwright import KernelTypeError

F32 = np.ones(4, np.float32)
F64 = np.ones(4)
I32 = np.ones(4, np.int32)


@kw.kernel
def sums_wider(a, b):
    x = a[0]
    for i in range(b.shape[0]):
        x += b[i]
    a[0] = 1
    return a


@kw.kernel
def widens_argument(a, x):
    if a[0] > 0:
        x = a[0]
    a[0] = x
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            widens_argument,
            (I32, np.float64(2)),
            KernelTypeError,
            """
            FILE:@5:12: error[E210]: 'x' is int32 on one path and float64 on the other
               @5 |     a[0] = x
                  |            ^
                  = note: 'x' is int32 from line @4, and float64 from line @2
                  = help: give both the same dtype, e.g. start from float64(...)
            """,
        ),
        calls(
            sums_wider,
            (I32, F64),
            KernelTypeError,
            """
            FILE:@5:9: error[E210]: 'x' is int32 on one path and float64 on the other
               @5 |         x += b[i]
                  |         ^
                  = note: 'x' is int32 from line @3, and float64 from line @5
                  = help: give both the same dtype, e.g. start from float64(...)
            """,
        ),
        *texts("E210"),
    ],
)
def test_e210_merge(case: Check) -> None:
    case()


CLASH = "'x' is a Python float on one path and int32 on the other, which cannot hold it"


@kw.kernel
def starts_whole(a):
    if a[0] > 0:
        x = a[0]
    else:
        x = 0.5
    a[0] = x
    return a


@kw.kernel
def halves_argument(a, x):
    if a[0] > 5:
        x = 0.5
    a[0] = x
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            halves_argument,
            (F32, np.int32(2)),
            KernelTypeError,
            f"""
            FILE:@5:12: error[E211]: {CLASH}
               @5 |     a[0] = x
                  |            ^
                  = note: 'x' is a Python float from line @4, and int32 from line @2
                  = help: start from float64(...)
            """,
        ),
        calls(
            starts_whole,
            (I32,),
            KernelTypeError,
            f"""
            FILE:@7:12: error[E211]: {CLASH}
               @7 |     a[0] = x
                  |            ^
                  = note: 'x' is int32 from line @4, and a Python float from line @6
                  = help: start from float64(...)
            """,
        ),
        *texts("E211"),
    ],
)
def test_e211_weak_merge(case: Check) -> None:
    case()


@kw.kernel
def rebinds(a):
    a = 3
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            rebinds,
            (F32,),
            KernelTypeError,
            """
            FILE:@3:5: error[E212]: 'a' names a tensor and cannot be rebound
               @3 |     a = 3
                  |     ^
                  = help: use another name, or write its elements
            """,
        ),
        *texts("E212"),
    ],
)
def test_e212_rebound(case: Check) -> None:
    case()


@kw.kernel
def indexes_by_floats(a, b):
    a[0] = a[b[0]]
    return a


@kw.kernel
def sizes_by(a, n):
    c = output_tensor((n,), a.dtype)
    return c


@pytest.mark.parametrize(
    "case",
    [
        calls(
            indexes_by_floats,
            (F32, F64),
            KernelTypeError,
            """
            FILE:@3:14: error[E213]: an index is float64, not an integer
               @3 |     a[0] = a[b[0]]
                  |              ^~~~
                  = help: convert it: `int64(...)`
            """,
        ),
        calls(
            sizes_by,
            (F32, 2.5),
            KernelTypeError,
            """
            FILE:@3:24: error[E213]: an extent is a Python float, not an integer
               @3 |     c = output_tensor((n,), a.dtype)
                  |                        ^
                  = help: compute it with `//`, or pass it as an integer argument
            """,
            id="size by a float",
        ),
        calls(
            sizes_by,
            (F32, True),
            KernelTypeError,
            """
            FILE:@3:24: error[E213]: an extent is a Python bool, not an integer
               @3 |     c = output_tensor((n,), a.dtype)
                  |                        ^
            """,
            id="size by a bool",
        ),
        *texts("E213"),
    ],
)
def test_e213_index_type(case: Check) -> None:
    case()


TRUTH = "the result of `and`/`or` over numbers is used as a value; it is only a truth value here"


@kw.kernel
def takes_the_first(a):
    a[0] = a[0] or 1.0
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            takes_the_first,
            (F32,),
            KernelTypeError,
            f"""
            FILE:@3:12: error[E214]: {TRUTH}
               @3 |     a[0] = a[0] or 1.0
                  |            ^~~~~~~~~~~
                  = help: write `x if x else y` for `x or y`
            """,
        ),
        *texts("E214"),
    ],
)
def test_e214_truth_value(case: Check) -> None:
    case()


huge = 2**64


@kw.kernel
def adds_huge(a):
    a[0] = a[0] + huge
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            adds_huge,
            (F32,),
            KernelTypeError,
            """
            FILE:@3:19: error[E215]: the captured constant 'huge' does not fit into 64 bits
               @3 |     a[0] = a[0] + huge
                  |                   ^~~~
                  = help: use a float, a smaller constant, or `uint64(...)` arithmetic, which wraps at 2**64
            """,
        ),
        *texts("E215"),
    ],
)
def test_e215_wide_constant(case: Check) -> None:
    case()


kind = "float31"


@kw.kernel
def makes_kind(a):
    c = output_tensor(a.shape, kind)
    return c


@pytest.mark.parametrize(
    "case",
    [
        calls(
            makes_kind,
            (F32,),
            KernelTypeError,
            """
            FILE:@3:32: error[E216]: 'float31' is no dtype
               @3 |     c = output_tensor(a.shape, kind)
                  |                                ^~~~
                  = help: use `a.dtype`, a name like float32, or a string like "float32"
            """,
        ),
        *texts("E216"),
    ],
)
def test_e216_dtype(case: Check) -> None:
    case()
