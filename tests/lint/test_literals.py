"""Integer literals in the compiler's decisions; the samples also pin down what counts as one."""

from __future__ import annotations

from . import tree
from .rules.literals import check_literals


def test_literals() -> None:
    tree.expect_clean(check_literals(tree.files()))


def test_reports_numbers_without_a_reason() -> None:
    sample = """\
    #if KW_ABI > 99
    constexpr int most = 512;
    constexpr int16_t least = 0x20, small = 15, fraction = 16.5;
    // Measured: the loop pays from here on.
    constexpr int grain = 1'000;
    return std::min(n, 64);  // a cache line
    if (bits == 32 || bit_width(t) == 64) return name16;
    if (bits == 48) return "64";
    """
    tree.expect_reported(
        check_literals({"compiler/schedule/a.cpp": sample}), "a.cpp:2: 512", "a.cpp:3: 32", "a.cpp:8: 48"
    )
    assert not check_literals({"compiler/ir/a.cpp": sample})
