"""Every corpus kernel: its CUDA text, run on the host thread by thread, gives the bits of CPython.

Strict mode, and default mode where sums are exact; two orders of the threads. Kernels whose facts fail for
the arguments, or whose arguments share memory, run on the host and are left out.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import emulate
import numpy as np
import pytest

import corpus
import kernelwright as kw

CASES = corpus.load()


def bits(a: Any) -> bytes:
    """The bytes of an array with every NaN made the same."""
    a = np.asarray(a)
    if a.dtype.kind == "f" or a.dtype.name == "bfloat16":
        a = np.where(np.isnan(a), np.array(np.nan, a.dtype), a)
    return np.ascontiguousarray(a).tobytes()


def share_memory(arrays: list[Any]) -> bool:
    return any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


# the words of IR that facts hold; their values fit every type
WORDS: dict[str, Any] = {"min": min, "max": max, "cast": lambda _, value: value}
WORDS |= dict.fromkeys(("b1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"))


def facts_hold(program: emulate.Program, arguments: dict[str, Any]) -> bool:
    values = {**program.symbols(arguments), **{k: v for k, v in arguments.items() if np.ndim(v) == 0}}
    return all(eval(fact, {**WORDS, **values}) for fact in program.facts)


def run(case: corpus.Case, fp: str, seed: int) -> None:
    kernel = kw.kernel(fp=fp)(case.fn)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        given = case.make(np.random.default_rng(seed))
        expected = kernel.py(*given)
        args = case.make(np.random.default_rng(seed))
        with kw.debug("interp:sm_90"):
            program = emulate.Program(kernel.ir(*args, stage="final"))
    results = expected if isinstance(expected, tuple) else () if expected is None else (expected,)
    signature = inspect.signature(case.fn)
    arguments, after = (dict(signature.bind(*a).arguments) for a in (args, given))
    for made in (arguments, after):
        for name, parameter in signature.parameters.items():
            if parameter.default is not parameter.empty:
                made.setdefault(name, parameter.default)
    if share_memory([a for a in arguments.values() if isinstance(a, np.ndarray)]):
        pytest.skip("arguments share memory: a host run")
    if not facts_hold(program, arguments):
        pytest.skip("a fact fails: a host run")
    assert len(results) == len(program.results)
    for name, result in zip(program.results, results, strict=True):
        if name not in arguments:
            is_zeroed = next(p.is_zeroed for p in program.parameters if p.name == name)
            fill = 0 if is_zeroed else 0xCB
            raw = np.full(max(1, result.nbytes), fill, np.uint8)
            arguments[name] = raw[: result.nbytes].view(result.dtype).reshape(result.shape)
    assert program.run(arguments, seed)[0] == "none"
    for name, result in zip(program.results, results, strict=True):
        assert bits(arguments[name]) == bits(result), f"{case.name}: {name}, seed {seed}"
    for name, value in after.items():
        if isinstance(value, np.ndarray):
            assert bits(arguments[name]) == bits(value), f"{case.name}: argument {name}, seed {seed}"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_text_gives_the_bits_of_cpython(case: corpus.Case) -> None:
    for seed in (0, 1):
        run(case, "strict", seed)
    if case.exact:
        run(case, "default", 2)
