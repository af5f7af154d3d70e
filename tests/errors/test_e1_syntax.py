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
        patch.setattr(source, "read", lambda *_: "@kw.kernel\ndef sound(a):\n    x = $\n    return a\n")
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
def sizes_by_data(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a[i]):
            t = allocate((j + 1,), a.dtype)
            t[0] = a[i]
            c[i] = t[0]
    return c


CASTS = ("complex64", "complex128")


def check_cast(dtype: str) -> None:
    expected = f"""\
<text>:4:16: error[E102]: dtype {dtype} is not available yet
    4 |         c[i] = {dtype}(a[i])
      |                ^{"~" * (len(dtype) + 5)}
      = help: keep the real and the imaginary part in two tensors
"""
    check_text(f"        c[i] = {dtype}(a[i])", [("float32", 1)], expected)


NOT_AVAILABLE = [
    calls(
        sound,
        (np.ones(3, "c8"),),
        UnsupportedError,
        """
        error[E102]: argument 'a' of kernel 'sound' is an array of dtype complex64, which is not available yet
              = help: pass its real and its imaginary part
        """,
        id="complex array",
    ),
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
    *(pytest.param(partial(check_cast, t), id=f"cast to {t}") for t in CASTS),
    *texts("E102"),
]


@pytest.mark.parametrize("case", NOT_AVAILABLE)
def test_e102_not_available_yet(case: Check) -> None:
    case()
