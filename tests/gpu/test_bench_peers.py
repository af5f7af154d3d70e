"""The peers of bench/gpu: formulas with another module, and columns for right results only."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device import Device

import kernelwright as kw

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path += [str(BENCH / "gallery"), str(BENCH / "gpu")]  # behind tests/gpu, which has a device.py as well

import peers  # noqa: E402
from case import difference, results_of  # noqa: E402
from families import CASES  # noqa: E402


class Recorded:
    """NumPy, and the names that were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return getattr(np, name)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.numpy])
def test_formulas_with_another_module(name: str) -> None:
    case = CASES[name]
    arguments = case.arguments(next(iter(case.sizes)))
    wanted, module = results_of(case.reference(*arguments)), Recorded()
    arguments = case.arguments(next(iter(case.sizes)))
    assert difference(case, peers.with_module(case.reference, module)(*arguments), wanted) == ""
    code = getattr(case.reference, "__code__", None)
    assert module.asked or "np" not in code.co_names, "the formula still uses NumPy"


def test_names_of_functions_that_are_called() -> None:
    """Functions that a formula calls use the other module as well."""
    module = Recorded()
    x = np.linspace(1, 2, 8, dtype=np.float32)
    peers.with_module(CASES["black_scholes"].reference, module)(x, x, x, 0.03, 0.25)
    assert "sign" in module.asked  # of np_erf


def test_columns_of_right_results_only(device: Device) -> None:
    spec = importlib.util.spec_from_file_location("bench_gpu_device", BENCH / "gpu" / "device.py")
    assert spec and spec.loader
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    case, options = CASES["sum_rows"], argparse.Namespace(rounds=1, least=0.0)
    given = case.arguments("small")
    wanted = results_of(case.reference(*given))
    arguments = [tuple(kw.Tensor(a, device="cuda") for a in given)]

    def column(function: Any) -> str:
        peer = peers.Peer("numpy", lambda _: function, lambda t: t.numpy(), np.asarray, lambda _: None)
        return str(bench.time_of_peer(peer, case, arguments, wanted, options))

    def fails(_: Any) -> Any:
        raise ValueError("no such kernel")

    assert float(column(lambda x: x.sum(axis=1))) > 0
    assert [column(f) for f in (None, lambda x: x.sum(axis=0), lambda x: x.sum(axis=1) + 1, fails)] == [
        "-"
    ] * 4
