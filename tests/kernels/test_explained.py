"""explain() of every corpus kernel agrees with the IR that is compiled: sites, facts, fills and orders."""

from __future__ import annotations

import re

import numpy as np
import pytest

import corpus
import kernelwright as kw

CASES = corpus.load()


@pytest.mark.parametrize("options", [{}, {"unchecked": True}, {"debug": True}], ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_explanation_is_what_is_compiled(case: corpus.Case, options: dict[str, bool]) -> None:
    kernel = kw.kernel(**options)(case.fn)
    args = case.make(np.random.default_rng(0))
    (version,) = kernel.explain(*args).versions
    safe = kernel.ir("check_all_bounds" if options.get("debug") else "guard_bounds", *args)
    words = {fact.what for fact in version.of("access")}
    assert ("checked" in words) == ("site('E303'" in safe)
    assert "unchecked" not in words or "unchecked" in options
    facts = [f for f in re.findall(r"^  fact\((.*)\)$", safe, re.MULTILINE) if not re.match(r"1 <= \w+$", f)]
    assert len(version.conditions) == len(facts), (version.conditions, facts)
    assert ("conditional" in words) <= bool(version.conditions)
    zeroed = [fact for fact in version.of("buffer") if fact.what == "zeroed"]
    heap = len(re.findall(r"fill='zero'", safe))
    assert len(zeroed) <= heap and (len(zeroed) > 0) == (heap > 0)
    lanes = {fact.subject for fact in version.of("sum") if fact.what == "lanes"}
    assert bool(lanes) == ("@ lanes" in kernel.ir("lower", *args))
    assert all((fact.line > 0 or fact.kind == "nest") and fact.subject for fact in version.facts)
    assert str(version).startswith("version (")
