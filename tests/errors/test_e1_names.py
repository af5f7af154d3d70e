"""E103 to E108: names, calls, depth, loop variables and returns."""

# ruff: noqa: B007
from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from diagnostics import Check, calls, check_text, checks, texts

import kernelwright as kw
from kernelwright import KernelSyntaxError, _core_testing, lang

ONES = np.ones(4, np.float32)


@kw.kernel
def misspells(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = sqr(a[i])
    return c


@kw.kernel
def misses_a_function(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = np.sine(a[0])
    return c


@kw.kernel
def makes_an_array_by_numpy(a):
    c = np.array(a)
    return c


@kw.kernel
def adds_up_by_numpy(a):
    c = output_tensor((1,), a.dtype)
    c[0] = np.sum(a)
    return c


@kw.kernel
def misses_a_constant(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = math.pie
    return c


@kw.kernel
def misses_two(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = first
    c[1] = second
    return c


@kw.kernel
def misspells_a_hint(a):
    c = output_tensor(a.shape, a.dtype)
    for i in paralell(a.shape[0]):
        c[i] = a[i]
    return c


@kw.kernel
def misspells_a_parameter(a, scale):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * scael
    return c


TWO_NAMES = """
    FILE:@4:12: error[E103]: undeclared variable: name 'first' is not defined
       @4 |     c[0] = first
          |            ^~~~~

    FILE:@5:12: error[E103]: undeclared variable: name 'second' is not defined
       @5 |     c[1] = second
          |            ^~~~~~
    """


SLIPS = [
    checks(
        misspells_a_hint,
        KernelSyntaxError,
        """
        FILE:@4:14: error[E103]: name 'paralell' is not defined
           @4 |     for i in paralell(a.shape[0]):
              |              ^~~~~~~~
              = help: did you mean 'parallel'?
        """,
    ),
    checks(
        misspells_a_parameter,
        KernelSyntaxError,
        """
        FILE:@5:23: error[E103]: undeclared variable: name 'scael' is not defined
           @5 |         c[i] = a[i] * scael
              |                       ^~~~~
              = help: did you mean 'scale'?
        """,
    ),
]


@pytest.mark.parametrize(
    "case",
    [
        *SLIPS,
        calls(
            misspells,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@5:16: error[E103]: name 'sqr' is not defined
               @5 |         c[i] = sqr(a[i])
                  |                ^~~
                  = help: did you mean 'sqrt'?
            """,
        ),
        checks(
            misspells,
            KernelSyntaxError,
            """
            FILE:@5:16: error[E103]: name 'sqr' is not defined
               @5 |         c[i] = sqr(a[i])
                  |                ^~~
                  = help: did you mean 'sqrt'?
            """,
        ),
        calls(
            misses_a_function,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@4:12: error[E103]: module 'np' has no function 'sine' that a kernel can use
               @4 |     c[0] = np.sine(a[0])
                  |            ^~~~~~~
                  = help: `help(kernelwright.lang)` lists the functions that there are
            """,
        ),
        calls(
            adds_up_by_numpy,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@4:12: error[E103]: module 'np' has no function 'sum' that a kernel can use
               @4 |     c[0] = np.sum(a)
                  |            ^~~~~~
                  = help: write the loop over the elements
            """,
        ),
        calls(
            makes_an_array_by_numpy,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@3:9: error[E103]: module 'np' has no function 'array' that a kernel can use
               @3 |     c = np.array(a)
                  |         ^~~~~~~~
                  = help: write `np.zeros(n)` and its elements, use a tuple, or pass it as an argument
            """,
        ),
        calls(
            misses_a_constant,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@4:12: error[E103]: module 'math' has no constant or function 'pie' that a kernel can use
               @4 |     c[0] = math.pie
                  |            ^~~~~~~~
            """,
        ),
        calls(misses_two, (ONES,), KernelSyntaxError, TWO_NAMES),
        checks(misses_two, KernelSyntaxError, TWO_NAMES),
        *texts("E103"),
    ],
)
def test_e103_undefined_name(case: Check) -> None:
    case()


@kw.kernel
def names_a_function(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = np.exp
    return c


@kw.kernel
def draws_numbers(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = np.random.rand()
    return c


@kw.kernel
def calls_a_module_of_numpy(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = np.linalg.norm(a)
    return c


ratio = 2.5


@kw.kernel
def calls_a_constant(a):
    c = output_tensor(a.shape, a.dtype)
    c[0] = ratio(a[0])
    return c


@pytest.mark.parametrize(
    "case",
    [
        calls(
            names_a_function,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@4:12: error[E104]: 'np.exp' is a function of the language and must be called
               @4 |     c[0] = np.exp
                  |            ^~~~~~
            """,
        ),
        calls(
            draws_numbers,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@4:12: error[E104]: methods cannot be called in a kernel ('rand')
               @4 |     c[0] = np.random.rand()
                  |            ^~~~~~~~~~~~~~
                  = help: draw the numbers before the call and pass them as an array
            """,
        ),
        calls(
            calls_a_module_of_numpy,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@4:12: error[E104]: methods cannot be called in a kernel ('norm')
               @4 |     c[0] = np.linalg.norm(a)
                  |            ^~~~~~~~~~~~~~
                  = help: `help(kernelwright.lang)` lists the functions that there are
            """,
        ),
        calls(
            calls_a_constant,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@4:12: error[E104]: 'ratio' is a captured constant, not a function
               @4 |     c[0] = ratio(a[0])
                  |            ^~~~~
            """,
        ),
        *texts("E104"),
    ],
)
def test_e104_wrong_call(case: Check) -> None:
    case()


def too_long(text: str, expected: str) -> None:
    with pytest.raises(KernelSyntaxError) as caught:
        kw.kernel(text)(ONES)
    assert re.sub(r"^<kernel text \d+>", "<text>", str(caught.value)) == expected


def too_many_characters() -> None:
    expected = """\
<text>:1:1: error[E122]: the text has 1000024 characters, and a kernel has at most 1000000
      = help: split the kernel"""
    too_long("def k(a):\n" + "    #\n" * 166_667 + "    return a", expected)
    kernel = kw.kernel("def k(a):\n" + "    #\n" * 166_663 + "    return a")
    assert (kernel(ONES) == ONES).all()


def too_many_characters_beyond_ascii() -> None:
    """They count as in Python; the text that C++ hands over is checked there."""
    source = "def k(a):\n" + "    #é\n" * 150_000 + "    return a"
    expected = """\
<text>:1:1: error[E122]: the text has 1050023 characters, and a kernel has at most 1000000
      = help: split the kernel
"""
    check_text(source, [("float32", 1)], expected.replace(":1:1", ""))
    allowed = "def k(a):\n" + "    #é\n" * 140_000 + "    return a"  # of more than a million bytes
    check_text(allowed, [("float32", 1)], "")


def too_many_copies() -> None:
    text = "def k(a):\n    for i in const_range(3000):\n" + "        a[0] = 1\n" * 20 + "    return a\n"
    expected = """\
<text>:22:9: error[E122]: the kernel has more than 50000 statements, with the copies that const_range and \
inlined calls make of them
   22 |         a[0] = 1
      |         ^~~~~~~~
      = help: use range, or split the kernel"""
    too_long(text, expected)


def too_much_text_in_functions() -> None:
    text = f"""\
def long(x):
    return x * 2.0  # {"…" * 300_000}

def k(a):
    for i in const_range(20):
        a[0] = long(a[0])
    return a
"""
    expected = """\
<text>:6:16: error[E122]: the functions that are inlined have more than 10000000 characters, each counted \
once for each call
    6 |         a[0] = long(a[0])
      |                ^~~~~~~~~~
      = help: split the kernel"""
    too_long(text, expected)


@pytest.mark.parametrize(
    "case",
    [
        too_many_characters,
        too_many_characters_beyond_ascii,
        too_many_copies,
        too_much_text_in_functions,
    ],
)
def test_e122_length(case: Check) -> None:
    case()


def check_deep(source: str, line: int, column: int, marked: int, message: str, help_text: str) -> None:
    text = (source.split("\n"))[line - 1]
    expected = f"""\
<text>:{line}:{column}: error[E105]: {message}
{line:>5} | {text}
      | {" " * (column - 1)}^{"~" * (marked - 1)}
      = help: {help_text}
"""
    check_text(source, [("float32", 1)], expected)


def too_many_signs() -> None:
    source = f"def k(a):\n    x = {'-' * 1000}1\n    return a"
    check_deep(source, 2, 1009, 1, *SPLIT_EXPRESSION)


def too_many_terms() -> None:
    source = f"def k(a):\n    x = 1{' + 1' * 1000}\n    return a"
    check_deep(source, 2, 9, 4001, *SPLIT_EXPRESSION)


def too_many_locals() -> None:
    """The tree of locals that follow from shapes alone grows with each of them."""
    locals_ = "".join(f"    x{n} = a.shape[0] + x{n - 1}\n" for n in range(1, 1100))
    source = f"def k(a):\n    x0 = a.shape[0]\n{locals_}    a[0] = x1099\n    return a"
    message = "expressions and loops nest deeper than 1000"
    check_deep(source, 1002, 13, 17, message, "split it: assign parts to locals")


def too_many_blocks() -> None:
    blocks = "".join(f"{'    ' * n}if a.ndim:\n" for n in range(1, 102))
    source = f"def k(a):\n{blocks}{'    ' * 102}pass\n    return a"
    check_deep(source, 102, 405, 2, "blocks nest deeper than 100", "split the kernel")


def branches_in_any_number() -> None:
    """A chain of them is one block, however long: decided by types, and by elements."""
    for value in ("a.ndim", "a[0]"):
        branches = "".join(f"    elif {value} == {n}:\n        a[0] = {n}\n" for n in range(2, 500))
        source = f"def k(a):\n    if {value} == 0:\n        pass\n{branches}    return a\n"
        check_text(source, [("float32", 1)], "")


def too_many_blocks_below_a_branch() -> None:
    blocks = "".join(f"{'    ' * n}if a.ndim:\n" for n in range(2, 102))
    chain = "    if a.ndim == 9:\n        pass\n    elif a.ndim == 8:\n        pass\n    else:\n"
    source = f"def k(a):\n{chain}{blocks}{'    ' * 102}pass\n    return a"
    check_deep(source, 106, 405, 2, "blocks nest deeper than 100", "split the kernel")


SPLIT_EXPRESSION = ("expressions nest deeper than 1000", "split it: assign parts to locals")


@pytest.mark.parametrize(
    "case",
    [
        too_many_signs,
        too_many_terms,
        too_many_locals,
        too_many_blocks,
        branches_in_any_number,
        too_many_blocks_below_a_branch,
    ],
)
def test_e105_depth(case: Check) -> None:
    case()


@kw.kernel
def assigns_its_variable(a):
    for i in range(a.shape[0]):
        i = i + 1
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            assigns_its_variable,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@4:9: error[E106]: 'i' is the variable of a loop and cannot be overwritten in it
               @4 |         i = i + 1
                  |         ^
                  = help: use another name
            """,
        ),
        *texts("E106"),
    ],
)
def test_e106_assigned_loop_variable(case: Check) -> None:
    case()


@kw.kernel
def reads_after_the_loop(a):
    for i in range(a.shape[0]):
        pass
    a[0] = i
    return a


@pytest.mark.parametrize(
    "case",
    [
        calls(
            reads_after_the_loop,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@5:12: error[E107]: the loop variable 'i' is read after its loop
               @5 |     a[0] = i
                  |            ^
                  = help: keep its value in another name: `last = i` in the loop
            """,
        ),
        *texts("E107"),
    ],
)
def test_e107_loop_variable_after_loop(case: Check) -> None:
    case()


@kw.kernel
def returns_nothing(a):
    pass


NOTHING = """
    FILE:@2:5: error[E108]: kernel 'returns_nothing' returns nothing
       @2 | def returns_nothing(a):
          |     ^~~~~~~~~~~~~~~
          = help: end it with `return c`, naming what was computed
    """


@pytest.mark.parametrize(
    "case",
    [
        calls(returns_nothing, (ONES,), KernelSyntaxError, NOTHING),
        checks(returns_nothing, KernelSyntaxError, NOTHING),
        *texts("E108"),
    ],
)
def test_e108_return(case: Check) -> None:
    case()


KEYWORDS = [
    "sqrt(x=a[0])",
    "floor(x=a[0])",
    "isnan(x=a[0])",
    "exp(x=a[0])",
    "atan2(y=a[0], x=1.0)",
    "power(a[0], y=2.0)",
    "fmod(x=a[0], y=2.0)",
    "ceil_div(a[0], y=2.0)",
    "select(condition=a[0] > 0, yes=1.0, no=2.0)",
    "likely(x=a[0])",
    "sub_relu(a=a[0], b=1.0)",
    "float32(x=a[0])",
]


@pytest.mark.parametrize("call", KEYWORDS)
def test_keywords_are_refused_by_both(call: str) -> None:
    """Functions of the language take their arguments by position, in CPython too."""
    text = f"def k(a):\n    a[0] = {call}\n    return a\n"
    assert re.findall(r"error\[(\w+)\]", _core_testing.compile_text(text, [("float64", 1)])) == ["E104"]
    space: dict[str, Any] = {}
    exec(text, space)
    with pytest.raises(TypeError):
        lang.bind(space["k"])(np.ones(2))
