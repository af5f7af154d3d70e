"""The built-in operators, and gradients through them, on the emulated GPU: the bits of the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins
from device import Device, line_here

import kernelwright as kw

f32 = np.float32


def some(*shape: int, dtype: Any = f32, seed: int = 1, low: float = -2, high: float = 2) -> Any:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


A, B, ROW, POSITIVE = some(3, 4), some(3, 4, seed=2), some(4, seed=3), some(3, 4, low=0.1)
LABELS, IDS = np.array([0, 3, 1], np.int32), np.array([2, 0, 2], np.int64)
IMAGE, FILTER = some(2, 3, 5, 5), some(4, 3, 3, 3, seed=5)

# name: (arrays, attributes), several of them where the operator has several ways
CASES: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    **{
        name: [((x,), {}) for x in (A, some(), some(0, 3), some(2, 3, dtype=np.float16))]
        for name in "abs cos erf exp floor gelu identity neg relu sigmoid sign sin tanh".split()
    },
    **{name: [((POSITIVE,), {})] for name in ("log", "sqrt")},
    **{name: [((A,), {})] for name in ("ones_like", "zeros_like")},
    **{
        name: [((A, B), {}), ((A, ROW), {}), ((some(4, 1), some(3)), {}), ((IDS, LABELS), {})]
        for name in "add div equal floor_div less less_equal maximum minimum mod mul not_equal sub".split()
    },
    "pow": [((POSITIVE, B), {})],
    "argmax": [((A,), {}), ((A,), {"axis": 0})],
    "broadcast_to": [((ROW,), {"shape": [3, 4]})],
    "cast": [((A,), {"dtype": np.dtype(np.float64)}), ((A,), {"dtype": np.dtype(np.int32)})],
    "concat": [(((A, B),), {}), (((A, B, A),), {"axis": 1})],
    "conv2d": [((IMAGE, FILTER), {}), ((IMAGE, FILTER), {"stride": [2], "pad": [1]})],
    "conv2d_by_weights": [((IMAGE, some(2, 4, 3, 3)), {"shape": [4, 3, 3, 3]})],
    "conv2d_by_x": [((some(2, 4, 3, 3), FILTER), {"shape": [2, 3, 5, 5]})],
    "cross_entropy": [((A, LABELS), {}), ((A, LABELS), {"reduction": "sum"})],
    "gather": [((A, IDS), {}), ((A, IDS), {"axis": 1})],
    "layernorm": [((A, ROW, some(4, seed=9)), {})],
    "log_softmax": [((A,), {}), ((A,), {"axis": 0})],
    "softmax": [((A,), {}), ((A,), {"axis": 0})],
    "matmul": [((A, B.T.copy()), {}), ((A, B), {"transpose_b": True}), ((some(2, 3, 4), some(2, 4, 5)), {})],
    **{
        name: [((A,), {}), ((A,), {"axes": [0]}), ((A,), {"axes": [1], "keep_dims": True})]
        for name in ("max", "mean", "min", "sum")
    },
    "maxpool2d": [((IMAGE,), {"size": [2]}), ((IMAGE,), {"size": [3], "stride": [2], "pad": [1]})],
    "maxpool2d_grad": [((some(1, 1, 2, 2), some(1, 1, 1, 1), some(1, 1, 1, 1)), {"size": [2]})],
    "narrow": [((A,), {"axis": 1, "first": 1, "count": 2})],
    "nll_rows": [((A, LABELS), {})],
    "nll_rows_grad": [((A, LABELS, some(3)), {})],
    "one_hot": [((LABELS,), {"depth": 4})],
    "reshape": [((A,), {"shape": [4, 3]}), ((A.T,), {"shape": [12]})],
    "scatter_add": [((A, IDS, some(3, 4, seed=7)), {})],
    "select": [((A > 0, A, B), {})],
    "transpose": [((A,), {}), ((some(2, 3, 4),), {"axes": [1, 2, 0]})],
}
NO_GRADIENT = ("argmax", "one_hot", "maxpool2d_grad", "nll_rows_grad", "conv2d_by_weights", "conv2d_by_x")


def moved(values: Any, where: str) -> Any:
    if isinstance(values, tuple):
        return tuple(moved(v, where) for v in values)
    return kw.Tensor(values, device=where)


def bits(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (tuple, list)):
        return tuple(bits(v) for v in value)
    array = value.numpy()
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return (array.dtype.name, array.shape, array.tobytes())


def test_every_operator_has_a_case() -> None:
    assert {f"kw::{name}" for name in CASES} == set(kw.ops.list("kw"))


@pytest.mark.parametrize("name", CASES)
def test_values(name: str, device: Device) -> None:
    op = kw.ops.get(name)
    for arrays, attributes in CASES[name]:
        found, expected = (op(*moved(arrays, where), **attributes) for where in ("cuda", "cpu"))
        results = found if isinstance(found, tuple) else (found,)
        assert all(r.device == "cuda:0" for r in results)
        assert bits(found) == bits(expected), f"{name} {attributes}"


@pytest.mark.parametrize("name", [n for n in CASES if n not in NO_GRADIENT])
def test_gradients(name: str, device: Device) -> None:
    """By each float input, of the sum of the first output."""
    op = kw.ops.get(name)
    for arrays, attributes in CASES[name]:
        flat = arrays[0] if isinstance(arrays[0], tuple) else arrays
        wrt = [i for i, a in enumerate(flat) if np.asarray(a).dtype.kind == "f"]

        def loss(*tensors: Any, given: Any = arrays, more: Any = attributes) -> Any:
            out = op(tensors, **more) if isinstance(given[0], tuple) else op(*tensors, **more)
            return (out[0] if isinstance(out, tuple) else out).sum()

        if not wrt or loss(*moved(tuple(flat), "cpu")).numpy().dtype.kind != "f":
            continue
        found, expected = (kw.grad(loss, wrt)(*moved(tuple(flat), where)) for where in ("cuda", "cpu"))
        assert bits(found) == bits(expected), f"{name} {attributes}"


def test_arithmetic(device: Device) -> None:
    t, u = moved((A, B), "cuda")
    for found, expected in (
        (2 * t / 4 + 1, 2 * A / 4 + 1),
        (1 - t, 1 - A),
        (-abs(t), -abs(A)),
        (t**2, A**2),
        (t > u, A > B),
        (t @ u.T, A @ B.T),
        (t[1], A[1]),
        (t[:, 1:3], A[:, 1:3]),
        (t[::-1], A[::-1]),
        (t.sum(1), A.sum(1)),
        (t.astype(np.float64), A.astype(np.float64)),
    ):
        assert found.device == "cuda:0"
        np.testing.assert_allclose(found.numpy(), expected, 2e-6, 2e-6)
    on_cpu = (
        r"error\[E505\]: input '{0}' of operator 'kw::{1}' is on the CPU, '{2}' on cuda:0\n"
        r".*help: move it: {0}\.to\(\"cuda:0\"\), or of an array kw\.Tensor\({0}, device=\"cuda:0\"\)"
    )
    with pytest.raises(kw.DeviceError, match=on_cpu.format("y", "add", "x")):
        t + B
    with pytest.raises(kw.DeviceError, match=on_cpu.format("x", "add", "y")):
        B + t


def test_gradients_of_gradients(device: Device) -> None:
    def cubed(x: Any) -> Any:
        return (x * x * x).sum()

    second = kw.grad(lambda x: kw.grad(cubed)(x).sum())
    np.testing.assert_allclose(second(moved(A, "cuda")).numpy(), 6 * A, 1e-5)


def test_own_kernels_are_operators_with_gradients(device: Device) -> None:
    @kw.kernel
    def cube(x):
        y = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            y[i] = x[i] * x[i] * x[i]
        return y

    op = kw.register_op("test::cube_on_devices", cube, bprop=lambda x, out, dout: (dout * 3 * x * x,))
    try:
        x = some(5)
        assert op(moved(x, "cuda")).device == "cuda:0"
        by = kw.grad(lambda t: op(t).sum())(moved(x, "cuda"))
        assert by.device == "cuda:0"
        np.testing.assert_allclose(by.numpy(), 3 * x * x, 1e-5)
    finally:
        kw.remove_op("test::cube_on_devices")


def test_functions_of_arrays_get_copies(device: Device) -> None:
    """What they return, and what they write in place, goes back to the device."""
    seen: list[Any] = []

    def halved(a: Any) -> Any:
        seen.append(type(a))
        return a / 2

    op = kw.register_op("test::halved_on_devices", halved, bprop=lambda a, out, dout: (dout.numpy() / 2,))
    try:
        with pytest.warns(kw.KernelWarning, match="W505"):
            found = op(moved(A, "cuda"))
        assert found.device == "cuda:0" and seen == [np.ndarray]
        np.testing.assert_array_equal(found.numpy(), A / 2)
        by = kw.grad(lambda t: op(t).sum())(moved(A, "cuda"))
        np.testing.assert_array_equal(by.numpy(), np.full_like(A, 0.5))
    finally:
        kw.remove_op("test::halved_on_devices")


def test_kernels_in_cpp_get_memory_and_stream_of_the_device() -> None:
    """The unit tests that need a device, with the stand-ins."""
    binary = Path(kw.__file__).parents[1] / "tests" / "kw_unit"
    if not binary.exists():
        pytest.skip(f"{binary} is not built")
    command = [str(binary), "--gtest_filter=DeviceCall.*"]
    done = subprocess.run(
        command, env={**os.environ, **stand_ins.environment()}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[  PASSED  ] 1 test." in done.stdout and "SKIPPED" not in done.stdout


def test_late_faults_of_operators_name_their_file(device: Device) -> None:
    table, at = kw.Tensor(np.ones((4, 6)), device="cuda"), kw.Tensor(np.array([0, 13]), device="cuda")
    line, rows = line_here(), kw.ops.gather(table, at)
    with pytest.raises(kw.KernelIndexError) as raised:
        rows.numpy()
    told = str(raised.value)
    assert told.startswith("runtime/ops/indexed.cpp:6:35: error[E303]: index 13 is out of range")
    assert f"raised late: by the call of 'gather_of' at {__file__}:{line} (call " in told


def test_seeds_of_gradients_move_to_the_device_of_the_output(device: Device) -> None:
    x = kw.Tensor(np.arange(3.0), device="cuda")
    _, pull = kw.vjp(lambda t: t.reshape(3, 1) * t.reshape(3, 1), x)
    (found,) = pull(np.full((3, 1), 2.0))
    assert found.device == "cuda:0" and np.array_equal(found.numpy(), [0, 4, 8])
    _, pull = kw.vjp(lambda t: (t * t).sum(), x)
    assert np.array_equal(pull(np.array(0.5))[0].numpy(), [0, 1, 2])
    _, pull = kw.vjp(lambda t: t * 3, kw.Tensor(np.ones(2)))
    assert pull(kw.Tensor(np.ones(2), device="cuda"))[0].device == "cpu"


def test_what_needs_no_wait_for_the_device(tmp_path: Path) -> None:
    """On a driver whose waits fail: small arrays, constants, gradients, arrays that a kernel captures."""
    program = tmp_path / "program.py"
    program.write_text(
        """\
