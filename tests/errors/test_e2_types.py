"""E200 to E209: operands, indices, ranges, shapes, and what is written and returned."""

# ruff: noqa: F841, RUF059
from __future__ import annotations

import numpy as np
import pytest
from diagnostics import Check, calls, texts

import kernelwright as kw
from kernelwright import KernelTypeError

F32 = np.ones(4, np.float32)
I32 = np.ones(4, np.int32)
B1 = np.ones(4, bool)


@kw.kernel
def masks_floats(a):
    a[0] = a[0] & 1
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            masks_floats,
            (F32,),
            KernelTypeError,
            """
            FILE:@3:12: error[E200]: `&` needs integers or bools, not float32 and a Python int
               @3 |     a[0] = a[0] & 1
                  |            ^~~~~~~~
            """,
        ),
        *texts("E200"),
    ],
)
def test_e200_operand(case: Check) -> None:
    case()


@kw.kernel
def one_index(a):
    a[0] = 1
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            one_index,
            (np.ones((2, 2)),),
            KernelTypeError,
            """
            FILE:@3:5: error[E201]: 'a' has 2 dimensions but 1 index is given
               @3 |     a[0] = 1
                  |     ^~~~
                  = help: write `a[i, j]`
            """,
        ),
        *texts("E201"),
    ],
)
def test_e201_rank(case: Check) -> None:
    case()


@kw.kernel
def doubles_whole(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = a * 2
    return c


@kw.kernel
def scales(a, s):
    a[0] = a[0] * s[0]
    return a


@kw.kernel
def multiplies(a, s):
    a[0] = a[0] * s
    return a


AS_SCALARS = [
    calls(
        doubles_whole,
        (F32,),
        KernelTypeError,
        """
        FILE:@4:12: error[E202]: the tensor 'a' is used as a number
           @4 |     c[0] = a * 2
              |            ^
              = help: index it: `a[i]`
        """,
    ),
    calls(
        scales,
        (F32, 2.0),
        KernelTypeError,
        """
        FILE:@3:19: error[E202]: a Python float cannot be indexed
           @3 |     a[0] = a[0] * s[0]
              |                   ^
        """,
        id="number",
    ),
    calls(
        scales,
        (F32, np.float32(2)),
        KernelTypeError,
        """
        FILE:@3:19: error[E202]: float32 cannot be indexed
           @3 |     a[0] = a[0] * s[0]
              |                   ^
        """,
        id="scalar",
    ),
    calls(
        multiplies,
        (F32, np.array(2.0)),
        KernelTypeError,
        """
        FILE:@3:19: error[E202]: the tensor 's' is used as a number
           @3 |     a[0] = a[0] * s
              |                   ^
              = help: index it: `s[()]`
        """,
        id="rank 0",
    ),
    *texts("E202"),
]


@pytest.mark.parametrize("case", AS_SCALARS)
def test_e202_tensor_as_scalar(case: Check) -> None:
    case()


@kw.kernel
def adds_three_billion(a):
    a[0] = a[0] + 3000000000
    return a


limit = 2**31


@kw.kernel
def adds_the_limit(a):
    a[0] = a[0] + limit
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            adds_three_billion,
            (I32,),
            KernelTypeError,
            """
            FILE:@3:19: error[E203]: the constant 3000000000 does not fit into int32
               @3 |     a[0] = a[0] + 3000000000
                  |                   ^~~~~~~~~~
                  = help: widen the other operand, or wrap by int32(3000000000), which debug=True refuses
            """,
        ),
        calls(
            adds_the_limit,
            (I32,),
            KernelTypeError,
            """
            FILE:@3:19: error[E203]: the constant 2147483648 does not fit into int32
               @3 |     a[0] = a[0] + limit
                  |                   ^~~~~
                  = help: widen the other operand, or wrap by int32(2147483648), which debug=True refuses
            """,
        ),
        *texts("E203"),
    ],
)
def test_e203_range(case: Check) -> None:
    case()


@kw.kernel
def inverts(a):
    a[0] = a[0] ** -1
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            inverts,
            (I32,),
            KernelTypeError,
            """
            FILE:@3:12: error[E204]: an integer to a negative power is no integer
               @3 |     a[0] = a[0] ** -1
                  |            ^~~~~~~~~~
                  = help: convert first: `float64(x) ** -1`
            """,
        ),
        *texts("E204"),
    ],
)
def test_e204_negative_power(case: Check) -> None:
    case()


