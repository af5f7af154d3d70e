"""All cases of the gallery by their names, in the order of the table."""

from __future__ import annotations

import elementwise
import indexed
import layout
import linear
import reductions
import rows
import scans
import simulation
import stencils
import windows
from case import Case

FAMILIES = (
    elementwise,
    reductions,
    rows,
    layout,
    stencils,
    windows,
    scans,
    indexed,
    linear,
    simulation,
)
CASES: dict[str, Case] = {case.name: case for family in FAMILIES for case in family.CASES}
