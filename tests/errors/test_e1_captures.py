"""E117, W101 and W102: captured objects, globals that hide words, and outputs of the default dtype."""

from __future__ import annotations

import decimal
import fractions
import functools
import types
import warnings
from typing import Any

import numpy as np
import pytest
from diagnostics import Check, calls, checks, raises, warned

import kernelwright as kw
from kernelwright import KernelSyntaxError
from kernelwright.errors import KernelWarning

ONES = np.ones(4, np.float32)


def captures(value: Any) -> kw.Kernel:
    @kw.kernel
    def reads(a):
        a[0] = value
        return a

    return reads


CAPTURED = """
    FILE:@3:16: error[E117]: the captured object 'value' ({}) is no constant that a kernel can use
       @3 |         a[0] = value
          |                ^~~~~
          = help: {}
    """
CAPTURE = "capture a number, a str, a tuple of them or an array, or pass it as an argument"
MAKE = "make it a tuple, or an array: np.array(...)"
MODULE = """
    FILE:@3:16: error[E117]: the module 'value' is used as a value
       @3 |         a[0] = value
          |                ^~~~~
    """
OBJECTS = {
    "list": [1.0],
    "dict": {},
    "NoneType": None,
    "complex": 1j,
    "bytes": b"x",
    "str_": np.str_("x"),
    "datetime64": np.datetime64(1, "s"),
    "Fraction": fractions.Fraction(1, 2),
    "type": decimal.Decimal,
}


HELD = np.ones(2)


@kw.kernel
def writes_a_captured_array(a):
    HELD[0] = a[0]
    return a


class Settings:
    EPS = 1e-6


def reads_an_attribute_of(settings: Any) -> kw.Kernel:
    @kw.kernel
    def reads(a):
        a[0] = settings.EPS
        return a

    return reads


ATTRIBUTE = """
    FILE:@3:16: error[E117]: 'settings.EPS' is an attribute of {}, not of a module
       @3 |         a[0] = settings.EPS
          |                ^~~~~~~~~~~~
          = help: name it outside of the kernel: `EPS = settings.EPS`
    """


class prange:
    """Stands for the class of Numba."""


@kw.kernel
def loops_by_numba(a):
    for i in prange(a.shape[0]):
        a[i] = 1
    return a


@kw.kernel
def takes_a_thing(thing, n):
    c = output_tensor((1,))
    c[0] = thing
    return c


def _called(kernel: kw.Kernel, text: str, name: str) -> Any:
    return calls(kernel, (ONES,), KernelSyntaxError, text, id=name)


def _checked(kernel: kw.Kernel, text: str, name: str) -> Any:
    return checks(kernel, KernelSyntaxError, text)


@pytest.mark.parametrize(
    "case",
    [
        *(
            calls(
                captures(value),
                (ONES,),
                KernelSyntaxError,
                CAPTURED.format(name, MAKE if name == "list" else CAPTURE),
                id=name,
            )
            for name, value in OBJECTS.items()
        ),
        calls(
            writes_a_captured_array,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@3:5: error[E117]: the captured array 'HELD' is written
               @3 |     HELD[0] = a[0]
                  |     ^~~~~~~
                  = help: make it a parameter: captured arrays are read-only
            """,
        ),
        calls(
            loops_by_numba,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@3:14: error[E117]: 'prange' is no function that a kernel can call
               @3 |     for i in prange(a.shape[0]):
                  |              ^~~~~~
                  = help: write `for i in parallel(n):`
            """,
        ),
        calls(captures(decimal), (ONES,), KernelSyntaxError, MODULE, id="module"),
        *(
            call(reads_an_attribute_of(owner), ATTRIBUTE.format(what), name)
            for owner, what, name in (
                (Settings, "a class", "class attribute"),
                (Settings(), "an object (Settings)", "instance attribute"),
                (types.SimpleNamespace(EPS=1.0), "an object (SimpleNamespace)", "namespace attribute"),
            )
            for call in (_called, _checked)
        ),
        calls(
            takes_a_thing,
            (object(), 1),
            KernelSyntaxError,
            """
            FILE:@4:12: error[E117]: the argument 'thing' is neither a tensor nor a number
               @4 |     c[0] = thing
                  |            ^~~~~
                  = help: pass what the kernel needs as arrays or numbers
            """,
        ),
    ],
)
def test_e117_captured_object(case: Check) -> None:
    case()


vectorize = 2.5  # a word of the language, in use as a constant
exp = np.sqrt  # a word of the language that means another function


