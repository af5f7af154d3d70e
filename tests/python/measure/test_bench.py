"""`kernel.bench`, `kernel.stats` and the texts of their results. Times themselves are not tested."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
import types
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright.errors import KernelError
from kernelwright.measure import bench, first, limits
from kernelwright.measure.bench import Peer, Result, Share, Work
from kernelwright.measure.copies import copied
from kernelwright.measure.limits import best_rate, memory_movers
from kernelwright.measure.peers import find_compilers, numba_function
from kernelwright.measure.report import csv_of, table_of, text_of
from kernelwright.measure.timing import Candidate, Timing, summary, time_calls, time_slow


@kw.kernel
def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c


@kw.kernel
def gather(t, k):
    y = output_tensor(k.shape, t.dtype)
    for i in range(k.shape[0]):
        y[i] = t[k[i]]
    return y


@kw.kernel
def doubled(x):
    for i in range(x.shape[0]):
        x[i] = 2 * x[i]
    return x


def quick(kernel: Any, *args: Any, **options: Any) -> Result:
    found: Result = kernel.bench(*args, seconds=0.002, **options)
    return found


def timing(seconds: float) -> Timing:
    return Timing(seconds, seconds * 0.98, seconds * 1.02, seconds * 0.9, 7)


def result(**changes: Any) -> Result:
    """A result with figures that are easy to follow: 12 MB and 1 M operations in 1 ms."""
    work = Work(1e6, 0, 8e6, 4e6)
    fields: dict[str, Any] = {
        "kernel": "add",
        "types": ["f32[:]/inner", "int"],
        "shapes": [(1000, 1000), 3],
        "target": "avx2",
        "threads": 2,
        "compiled": 0.0123,
        "loaded": 61.4e-6,
        "call": 142e-9,
        "one": timing(2e-3),
        "all": timing(1e-3),
        "work": work,
        "share_one": Share(0.5, "memory", 12e9),
        "share_all": Share(0.75, "memory"),
        "peers": {"NumPy": Peer(timing(5e-3)), "Numba": Peer(None, "Numba is not installed")},
    }
    return Result(**{**fields, **changes})


def test_samples_are_summed_up() -> None:
    assert summary([3.0]) == Timing(3.0, 3.0, 3.0, 3.0, 1)
    found = summary([5.0, 1.0, 2.0, 3.0, 4.0])
    assert (found.median, found.low, found.high, found.least, found.samples) == (3.0, 2.0, 4.0, 1.0, 5)
    assert found.spread == pytest.approx(2 / 3)


def test_candidates_take_turns() -> None:
    order: list[str] = []
    candidates = {
        "a": Candidate(lambda: order.append("a"), lambda: order.append("reset")),
        "b": Candidate(lambda: order.append("b"), lambda: order.append("reset")),
    }
    timings = time_calls(candidates, 0.0)
    assert set(timings) == {"a", "b"} and timings["a"].samples == timings["b"].samples == 5
    # each sample is one call after a reset; the first of each warms up
    assert order == ["reset", "a", "reset", "b"] * 6


def test_a_result_has_all_figures() -> None:
    a = np.random.default_rng(1).standard_normal(5000).astype("f4")
    found = quick(add, a, a, peers={"NumPy": np.add, "wrong": np.subtract, "fails": lambda a: a})
    assert found.kernel == "add" and found.types == ["f32[:]", "f32[:]"] and found.shapes == [(5000,)] * 2
    assert found.work == Work(5000, 0, 40000, 20000, 5000)
    assert found.threads == kw.threads() and found.one.samples >= 5
    for figure in (found.compiled, found.loaded, found.call, found.gigabytes, found.gigaflops):
        assert figure > 0
    assert found.share_all is None or found.share_all.of_limit > 0
    assert found.peers["NumPy"].agrees and found.over("NumPy") > 0
    assert not found.peers["wrong"].agrees and not found.peers["fails"].agrees
    assert found.peers["fails"].problem.startswith("TypeError: ") and math.isnan(found.over("fails"))
    assert found.peers["CPython"].agrees
    assert json.loads(json.dumps(found.as_dict()))["work"]["bytes_read"] == 40000


def test_texts_name_the_arguments() -> None:
    found = quick(gather, "f64[10]", "i64[4, 5][7]".replace("[4, 5]", ""), python=False)
    assert found.types == ["f64[:]", "i64[:]"] and found.shapes == [(10,), (7,)] and not found.peers
    assert found.share_all is None
    assert found.work.at_most_bytes == "a call may use fewer elements of 't' than are counted"
    with pytest.raises(ValueError, match="leaves sizes open"):
        gather.bench("f64[:]", "i64[7]")


def test_arguments_stay_as_they_are() -> None:
    x = np.ones(100)
    found = quick(doubled, x)
    assert x.tolist() == [1.0] * 100 and found.peers["CPython"].agrees
    assert found.work.bytes_read == found.work.bytes_written == 800


def test_unknown_operations_have_no_share_of_arithmetic() -> None:
    @kw.kernel
    def halve(x):
        for i in range(x.shape[0]):
            while x[i] > 1:
                x[i] = x[i] * 0.5
        return x

    found = quick(halve, np.full(10, 8.0))
    assert math.isnan(found.gigaflops) and found.share_all is None
    assert "operations are not counted: a while loop runs as often as the data say" in str(found)


def test_a_kernel_without_a_cache_has_no_time_of_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    def frozen(*_: Any) -> Any:
        raise kw.UnsupportedError("frozen")

    monkeypatch.setattr(first._core, "warm", frozen)
    assert math.isnan(quick(add, "f32[8]", "f32[8]").compiled)


@pytest.mark.parametrize(("read", "written"), [(8000, 4000), (4096, 0), (0, 4096), (100, 400), (10, 1)])
def test_movers_move_about_as_many_bytes(read: int, written: int) -> None:
    movers = memory_movers(read, written)
    assert movers
    for mover in movers.values():
        mover.call()
        assert abs(mover.bytes - read - written) < 40
    assert best_rate(movers, {name: timing(2.0) for name in movers}) == max(
        m.bytes / 2 for m in movers.values()
    )


def test_movers_of_parts_count_what_all_threads_move() -> None:
    """A kernel may use threads for fewer bytes than the movers do, and must not beat its limit by that."""
    movers = memory_movers(8 << 16, 4 << 16, threads=3)
    whole = [name for name in movers if "parts" not in name]
    assert sorted(movers) == sorted([*whole, *(f"{name}, 3 parts" for name in whole)])
    seen = []
    for name in whole:
        parts = movers[f"{name}, 3 parts"]
        assert abs(parts.bytes - movers[name].bytes) < 100
        assert parts.repeat is not None
        parts.repeat(2)
        watched = replace(movers[name], call=lambda: seen.append(kw.threads()))
        repeat = limits._by_each(watched, 3).repeat
        assert repeat is not None
        repeat(1)
    assert seen == [1] * len(whole)
    assert not [name for name in memory_movers(4 << 20, 0, threads=3) if "parts" in name]


def test_text() -> None:
    assert (
        str(result())
        == text_of(result())
        == """\
