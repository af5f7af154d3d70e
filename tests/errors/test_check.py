"""kernel.check(): every E1xx that needs no argument types, and nothing of what only types decide."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from diagnostics import CASES, place, tidy

import kernelwright as kw
from kernelwright import KernelSyntaxError, _core_testing, lang
from kernelwright.lang import allocate as temporary

# what the types and values of a call decide, among the codes that need none
BY_TYPE = {
    "e102": re.compile(r"power|root|of bools|parameter"),
    "e116": re.compile(r"too many"),
}


def cases(codes: str) -> list[Any]:
    """(source, expected text, found without types) of the case files whose names match."""
    found = []
    for path in sorted(CASES.glob(f"{codes}*.txt")):
        for block in path.read_text().rstrip("\n").split("\n\n"):
            title, *lines = block.split("\n")
            arrow = lines.index(">>>")
            by_type = path.stem in BY_TYPE and BY_TYPE[path.stem].search(title)
            texts = "\n".join(lines[:arrow]), "\n".join(lines[arrow + 1 :])
            found.append(pytest.param(*texts, not by_type, id=f"{path.stem} {title[3:]}"))
    return found


@pytest.mark.parametrize(("source", "expected", "without_types"), cases("e1"))
def test_check_finds_what_a_call_finds(source: str, expected: str, without_types: bool) -> None:
    assert tidy(_core_testing.check_text(place(source))) == (tidy(expected) if without_types else "")


@pytest.mark.parametrize(("source", "expected", "without_types"), cases("e[23]"))
def test_check_leaves_types_to_the_call(source: str, expected: str, without_types: bool) -> None:
    found = _core_testing.check_text(place(source))
    codes = set(re.findall(r"error\[(\w+)\]", found))
    assert codes <= {"E216", "E107"} and (not codes or "E216" in expected or "loop variable" in expected)


def codes_of(body: str) -> list[str]:
    return re.findall(r"error\[(\w+)\]", _core_testing.check_text(f"def k(a, n):\n{body}\n    return a\n"))


@pytest.mark.parametrize(
    "statement",
    ["x = y = 1", "x = lambda: 1", "try:\n            x = 1\n        finally:\n            x = 2", "del a"],
)
def test_statements_outside_the_language_may_stand_in_a_dead_branch(statement: str) -> None:
    text = "def k(a):\n    if {}:\n        {}\n    return a\n"
    dead, live = text.format("a.ndim == 2", statement), text.format("a[0] > 1", statement)
    assert _core_testing.check_text(dead) == _core_testing.compile_text(dead, [("float32", 1)]) == ""
    assert "error[E101]" in _core_testing.compile_text(dead, [("float32", 2)])
    for found in _core_testing.check_text(live), _core_testing.compile_text(live, [("float32", 1)]):
        assert re.findall(r"error\[(\w+)\]", found) == ["E101"]


def test_nothing_follows_from_a_statement_outside_the_language() -> None:
    text = "def k(a):\n    import numpy\n    x = [v for v in a]\n    a[0] = numpy.pi + x\n    return a\n"
    for found in _core_testing.check_text(text), _core_testing.compile_text(text, [("float32", 1)]):
        assert re.findall(r":(\d+):\d+: error\[(\w+)\]", found) == [("2", "E101"), ("3", "E101")]


DEAD = """\
    if {}:
        c = output_tensor(undefined)
        print(missing)
        for v in a:
            return 1
