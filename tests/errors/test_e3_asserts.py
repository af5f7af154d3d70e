"""E305: asserts of kernels, compiled with debug=True only.

PYTEST_DONT_REWRITE: kernels of this file hold asserts.
"""

from __future__ import annotations

import numpy as np
import pytest
from diagnostics import Check, calls

import kernelwright as kw
from kernelwright import KernelAssertionError, _core_testing

F32 = np.array([1.0, 2.0, -3.0], np.float32)
WHY = "captured \"reason\" 'é'\n\\"


def asserts(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        assert a[i] > 0 or i == 0, "elements must be positive"
        c[i] = a[i]
    return c


@kw.kernel(debug=True)
def without_a_message(a, n):
    assert n == a.shape[0]
    return a


@kw.kernel(debug=True)
def with_a_captured_message(a):
    for k in const_range(2):
        assert a[k] < 2.0, WHY
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            kw.kernel(debug=True)(asserts),
            (F32,),
            KernelAssertionError,
            """
            FILE:@4:16: error[E305]: elements must be positive
               @4 |         assert a[i] > 0 or i == 0, "elements must be positive"
                  |                ^~~~~~~~~~~~~~~~~~
            """,
        ),
        calls(
            without_a_message,
            (F32, 2),
            KernelAssertionError,
            """
            FILE:@3:12: error[E305]: the assertion failed
               @3 |     assert n == a.shape[0]
                  |            ^~~~~~~~~~~~~~~
            """,
        ),
    ],
)
def test_e305_assert(case: Check) -> None:
    case()


def test_asserts_cost_nothing_without_debug() -> None:
    assert "E305" not in kw.kernel(asserts).ir(F32)
    assert kw.kernel(asserts)(F32).tolist() == F32.tolist()


def test_an_assert_that_holds_and_python_s_own() -> None:
    assert kw.kernel(debug=True)(asserts)(F32[:2]).tolist() == [1.0, 2.0]
    with pytest.raises(AssertionError, match="elements must be positive"):
        kw.kernel(asserts).py(F32)


@pytest.mark.parametrize("words", ["cache=off", "cache=off; interp"])
def test_messages_of_any_characters(words: str) -> None:
    _, error, same = _core_testing.round_trip(with_a_captured_message.ir(F32))
    assert same and error == ""
    with kw.debug(words), pytest.raises(AssertionError) as caught:
        with_a_captured_message(F32)
    assert caught.value.message == WHY
