"""E109 to E117 and W101: slices, declarations, loops, parameters, targets, returns, captured objects."""

# ruff: noqa: B007, F841
from __future__ import annotations

import decimal
import fractions
import functools
import types
from typing import Any

import numpy as np
import pytest
from diagnostics import Check, calls, checks, raises, texts, warned

import kernelwright as kw
from kernelwright import KernelSyntaxError
from kernelwright.errors import KernelWarning

ONES = np.ones(4, np.float32)


@kw.kernel
def slices(a):
    a[1:] = 0
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            slices,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@3:7: error[E109]: the tensor 'a' cannot be sliced
               @3 |     a[1:] = 0
                  |       ^~
                  = help: write a loop over the elements
            """,
        ),
        *texts("E109"),
    ],
)
def test_e109_slice(case: Check) -> None:
    case()


@kw.kernel
def declares_in_a_loop(a):
    for i in range(a.shape[0]):
        c = output_tensor(a.shape, a.dtype)
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            declares_in_a_loop,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@4:9: error[E110]: output_tensor stands inside a loop or branch
               @4 |         c = output_tensor(a.shape, a.dtype)
                  |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
                  = help: declare outputs at the top level of the kernel
            """,
        ),
        *texts("E110"),
    ],
)
def test_e110_declaration(case: Check) -> None:
    case()


@kw.kernel
def loops_over_a_tensor(a):
    for v in a:
        pass
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            loops_over_a_tensor,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@3:14: error[E111]: a kernel loops over ranges
               @3 |     for v in a:
                  |              ^
                  = help: write `for i in range(n):` and index with i
            """,
        ),
        *texts("E111"),
    ],
)
def test_e111_iterable(case: Check) -> None:
    case()


@kw.kernel
def takes_out(a, out):
    return a


OUT = """
    FILE:@2:18: error[E112]: a parameter named 'out' collides with the out= of a call
       @2 | def takes_out(a, out):
          |                  ^~~
          = help: rename the parameter
    """


@kw.kernel
def takes_more(a, *more):
    return a


MORE = """
    FILE:@2:19: error[E112]: '*' parameters are not part of the kernel language
       @2 | def takes_more(a, *more):
          |                   ^
          = help: name every parameter
    """


@kw.kernel
def takes_named(a, **more):
    return a


NAMED = """
    FILE:@2:20: error[E112]: '*' parameters are not part of the kernel language
       @2 | def takes_named(a, **more):
          |                    ^~
          = help: name every parameter
    """


@kw.kernel
def takes_a_keyword(a, *, n=1):
    return a


MANY = ", ".join(f"a{n}" for n in range(33))


def test_too_many_parameters() -> None:
    """Told by the first call and by check(), not by the decorator."""
    many = kw.kernel(f"def many({MANY}):\n    return a0\n")
    for call in (many.check, lambda: many(ONES), lambda: many(*[ONES] * 33), many):
        with pytest.raises(KernelSyntaxError) as caught:
            call()
        lines = str(caught.value).splitlines()
        assert lines[0].endswith(":1:160: error[E112]: a kernel has at most 32 parameters, this one has 33")
        assert lines[2].endswith("^~~") and lines[2].index("^") == lines[1].index("a32")
        assert lines[3] == "      = help: put several into one array, or capture what does not change"


@pytest.mark.parametrize(
    "case",
    [
        calls(takes_out, (ONES, ONES), KernelSyntaxError, OUT),
        checks(takes_out, KernelSyntaxError, OUT),
        checks(takes_more, KernelSyntaxError, MORE),
        calls(takes_more, (ONES, ONES, ONES), KernelSyntaxError, MORE),
        calls(takes_named, (ONES,), KernelSyntaxError, NAMED, id="keywords", b=ONES),
        calls(takes_named, (), KernelSyntaxError, NAMED, id="missing argument"),
        calls(
            takes_a_keyword,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@2:24: error[E112]: a kernel has no '*' parameters
               @2 | def takes_a_keyword(a, *, n=1):
                  |                        ^
                  = help: remove the '*': every parameter can be given by keyword
            """,
        ),
        *texts("E112"),
    ],
)
def test_e112_parameter(case: Check) -> None:
    case()


@kw.kernel
def assigns_the_shape(a):
    a.shape = 3
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            assigns_the_shape,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@3:5: error[E113]: this cannot be assigned
               @3 |     a.shape = 3
                  |     ^~~~~~~
                  = help: assign to a name or to an element
            """,
        ),
        *texts("E113"),
    ],
)
def test_e113_target(case: Check) -> None:
    case()


@kw.kernel
def returns_an_extent(a):
    return a.shape[0]


@kw.kernel
def returns_an_argument(a, n):
    return n


EITHER = "the return value should be either a single tensor or a tuple of tensors"
NO_SCALARS = f"""
    FILE:@3:12: error[E115]: {EITHER}, not scalars
       @3 |     return {{}}
          |            ^{{}}
          = help: write it to `output_tensor((1,), ...)` and return that
    """


@pytest.mark.parametrize(
    "case",
    [
        calls(returns_an_extent, (ONES,), KernelSyntaxError, NO_SCALARS.format("a.shape[0]", "~" * 9)),
        calls(returns_an_argument, (ONES, 2), KernelSyntaxError, NO_SCALARS.format("n", "")),
        *texts("E115"),
    ],
)
def test_e115_scalar_return(case: Check) -> None:
    case()


stride = 0
COUNTED = "`for t in range(ceil_div(stop - start, step)): i = start + t * step`"


@kw.kernel
def steps_by_an_argument(a, n):
    for i in range(0, a.shape[0], n):
        pass
    return a


@kw.kernel
def steps_by_nothing(a):
    for i in range(0, a.shape[0], stride):
        pass
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            steps_by_an_argument,
            (ONES, 2),
            KernelSyntaxError,
            f"""
            FILE:@3:35: error[E116]: the step of a loop is not a compile-time constant integer
               @3 |     for i in range(0, a.shape[0], n):
                  |                                   ^
                  = help: use a literal or a captured constant, or count: {COUNTED}
            """,
        ),
        calls(
            steps_by_nothing,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@3:35: error[E116]: the step of a loop is 0
               @3 |     for i in range(0, a.shape[0], stride):
                  |                                   ^~~~~~
                  = help: use a step of 1 or -1
            """,
        ),
        *texts("E116"),
    ],
)
def test_e116_step(case: Check) -> None:
    case()


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
          = help: capture an int, float, bool, str or a tuple of them, or pass it as an argument
    """
NUMPY_SCALAR = """
    FILE:@3:16: error[E117]: the captured object 'value' (float32) is no constant that a kernel can use
       @3 |         a[0] = value
          |                ^~~~~
          = help: capture float(x) or int(x) of it, or pass it as an argument
    """
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
    "ndarray": ONES,
    "Fraction": fractions.Fraction(1, 2),
    "type": decimal.Decimal,
}


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
            calls(captures(value), (ONES,), KernelSyntaxError, CAPTURED.format(name), id=name)
            for name, value in OBJECTS.items()
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
        calls(captures(np.float32(2)), (ONES,), KernelSyntaxError, NUMPY_SCALAR, id="NumPy scalar"),
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
