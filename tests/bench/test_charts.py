"""The pictures of the README, drawn from committed results. Measures nothing but one kernel."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import charts  # noqa: E402


def test_speedups_are_those_of_the_table(tmp_path: Path) -> None:
    data = json.loads(charts.newest("bench-*.json").read_text())
    rows = charts.largest_rows(data["rows"])
    over_c = [charts.table.ratios(row)["over C"] for row in rows]
    assert len(rows) > 30 and over_c == sorted(over_c)
    assert len({row["kernel"] for row in rows}) == len(rows)
    charts.draw_speedups(data, tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    mean = charts.table.geometric_mean(over_c)
    assert ">softmax<" in text and f"gcc, clang -O3: {mean:.1f} times as fast" in text
    charts.draw_speedups(data, tmp_path / "b.svg")
    assert (tmp_path / "b.svg").read_text() == text


def test_a_roofline_of_measured_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "CASES", {name: charts.CASES[name] for name in ("saxpy", "embedding")})
    monkeypatch.setattr(charts, "SECONDS", 0.001)
    monkeypatch.setattr(charts, "bandwidth", lambda read, written, threads: 2e10)
    data = {"date": "2026-01-01", "machine": "a machine", **charts.measured_roofline()}
    assert [row["kernel"] for row in data["rows"]] == ["saxpy"]  # the other one computes nothing
    charts.draw_roofline(data, tmp_path / "roofline.svg")
    text = (tmp_path / "roofline.svg").read_text()
    assert ">saxpy<" in text and "memory beyond the caches: 20 GB/s" in text and ">float64: " in text


def test_readme_shows_what_was_drawn() -> None:
    readme = (BENCH.parent / "README.md").read_text()
    for name in ("speedups.svg", "roofline.svg"):
        assert f"bench/results/{name}" in readme and (BENCH / "results" / name).exists()
