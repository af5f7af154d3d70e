"""`kw.testing.sweep` and `kw.testing.bench`, and plots."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from test_bench import result, timing

import kernelwright as kw
from kernelwright.measure.bench import Peer, Share, Work
from kernelwright.measure.plots import PlotError, plot_lines, plot_roofline, plot_sweep


@kw.testing.sweep("n", [10, 20], {"kw": "kernelwright", "np": "NumPy"}, unit="GB/s")
def speed(n: int, provider: str, factor: float = 1.0) -> float:
    return n * factor * (3 if provider == "kw" else 1)


def test_a_sweep_is_a_table_and_still_a_function() -> None:
    table = speed.run()
    assert table.rows == [(10, [30.0, 10.0]), (20, [60.0, 20.0])]
    assert (
        str(table) == "speed, GB/s\nn   kernelwright  NumPy\n10          30.0   10.0\n20          60.0   20.0"
    )
    assert table.csv() == "n,kernelwright,NumPy\n10,30,10\n20,60,20\n"
    assert speed(5, "np") == 5 and speed.run(factor=2).rows[0] == (10, [60.0, 20.0])


def test_timings_become_milliseconds() -> None:
    @kw.testing.sweep("n", [1], ["a"])
    def once(n: int, provider: str) -> kw.testing.Timing:
        return timing(0.25)

    assert once.run().rows == [(1, [250.0])] and once.run().unit == "ms"


def test_bench_times_a_call() -> None:
    calls: list[int] = []
    found = kw.testing.bench(lambda: calls.append(1), seconds=0.001)
    assert found.samples >= 5 and 0 < found.least <= found.low <= found.median <= found.high
    resets: list[int] = []
    calls.clear()
    kw.testing.bench(lambda: calls.append(1), reset=lambda: resets.append(1), seconds=0.0)
    assert len(calls) == len(resets) == 6


def test_a_roofline_has_the_roof_of_the_fastest_cache(tmp_path: Path) -> None:
    fast = Share(0.5, "memory", 1e15)
    results = [result(), result(work=Work(1e3, 0, 2000, 1000), share_all=fast)]
    plot_roofline(results, str(tmp_path / "roofs.svg"))
    text = (tmp_path / "roofs.svg").read_text()
    assert "3 kB: 1000000 GB/s" in text and "12 MB: " in text
    plot_roofline(results[:1], str(tmp_path / "roofs.svg"))
    assert (tmp_path / "roofs.svg").read_text().count(" GB/s") == 1


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", [".svg", ".png"])
def test_pictures(tmp_path: Path, kind: str, dark: bool) -> None:
    results = [result(shapes=[(n, n), 3]) for n in (10, 20)]
    slow = [result(peers={"CPython": Peer(timing(9.0)), "C": Peer(timing(1e-3))}) for _ in range(2)]
    files = [str(tmp_path / f"{name}{kind}") for name in ("sweep", "slow", "roofline", "lines")]
    plot_sweep(results, [10, 20], "n", files[0], dark)
    plot_sweep(slow, [10, 20], "n", files[1], dark)
    plot_roofline([result(), result(kernel="other", work=Work(0, 1e6, 1e6, 0, "", ""))], files[2], dark)
    speed.run(files[3], dark)
    for file in files:
        start = Path(file).read_bytes()[:100]
        assert start.startswith(b"\x89PNG") if kind == ".png" else b"<?xml" in start
    if kind == ".svg":
        texts = [Path(file).read_text() for file in files]
        assert "<!-- NumPy -->" in texts[0] and "<!-- GB/s -->" in texts[0]
        assert (
            "<!-- CPython -->" not in texts[1] and "<!-- C -->" in texts[1]
        )  # a line on the axis is left out
        assert "<!-- float64" in texts[2] and "<!-- operations per byte -->" in texts[2]


def test_what_cannot_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(call: object, *args: object) -> str:
        with pytest.raises(PlotError) as caught:
            call(*args)  # type: ignore[operator]
        return str(caught.value)

    assert refused(plot_lines, "x.pdf", "", "n", "s", [1], {"a": [1.0]}) == (
        "'x.pdf' is no name of a picture: expected .svg or .png"
    )
    unknown = result(work=Work(0, 0, 1, 1, "loops …", ""))
    assert refused(plot_roofline, [unknown], "x.svg") == (
        "a roofline needs a kernel whose floating-point operations can be counted"
    )
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert refused(plot_lines, "x.svg", "", "n", "s", [1], {"a": [1.0]}) == (
        "plots need matplotlib: pip install 'kernelwright[plots]'"
    )
