"""E301 to E304: accesses, unassigned names and extents."""

from __future__ import annotations

import numpy as np
import pytest
from diagnostics import Check, calls, texts

import kernelwright as kw
from kernelwright import KernelIndexError

F32 = np.ones(4, np.float32)
I64 = np.arange(4)


@kw.kernel
def looks_ahead(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i + 1]
    return c


@kw.kernel
def looks_back(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i - 1]
    return c


@kw.kernel
def looks_back_by_a_local(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        before = i - 1
        c[i] = a[before]
    return c


@kw.kernel
def looks_back_over_two_lines(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[
            i  # a comment
            - 1
        ]
    return c


@kw.kernel
def writes_beyond(a):
    c = output_tensor((3,), a.dtype)
    c[3] = a[0]
    return c


@kw.kernel
def writes_before(a):
    c = output_tensor((3,), a.dtype)
    c[-4] = a[0]
    return c


PLACE = 7


@kw.kernel
def writes_a_named_place(a):
    c = output_tensor((3,), a.dtype)
    c[PLACE] = a[0]
    return c


@kw.kernel
def writes_behind_the_end(a):
    c = output_tensor(a.shape, a.dtype)
    c[a.shape[0]] = a[0]
    return c


@kw.kernel
def reads_wider(a):
    c = output_tensor((2 * a.shape[0],), a.dtype)
    for i in range(a.shape[0]):
        c[2 * i + 2] = a[i]
    return c


@kw.kernel
def counts_beyond(a):
    c = output_tensor((a.shape[0] - 1,), a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c


DOUBLE = "index 0 of 'c' reaches {0}, but c.shape[0] is {0} (valid 0..{0} - 1)".format("2 * a.shape[0]")
SHORTER = "index 0 of 'c' reaches {0}, but c.shape[0] is {0} (valid 0..a.shape[0] - 2)".format(
    "a.shape[0] - 1"
)
SHORTEN = "= help: shorten the loop, or guard the access with `if`"
COUNT = "= help: shorten the loop, guard the access with `if`, or count from the end"
FROM_END = "= note: a negative index counts from the end only where it is a constant"


ALWAYS_OUTSIDE = [
    calls(
        looks_ahead,
        (F32,),
        KernelIndexError,
        f"""
        FILE:@5:18: error[E301]: index 0 of 'a' reaches a.shape[0] (valid 0..a.shape[0] - 1)
           @5 |         c[i] = a[i + 1]
              |                  ^~~~~
              = note: 'i' runs over range(a.shape[0]) at line @4
              {SHORTEN}
        """,
    ),
    calls(
        looks_back,
        (F32,),
        KernelIndexError,
        f"""
        FILE:@5:18: error[E301]: index 0 of 'a' reaches -1 (valid 0..a.shape[0] - 1)
           @5 |         c[i] = a[i - 1]
              |                  ^~~~~
              = note: 'i' runs over range(a.shape[0]) at line @4
              {FROM_END}
              {COUNT}: `(i - 1) % a.shape[0]`
        """,
    ),
    calls(
        looks_back_by_a_local,
        (F32,),
        KernelIndexError,
        f"""
        FILE:@6:18: error[E301]: index 0 of 'a' reaches -1 (valid 0..a.shape[0] - 1)
           @6 |         c[i] = a[before]
              |                  ^~~~~~
              = note: 'i' runs over range(a.shape[0]) at line @4
              {FROM_END}
              {COUNT}: `before % a.shape[0]`
        """,
    ),
    calls(
        looks_back_over_two_lines,
        (F32,),
        KernelIndexError,
        f"""
        FILE:@6:13: error[E301]: index 0 of 'a' reaches -1 (valid 0..a.shape[0] - 1)
           @6 |             i  # a comment
              |             ^~~~~~~~~~~~~~
              = note: 'i' runs over range(a.shape[0]) at line @4
              {FROM_END}
              {SHORTEN}
        """,
    ),
    calls(
        writes_beyond,
        (F32,),
        KernelIndexError,
        """
        FILE:@4:7: error[E301]: index 0 of 'c' is 3, but c.shape[0] is 3 (valid 0..2)
           @4 |     c[3] = a[0]
              |       ^
        """,
    ),
    calls(
        writes_before,
        (F32,),
        KernelIndexError,
        """
        FILE:@4:7: error[E301]: index 0 of 'c' is -4, but c.shape[0] is 3 (valid -3..2)
           @4 |     c[-4] = a[0]
              |       ^~
        """,
    ),
    calls(
        writes_a_named_place,
        (F32,),
        KernelIndexError,
        """
        FILE:@4:7: error[E301]: index 0 of 'c' reaches 7, but c.shape[0] is 3 (valid 0..2)
           @4 |     c[PLACE] = a[0]
              |       ^~~~~
              = help: guard the access with `if`
        """,
    ),
    calls(
        writes_behind_the_end,
        (F32,),
        KernelIndexError,
        """
        FILE:@4:7: error[E301]: index 0 of 'c' reaches a.shape[0], but c.shape[0] is a.shape[0] \
(valid 0..a.shape[0] - 1)
           @4 |     c[a.shape[0]] = a[0]
              |       ^~~~~~~~~~
        """,
    ),
    calls(
        reads_wider,
        (F32,),
        KernelIndexError,
        f"""
        FILE:@5:11: error[E301]: {DOUBLE}
           @5 |         c[2 * i + 2] = a[i]
              |           ^~~~~~~~~
              = note: 'i' runs over range(a.shape[0]) at line @4
              {SHORTEN}
        """,
    ),
    calls(
        counts_beyond,
        (F32,),
        KernelIndexError,
        f"""
        FILE:@5:11: error[E301]: {SHORTER}
           @5 |         c[i] = a[i]
              |           ^
              = note: 'i' runs over range(a.shape[0]) at line @4
              {SHORTEN}
        """,
    ),
]


@pytest.mark.parametrize("case", ALWAYS_OUTSIDE)
def test_e301_static_bounds(case: Check) -> None:
    case()


@kw.kernel
def assigns_sometimes(a):
    for i in range(a.shape[0]):
        if a[i] > 0:
            x = a[i]
    a[0] = x
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            assigns_sometimes,
            (F32,),
            KernelIndexError,
            """
            FILE:@6:12: error[E302]: 'x' may be unassigned here: only some paths assign it
               @6 |     a[0] = x
                  |            ^
                  = help: assign 'x' before the branch or loop
            """,
        ),
        *texts("E302"),
    ],
)
def test_e302_unassigned(case: Check) -> None:
    case()


