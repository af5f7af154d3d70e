"""E109 to E116: slices, declarations, loops, parameters, targets, returns and steps."""

# ruff: noqa: B007, F841
from __future__ import annotations

import numpy as np
import pytest
from diagnostics import Check, calls, checks, raises, texts

import kernelwright as kw
from kernelwright import KernelSyntaxError

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


MANY = ", ".join(f"a{n}" for n in range(65))


def test_too_many_parameters() -> None:
    """Told by the first call and by check(), not by the decorator."""
    many = kw.kernel(f"def many({MANY}):\n    return a0\n")
    for call in (many.check, lambda: many(ONES), lambda: many(*[ONES] * 65), many):
        with pytest.raises(KernelSyntaxError) as caught:
            call()
        lines = str(caught.value).splitlines()
        assert lines[0].endswith(":1:320: error[E112]: a kernel has at most 64 parameters, this one has 65")
        assert lines[2].endswith("^~~") and lines[2].index("^") == lines[1].index("a64")
        assert lines[3] == "      = help: put several into one array, or capture what does not change"


@pytest.mark.parametrize("parameters", [63, 64])
def test_captured_arrays_count_as_parameters(parameters: int) -> None:
    names = ", ".join(f"a{n}" for n in range(parameters))
    text = f"def many({names}):\n    a0[0] = a{parameters - 1}[0] + more[0]\n    return a0\n"
    many = kw.kernel(text, scope={"more": ONES})
    arguments = [np.ones(1) for _ in range(parameters)]
    if parameters < 64:
        many.check()
        assert many(*arguments).tolist() == [2.0]
        return
    counted = f"""
        FILE:@1:5: error[E112]: a kernel has at most 64 parameters and captured arrays, this one has 64 and 1
           @1 | def many({names}):
              |     ^~~~
              = help: put several arrays into one
        """
    for call in (many.check, lambda: many(*arguments), lambda: many(ONES), many):
        raises(call, many, KernelSyntaxError, counted)


def test_at_most_32_outputs() -> None:
    def kernel_of(count: int) -> kw.Kernel:
        made = "".join(
            f"    c{n} = output_tensor((1,), a.dtype)\n    c{n}[0] = a[{n}]\n" for n in range(count)
        )
        return kw.kernel(f"def many(a):\n{made}    return {', '.join(f'c{n}' for n in range(count))}\n")

    assert [c.item() for c in kernel_of(32)(np.arange(32))] == list(range(32))
    with pytest.raises(KernelSyntaxError) as caught:
        kernel_of(33)(np.arange(33))
    with pytest.raises(KernelSyntaxError, match="at most 32 outputs"):
        kernel_of(33).check()
    first, *rest = str(caught.value).splitlines()
    assert first.endswith(":66:5: error[E110]: a kernel has at most 32 outputs")
    assert rest == [
        "   66 |     c32 = output_tensor((1,), a.dtype)",
        "      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
        "      = help: join some of them into one",
    ]


@pytest.mark.parametrize(
    "case",
    [
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
