"""Every fault of the mutation check still applies, and results.md tells of each that something catches it.

Cheap: nothing is built. `make mutants` is what runs the faults.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fault import Fault
from faults import FAULTS
from run import RESULTS, old_rows

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_fault_applies_at_one_place(fault: Fault) -> None:
    text = (ROOT / fault.path).read_text()
    assert fault.applied(text) != text
    assert fault.breaks and "|" not in fault.breaks


def test_the_faults_are_thirty_or_more_and_named_apart() -> None:
    assert len({f.name for f in FAULTS}) == len(FAULTS) >= 30


def test_a_fault_whose_place_changed_is_told() -> None:
    fault = Fault("gone", "any.cpp", "a < b", "a <= b", "nothing")
    assert fault.applied("if (a < b)") == "if (a <= b)"
    for text in ("if (b > a)", "a < b && a < b"):
        with pytest.raises(ValueError, match=r"gone: its text stands [02] times in any.cpp; renew the fault"):
            fault.applied(text)


def test_every_fault_has_been_caught() -> None:
    rows = old_rows()
    missing = [f.name for f in FAULTS if f.name not in rows or not rows[f.name].caught]
    assert not missing, f"{RESULTS.name} does not tell that these are caught: run `make mutants`"
    told = RESULTS.read_text().splitlines()
    assert sum(line.startswith("| ") for line in told) == len(FAULTS) + 1, (
        "the table has rows of other faults"
    )