@kw.kernel
def gathers(a, b):
    c = output_tensor(b.shape, a.dtype)
    for i in range(b.shape[0]):
        c[i] = a[b[i]]
    return c


@kw.kernel
def adds(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c


@kw.kernel
def reads_fifth(a):
    c = output_tensor((1,), a.dtype)
    c[0] = a[4]
    return c


@kw.kernel
def reads_before_last(a):
    c = output_tensor((1,), a.dtype)
    c[0] = a[-2]
    return c


@kw.kernel
def transposes_in_place(a):
    for i, j in grid(a.shape):
        a[j, i] = 0
    return a


@kw.kernel
def fills_three(a):
    c = output_tensor((3,), a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c


@kw.kernel
def adds_where_positive(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        if a[i] > 0:
            c[i] = a[i] + b[i]
    return c


def beyond(index: int, tensor: str, extent: int, dim: int = 0) -> str:
    place = f"dimension {dim} of '{tensor}', whose extent is {extent}"
    return f"index {index} is out of range for {place} (valid 0..{extent - 1})"


BELOW = "= note: a variable index below 0 does not count from the end"


SOMETIMES_OUTSIDE = [
    calls(
        gathers,
        (F32, np.array([0, 4])),
        KernelIndexError,
        f"""
        FILE:@5:18: error[E303]: {beyond(4, "a", 4)}
           @5 |         c[i] = a[b[i]]
              |                  ^~~~
        """,
    ),
    calls(
        gathers,
        (F32, np.array([0, -1])),
        KernelIndexError,
        f"""
        FILE:@5:18: error[E303]: {beyond(-1, "a", 4)}
           @5 |         c[i] = a[b[i]]
              |                  ^~~~
              {BELOW}
        """,
        id="negative",
    ),
    calls(
        gathers,
        (F32[:0], np.array([0])),
        KernelIndexError,
        """
        FILE:@5:18: error[E303]: index 0 is out of range for dimension 0 of 'a', whose extent is 0
           @5 |         c[i] = a[b[i]]
              |                  ^~~~
        """,
        id="empty",
    ),
    calls(
        adds,
        (F32, F32[:2]),
        KernelIndexError,
        f"""
        FILE:@5:25: error[E303]: {beyond(2, "b", 2)}
           @5 |         c[i] = a[i] + b[i]
              |                         ^
              = note: b.shape[0] is 2 but must be at least a.shape[0] = 4
        """,
    ),
    calls(
        reads_fifth,
        (F32,),
        KernelIndexError,
        f"""
        FILE:@4:14: error[E303]: {beyond(4, "a", 4)}
           @4 |     c[0] = a[4]
              |              ^
              = note: a.shape[0] is 4 but must be at least 5
        """,
    ),
    calls(
        reads_before_last,
        (F32[:1],),
        KernelIndexError,
        f"""
        FILE:@4:14: error[E303]: {beyond(-2, "a", 1)}
           @4 |     c[0] = a[-2]
              |              ^~
              = note: a.shape[0] is 1 but must be at least 2
        """,
    ),
    calls(
        fills_three,
        (F32,),
        KernelIndexError,
        f"""
        FILE:@5:11: error[E303]: {beyond(3, "c", 3)}
           @5 |         c[i] = a[i]
              |           ^
              = note: a.shape[0] is 4 but must be at most 3
        """,
    ),
    calls(
        adds_where_positive,
        (F32, F32[:2]),
        KernelIndexError,
        f"""
        FILE:@6:29: error[E303]: {beyond(2, "b", 2)}
           @6 |             c[i] = a[i] + b[i]
              |                             ^
        """,
    ),
    calls(
        transposes_in_place,
        (np.ones((2, 3)),),
        KernelIndexError,
        f"""
        FILE:@4:11: error[E303]: {beyond(2, "a", 2)}
           @4 |         a[j, i] = 0
              |           ^
              = note: a.shape[0] is 2 but must be at least a.shape[1] = 3
        """,
    ),
]


@pytest.mark.parametrize("case", SOMETIMES_OUTSIDE)
def test_e303_runtime_index(case: Check) -> None:
    case()


@kw.kernel
def sized(a, n):
    b = output_tensor((3,), a.dtype)
    c = output_tensor((3, n - 4), a.dtype)
    return b, c


NEGATIVE = """
    FILE:@4:5: error[E304]: extent 1 of output 'c' is negative: {}
       @4 |     c = output_tensor((3, n - 4), a.dtype)
          |     ^
    """


@pytest.mark.parametrize(
    "case",
    [
        calls(sized, (F32, 3), KernelIndexError, NEGATIVE.format(-1)),
        calls(sized, (F32, np.int32(-5)), KernelIndexError, NEGATIVE.format(-9), id="scalar"),
        calls(sized, (F32, 0), KernelIndexError, NEGATIVE.format(-4), out=(None, None), id="with out"),
    ],
)
def test_e304_negative_extent(case: Check) -> None:
    case()


@kw.kernel
def small_temporary(a):
    c = output_tensor(a.shape, a.dtype)
    if a.shape[0] > 1:
        t = allocate((2, a.shape[0] - 3), a.dtype)
        t[0, 0] = a[0]
        c[0] = t[0, 0]
    return c


@kw.kernel
def temporary_of_size(a, n):
    t = allocate((n, n), a.dtype)
    t[0, 0] = a[0]
    a[0] = t[0, 0]
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            small_temporary,
            (F32[:2],),
            KernelIndexError,
            """
            FILE:@5:9: error[E304]: extent 1 of 't' is negative: -1
               @5 |         t = allocate((2, a.shape[0] - 3), a.dtype)
                  |         ^
            """,
        ),
        calls(
            temporary_of_size,
            (F32.copy(), -3),
            KernelIndexError,
            """
            FILE:@3:5: error[E304]: extent 0 of 't' is negative: -3
               @3 |     t = allocate((n, n), a.dtype)
                  |     ^
            """,
        ),
    ],
)
def test_negative_temporary(case: Check) -> None:
    case()


def test_no_temporary_no_error() -> None:
    assert small_temporary(F32[:1]).tolist() == [0.0]
    assert small_temporary(F32).tolist() == [1.0, 0.0, 0.0, 0.0]


@kw.kernel
def through_a_temporary(a, n):
    t = allocate((n,), a.dtype)
    for i in range(n):
        t[i] = a[i] + 1
    for i in range(n):
        a[i] = t[i]
    return a


def test_a_temporary_without_elements_is_no_error() -> None:
    assert through_a_temporary(F32.copy(), 0).tolist() == F32.tolist()
    assert through_a_temporary(F32.copy(), 1).tolist() == [F32[0] + 1, *F32[1:]]
