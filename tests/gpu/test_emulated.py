"""Every corpus kernel on the emulated GPU: arguments on the device, results as CPython computes them.

Strict mode, and default mode, where results that may round otherwise than CPython's are those of compiled
code of the CPU; two orders of the threads. What cannot run on the device runs on the host, on copies; the
results are the same.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from device import Device, Moved

import corpus
import kernelwright as kw

CASES = corpus.load()


def bits(a: Any) -> bytes:
    """The bytes of an array with every NaN made the same."""
    a = np.asarray(a)
    if a.dtype.kind == "f" or a.dtype.name == "bfloat16":
        a = np.where(np.isnan(a), np.array(np.nan, a.dtype), a)
    return np.ascontiguousarray(a).tobytes()


def as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else () if results is None else (results,)


def run(case: corpus.Case, device: Device, fp: str, seed: int) -> None:
    kernel = kw.kernel(fp=fp)(case.fn)
    device.seed(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        given = list(case.make(np.random.default_rng(seed)))
        args = list(case.make(np.random.default_rng(seed)))
        on_host = kernel.py if fp == "strict" or case.exact else kernel
        expected = as_tuple(on_host(*given))
        moved = Moved(args)
        results = as_tuple(kernel(*moved.arguments))
        moved.bring_back()
    assert len(results) == len(expected)
    for i, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        assert bits(moved.on_host(result)) == bits(wanted), f"{case.name}: result {i}, seed {seed}"
    for i, (argument, after) in enumerate(zip(args, given, strict=True)):
        if isinstance(after, np.ndarray):
            assert bits(argument) == bits(after), f"{case.name}: argument {i}, seed {seed}"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_device_gives_the_bits_of_cpython(case: corpus.Case, device: Device) -> None:
    for seed in (0, 1):
        run(case, device, "strict", seed)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_default_mode(case: corpus.Case, device: Device) -> None:
    for seed in (2, 3):
        run(case, device, "default", seed)
