"""The peers of bench/gpu: formulas with another module, and columns for right results only."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins
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


def uses_numpy(function: Any) -> bool:
    """Whether a formula, or a function of its module that it calls, mentions `np`."""
    code = getattr(function, "__code__", None)
    if code is None:
        return True
    called = [function.__globals__.get(name) for name in code.co_names]
    own = [f for f in called if getattr(f, "__module__", "") == function.__module__ and f is not function]
    return "np" in code.co_names or any(uses_numpy(f) for f in own)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.numpy])
def test_formulas_with_another_module(name: str) -> None:
    case = CASES[name]
    arguments = case.arguments(next(iter(case.sizes)))
    wanted, module = results_of(case.reference(*arguments)), Recorded()
    arguments = case.arguments(next(iter(case.sizes)))
    assert difference(case, peers.with_module(case.reference, module)(*arguments), wanted) == ""
    assert module.asked or not uses_numpy(case.reference), "the formula still uses NumPy"


def test_names_of_functions_that_are_called() -> None:
    """Functions that a formula calls use the other module as well."""
    module = Recorded()
    x = np.linspace(1, 2, 8, dtype=np.float32)
    peers.with_module(CASES["black_scholes"].reference, module)(x, x, x, 0.03, 0.25)
    assert "sign" in module.asked  # of np_erf


def bench_of_the_device() -> Any:
    spec = importlib.util.spec_from_file_location("bench_gpu_device", BENCH / "gpu" / "device.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_kernel_has_a_process(
    device: Device, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in (stand_ins.environment() if device.is_emulated else {}).items():
        monkeypatch.setenv(name, value)
    bench, options = bench_of_the_device(), argparse.Namespace(size="small", peers=False)
    assert bench.rows_apart(["copy", "gather"], options, 1e9) == 0
    assert re.findall(r"^  (\w+) +small .*  right$", capfd.readouterr().out, re.M) == ["copy", "gather"]


def test_rows_of_a_kernel() -> None:
    bench, options = bench_of_the_device(), argparse.Namespace(size="DRAM")
    found = [(name, size) for name, size, _ in bench.variants(CASES["cumsum_rows"], options)]
    assert found == [("cumsum_rows", "DRAM"), ("cumsum_rows", "16384x4096"), ("cumsum_rows, fast", "DRAM")]
    assert set(bench.LARGE) | bench.FAST <= set(CASES)


def test_columns_of_right_results_only(device: Device, capsys: pytest.CaptureFixture[str]) -> None:
    bench = bench_of_the_device()
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
    others = (None, lambda x: x.sum(axis=0), lambda x: x.sum(axis=1) + 1, fails)
    assert [column(f) for f in others] == ["-", "wrong", "wrong", "failed"]
    assert capsys.readouterr().err == "numpy of sum_rows: ValueError: no such kernel\n"


def test_formulas_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    formulas = peers.torch_peers()[0]
    for case in CASES.values():
        if (formula := formulas.prepare(case)) is None:
            continue
        given = case.arguments(next(iter(case.sizes)))
        found = formula(*(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in given))
        assert difference(case, (formulas.to_numpy(found),), results_of(case.reference(*given))) == "", (
            case.name
        )


def test_loops_of_numba() -> None:
    """In Numba's own simulator, which is chosen before Numba is imported."""
    pytest.importorskip("numba")
    program = (
        "import numba_loops, numpy as np\n"
        "from numba import cuda\n"
        "from case import difference, results_of\n"
        "from families import CASES\n"
        "for name in numba_loops.LOOPS:\n"
        "    case = CASES[name]\n"
        "    given = [a[:70, :50] if a.ndim == 2 else a[:300] % 300 for a in case.arguments('small')]\n"
        "    found = numba_loops.launcher(case)(*(cuda.to_device(np.ascontiguousarray(a)) for a in given))\n"
        "    wrong = difference(case, (found.copy_to_host(),), results_of(case.reference(*given)))\n"
        "    assert wrong == '', (name, wrong)\n"
    )
    path = os.pathsep.join([str(BENCH / "gallery"), str(BENCH / "gpu"), *sys.path])
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=120)