import numpy as np, kernelwright as kw
table = np.arange(3.0)
@kw.kernel
def add_table(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + table[i]
    return c
x = kw.Tensor(np.ones(3), device="cuda")
add_table(x), add_table(x)
for i in range(3):
    x * float(i)
kw.value_and_grad(lambda t: (t * t * 7.5).sum())(x)
try:
    x.numpy()
except RuntimeError as error:
    print(error)
"""
    )
    fails = {"KW_EMULATOR_FAIL": "cuStreamQuery=999,cuStreamSynchronize=999,cuCtxSynchronize=999"}
    done = subprocess.run(
        [sys.executable, program],
        env={**os.environ, **stand_ins.environment(), **fails},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "cuStreamQuery on device 0: CUDA_ERROR_UNKNOWN\n", done.stderr


@pytest.mark.parametrize("seed", range(3))
def test_small_arrays_arrive_in_the_order_of_their_streams(device: Device, seed: int) -> None:
    """More of them than the memory holds through which they go, which the caller changes afterwards."""
    device.seed(seed)
    generator = np.random.default_rng(seed)
    streams = [device.stream(), device.stream()]
    kept = []
    for _ in range(120):
        values = generator.integers(0, 100, int(generator.integers(1, 8193))).astype(np.float64)
        with kw.cuda.stream(streams[int(generator.integers(2))]):
            t = kw.Tensor(values, device="cuda") + 1.0
        kept.append((t, values + 1))
        values[:] = -1
    assert all(np.array_equal(t.numpy(), expected) for t, expected in kept)
    device.seed(0)
