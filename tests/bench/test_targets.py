"""The table of targets: which figures decide, what is told of what is missing, and the plot."""

from __future__ import annotations

import sys
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(FOLDER))

import plot  # noqa: E402
import targets  # noqa: E402


def row(kernel: str, size: str, **seconds: float) -> dict[str, Any]:
    named = {name.replace("_", " "): [value] for name, value in seconds.items()}
    return {"kernel": kernel, "size": size, "seconds": named}


DATA = {
    "machine": "Some CPU, AVX2, 2 cores",
    "skipped": {"oneDNN": "not installed"},
    "modes": {
        "sums": {"strict": [2.0, 2.0, 4.0], "default": [1.0, 1.0, 1.0], "fast": [1.0, 1.2, 1.3]},
        "recurrence": {"strict": [1.0], "default": [1.04], "fast": [1.04]},
    },
    "micro": {"scheduler, p50 of the gallery": 0.2, "cold compile, later: softmax": 20.0},
    "rows": [
        row("add", "cache", kw_1=2.0, kw_2=4.0, gcc=3.0, clang=1.0, limit_1=2.0, out_1=1.0),
        row("add", "small", kw_1=1.0, gcc=3.0, limit_1=0.1),
        row("gather", "DRAM", kw_1=2.0, unchecked_1=1.0, gcc=1.0),
        row("argmax_rows", "DRAM", kw_1=1.0, clang=6.0),
        row("argmax_rows", "cache", kw_1=1.0, clang=5.5),
    ],
}


def judged(what: str) -> list[tuple[str, str, str]]:
    return [(j.goal, j.measured, j.holds) for j in targets.judge_all(DATA) if j.what == what]


def test_the_worst_figure_is_shown_and_all_must_hold() -> None:
    plain = judged("kernels over the better of clang and gcc")
    assert plain == [(">= 0.95 x", "0.5 x (add cache)", "no, 3 of 4")]
    assert judged("argmax of rows over clang") == [(">= 5 x", "5.5 x (argmax_rows cache)", "yes, 2 of 2")]
    assert judged("two threads over one") == [(">= 0.95 x", "0.5 x (add cache)", "no")]


def test_indices_from_data_have_targets_of_their_own() -> None:
    assert judged("kernels with indices from data, unchecked, over C") == [
        (">= 0.95 x", "1 x (gather DRAM)", "yes")
    ]
    assert judged("kernels with indices from data, checked, over C") == [
        (">= 0.75 x", "0.5 x (gather DRAM)", "no")
    ]


def test_a_freer_mode_is_judged_by_its_median_ratio() -> None:
    assert judged("default over strict") == [("<= 1.05263 x", "1.04 x (recurrence)", "yes, 2 of 2")]
    assert judged("fast over default") == [("<= 1.05263 x", "1.2 x (sums)", "no, 1 of 2")]


def test_new_results_and_given_ones_are_near_the_limit() -> None:
    """At sizes beyond the first caches."""
    found = judged("add, copy, chain, broadcast, stencil: of the copy, 1 thread")
    assert found == [(">= 0.9 x", "1 x (add cache)", "yes, 2 of 2")]


def test_upper_bounds() -> None:
    assert judged("scheduler per kernel, p50") == [
        ("<= 0.3 ms", "0.2 ms (scheduler, p50 of the gallery)", "yes")
    ]
    assert judged("cold compile, softmax") == [("<= 14 ms", "20 ms (cold compile, later: softmax)", "no")]


def test_what_is_missing_or_set_for_another_machine_is_said() -> None:
    assert judged("gelu (tanh) over oneDNN") == [
        (">= 3 x", "-", "not measured: oneDNN not installed"),
        (">= 2 x", "-", "not on this CPU: set for AVX-512"),
    ]
    assert judged("LU 512 over clang") == [(">= 2 x", "-", "not measured")]


def test_every_target_names_kernels_and_sizes_of_the_gallery() -> None:
    """On a machine where everything is measured every target has a figure."""
    engines = ("kw 1", "kw 2", "out 1", "out 2", "unchecked 1", "gcc", "clang", "gcc-fast", "clang-fast")
    engines += ("aligned 1", "aligned 2", "limit 1", "limit 2", "onednn 1", "numba 1")
    rows = [
        {"kernel": name, "size": size, "seconds": {e: [1.0] for e in engines}}
        for name, case in targets.CASES.items()
        for size in case.sizes
    ]
    text = (FOLDER / "run.py").read_text()
    names = [n for t in targets.TARGETS for n in t.micro]
    assert names and all(n in text or n.rpartition(": ")[2] in text for n in names)
    data = {"machine": "", "skipped": {}, "rows": rows, "micro": dict.fromkeys(names, 1.0)}
    data["modes"] = DATA["modes"]
    assert [t.what for t in targets.TARGETS if not t.figures(data)] == []


def test_the_table_and_the_plot_hold_every_target() -> None:
    found = targets.judge_all(DATA)
    assert len(targets.markdown(found).splitlines()) == len(targets.TARGETS) + 2
    picture = plot.bars([(j.what, j.share) for j in found if j.share])
    shown = [t.text for t in xml.etree.ElementTree.fromstring(picture).iter() if t.tag.endswith("text")]
    assert "argmax of rows over clang" in shown and "1.10" in shown
