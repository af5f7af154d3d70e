"""Numbers, durations and tables as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def duration(seconds: float) -> str:
    """Returns "1.72 ms", three digits; "-" for NaN."""
    if math.isnan(seconds):
        return "-"
    scale, unit = next((u for u in _UNITS if seconds >= u[0] * 0.9995), _UNITS[-1])
    return f"{significant(seconds / scale)} {unit}"


def significant(value: float) -> str:
    """Returns a number with three digits, without an exponent: "0.0123", "1.72", "4100"."""
    if math.isnan(value):
        return "-"
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):.{max(digits, 0)}f}"


def aligned(rows: Sequence[Sequence[str]], texts: int = 2) -> str:
    """Returns a table as lines: the first `texts` columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            c.ljust(w) if i < texts else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
