"""E401: schedules that cannot be read, each with the whole text of its error."""

from __future__ import annotations

import pytest
from diagnostics import tidy

from kernelwright import _core_testing

KERNEL = """\
# kw-ir 2
def f(a: inout(f64, (n, m)), p: weak(i64)):
  fp('strict')
  dims(n, m)
  for i in serial(0, n, 1):
    for j in serial(0, m, 1):
      a[i, j] = a[i, j] + 1.0
  for j in serial(0, m, 1):
    a[0, j] = 0.0
  return a
"""
LOOPS = "      = help: there are `i`, `j`, `j#2`"
FAULTS = {
    "unrol i by 4": ("1:1", "`unrol` is no directive", "^~~~~", "      = help: did you mean `unroll`?"),
    "split k by 4": ("1:7", "no loop of this nest is named `k`", "      ^", LOOPS),
    "split j#3 by 4": ("1:7", "no loop of this nest is named `j#3`", "      ^~~", LOOPS),
    "fuse i": ("1:6", "a loop is expected at the end", "     ^", LOOPS),
    "split i": ("1:7", "`by` is expected at the end", "      ^", ""),
    "split i in 4": ("1:9", "`by` is expected in place of `in`", "        ^~", ""),
    "tile i by x, j by 4": ("1:11", "a number is expected in place of `x`", "          ^", ""),
    "split i by 99999999999999999999": (
        "1:12",
        "a number is expected in place of `99999999999999999999`",
        "           ^~~~~~~~~~~~~~~~~~~~",
        "",
    ),
    "parallel i j": ("1:12", "the directive ends before `j`", "           ^", ""),
    "privatize x at i": (
        "1:11",
        "no buffer of this nest is named `x`",
        "          ^",
        "      = help: there are `a`",
    ),
    "split_index_set j at i + x": (
        "1:26",
        "no value of this nest is named `x`",
        "                         ^",
        "      = help: there are `i`, `n`, `m`, `p`",
    ),
    "# begins\n\n  split i by 4\n  unroll_and_jam i by  # nothing": (
        "4:21",
        "a number is expected at the end",
        "                    ^",
        "",
    ),
}


@pytest.mark.parametrize("text", FAULTS)
def test_e401_malformed_schedule(text: str) -> None:
    place, message, caret, help_line = FAULTS[text]
    number = int(place.split(":")[0])
    line = text.split("\n")[number - 1]
    expected = (
        f"<schedule>:{place}: error[E401]: {message}\n{number:>5} | {line}\n      | {caret}\n{help_line}"
    )
    assert tidy(_core_testing.schedule_ir(KERNEL, text)[1]) == tidy(expected)


def test_a_schedule_that_can_be_read_is_followed() -> None:
    result, error = _core_testing.schedule_ir(KERNEL, "reorder j i  # along columns\nparallel j#2\n")
    assert error == ""
    assert result == KERNEL.replace(
        """\
  for i in serial(0, n, 1):
    for j in serial(0, m, 1):
""",
        """\
  for j in serial(0, m, 1):
    for i in serial(0, n, 1):
""",
    ).replace("  for j in serial(0, m, 1):\n    a[0", "  for j_1 in parallel(0, m, 1):\n    a[0").replace(
        "a[0, j]", "a[0, j_1]"
    )


def test_a_directive_that_is_not_legal_is_named() -> None:
    assert _core_testing.schedule_ir(KERNEL, "split i by 4\nfuse i0 j") == ("", "refused: fuse i0 j")