add(f32[1000, 1000]/inner, 3)   avx2, 2 threads
  compiled in 12.3 ms, from the disk cache in 61.4 us, a call with minimal arguments takes 142 ns
  1 thread      2.00 ms ± 2 %   6.00 GB/s   0.500 GFLOP/s   50 % of the limit (memory, 12.0 GB/s)
  2 threads     1.00 ms ± 2 %   12.0 GB/s   1.00 GFLOP/s   75 % of the limit (memory)
  NumPy         5.00 ms   kw is 2.50x as fast with 1 thread, 5.00x with 2
  Numba       Numba is not installed"""
    )
    odd = result(
        threads=1,
        compiled=math.nan,
        call=math.nan,
        work=Work(0, 0, 8e6, 4e6, at_most_bytes="of branches …"),
        share_one=None,
        peers={"C": Peer(timing(1e-3), "", agrees=False)},
    )
    assert (
        str(odd)
        == """\
add(f32[1000, 1000]/inner, 3)   avx2, 1 thread
  from the disk cache in 61.4 us
  1 thread      2.00 ms ± 2 %   6.00 GB/s
  C             1.00 ms   kw is 0.500x as fast   its result differs
  bytes at most, so they have no share of the limit: of branches …"""
    )
    assert "120 % of the limit (memory; disturbed: measure again)" in str(
        result(share_all=Share(1.2, "memory"))
    )
    assert str(result(share_one=None, peers={})).splitlines()[-1] == (
        "  too short for a share of the limit: most of a run is the call from Python, "
        "which times of C do not include"
    )


def test_tables() -> None:
    results = [result(), result(shapes=[(2, 2), 3], share_all=None, peers={})]
    assert table_of(results) == [
        ["kernel", "arguments", "1 thread", "all", "GB/s", "GFLOP/s", "of the limit"]
        + ["over NumPy", "over Numba"],
        ["add", "f32[1000, 1000]/inner, 3", "2.00 ms", "1.00 ms", "12.0", "1.00", "75% memory", "5.00x", "-"],
        ["add", "f32[2, 2]/inner, 3", "2.00 ms", "1.00 ms", "12.0", "1.00", "-", "-", "-"],
    ]
    rows = list(csv.DictReader(io.StringIO(csv_of(results))))
    assert rows[0]["arguments"] == "f32[1000, 1000]/inner, 3" and rows[0]["all"] == "0.001"
    assert rows[0]["NumPy"] == "0.005" and rows[0]["Numba"] == "" and rows[1]["of_limit"] == ""


def test_numba_gets_the_same_source(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = 3.0

    @kw.kernel
    def scaled(x: f32[:]) -> f32[:]:
        y = output_tensor(x.shape, x.dtype)
        for i in parallel(x.shape[0]):
            y[i] = sqrt(x[i]) * scale
        return y

    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert numba_function(scaled) == "Numba is not installed"
    stand_in = types.ModuleType("numba")
    stand_in.njit = lambda f: f  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numba", stand_in)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: stand_in)
    function = numba_function(scaled)
    assert not isinstance(function, str)
    assert function(np.array([4.0, 9.0])).tolist() == [6.0, 9.0]
    text = kw.kernel("def f(x):\n    return x\n")
    assert quick(text, np.ones(3), numba=True).peers["Numba"].timing


def test_compilers_are_found_by_name() -> None:
    assert set(find_compilers()) <= {"gcc", "clang"}


def test_stats_count() -> None:
    kernel = kw.kernel(add.__wrapped__)
    assert str(kernel.stats()).startswith("0 calls, 0 versions, 0 bodies compiled in 0.0 ms, 0 loaded")
    for _ in range(3):
        kernel(np.ones(3), np.ones(3))
    with pytest.raises(IndexError):
        kernel(np.ones(3), np.ones(2))
    kernel(np.ones(3, "i8"), np.ones(3, "i8"))
    found = kernel.stats()
    assert (found.calls, found.versions) == (5, 2)
    # the failed call ran the checked body, too
    assert found.compiles + found.cache_hits == 3
    assert found.compile_seconds + found.load_seconds > 0


def test_words_of_the_language_are_those_of_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelwright import lang

    stand_in = types.ModuleType("numba")
    stand_in.njit = lambda f: f  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numba", stand_in)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: stand_in)
    for word, wanted in (
        ("exp", math.exp),
        ("parallel", range),
        ("grid", np.ndindex),
        ("output_tensor", np.zeros),
        ("max", max),
    ):
        monkeypatch.setitem(globals(), word, getattr(lang, word, wanted))
        function: Any = numba_function(add)
        assert function.__globals__[word] is wanted


def test_slow_calls_are_timed_once() -> None:
    calls: list[int] = []
    found = time_slow(Candidate(lambda: calls.append(1)), 0.0)
    assert found.samples == len(calls) == 1


def test_copies_keep_strides_and_views() -> None:
    whole = np.arange(60.0).reshape(6, 10)
    for view in (
        whole,
        whole[::-1, ::2],
        whole[1:3, 2:5],
        np.broadcast_to(whole[0], (3, 10)),
        whole[:0, ::2],
    ):
        first, second, number = copied((view, view, 3))
        assert first is second and number == 3
        assert np.array_equal(first, view) and (first.strides == view.strides or not view.size)
        assert not np.shares_memory(first, view)


def test_calls_of_operators_are_counted() -> None:
    kernel = kw.kernel(add.__wrapped__)
    op = kw.register_op("test_bench::added", kernel)
    before = kernel.stats().calls
    for _ in range(3):
        op(np.ones(3), np.ones(3))
    assert kernel.stats().calls == before + 3


def test_a_failed_compilation_is_not_counted() -> None:
    @kw.kernel
    def wrong(x):
        return x + "text"

    with pytest.raises(KernelError):
        wrong(np.ones(3))
    assert (wrong.stats().calls, wrong.stats().compiles) == (1, 0)


def test_a_share_above_the_whole_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to three times: then the last one counts, or the kernel is the limit."""
    shares = iter([1.2, 1.01, 0.9, 1.5, 1.4, 1.3, 0.5, 1.2, 1.2, 1.1])
    timing, work = Timing(1.0, 0.9, 1.1, 0.9, 3), Work(0, 0, 0, 0, 0, 0, False, False)
    call = Candidate(lambda: None, None, None)
    monkeypatch.setattr(bench, "_measured", lambda *_: (timing, Share(next(shares), "memory", 1.0)))
    found = [bench._run_times(call, work, 1, 0.1)[1] for _ in range(4)]
    assert [(s.of_limit, s.rate) for s in found if s] == [(0.9, 1), (1.3, 1), (0.5, 1), (1, 1.1)]
    monkeypatch.setattr(bench, "_measured", lambda *_: (timing, None))
    assert bench._run_times(call, work, 1, 0.1) == (timing, None)
