"""E100 to E102: malformed source, constructs outside the language and those not available yet."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from diagnostics import Check, calls, check_text, raises, texts

import kernelwright as kw
from kernelwright import KernelSyntaxError, UnsupportedError, source

ONES = np.ones(4, np.float32)


@kw.kernel
def sound(a):
    return a


def read_malformed() -> None:
    """No function that Python accepts is malformed, so another text is read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "read", lambda function: "@kw.kernel\ndef sound(a):\n    x = $\n    return a\n")
        text = """
            FILE:@3:9: error[E100]: invalid character '$'
               @3 |     x = $
                  |         ^
            """
        raises(lambda: sound(ONES), sound, KernelSyntaxError, text)


def nested_parentheses() -> None:
    line = "    x = " + "(" * 201 + "1" + ")" * 201
    expected = f"""\
<text>:2:209: error[E100]: too many nested parentheses
    2 | {line}
      | {" " * 208}^
"""
    check_text(f"{line}\n    return a", [("float32", 1)], expected)


@pytest.mark.parametrize("case", [read_malformed, nested_parentheses, *texts("E100")])
def test_e100_malformed_source(case: Check) -> None:
    case()


@kw.kernel
def prints(a):
    for i in range(a.shape[0]):
        print(a[i])
    return a


@kw.kernel
def compares_with_none(a, n):
    c = output_tensor((1,), a.dtype)
    c[0] = a[0] if n is None else n
    return c


@pytest.mark.parametrize(
    "case",
    [
        calls(
            prints,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@4:9: error[E101]: print is not part of the kernel language
               @4 |         print(a[i])
                  |         ^~~~~~~~~~~
                  = help: debug with `kernel.py(...)`, which runs under CPython
            """,
        ),
        calls(
            compares_with_none,
            (ONES, 1),
            KernelSyntaxError,
            """
            FILE:@4:20: error[E101]: `is` is not part of the kernel language
               @4 |     c[0] = a[0] if n is None else n
                  |                    ^~~~~~~~~
                  = help: use ==
            """,
        ),
        *texts("E101"),
    ],
)
def test_e101_construct(case: Check) -> None:
    case()


@kw.kernel
def takes_any(a):
    return a


@kw.kernel
def copies(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c


@kw.kernel
def adds_in_place(a, b):
    for i in range(a.shape[0]):
        a[i] = a[i] + b[i]
    return a


@kw.kernel
def sizes_by_data(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a[i]):
            t = allocate((j + 1,), a.dtype)
            t[0] = a[i]
            c[i] = t[0]
    return c


def overlap_text(what: str, parameter: str) -> str:
    return f"""
        error[E102]: {what} is written and overlaps argument '{parameter}', which is not available yet
              = help: pass a copy of one of them
        """


NO_DTYPE = """
    FILE:@2:15: error[E102]: dtype {} is not available yet
       @2 | def takes_any(a):
          |               ^
          = help: use bool, int32, int64, float32 or float64
    """
CASTS = ("bfloat16", "complex64", "complex128", "int8", "uint8", "float16", "uint64")
NARROW = ("int8", "int16", "uint8", "uint16", "uint32", "uint64", "float16")

NOT_YET = {
    **dict.fromkeys("rsqrt exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh".split(), 1),
    **dict.fromkeys("tanh erf erfc sigmoid ceil trunc round sign isnan isinf isfinite popcount".split(), 1),
    **dict.fromkeys("atan2 power fmod ceil_div".split(), 2),
}


def check_function(name: str, arity: int) -> None:
    call = f"{name}({', '.join(['a[i]'] * arity)})"
    expected = f"""\
<text>:4:16: error[E102]: the function {name} is not available yet
    4 |         c[i] = {call}
      |                ^{"~" * (len(call) - 1)}
      = help: sqrt, exp, abs, floor, min, max and select are
"""
    check_text(f"        c[i] = {call}", [("float32", 1)], expected)


def check_cast(dtype: str) -> None:
    expected = f"""\
<text>:4:16: error[E102]: dtype {dtype} is not available yet
    4 |         c[i] = {dtype}(a[i])
      |                ^{"~" * (len(dtype) + 5)}
      = help: use bool, int32, int64, float32 or float64
"""
    check_text(f"        c[i] = {dtype}(a[i])", [("float32", 1)], expected)


SHARED = np.ones(8, np.float32)


NOT_AVAILABLE = [
    *(calls(takes_any, (np.ones(3, t),), UnsupportedError, NO_DTYPE.format(t), id=t) for t in NARROW),
    calls(takes_any, (np.int8(1),), UnsupportedError, NO_DTYPE.format("int8"), id="scalar"),
    calls(
        sizes_by_data,
        (np.ones(3, np.int32),),
        UnsupportedError,
        """
        FILE:@6:13: error[E102]: the size of 't' depends on data, which is not available yet
           @6 |             t = allocate((j + 1,), a.dtype)
              |             ^
              = help: allocate it with a size that follows from shapes and scalar arguments
        """,
    ),
    calls(
        adds_in_place,
        (SHARED, SHARED),
        UnsupportedError,
        overlap_text("argument 'a' of kernel 'adds_in_place'", "b"),
        id="same array",
    ),
    calls(
        adds_in_place,
        (SHARED[1:], SHARED[:-1]),
        UnsupportedError,
        overlap_text("argument 'a' of kernel 'adds_in_place'", "b"),
        id="overlapping views",
    ),
    calls(
        copies,
        (SHARED,),
        UnsupportedError,
        overlap_text("out= of kernel 'copies'", "a"),
        out=SHARED,
        id="output on an input",
    ),
    *(pytest.param(partial(check_function, n, arity), id=n) for n, arity in NOT_YET.items()),
    *(pytest.param(partial(check_cast, t), id=f"cast to {t}") for t in CASTS),
    *texts("E102"),
]


@pytest.mark.parametrize("case", NOT_AVAILABLE)
def test_e102_not_available_yet(case: Check) -> None:
    case()
