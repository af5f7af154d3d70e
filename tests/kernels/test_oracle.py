"""Every corpus kernel: CPython = interpreter = machine code, with equal bits in strict mode (NaNs by class).

The interpreter runs the loops as written, and the IR that machine code is made of.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corpus
import kernelwright as kw
from kernelwright import _core, _core_testing
from kernelwright.errors import KernelError

CASES = corpus.load()
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
# the IR that the emitters get for these machines
LOWERED = ("interp:avx2", "interp:avx512", "interp:sm_90")


def _bits(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of an array with every NaN made the same."""
    if a.dtype.kind == "f" or a.dtype.name == "bfloat16":
        a = np.where(np.isnan(a), np.array(np.nan, a.dtype), a)
    return np.ascontiguousarray(a)


def _same(a: Any, b: Any, what: str) -> None:
    assert isinstance(a, tuple) == isinstance(b, tuple), what
    left, right = (x if isinstance(x, tuple) else (x,) for x in (a, b))
    assert len(left) == len(right), what
    for x, y in zip(left, right, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape, f"{what}: {x.dtype}{x.shape} and {y.dtype}{y.shape}"
        if _bits(x).tobytes() != _bits(y).tobytes():
            np.testing.assert_array_equal(x, y, what)
            raise AssertionError(f"{what}: equal values with other bits (signed zeros)\n{x}\n{y}")


def _run(
    case: corpus.Case, how: str, fp: str = "strict"
) -> tuple[list[tuple[Any, tuple[Any, ...]]], set[str]]:
    """Two calls of one kernel: (result, arguments after the call) each, and the codes of their warnings."""
    kernel = kw.kernel(fp=fp)(case.fn)
    calls = []
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        for seed in (0, 1):
            args = case.make(np.random.default_rng(seed))
            if how == "cpython":
                result = kernel.py(*args)
            else:
                with kw.debug(how if how.startswith("interp") else ""), kw.debug("cache=off; verify=each"):
                    result = kernel(*args)
            calls.append((result, args))
    codes = {str(w.message).split("[", 1)[1][:4] for w in seen if issubclass(w.category, kw.KernelWarning)}
    return calls, codes


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_kernel_agrees(case: corpus.Case) -> None:
    expected, _ = _run(case, "cpython")
    for how in ("interp", *LOWERED, "llvm"):
        calls, codes = _run(case, how)
        for seed, ((result, args), (right, right_args)) in enumerate(zip(calls, expected, strict=True)):
            _same(result, right, f"{case.name} by {how}, seed {seed}")
            for i, (x, y) in enumerate(zip(args, right_args, strict=True)):
                if isinstance(x, np.ndarray):
                    _same(x, y, f"{case.name} by {how}, argument {i} afterwards")
        assert codes == set(case.warns), f"{case.name}: warnings {codes}"


@pytest.mark.parametrize("fp", ["default", "fast"])
@pytest.mark.parametrize("case", [c for c in CASES if c.exact], ids=lambda c: c.name)
def test_exact_sums_are_those_of_cpython_in_every_mode(case: corpus.Case, fp: str) -> None:
    expected, _ = _run(case, "cpython")
    for how in ("interp", "llvm"):
        found, _ = _run(case, how, fp)
        for (want, args_after), (result, args) in zip(expected, found, strict=True):
            _same(result, want, f"{case.name} in {fp} by {how}")
            for x, y in zip(args, args_after, strict=True):
                if isinstance(x, np.ndarray):
                    _same(x, y, f"{case.name} in {fp} by {how}: arguments")


def part(first: int, step: int) -> list[corpus.Case]:
    """With sanitizers some of the cases: all would take two thirds of the time of `make asan-python`."""
    return CASES[first::step] if SANITIZED else CASES


@pytest.mark.parametrize("case", part(0, 2), ids=lambda c: c.name)
def test_default_mode_agrees_between_interpreter_and_machine_code(case: corpus.Case) -> None:
    results = []
    for words in ("cache=off", "cache=off; interp", *(f"cache=off; {way}" for way in LOWERED)):
        args = case.make(np.random.default_rng(2))
        with kw.debug(words), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(kw.kernel(case.fn)(*args))
    for result in results[1:]:
        _same(results[0], result, case.name)


@pytest.mark.parametrize("case", part(1, 2), ids=lambda c: c.name)
def test_debug_mode_gives_the_same_bits_or_an_error(case: corpus.Case) -> None:
    def run(words: str, debug: bool) -> Any:
        args = case.make(np.random.default_rng(0))
        with kw.debug(f"cache=off; verify=each; {words}"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return kw.kernel(debug=debug)(case.fn)(*args)
            except KernelError as error:
                return error

    expected, results = run("", False), [run(words, True) for words in ("", "interp")]
    for result in results:
        if isinstance(result, KernelError):
            assert result.code in (f"E3{n:02}" for n in range(5, 13)), result
            assert str(result) == str(results[0])
        else:
            _same(result, expected, case.name)


VARIANTS: tuple[dict[str, bool], ...] = ({}, {"debug": True}, {"unchecked": True})
if SANITIZED:
    VARIANTS = VARIANTS[:2]  # all passes; compiling is some thirty times slower there
# inspection compiles the main body; the fully checked one differs from it by this pass, which debug runs too
PASSES = set(_core.set_debug("dump:after=?").rpartition(": ")[2].split(", ")) - {"emit", "all"}


def _dumped(case: corpus.Case, options: dict[str, bool], folder: Path, words: str = "") -> dict[str, str]:
    """The IR after every stage that the core runs for a kernel, by one compilation."""
    arguments = case.make(np.random.default_rng(0))
    with kw.debug(f"verify=each; {words}", dump_after="all", dump_dir=folder):
        final = kw.kernel(**options)(case.fn).ir(*arguments, stage="final")
    texts = {path.name.split(".")[2]: path.read_text() for path in folder.iterdir()}
    assert final in texts.values()
    return texts


@pytest.mark.parametrize("case", part(0, 6), ids=lambda c: c.name)
def test_printed_ir_parses_back_after_every_pass(case: corpus.Case, tmp_path: Path) -> None:
    seen: set[str] = set()
    for n, (options, words) in enumerate([*((v, "") for v in VARIANTS), ({}, "interp:sm_90")]):
        texts = _dumped(case, options, tmp_path / str(n), words)
        seen |= texts.keys()
        for stage, text in texts.items():
            printed, error, same = _core_testing.round_trip(text)
            assert error == "" and same, (options, stage, error)
            assert printed == text, (options, stage)
    assert seen == PASSES


def test_corpus_is_large_enough() -> None:
    assert len({c.name for c in CASES}) >= 60
    assert Path(corpus.__file__).parent.name == "kernels"
