"""E118, and diagnostics that stand in functions which a kernel calls: their place, and the chain of calls."""

from __future__ import annotations

import linecache
import re

import numpy as np
import pytest
from diagnostics import Check, calls

import kernelwright as kw
from kernelwright import KernelIndexError, KernelSyntaxError
from kernelwright.errors import KernelError

ONES = np.ones(4, np.float32)
HIDDEN = "the function's name hides every other 'zeros': write `np.zeros(...)`"


def even(n):
    return odd(n - 1)


def odd(n):
    return even(n - 1)


def neighbour(a, i):
    return a[i + 1]


def twice(a, i):
    return neighbour(a, i) * 2.0


@kw.kernel
def recurs(a):
    a[0] = even(4)
    return a


@kw.kernel
def itself(a):
    a[0] = itself(a)
    return a


@kw.kernel
def sqrt(a):
    a[0] = sqrt(a[0])
    return a


@kw.kernel
def zeros(a):
    c = zeros(a.shape)
    return c


@kw.kernel
def looks_ahead(a, n):
    c = output_tensor(a.shape, a.dtype)
    for i in range(n):
        c[i] = twice(a, i)
    return c


def test_e118_recursion() -> None:
    with pytest.raises(KernelSyntaxError) as caught:
        recurs(ONES.copy())
    line = odd.__code__.co_firstlineno + 1
    assert (caught.value.code, caught.value.lineno, caught.value.offset) == ("E118", line, 12)
    assert caught.value.message == "'even' calls itself: even → odd → even"
    assert str(caught.value).count("error[") == 1  # nothing follows from the value that it has not
    with pytest.raises(KernelSyntaxError, match="'itself' calls itself: itself → itself"):
        itself(ONES.copy())


@pytest.mark.parametrize(
    "case",
    [
        calls(
            itself,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@3:12: error[E118]: 'itself' calls itself: itself → itself
               @3 |     a[0] = itself(a)
                  |            ^~~~~~~~~
                  = help: write a loop
            """,
        ),
        calls(
            sqrt,
            (ONES,),
            KernelSyntaxError,
            """
            FILE:@3:12: error[E118]: 'sqrt' calls itself: sqrt → sqrt
               @3 |     a[0] = sqrt(a[0])
                  |            ^~~~~~~~~~
                  = help: the function's name hides the word 'sqrt' of the language: rename the function
            """,
        ),
        calls(
            zeros,
            (ONES,),
            KernelSyntaxError,
            f"""
            FILE:@3:9: error[E118]: 'zeros' calls itself: zeros → zeros
               @3 |     c = zeros(a.shape)
                  |         ^~~~~~~~~~~~~~
                  = help: {HIDDEN}
            """,
        ),
    ],
)
def test_names_hidden_by_a_function(case: Check) -> None:
    """A function that is named like one of the language or of NumPy."""
    case()


def test_faults_in_functions_tell_the_calls() -> None:
    """At run time, also from a cached kernel: the callee's line, then the lines of the calls."""
    first = looks_ahead.__wrapped__.__code__.co_firstlineno
    for words in ("", "", "cache=off; interp"):
        with kw.debug(words), pytest.raises(KernelIndexError) as caught:
            looks_ahead(ONES, 4)
        assert caught.value.lineno == neighbour.__code__.co_firstlineno + 1
        text = str(caught.value)
        assert "return a[i + 1]" in text
        outer, inner = f"at line {twice.__code__.co_firstlineno + 1}", f"at line {first + 4}"
        assert text.index(outer) < text.index(inner)


def named(a, *, i, far=1):
    return a[i] + far


def several(a, *rest):
    return a[0]


def call_of(source: str) -> str:
    """The code of the error of a kernel that calls `neighbour` in some way."""
    space = {"neighbour": neighbour, "named": named, "several": several, "kw": kw, "np": np}
    name = f"<{source}>"
    text = f"def k(a):\n    a[0] = {source}\n    return a\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), space)
    with pytest.raises(KernelError) as caught:
        kw.kernel(space["k"])(ONES.copy())
    return f"{caught.value.code} {caught.value.message}"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("neighbour(a)", "E104 'neighbour' needs the argument 'i'"),
        ("neighbour(a, 1, 2)", "E104 'neighbour' takes 2 arguments, 3 given"),
        ("named(a, 1)", "E104 'named' takes 1 argument by position, 2 given"),
        ("named(a)", "E104 'named' needs the argument 'i'"),
        ("several(a, 1)", "E112 '*' parameters are not part of the kernel language"),
        ("neighbour(a, j=1)", "E104 'neighbour' has no parameter 'j'"),
        ("neighbour(a, 1, a=a)", "E104 'neighbour' gets 'a' twice"),
        ("neighbour + 1", "E117 the function 'neighbour' is used as a value"),
        ("neighbour(1.0, 0)", "E202 a Python float cannot be indexed"),
    ],
)
def test_wrong_calls(source: str, said: str) -> None:
    assert call_of(source) == said


def two(x):
    return x, 2 * x


@kw.kernel
def unpacks_what_is_refused(a):
    c = output_tensor(a.shape, a.dtype)
    x, c[0] = two(a[0])
    c[1] = x
    return c


def test_what_a_refused_call_would_give_is_no_fault_of_its_own() -> None:
    with pytest.raises(KernelError) as caught:
        unpacks_what_is_refused(ONES)
    assert re.findall(r"error\[(\w+)\]", str(caught.value)) == ["E115"]


def bumps(a):
    a[0] += 1
    return a[0]


@pytest.mark.parametrize(
    ("statement", "column", "place"),
    [
        ("assert bumps(a) > 0", 12, "an assert"),
        ("with attr('key', 1 + bumps(a)): pass", 26, "the argument of a scope"),
    ],
)
@pytest.mark.parametrize("debug", [False, True])
def test_writes_in_what_does_not_always_run_are_refused(
    statement: str, column: int, place: str, debug: bool
) -> None:
    name, text = f"<{statement}>", f"def k(a):\n    {statement}\n    return a\n"
    space = {"bumps": bumps}
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), space)
    with pytest.raises(KernelError) as caught:
        kw.kernel(space["k"], debug=debug)(ONES.copy())
    error = caught.value
    assert (error.code, error.lineno, error.offset) == ("E102", 2, column)
    assert error.message == f"'bumps' writes a tensor inside {place}, which does not always run"
    assert "= help: call it in a statement of its own" in str(error)


def returns_early(a, n):
    for i in range(n):
        if a[i] > 0:
            return i
    return n


@kw.kernel
def finds(a):
    c = output_tensor((1,), "int64")
    c[0] = returns_early(a, a.shape[0])
    return c


def test_returns_inside_loops_of_called_functions() -> None:
    with pytest.raises(KernelError) as caught:
        finds(ONES)
    assert caught.value.code == "E108" and caught.value.message == "`return` stands inside a loop or branch"
    assert "= help: return once, at the end of the function: keep the result in a local until then" in str(
        caught.value
    )


def test_a_changed_callee_compiles_anew() -> None:
    def one(x):
        return x + 1.0

    def two(x):
        return x + 2.0

    def make():
        @kw.kernel
        def k(a):
            c = output_tensor(a.shape, a.dtype)
            c[0] = helper(a[0])
            return c

        return k

    space = make.__globals__
    space["helper"] = one
    k = make()
    assert k(ONES[:1]).tolist() == [2.0]
    space["helper"] = two
    assert k(ONES[:1]).tolist() == [3.0]
    space["helper"] = one
    assert k(ONES[:1]).tolist() == [2.0]
    del space["helper"]
