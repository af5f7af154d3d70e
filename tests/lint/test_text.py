"""Text: line ends, tabs, trailing spaces, and no trace of the machine it was written on.
Holds for every text file of the tree, whatever its kind.
"""

from __future__ import annotations

from . import tree
from .rules import text

PLACE = "/w*ork/main".replace("*", "")  # or this file would be reported
NAME = "farm*-studio".replace("*", "")


def test_final_newline() -> None:
    tree.expect_clean(text.check_final_newline(tree.files()))


def test_spaces() -> None:
    tree.expect_clean(text.check_spaces(tree.files()))


def test_workplace() -> None:
    tree.expect_clean(text.check_workplace(tree.files()))


def test_reports_final_newline() -> None:
    sample = {"a.md": "one\ntwo", "b.md": "one\n", "py.typed": ""}
    tree.expect_reported(text.check_final_newline(sample), "a.md:2")


def test_reports_spaces() -> None:
    sample = {"a.cpp": "\tx\ny \nz\r\nfine\n", "Makefile": "all:\n\tcc\n", ".gitmodules": "\tpath = x\n"}
    tree.expect_reported(text.check_spaces(sample), "a.cpp:1: tab", "a.cpp:2: trailing", "a.cpp:3: CRLF")


def test_reports_workplace() -> None:
    sample = {"a.py": f"x = '{PLACE}'\n# {NAME}\n# ../build{PLACE} and home{PLACE} are other paths\n"}
    tree.expect_reported(text.check_workplace(sample), "a.py:1", "a.py:2")
