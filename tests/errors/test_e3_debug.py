"""E306 to E309, E311, E312: what debug=True makes of values where kernels differ from CPython."""

from __future__ import annotations

import numpy as np
import pytest
from diagnostics import Check, calls

import kernelwright as kw
from kernelwright import KernelOverflowError, KernelValueError, KernelZeroDivisionError

F32 = np.ones(3, np.float32)
I8 = np.array([1, 2, 3], np.int8)
U64 = np.array([2**64 - 1], np.uint64)
debug = kw.kernel(debug=True)


@debug
def adds_a_number(a, n):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + n
    return c


@debug
def adds_the_place(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] if i < 100 else a[i] * i
    return c


@debug
def merges_a_number(a, n):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        x = n
        if a[i] > 2:
            x = a[i]
        c[i] = x
    return c


WRAPS = "= note: without debug=True it wraps"


@pytest.mark.parametrize(
    "case",
    [
        calls(
            adds_a_number,
            (I8, 200),
            KernelOverflowError,
            f"""
            FILE:@5:23: error[E306]: the Python int 200 does not fit into int8
               @5 |         c[i] = a[i] + n
                  |                       ^
                  {WRAPS}
            """,
        ),
        calls(
            adds_the_place,
            (np.zeros(200, np.int8),),
            KernelOverflowError,
            f"""
            FILE:@5:47: error[E306]: the Python int 128 does not fit into int8
               @5 |         c[i] = a[i] if i < 100 else a[i] * i
                  |                                            ^
                  {WRAPS}
            """.replace("@5:47", "@5:44"),
        ),
        calls(
            merges_a_number,
            (I8, -129),
            KernelOverflowError,
            f"""
            FILE:@5:9: error[E306]: the Python int -129 does not fit into int8
               @5 |         x = n
                  |         ^
                  {WRAPS}
            """,
        ),
    ],
)
def test_e306_operand_range(case: Check) -> None:
    case()


@debug
def multiplies(a, n, m):
    a[0] = n * m
    return a


@debug
def increments(a, n):
    k = n
    while k > 0:
        k += 1
    a[0] = k
    return a


@debug
def beyond_int64(a, n):
    a[0] = 0x8000000000000000 + n
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            multiplies,
            (np.zeros(1), 2**32, 2**31),
            KernelOverflowError,
            f"""
            FILE:@3:12: error[E307]: the result of `*` does not fit into 64 bits
               @3 |     a[0] = n * m
                  |            ^~~~~
                  {WRAPS}
            """,
        ),
        calls(
            increments,
            (np.zeros(1), 2**63 - 3),
            KernelOverflowError,
            f"""
            FILE:@5:9: error[E307]: the result of `+` does not fit into 64 bits
               @5 |         k += 1
                  |         ^~~~~~
                  {WRAPS}
            """,
        ),
        calls(
            beyond_int64,
            (np.zeros(1), 1),
            KernelOverflowError,
            f"""
            FILE:@3:12: error[E307]: the Python int 9223372036854775808 does not fit into 64 bits with a sign
               @3 |     a[0] = 0x8000000000000000 + n
                  |            ^~~~~~~~~~~~~~~~~~
                  {WRAPS}
            """,
        ),
    ],
)
def test_e307_wide_arithmetic(case: Check) -> None:
    case()


@debug
def stores_into_bytes(a):
    c = output_tensor(a.shape, uint8)
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c


@debug
def casts(a):
    c = output_tensor(a.shape, int64)
    for i in range(a.shape[0]):
        c[i] = int32(a[i])
    return c


@debug
def rounds_to_an_int(a):
    c = output_tensor(a.shape, "float64")
    for i in range(a.shape[0]):
        c[i] = round(a[i])
    return c


@pytest.mark.parametrize(
    "case",
    [
        calls(
            stores_into_bytes,
            (np.array([3.0, 255.9, -1.5], np.float32),),
            KernelOverflowError,
            """
            FILE:@5:16: error[E308]: -1.5 does not fit into uint8
               @5 |         c[i] = a[i]
                  |                ^~~~
                  = note: without debug=True it becomes the nearest value
            """,
            id="float",
        ),
        calls(
            stores_into_bytes,
            (np.array([3, 300], np.int16),),
            KernelOverflowError,
            f"""
            FILE:@5:16: error[E308]: 300 does not fit into uint8
               @5 |         c[i] = a[i]
                  |                ^~~~
                  {WRAPS}
            """,
            id="int",
        ),
        calls(
            casts,
            (U64,),
            KernelOverflowError,
            f"""
            FILE:@5:22: error[E308]: 18446744073709551615 does not fit into int32
               @5 |         c[i] = int32(a[i])
                  |                      ^~~~
                  {WRAPS}
            """,
            id="unsigned",
        ),
        calls(
            rounds_to_an_int,
            (np.array([3, 2**63 + 5], np.uint64),),
            KernelOverflowError,
            """
            FILE:@5:22: error[E308]: 9223372036854775813 does not fit into int64
               @5 |         c[i] = round(a[i])
                  |                      ^~~~
                  = note: without debug=True it becomes the nearest value
            """,
            id="rounded",
        ),
    ],
)
def test_e308_conversion_range(case: Check) -> None:
    case()


@pytest.mark.parametrize(
    "case",
    [
        calls(
            casts,
            (np.array([1.0, np.nan]),),
            KernelValueError,
            """
            FILE:@5:22: error[E309]: NaN is no value of int32
               @5 |         c[i] = int32(a[i])
                  |                      ^~~~
                  = note: without debug=True it becomes 0
            """,
        )
    ],
)
def test_e309_nan(case: Check) -> None:
    case()


@debug
def divides(a, n, m):
    a[0] = n / m
    return a


@debug
def remainder_when_asked(a, n, m):
    if (m != 0 and n % m == 1) or n // (m - m) > 0:
        a[0] = 1.0
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            divides,
            (F32, 1.0, 0.0),
            KernelZeroDivisionError,
            """
            FILE:@3:12: error[E311]: a Python number is divided by zero
               @3 |     a[0] = n / m
                  |            ^~~~~
                  = note: without debug=True the result is inf or nan
            """,
        ),
        calls(
            remainder_when_asked,
            (F32, 1, 0),
            KernelZeroDivisionError,
            """
            FILE:@3:35: error[E311]: a Python number is divided by zero
               @3 |     if (m != 0 and n % m == 1) or n // (m - m) > 0:
                  |                                   ^~~~~~~~~~~~
                  = note: without debug=True the result is 0
            """,
        ),
    ],
)
def test_e311_zero_division(case: Check) -> None:
    case()


@debug
def raises_to(a, n):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] ** (n - i)
    return c


@pytest.mark.parametrize(
    "case",
    [
        calls(
            raises_to,
            (I8, 1),
            KernelValueError,
            """
            FILE:@5:24: error[E312]: an integer to the power -1 is no integer
               @5 |         c[i] = a[i] ** (n - i)
                  |                        ^~~~~~~
                  = note: without debug=True the result is 0, or 1 or -1 for a base of 1 or -1
            """,
        )
    ],
)
def test_e312_negative_exponent(case: Check) -> None:
    case()
