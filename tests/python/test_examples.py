"""The examples that the package brings: what the tour prints."""

from __future__ import annotations

import numpy as np
import pytest

from kernelwright.examples import demo, kernels


def test_tour_shows_whole_lines_of_assembly(capsys: pytest.CaptureFixture[str]) -> None:
    demo._show_stages()
    shown = capsys.readouterr().out.partition("== its assembly begins\n")[2].splitlines()
    square = np.ones((4, 4), np.float32)
    lines = [x for x in kernels.matmul.asm(square, square).splitlines() if not x.startswith("\t.")]
    assert len(shown) > 10 and shown[0] == "kw_entry:" and shown == lines[: len(shown)]
