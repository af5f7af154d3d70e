"""The examples that the package brings: what the tour prints."""

from __future__ import annotations

import numpy as np
import pytest

from kernelwright.examples import demo, kernels, speed


def test_tour_shows_whole_lines_of_assembly(capsys: pytest.CaptureFixture[str]) -> None:
    demo._show_stages()
    shown = capsys.readouterr().out.partition("== its assembly begins\n")[2].splitlines()
    square = np.ones((4, 4), np.float32)
    lines = [x for x in kernels.matmul.asm(square, square).splitlines() if not x.startswith("\t.")]
    assert len(shown) > 10 and shown[0] == "kw_entry:" and shown == lines[: len(shown)]


def test_tour_explains_a_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    demo._show_stages()
    shown = capsys.readouterr().out
    assert "kernel.explain()\nkernel matmul\n" in shown and "  schedule    i in range(a.shape[0])" in shown


def test_speeds_are_of_kernels_that_agree_with_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    for case in speed._cases:
        args = speed.arguments(case)
        np.testing.assert_allclose(
            getattr(kernels, case.name)(*args), case.numpy(*args), rtol=1e-3, atol=1e-3
        )
    found = speed.rows(0.001)
    assert [cells[0].split()[0] for cells in found] == ["add", "softmax", "layernorm", "stencil", "matmul"]
    for _, rate, share, numpy, numba in found:
        assert rate.endswith(("GB/s", "GFLOP/s")) and share.endswith("%") and numpy.endswith("x")
        assert numba == "-" or numba.endswith("x")
