"""The gallery of benchmarks: kernels give what their references give, peers exist, the table is right.

Times nothing.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "bench" / "gallery"
sys.path.insert(0, str(FOLDER))

import gallery  # noqa: E402
import table  # noqa: E402
from case import difference, results_of  # noqa: E402
from families import CASES  # noqa: E402
from numba_source import numba_text  # noqa: E402


def first_size(name: str) -> str:
    return next(iter(CASES[name].sizes))


def test_there_are_at_least_forty() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", CASES)
def test_kernel_gives_what_the_reference_gives(name: str) -> None:
    case = CASES[name]
    args = case.arguments(first_size(name))
    before = [np.copy(a) for a in args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = case.kernel(*args)
    wanted = results_of(case.reference(*args))
    wanted = tuple(a.astype(case.real) if a.dtype.kind == "f" else a for a in wanted)
    assert difference(case, found, wanted) == ""
    assert [r.dtype for r in results_of(found)] == [w.dtype for w in wanted]
    for a, b in zip(args, before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", CASES)
def test_c_takes_arguments_results_and_extents(name: str) -> None:
    case = CASES[name]
    args = case.arguments(first_size(name))
    text = (FOLDER / f"{case.family}.c").read_text()
    found = re.search(rf"^void {name}\(([^)]*)\)", text, re.MULTILINE)
    assert found, f"{case.family}.c has no {name}"
    declared = [" ".join(p.split()[:-1]) for p in found[1].split(",")]
    names = {
        "float32": "float",
        "float64": "double",
        "int32": "int",
        "int64": "long",
        "uint8": "unsigned char",
    }
    real = names[np.dtype(case.real).name]
    wanted = [
        f"const {names[a.dtype.name]} *restrict"
        if isinstance(a, np.ndarray)
        else "long"
        if type(a) is int
        else real
        for a in args
    ]
    wanted += [f"{names[r.dtype.name]} *restrict" for r in results_of(case.reference(*args))]
    wanted += ["long"] * len(case.extents(*args))
    assert declared == wanted


def test_numba_takes_the_same_loops() -> None:
    text = numba_text(CASES["layernorm"].kernel.__wrapped__, "float32", "i")
    assert "y = empty(x.shape, x.dtype)" in text
    assert "for i in prange(x.shape[0]):" in text and "for j in range(n):" in text
    assert "mean = float32(0.0)" in text and "mean = float32(mean / n)" in text
    assert "prange" not in numba_text(CASES["layernorm"].kernel.__wrapped__, "float32", "")


def test_differences_are_found() -> None:
    case = CASES["add"]
    wanted = (np.ones((2, 2), np.float32),)
    assert difference(case, wanted[0] + np.float32(1e-5), wanted) == ""
    assert difference(case, np.array([[1, 1], [1, 2]]), wanted) == "2 instead of 1 at (1, 1), and 0 more"
    assert (
        difference(case, np.array([[np.nan, 1], [1, 1]]), wanted) == "nan instead of 1 at (0, 0), and 0 more"
    )
    assert difference(case, np.ones(4), wanted) == "shape (4,) instead of (2, 2)"
    assert difference(case, wanted * 2, wanted) == "2 results instead of 1"


def test_table_holds_medians_and_ratios() -> None:
    row = {
        "kernel": "add",
        "size": "DRAM",
        "samples": {"quiet": 5, "busy": 1},
        "seconds": {
            "kw 1": [2e-3, 9.0, 1e-3],
            "gcc": [4e-3],
            "clang": [1e-3, 1e-3],
            "numba 1": [1e-6],
            "prange 2": [8e-3],
            "onednn 1": [3e-3],
            "limit 1": [1e-3],
            "limit 2": [5e-4],
        },
    }
    assert table.line(row) == (
        "| add | DRAM | 2 ms | - | 4 ms | 1 ms | 1 us | 8 ms | - | 3 ms | 0.50 | - | 0.00 | - | 1.50 | 0.50 |"
    )
    row["seconds"]["kw 2"] = [4e-3]
    data = {"date": "D", "machine": "M", "rounds": 3, "engines": {"gcc": "12"}, "skipped": {"numba": "gone"}}
    text = table.markdown(data | {"rows": [row], "wrong": ["add small, gcc: 1 instead of 2"]})
    assert "- gcc: 12\n- skipped: numba: gone\n- over C: geometric mean 0.50 of 1 rows\n" in text
    assert "- slower than the better of gcc and clang: 1 of 1 rows (add DRAM)\n" in text
    assert "- slower with 2 threads than with 1: add DRAM\n- WRONG: add small, gcc: 1 instead of 2\n" in text
    assert "| 0.25 |\n" in text  # of the limit of two threads
    assert "5 samples were taken beside quiet loops, 1 while" in text


def test_results_are_written_by_date_and_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "HERE", tmp_path / "gallery")
    data = {"date": "2026-01-02", "machine": "Some(R) CPU 7, AVX2, 2 cores", "rounds": 1, "engines": {}}
    data |= {"skipped": {}, "rows": [], "wrong": []}
    gallery.write(data, whole=False)
    assert not (tmp_path / "results").exists()
    gallery.write(data, whole=True)
    stem = tmp_path / "results" / "gallery-2026-01-02-some-r-cpu-7-avx2"
    assert json.loads(stem.with_suffix(".json").read_text()) == data
    assert (
        stem.with_suffix(".md")
        .read_text()
        .startswith("# Gallery, 2026-01-02, Some(R) CPU 7, AVX2, 2 cores\n")
    )


def test_engines_and_what_is_missing_are_named() -> None:
    engines, skipped = gallery.choose_engines()
    assert {"kw 1", "unchecked 1", "numpy"} <= engines.keys()
    named = {name.split()[0] for name in engines} | {name.split()[0].lower() for name in skipped}
    assert {"gcc", "clang", "numba", "onednn", "limit"} <= named
    assert not engines.keys() & skipped.keys()
