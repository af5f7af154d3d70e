"""Every code has an entry in errors.md: its failing program gives that code alone, its mended one nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import catalogue
import pytest
from diagnostics import tidy
from test_table import found_tests

from kernelwright import _core

CODES = [row[0] for row in _core.codes()]
NOT_TOLD = ("W407", "W409", "W410", "W503", "W504", "W505")  # calls tell the other warnings
WARNED = [code for code in CODES if code[0] == "W" and code not in NOT_TOLD]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_no_example_without_a_code() -> None:
    assert {path.stem.upper() for path in catalogue.EXAMPLES.iterdir()} <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_examples_show_their_codes(code: str) -> None:
    example = catalogue.read_example(code)
    assert example.meaning and example.meaning.endswith((".", ")")), "says what the code means"
    if example.mended is None:
        assert example.fails in found_tests(), "names the test that shows the code"
        return
    name = f"{code.lower()}.py"
    text = catalogue.said(example.fails, example.how, name)
    warned_before = {"W301"} if code == "E310" else set()  # the same place, told when it is compiled
    assert set(catalogue.codes_in(text)) == {code} | warned_before, text
    assert catalogue.said(example.mended, example.how_mended, name) == ""


@pytest.mark.parametrize("code", WARNED)
def test_the_filter_that_a_warning_names_silences_its_code_alone(code: str) -> None:
    example = catalogue.read_example(code)

    def told(silence: str) -> str:
        return catalogue.said(f"import warnings; {silence}\n{example.fails}", example.how, "told.py")

    text, silence = told("").split("\n      = silence: ")
    assert told(silence) == ""
    other = "W101" if code != "W101" else "W102"
    assert told(silence.replace(code, other)) == f"{text}\n      = silence: {silence}"


def test_few_codes_have_no_kernel() -> None:
    without = [code for code in CODES if catalogue.read_example(code).mended is None]
    assert without == [
        "E401",
        "W409",
        "W410",
        "E501",
        "E502",
        "E503",
        "E504",
        "E505",
        "E506",
        "E509",
        "W503",
        "W504",
        "W505",
    ]


def test_page_is_up_to_date() -> None:
    """`make errors` (BLESS=1) writes it anew."""
    page = catalogue.page()
    if os.environ.get("BLESS") == "1":
        catalogue.PAGE.write_text(page)
    written, found = (tidy(text).split("\n## ") for text in (catalogue.PAGE.read_text(), page))
    assert len(written) == len(found), "run `make errors`"
    assert [pair for pair in zip(written, found, strict=True) if pair[0] != pair[1]] == [], (
        "run `make errors`"
    )


def listed(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "kernelwright.errors", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_listing_on_the_command_line() -> None:
    done = listed()
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(" ", 1)[0] for line in done.stdout.splitlines()][: len(CODES)] == CODES
    assert "E301  KernelIndexError         access out of bounds for all extents\n" in done.stdout


def test_one_code_on_the_command_line() -> None:
    done = listed("e301", "W301")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("E301: access out of bounds for all extents\n") and "Mended:" in done.stdout
    assert "\nW301: read before write\n" in done.stdout and "W501" not in done.stdout
    wrong = listed("E999")
    text = "no diagnostic has the code 'E999'; without a code all are listed\n"
    assert (wrong.returncode, wrong.stdout, wrong.stderr) == (1, "", text)


def test_demo_shows_ten_diagnostics() -> None:
    """`make demo-errors`: each kernel gives the code that its mistake deserves, with a help or a note."""
    command = [sys.executable, "-m", "kernelwright.examples.errors"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    parts = done.stdout.split("\n--- ")
    assert len(parts) == 10
    found = [catalogue.DEMO_CODE.findall(part) for part in parts]
    expected = "E103,E103 E101 E109 E213 E203 E210 E207 E301 E303 W301"
    assert [",".join(codes) for codes in found] == expected.split(" ")
    assert all("= help: " in part or "= note: " in part for part in parts)
    assert str(Path(_core.__file__).parent) not in done.stdout