"""


@pytest.mark.parametrize(
    "condition",
    [
        "a.ndim == 2",
        "a.dtype == 'float32'",
        "len(a.shape) == 2",
        "False",
        "not a.ndim",
        "a.ndim == 2 and n > 3",
        "n * 0 == 1",
        "a.shape == (1,)",
    ],
)
def test_branches_that_types_may_kill_are_not_checked(condition: str) -> None:
    assert codes_of(DEAD.format(condition)) == []


@pytest.mark.parametrize(
    "condition", ["n > 3", "a[0] == 1", "a.shape[0] > n", "not n", "n + 1 > 2", "n or a[0]"]
)
def test_branches_that_only_a_run_decides_are_checked(condition: str) -> None:
    assert codes_of(DEAD.format(condition)) == ["E110", "E101", "E111", "E108"]


def test_a_constant_in_a_local_may_kill_a_branch() -> None:
    assert codes_of("    r = a.ndim\n    if r == 2:\n        print(a)") == []
    assert codes_of("    r = n + 1\n    if r == 2:\n        print(a)") == ["E101"]


def test_the_dead_arm_of_an_expression_is_not_checked() -> None:
    assert codes_of("    a[0] = missing if a.ndim == 2 else 1") == []
    assert codes_of("    a[0] = missing if n == 2 else 1") == ["E103"]
    assert codes_of("    a[0] = a.ndim == 2 and missing > 1") == []
    assert codes_of("    a[0] = n == 2 and missing > 1") == ["E103"]


def test_a_return_in_a_branch_that_types_decide_is_one() -> None:
    text = "def k(a):\n    if a.ndim == 1:\n        return a\n    else:\n        return a\n"
    assert _core_testing.check_text(text) == ""
    assert "E108" in _core_testing.check_text("def k(a):\n    if a.ndim == 1:\n        pass\n")


def test_contents_of_asserts_and_scopes_are_checked() -> None:
    assert codes_of("    assert missing > 1, other") == ["E103", "E103"]
    assert codes_of("    with attr('key', missing):\n        print(a)") == ["E103", "E101"]
    assert codes_of("    with attr('key', missing), block_realize(other):\n        pass") == ["E103", "E103"]


def test_points_and_copies_may_decide_a_branch() -> None:
    assert codes_of("    for p in grid(a.shape):\n        if len(p) == 2:\n            print(a)") == []
    assert codes_of("    for k in const_range(3):\n        if k == 5:\n            print(a)") == []


def test_loops_and_what_follows_a_jump() -> None:
    assert codes_of("    while n > missing:\n        print(a)") == ["E103", "E101"]
    assert codes_of("    while True:\n        print(a)\n        break\n        missing()") == ["E101"]
    assert codes_of("    while a.ndim == 2:\n        print(a)") == []


def test_steps() -> None:
    loop = "    for i in range(0, 9, {}):\n        a[i] = 1"
    assert (
        codes_of(loop.format("0")) == codes_of(loop.format("n")) == codes_of(loop.format("a[0]")) == ["E116"]
    )
    assert codes_of(loop.format("-1")) == codes_of(loop.format("a.ndim")) == []


def test_returns_of_locals() -> None:
    def found(body: str, result: str) -> list[str]:
        return re.findall(
            r"error\[(\w+)\]", _core_testing.check_text(f"def k(a, n):\n{body}    return {result}\n")
        )

    assert found("    x = a[0] * 2\n", "x") == ["E115"]
    assert found("    x = output_tensor(a.shape)\n", "x") == []
    assert found("    s = a.shape\n", "a, s") == ["E115"]
    assert found("", "n") == []  # a tensor, perhaps
    assert found("    x = output_tensr(a.shape)\n", "x") == ["E103"]  # nothing is known of the result


@kw.kernel
def serves_two_ranks(a):
    c = output_tensor(a.shape, a.dtype)
    if a.ndim == 1:
        for i in range(a.shape[0]):
            c[i] = a[i]
    else:
        for i in range(a.shape[0]):
            c[i, 0] = undefined_for_matrices
    return c


@kw.kernel
def declares_through_the_module(a):
    c = lang.output_tensor(a.shape, a.dtype)
    t = temporary((1,), a.dtype)
    for i in range(a.shape[0]):
        t[0] = a[i]
        c[i] = t[0]
    return c


def test_declarations_through_a_module() -> None:
    declares_through_the_module.check()
    assert declares_through_the_module(np.ones(2)).tolist() == [1.0, 1.0]


def test_one_kernel_serves_two_ranks() -> None:
    serves_two_ranks.check()
    assert serves_two_ranks(np.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(KernelSyntaxError, match="undefined_for_matrices"):
        serves_two_ranks(np.ones((2, 2)))