@kw.kernel
def reads_a_shadow(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = a[0] * vectorize
    return c


@kw.kernel
def calls_a_shadow(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = exp(a[0]) + exp(a[0])
    return c


@kw.kernel
def shadow_in_an_accumulator(a):
    c = output_tensor(a.shape, a.dtype)
    s = 0
    for i in range(a.shape[0]):
        s += a[i] * vectorize
    c[0] = s
    return c


def sigmoid(x: float) -> float:
    return x / 2


@kw.kernel
def calls_its_own(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = sigmoid(a[0])
    return c


def test_functions_of_the_user_are_shadows_too() -> None:
    text = """
        FILE:@4:12: warning[W101]: the global 'sigmoid' shadows the word 'sigmoid' of the kernel language
           @4 |     c[0] = sigmoid(a[0])
              |            ^~~~~~~
              = help: rename or delete the global
        """
    warned(calls_its_own, (ONES,), KernelWarning, text)


reduce = functools.reduce
unroll = 4


@kw.kernel
def loops_over_a_shadow(a):
    for i in reduce(a.shape[0]):
        a[0] += a[i]
    return a


@kw.kernel
def loops_over_a_number(a):
    for i in unroll(a.shape[0]):
        a[0] += a[i]
    return a


@kw.kernel
def loops_over_a_function(a):
    for i in sigmoid(a.shape[0]):
        a[0] += a[i]
    return a


@pytest.mark.parametrize(
    ("kernel", "word"),
    [(loops_over_a_shadow, "reduce"), (loops_over_a_number, "unroll"), (loops_over_a_function, "sigmoid")],
)
def test_a_shadow_used_as_the_word_is_told_as_one(kernel: kw.Kernel, word: str) -> None:
    text = f"""
        FILE:@3:14: error[E117]: the global '{word}' shadows the word '{word}' of the kernel language
           @3 |     for i in {word}(a.shape[0]):
              |              {"^" + "~" * (len(word) - 1)}
              = help: rename or delete the global
        """
    for action in (kernel.check, lambda: kernel(ONES.copy())):
        raises(action, kernel, KernelSyntaxError, text)


def test_w101_shadow() -> None:
    warned(
        shadow_in_an_accumulator,
        (ONES,),
        KernelWarning,
        """
        FILE:@6:21: warning[W101]: the global 'vectorize' shadows the word 'vectorize' of the kernel language
           @6 |         s += a[i] * vectorize
              |                     ^~~~~~~~~
              = help: rename or delete the global
        """,
    )
    warned(
        reads_a_shadow,
        (ONES,),
        KernelWarning,
        """
        FILE:@4:19: warning[W101]: the global 'vectorize' shadows the word 'vectorize' of the kernel language
           @4 |     c[0] = a[0] * vectorize
              |                   ^~~~~~~~~
              = help: rename or delete the global
        """,
    )
    warned(
        calls_a_shadow,
        (ONES,),
        KernelWarning,
        """
        FILE:@4:12: warning[W101]: the global 'exp' shadows the word 'exp' of the kernel language
           @4 |     c[0] = exp(a[0]) + exp(a[0])
              |            ^~~
              = help: rename or delete the global
        """,
    )


@kw.kernel
def makes_float32(n, i, x, y):
    c = output_tensor((n,))
    d = output_tensor(x.shape)
    for k in range(n):
        c[k] = x[k] + i[k]
        d[k] = y[k]
    return c, d


def test_w102_default_dtype() -> None:
    """Told of the first output and the first such argument, once; integers and float32 are no reason."""
    floats, doubles, integers = np.ones(4, np.float32), np.ones(4), np.arange(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        makes_float32(4, integers, floats, floats)
    warned(
        makes_float32,
        (4, integers, doubles, doubles),
        KernelWarning,
        """
        FILE:@3:5: warning[W102]: output_tensor without a dtype makes float32, but 'x' is float64
           @3 |     c = output_tensor((n,))
              |     ^~~~~~~~~~~~~~~~~~~~~~~
              = help: write `output_tensor(shape, x.dtype)`, or "float32" where that is meant
        """,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        makes_float32(3, integers, doubles, doubles)


def test_a_warning_comes_once_whatever_the_types_of_later_calls_are() -> None:
    halves, doubles = np.ones(4, np.float16), np.ones(4)
    for first, second in ((halves, doubles), (doubles, halves)):
        kernel = kw.kernel(makes_float32.__wrapped__)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for y in (first, second, first):
                kernel(4, np.arange(4), first, y)
                kernel(3, np.arange(4), y, y)
        (warning,) = caught
        assert f"[W102]: output_tensor without a dtype makes float32, but 'x' is {first.dtype}\n" in str(
            warning.message
        )


@kw.kernel
def names_its_dtypes(x):
    c = output_tensor(x.shape, "float32")
    t = allocate(x.shape)
    e = np.empty(x.shape)
    for i in range(x.shape[0]):
        t[i] = x[i]
        c[i] = t[i]
        e[i] = x[i]
    return c, e


def test_a_dtype_that_is_written_or_not_returned_is_not_told() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c, e = names_its_dtypes(np.ones(2))
    assert (c.dtype, e.dtype) == ("float32", "float64")