@kw.kernel
def negates(a):
    a[0] = -a[0]
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            negates,
            (B1,),
            KernelTypeError,
            """
            FILE:@3:12: error[E205]: `-` is not defined for bool
               @3 |     a[0] = -a[0]
                  |            ^~~~~
                  = help: use `not x` or `x ^ True`, or convert: `-int32(x)`
            """,
        ),
        *texts("E205"),
    ],
)
def test_e205_bool_minus(case: Check) -> None:
    case()


@kw.kernel
def unpacks(a):
    n, m = a.shape
    return a


WEIGHTS = (0.25, 0.5, 0.25)


@kw.kernel
def looks_up(a):
    for i in range(3):
        a[i] = WEIGHTS[i]
    return a


@kw.kernel
def sizes_by_an_element(a):
    c = output_tensor((a[0],), a.dtype)
    return c


@pytest.mark.parametrize(
    "case",
    [
        calls(
            unpacks,
            (F32,),
            KernelTypeError,
            """
            FILE:@3:5: error[E206]: 1 value is unpacked into 2 names
               @3 |     n, m = a.shape
                  |     ^~~~~~~~~~~~~~
            """,
        ),
        calls(
            sizes_by_an_element,
            (I32,),
            KernelTypeError,
            """
            FILE:@3:24: error[E206]: the extents of output 'c' must follow from shapes and integer arguments
               @3 |     c = output_tensor((a[0],), a.dtype)
                  |                        ^~~~
                  = help: pass the size as an argument
            """,
        ),
        calls(
            looks_up,
            (F32,),
            KernelTypeError,
            """
            FILE:@4:24: error[E206]: the index of a tuple is not a compile-time constant integer
               @4 |         a[i] = WEIGHTS[i]
                  |                        ^
                  = help: pass 'WEIGHTS' as an array argument, or loop with const_range
            """,
        ),
        *texts("E206"),
    ],
)
def test_e206_shape(case: Check) -> None:
    case()


@kw.kernel
def forgets_the_input(a):
    c = output_tensor(a.shape, a.dtype)
    a[0] = 1
    return c


@pytest.mark.parametrize(
    "case",
    [
        calls(
            forgets_the_input,
            (F32,),
            KernelTypeError,
            """
            FILE:@4:5: error[E207]: 'a' is an input that is written but not returned
               @4 |     a[0] = 1
                  |     ^~~~
                  = help: return it: `return a`, or write to an output_tensor
            """,
        ),
        *texts("E207"),
    ],
)
def test_e207_written_input(case: Check) -> None:
    case()


@kw.kernel
def forgets_the_output(a):
    c = output_tensor(a.shape, a.dtype)
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            forgets_the_output,
            (F32,),
            KernelTypeError,
            """
            FILE:@3:5: error[E208]: output 'c' is not in the return value
               @3 |     c = output_tensor(a.shape, a.dtype)
                  |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                  = help: return it, or use allocate for a temporary
            """,
        ),
        *texts("E208"),
    ],
)
def test_e208_unreturned_output(case: Check) -> None:
    case()


@kw.kernel
def returns_a_temporary(a):
    t = allocate(a.shape, a.dtype)
    return t


HELD = np.ones(2)


@kw.kernel
def returns_a_captured_array(a):
    return HELD


@pytest.mark.parametrize(
    "case",
    [
        calls(
            returns_a_temporary,
            (F32,),
            KernelTypeError,
            """
            FILE:@4:12: error[E209]: 't' is a temporary and cannot be returned
               @4 |     return t
                  |            ^
                  = help: return an input tensor or a tensor allocated by output_tensor
            """,
        ),
        calls(
            returns_a_captured_array,
            (F32,),
            KernelTypeError,
            """
            FILE:@3:12: error[E209]: 'HELD' is a captured array and cannot be returned
               @3 |     return HELD
                  |            ^~~~
                  = help: make it a parameter, or copy its elements to an output
            """,
        ),
        *texts("E209"),
    ],
)
def test_e209_returned_buffer(case: Check) -> None:
    case()
