"""The tour: a custom operator run unchanged, five kernels checked and timed, the schedule, IR and assembly of
one, and an error message.

`python -m kernelwright.examples.demo [PROGRAM …]`; programs are run through `kw run` too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kernelwright as kw

from . import kernels, mistakes, speed

Arrays = tuple[np.ndarray[Any, Any], ...]
_here = Path(__file__).resolve().parent


def _inputs(name: str, n: int) -> Arrays:
    rng = np.random.default_rng(0)

    def f(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape).astype(np.float32)

    return {"add": (f(n, n), f(n, n)), "matmul": (f(n, n), f(n, n)), "layernorm": (f(n, n), f(n), f(n))}.get(
        name, (f(n, n),)
    )


def _reference(name: str, args: Arrays) -> np.ndarray[Any, Any]:
    """Computes the same by NumPy, in float64 if sums are involved."""
    x = args[0].astype(np.float64)
    out: np.ndarray[Any, Any] = np.zeros_like(x)
    if name == "add":
        out = args[0] + args[1]
    elif name == "matmul":
        out = x @ args[1]
    elif name == "softmax":
        e = np.exp(x - x.max(axis=1, keepdims=True))
        out = e / e.sum(axis=1, keepdims=True)
    elif name == "layernorm":
        mean, var = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
        out = (x - mean) / np.sqrt(var + 1e-5) * args[1] + args[2]
    else:
        out[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) - x[1:-1, 1:-1]
    return out


def _check(kernel: kw.Kernel, name: str) -> None:
    small = _inputs(name, 6)
    strict = kw.kernel(fp="strict")(kernel.__wrapped__)
    np.testing.assert_array_equal(
        strict(*small), strict.py(*small), f"{name}: CPython and machine code differ"
    )
    large = _inputs(name, 192)
    np.testing.assert_allclose(kernel(*large), _reference(name, large), rtol=2e-4, atol=2e-4)


_child = """
import sys, time, numpy as np
from kernelwright.examples import demo, kernels
name = sys.argv[1]
args = demo._inputs(name, 4)
kernel = getattr(kernels, name)
start = time.perf_counter()
kernel(*args)
print((time.perf_counter() - start) * 1e3)
"""


def _first_call_ms(name: str) -> float:
    """Returns the time of the first call in a new process, without imports."""
    done = subprocess.run([sys.executable, "-c", _child, name], capture_output=True, text=True, check=True)
    return float(done.stdout)


def _title(text: str) -> None:
    print(f"\n== {text}", flush=True)


def _run_programs(programs: list[str]) -> None:
    for program in programs:
        _title(f"kw run {os.path.basename(program)}")
        subprocess.run([sys.executable, "-m", "kernelwright", "run", program], check=True)


_assembly_lines = 14


def _show_table() -> None:
    _title("five kernels in plain loops: checked against CPython and NumPy")
    print(f"{'kernel':<12}{'compile, ms':>14}{'new process, from cache, ms':>30}")
    for name in ("add", "matmul", "softmax", "layernorm", "stencil"):
        cold = _first_call_ms(name)
        cached = min(_first_call_ms(name) for _ in range(3))
        _check(getattr(kernels, name), name)
        print(f"{name:<12}{cold:>14.2f}{cached:>30.2f}")
    a, b = _inputs("add", 4)
    loops = 20000
    ours = min(timeit.repeat(lambda: kernels.add(a, b), number=loops, repeat=5)) / loops * 1e9
    theirs = min(timeit.repeat(lambda: a + b, number=loops, repeat=5)) / loops * 1e9
    print(f"\nadd of two 4x4 arrays, per call: {ours:.0f} ns (NumPy's a + b: {theirs:.0f} ns)")


def _show_speed() -> None:
    _title("how fast they are here")
    speed.show()


def _show_stages() -> None:
    a, b = _inputs("matmul", 4)
    _title("what was done to the loops of matmul: kernel.explain()")
    print(kernels.matmul.explain(a, b))
    _title("the IR of matmul: one condition on shapes, no check left inside the loops")
    print(kernels.matmul.ir(a, b, stage="final").rstrip())
    _title("its assembly begins")
    lines = [line for line in kernels.matmul.asm(a, b).splitlines() if not line.startswith("\t.")]
    print("\n".join(lines[:_assembly_lines]))


def _show_error() -> None:
    _title("what an error looks like")
    try:
        mistakes.one_step_too_far(np.zeros(4, np.float32))
    except kw.KernelIndexError as error:
        print(error)


def main(programs: list[str], clock: Callable[[], float] = time.perf_counter) -> None:
    start = clock()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["KW_CACHE_DIR"] = cache
        _run_programs([str(_here / "custom_op.py"), *programs])
        _show_table()
        _show_speed()
        _show_stages()
        _show_error()
        _run_programs([str(_here / "custom_grad.py")])
    print(
        f"\n{clock() - start:.1f} s. Read next: README.md,"
        " then compiler/README.md for how a kernel becomes machine code."
    )


if __name__ == "__main__":
    main(sys.argv[1:])
