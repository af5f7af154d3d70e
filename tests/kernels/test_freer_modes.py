"""Every corpus kernel in the default and the fast mode against CPython: the same bits, or within a bound.

Elements that are the same in every order of sums must have CPython's bits. The other floats must be within
the bound that tests/fuzz computes beside a run of the kernel. The kernels run on their own data and on floats
of few bits, whose sums are exact in any order.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import reference_text
import shadow
import shadow_words

import corpus
import kernelwright as kw

CASES = corpus.load()
EXACT = (0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.0, 3.0, -0.0)
# The reference does not know what these capture, or has another type than CPython for a local.
UNKNOWN = {"functions_by_other_names", "calls_with_defaults_and_keywords", "generic_on_halves"}
# A float that may differ decides how they go on.
UNDECIDED = {
    *("mandelbrot", "scopes_and_asserts", "newton_root", "escape_times", "special_values_float16"),
    *("comparisons_with_specials", "branches_on_specials", "maximum_skipping_nan", "extremes_among_specials"),
    "roots_of_some",
}


ENDLESS = {"newton_root"}  # does not end on other data


def arguments(case: corpus.Case, exact: bool) -> list[Any]:
    """Those of the case; `exact` fills writable floats with numbers of few bits."""
    args = list(case.make(np.random.default_rng(3)))
    rng = np.random.default_rng(4)
    for a in args:
        if exact and isinstance(a, np.ndarray) and is_float(a) and a.flags.writeable:
            a[...] = rng.choice(EXACT, a.shape).astype(a.dtype)
    return args


def is_float(a: np.ndarray[Any, Any]) -> bool:
    return a.dtype.kind == "f" or a.dtype.name == "bfloat16"


def outcome(function: Any, args: list[Any]) -> list[np.ndarray[Any, Any]]:
    """The results of a call and then its arrays."""
    with np.errstate(all="ignore"), warnings.catch_warnings(), kw.debug("cache=off"):
        warnings.simplefilter("ignore")
        result = function(*args)
    results = () if result is None else result if isinstance(result, tuple) else (result,)
    return [*results, *(a for a in args if isinstance(a, np.ndarray))]


def same(a: Any, b: Any) -> bool:
    """Whether two arrays have equal bits, with every NaN the same."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if is_float(a):
        a, b = (np.where(np.isnan(x), np.array(np.nan, x.dtype), x) for x in (a, b))
    return bool(a.tobytes() == b.tobytes())


def far(got: list[Any], bounds: list[tuple[Any, Any]]) -> str:
    """The first element beyond its bound; "" if there is none."""
    for n, (ours, (right, allowed)) in enumerate(zip(got, bounds, strict=True)):
        for place in np.ndindex(right.shape):
            a, b, e = ours[place], right[place], allowed[place]
            if e == np.inf or same(np.asarray(a), np.asarray(b)):
                continue
            if e == 0 or not abs(float(a) - float(b)) <= e:
                return f"result {n}{list(place)}: {a!r}, by CPython {b!r}, bound {e}"
    return ""


@pytest.mark.parametrize("fp", ["default", "fast"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_kernel_agrees_with_cpython(case: corpus.Case, fp: str) -> None:
    kernel = kw.kernel(fp=fp)(case.fn)
    text, captured = reference_text.text_of(case.fn, shadow.Bounded)  # type: ignore[arg-type]
    for exact in (False,) if case.name in ENDLESS else (False, True):
        try:
            right = outcome(kernel.py, arguments(case, exact))
        except (IndexError, OverflowError, ValueError, ZeroDivisionError):
            assert exact, "CPython does not run the case"
            continue
        got = outcome(kernel, arguments(case, exact))
        assert [(a.dtype, a.shape) for a in got] == [(b.dtype, b.shape) for b in right]
        if all(same(a, b) for a, b in zip(got, right, strict=True)):
            continue
        try:
            bounds = shadow_words.run_kernel(
                text, case.fn.__name__, captured, arguments(case, exact), fp == "fast"
            )
        except shadow.Undecided:
            assert case.name in UNDECIDED
            continue
        if case.name in UNKNOWN:
            continue
        assert all(same(b, v) for b, (v, _) in zip(right, bounds, strict=True)), "another reference"
        assert far(got, bounds) == "", f"exact data: {exact}"
