"""Kernels on the emulated GPU: tensors, results, streams, host runs."""

from __future__ import annotations

import copy
import logging
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import stand_ins
from device import Capsules, Device, View

import kernelwright as kw


@kw.kernel
def double(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] * 2
    return c


@kw.kernel
def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c


@kw.kernel
def scale_in_place(a, s):
    for i in range(a.shape[0]):
        a[i] = a[i] * s
    return a


@kw.kernel
def shift(a, c):
    for i in range(a.shape[0] - 1):
        c[i + 1] = a[i]
    return c


CHECKED = """\
def checked(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        assert a[i] < 5, "too large"
        c[i] = a[i]
    return c
"""


def gpu(x: Any, device: str = "cuda") -> Any:
    return kw.Tensor(np.asarray(x), device=device)


X = np.arange(6.0)


# ---- tensors


def test_tensors_move_between_devices(device: Device) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    t = gpu(x)
    assert (t.device, t.shape, t.dtype, t.ndim, t.size) == ("cuda:0", (3, 4), np.float32, 2, 12)
    assert t.to("cuda") is t and t.to("cuda:0") is t and t.cpu().device == "cpu"
    other = t.to("cuda:1")
    assert other.device == "cuda:1" and kw.Tensor(other).device == "cuda:1"
    for same in (t, other, t.cpu(), kw.Tensor(other, device="cpu"), kw.Tensor(other, device="cuda")):
        assert np.array_equal(same.numpy(), x)
    assert kw.Tensor(t, np.float64).numpy().dtype == np.float64
    copy = t.numpy()
    copy[0, 0] = 5  # the copy is the caller's
    assert t.numpy()[0, 0] == 0
    assert np.array_equal(np.asarray(t), x) and gpu(3.5).item() == 3.5 and float(gpu([2.0])) == 2


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32"])
def test_every_dtype_and_shape_comes_back(device: Device, shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(3).integers(0, 2, shape).astype(dtype)
    back = gpu(x).numpy()
    assert back.dtype == x.dtype and back.shape == x.shape and np.array_equal(back, x)


def test_strided_arrays_are_packed(device: Device) -> None:
    x = np.arange(24.0).reshape(4, 6)
    for part in (x[::2, ::-1], x.T, x[:, 2], x[::-1]):
        assert np.array_equal(gpu(part).numpy(), part)


def test_views_of_device_memory_come_back(device: Device) -> None:
    x = np.arange(24.0).reshape(4, 6)
    t = gpu(x)
    for part in (x[::2, ::-1], x.T, x[1:3, 2:4]):
        result = double(View(t, part[:, 1], x.ctypes.data))
        assert np.array_equal(result.numpy(), part[:, 1] * 2)


# ---- calls


def test_results_are_tensors_of_the_device(device: Device) -> None:
    class Mine(kw.Tensor):
        pass

    result = double(gpu(X))
    assert type(result) is kw.Tensor and result.device == "cuda:0"
    assert double(gpu(X, "cuda:1")).device == "cuda:1"
    mine = Mine(X, device="cuda")
    assert isinstance(double(mine), kw.Tensor)
    assert np.array_equal(double(double(mine)).numpy(), 4 * X)


def test_numbers_and_arrays_of_one_number_go_anywhere(device: Device) -> None:
    @kw.kernel
    def saxpy(s, x, y):
        c = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            c[i] = s * x[i] + y[()]
        return c

    @kw.kernel
    def scaled(s, x):
        c = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            c[i] = s * x[i]
        return c

    for s in (2, 2.0, np.float64(2), True):
        assert np.array_equal(scaled(s, gpu(X)).numpy(), s * X)
    for y in (np.array(1.0), kw.Tensor(np.array(1.0)), gpu(1.0)):
        assert np.array_equal(saxpy(2.0, gpu(X), y).numpy(), 2 * X + 1)


def test_captured_arrays_are_copied_with_each_call(device: Device) -> None:
    table = np.arange(6.0)

    @kw.kernel
    def plus(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] + table[i]
        return c

    assert np.array_equal(plus(gpu(X)).numpy(), X + table)
    table[2] = 50
    assert np.array_equal(plus(gpu(X)).numpy(), X + table)


def test_zero_minus_zero_is_no_negative_zero(device: Device) -> None:
    """g++ 12 makes a negation of it where the subtrahend was an integer, which NVRTC does not."""
    text = (
        "def negated(a):\n    c = output_tensor(a.shape, float64)\n"
        "    for i in range(a.shape[0]):\n        c[i] = 0.0 - a[i]\n    return c\n"
    )
    found = kw.kernel(text)(kw.Tensor(np.array([0, 3, -4]), device="cuda")).numpy()
    assert found.tolist() == [0, -3, 4] and not np.signbit(found[0])


def test_arguments_are_written_in_place(device: Device) -> None:
    t = gpu(X)
    assert scale_in_place(t, 3.0) is t
    assert np.array_equal(t.numpy(), 3 * X)


def test_given_outputs_are_written(device: Device) -> None:
    t, out = gpu(X), gpu(np.zeros(6))
    assert double(t, out=out) is out
    assert np.array_equal(out.numpy(), 2 * X)
    assert double(t, out=t) is t and np.array_equal(t.numpy(), 2 * X)
    with pytest.raises(kw.KernelValueError) as caught:
        double(t, out=gpu(np.zeros(5)))
    assert caught.value.message == "out= of kernel 'double' for 'c' is float64[5] but must be float64[6]"


def test_what_shares_memory_runs_on_the_host(device: Device, caplog: pytest.LogCaptureFixture) -> None:
    """One loop over overlapping arrays has an order, which a GPU does not keep."""
    x = np.arange(6.0)
    t = gpu(x)
    shift(View(t, x, x.ctypes.data), View(t, x, x.ctypes.data))
    assert np.array_equal(t.numpy(), shift.py(x, x))
    a = np.arange(8.0)
    part = gpu(a)
    with caplog.at_level(logging.DEBUG, logger="kernelwright"):
        shift(View(part, a[:6], a.ctypes.data), View(part, a[2:], a.ctypes.data))
    wanted = "kernel 'shift' runs on the host, on copies of 64 bytes: its arrays share memory"
    assert wanted in caplog.messages
    expected = np.arange(8.0)
    shift.py(expected[:6], expected[2:])
    assert np.array_equal(part.numpy(), expected)


def test_an_output_over_an_argument_is_computed_apart(device: Device) -> None:
    a = np.arange(8.0)
    t = gpu(a)
    add(View(t, a[:6], a.ctypes.data), gpu(X), out=View(t, a[2:], a.ctypes.data))
    assert np.array_equal(t.numpy()[2:], np.arange(6.0) + X)


def test_debug_kernels_run_on_the_host(device: Device, caplog: pytest.LogCaptureFixture) -> None:
    checked = kw.kernel(debug=True)(CHECKED)
    with caplog.at_level(logging.DEBUG, logger="kernelwright"):
        assert np.array_equal(checked(gpu(X[:5])).numpy(), X[:5])
    assert "runs on the host, on copies of 80 bytes: it has debug=True" in caplog.text
    with pytest.raises(kw.KernelAssertionError, match="too large"):
        checked(gpu(X))


def test_interpreted_kernels_run_on_the_host(device: Device, caplog: pytest.LogCaptureFixture) -> None:
    with kw.debug("interp"), caplog.at_level(logging.DEBUG, logger="kernelwright"):
        assert np.array_equal(double(gpu(X)).numpy(), 2 * X)
    assert "runs on the host, on copies of 96 bytes: KW_DEBUG interprets it" in caplog.text


def test_a_fact_that_fails_runs_the_checked_body_on_the_host(
    device: Device, caplog: pytest.LogCaptureFixture
) -> None:
    @kw.kernel
    def first_rows(a, b):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] + b[i]
        return c

    assert np.array_equal(first_rows(gpu(X), gpu(X)).numpy(), 2 * X)
    with (
        caplog.at_level(logging.DEBUG, logger="kernelwright"),
        pytest.raises(kw.KernelIndexError, match="index 3 is out of range for dimension 0 of 'b'"),
    ):
        first_rows(gpu(X), gpu(X[:3]))
    assert "bytes: a condition of the fast code does not hold for its sizes" in caplog.text


def test_calls_without_work(device: Device) -> None:
    assert double(gpu(X[:0])).shape == (0,)


def test_tensors_with_a_history_need_an_operator(device: Device) -> None:
    def loss(t: Any) -> Any:
        return double(t)

    with pytest.raises(kw.KernelTypeError, match="is a tensor that gradients go through"):
        kw.grad(loss)(gpu(X))


# ---- loops that the host runs


@kw.kernel
def halve_until_small(a, limit):
    while a[0] > limit:
        for i in range(a.shape[0]):
            a[i] = a[i] / 2
    return a


def test_the_host_waits_for_a_condition_of_the_device(device: Device) -> None:
    t = gpu(X + 100)
    halve_until_small(t, 1.0)
    expected = X + 100
    halve_until_small.py(expected, 1.0)
    assert np.array_equal(t.numpy(), expected)


# ---- streams and memory


def test_streams_wait_for_what_they_read(device: Device) -> None:
    """A tensor made in one stream may be read in another: the second waits by an event."""
    for seed in range(6):
        device.seed(seed)
        one, two = device.stream(blocking=False), device.stream(blocking=False)
        with kw.cuda.stream(one):
            t = double(gpu(X))
        with kw.cuda.stream(two):
            u = double(t)
            assert u.__cuda_array_interface__["stream"] == two
        assert np.array_equal(double(u).numpy(), 8 * X)
    device.seed(0)


def test_other_libraries_name_their_stream(device: Device) -> None:
    for seed in range(6):
        device.seed(seed)
        theirs = device.stream(blocking=False)
        with kw.cuda.stream(theirs):
            t = double(gpu(X))
        foreign = View(t, X, X.ctypes.data, theirs)
        assert np.array_equal(double(foreign).numpy(), 4 * X)
    device.seed(0)
    foreign.description["stream"] = 0
    with pytest.raises(TypeError, match="names stream 0, which the interface forbids"):
        double(foreign)


def test_interfaces_that_are_malformed(device: Device) -> None:
    t = gpu(X)
    for change, why in (
        ({"typestr": ">f8"}, "has the dtype '>f8', which kernels do not take"),
        ({"typestr": "<c8"}, "has the dtype '<c8', which kernels do not take"),
        ({"data": 5}, "needs shape, typestr and data"),
        ({"data": ("far", False)}, "needs an address and a bool as data"),
        ({"shape": 5}, "needs a tuple of integers as shape"),
        ({"shape": ("all",)}, "needs a tuple of integers as shape"),
        ({"strides": (1.5,)}, "needs a tuple of integers as strides"),
        ({"mask": t}, "has a mask, which kernels do not read"),
        ({"strides": (3,)}, "has strides that are no multiples of its items"),
        ({"strides": (8, 8)}, "has another number of strides than extents"),
    ):
        foreign = View(t, X, X.ctypes.data)
        foreign.description.update(change)
        with pytest.raises(TypeError) as caught:
            double(foreign)
        assert str(caught.value).startswith(f"__cuda_array_interface__ {why}")
    foreign = View(t, X, X.ctypes.data)
    foreign.description["data"] = (X.ctypes.data, False)
    with pytest.raises(ValueError, match="the array lies in memory of no GPU of this process"):
        double(foreign)


def test_tensors_of_the_cpu_have_no_interface(device: Device) -> None:
    assert not hasattr(kw.Tensor(X), "__cuda_array_interface__")
    described = gpu(X).__cuda_array_interface__
    assert {k: described[k] for k in ("shape", "typestr", "strides", "version", "stream")} == {
        "shape": (6,),
        "typestr": "<f8",
        "strides": None,
        "version": 3,
        "stream": 1,
    }


def test_freed_memory_is_used_again(device: Device) -> None:
    kw.cuda.trim()
    begin = kw.cuda.memory()
    assert begin.kept == 0 and begin.free > 0
    t = gpu(np.zeros(1 << 16))
    assert kw.cuda.memory().used == begin.used + (1 << 19)
    del t
    after = kw.cuda.memory()
    assert (after.used, after.kept) == (begin.used, 1 << 19)
    t = gpu(np.zeros(1 << 16))
    assert kw.cuda.memory().kept == 0
    del t
    kw.cuda.trim()
    assert kw.cuda.memory() == begin


def test_ever_new_sizes_share_memory(device: Device) -> None:
    """Eight sizes up to each power of two, in elements of eight bytes here."""
    sizes = range(5000, 10000, 7)
    for n in sizes:
        double(gpu(np.zeros(n)))
    kw.cuda.synchronize()
    before = kw.cuda.memory().kept
    for n in sizes:
        double(gpu(np.zeros(n + 1)))
    assert kw.cuda.memory().kept - before < 200_000
    assert before < 64 * 100_000


def test_what_is_known_of_a_device(device: Device) -> None:
    assert kw.cuda.available() and kw.cuda.why() == "" and kw.cuda.device_count() == 2
    assert kw.cuda.device() == kw.cuda.Device(0, "Emulated GPU 0", (9, 0), "sm_90", (13, 0))
    assert kw.cuda.device(1).arch == "sm_80"


# ---- DLPack


def test_capsules_go_both_ways(device: Device) -> None:
    for x in (X, np.arange(6, dtype=np.int8), np.array([True, False])):
        foreign = Capsules(gpu(x))
        assert np.array_equal(double(foreign).numpy(), double.py(x)) and foreign.streams == [1]
    in_place = Capsules(gpu(X))
    assert scale_in_place(in_place, 2.0) is in_place
    assert np.array_equal(in_place.tensor.numpy(), 2 * X)
    assert gpu(X, "cuda:1").__dlpack_device__() == (2, 1) and kw.Tensor(X).__dlpack_device__() == (1, 0)
    with kw.cuda.stream(device.stream()):
        foreign = Capsules(gpu(X))
        assert np.array_equal(double(foreign).numpy(), 2 * X) and foreign.streams[0] > 2


def test_capsules_of_the_cpu(device: Device) -> None:
    t = kw.Tensor(X)
    view = np.from_dlpack(t)
    view[0] = 9
    assert t.numpy()[0] == 9
    assert np.from_dlpack(kw.Tensor(X), copy=True)[1] == 1
    with pytest.raises(ValueError, match="a tensor on the CPU has no stream"):
        t.__dlpack__(stream=1)
    with pytest.raises(BufferError, match=r"the tensor lies on cpu: move it with \.to"):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="DLPack forbids stream 0"):
        gpu(X).__dlpack__(stream=0)


def test_a_capsule_nobody_takes_keeps_no_memory(device: Device) -> None:
    kw.cuda.trim()
    begin = kw.cuda.memory()
    t = gpu(np.zeros(1 << 16))
    capsule = t.__dlpack__()
    del t
    assert kw.cuda.memory().used == begin.used + (1 << 19)
    del capsule
    assert kw.cuda.memory().used == begin.used
    kw.cuda.trim()


SHORT_OF_MEMORY = """\
import sys, types
import numpy as np
import kernelwright as kw

megabyte = np.zeros(1 << 20, "uint8")
held = [kw.Tensor(megabyte, device="cuda") for _ in range(6)]
asked = []

def empty_cache():
    asked.append(len(held))
    held.clear()

torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(empty_cache=empty_cache)
sys.modules["torch"] = torch
more = [kw.Tensor(megabyte, device="cuda") for _ in range(6)]
print(asked, len(more))
try:
    kw.Tensor(np.zeros(7 << 20, "uint8"), device="cuda")
except MemoryError as e:
    print(e)
print(asked)
"""


def test_pytorch_is_asked_for_memory_that_it_keeps() -> None:
    environment = stand_ins.environment(KW_EMULATOR_MEMORY=str(9 << 20))
    done = subprocess.run(
        [sys.executable, "-c", SHORT_OF_MEMORY],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "[6] 6" and lines[2:] == ["[6, 0]"], done.stdout + done.stderr
    assert lines[1].startswith("device 0 has no 7.0 MB left: ")


def test_a_late_fault_in_an_operator_that_is_compiled(device: Device) -> None:
    """The operator's own source is not what the fault is in."""
    gather = kw.kernel(
        "def gather(a, at):\n    y = output_tensor(at.shape, a.dtype)\n    for i in range(at.shape[0]):\n"
        "        y[i] = a[at[i]]\n    return y\n"
    )
    a, at = kw.Tensor(np.ones(3, np.float16), device="cuda"), kw.Tensor(np.array([5]), device="cuda")
    gather(a, at)
    with pytest.raises(kw.KernelIndexError) as caught:
        for _ in range(3):
            kw.ops.erf(a)
        kw.cuda.synchronize()
    assert "runtime/ops" not in str(caught.value) and ":4:18: error[E303]: index 5" in str(caught.value)


def test_devices_are_named_by_words(device: Device) -> None:
    for name in (0, "", "gpu", "cuda:64", "cuda:4294967296", "cuda:-1"):
        with pytest.raises(
            ValueError, match=r"there is no device .*; devices are 'cpu', 'cuda' and 'cuda:N'"
        ):
            kw.Tensor(np.ones(3), device=name)


def test_numbers_of_devices(device: Device) -> None:
    for number in (-1, 64, 1 << 40):
        with pytest.raises(
            ValueError, match=f"^there is no device {number}; devices are numbered from 0 on$"
        ):
            kw.cuda.device(number)


def test_no_array_tells_the_device_of_a_repeated_call(device: Device) -> None:
    """A kernel without arrays runs on the device of out=, and without that on the CPU."""

    @kw.kernel
    def numbers(n):
        y = output_tensor((n,), "int32")
        for i in range(n):
            y[i] = i * n
        return y

    wanted = np.arange(8, dtype=np.int32) * 8
    there, here = kw.Tensor(np.zeros(8, np.int32), device="cuda"), np.zeros(8, np.int32)
    for _ in range(2):
        assert np.array_equal(numbers(8, out=there).numpy(), wanted)
        found = numbers(8)
        assert isinstance(found, np.ndarray) and np.array_equal(found, wanted)
        assert numbers(8, out=here) is here and np.array_equal(here, wanted)


def test_copies_stay_on_the_device(device: Device) -> None:
    x = np.arange(5, dtype=np.float32)
    t = kw.Tensor(x, device="cuda:1")
    for copied in (copy.copy(t), copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert copied.device == "cuda:1" and copied is not t and np.array_equal(copied.numpy(), x)


def test_arrays_without_a_copy(device: Device) -> None:
    t = kw.Tensor(X, device="cuda")
    with pytest.raises(ValueError, match=r"^no array without a copy: the tensor lies on cuda:0$"):
        t.__array__(copy=False)
    with pytest.raises(ValueError, match=r"^no array without a copy: the tensor has the dtype float32$"):
        kw.Tensor(X.astype(np.float32)).__array__(np.float64, copy=False)
    assert np.array_equal(t.__array__(), X)


def test_the_device_of_arguments_is_explained_and_warmed(device: Device) -> None:
    """A call with them runs there."""
    text = "def f(a):\n    for i in range(a.shape[0]):\n        a[i] = a[i] + 1\n    return a\n"
    kernel = kw.kernel(text)
    x = np.zeros(3, np.float32)
    t, other = kw.Tensor(x, device="cuda"), kw.Tensor(x, device="cuda:1")
    assert [v.device for v in kernel.explain(t).versions] == ["sm_90"]
    assert [v.device for v in kernel.explain(other).versions] == ["sm_80"]
    assert [w.target for w in kernel.warmup(t)] == ["sm_90"]
    assert [w.target for w in kernel.warmup(t, target="host")] == ["host", "host"]
    assert [v.device for v in kernel.explain(x).versions] == [""]
    assert [v.device for v in kernel.explain(x, device="cuda").versions] == ["sm_90"]
    assert kernel.cuda(x, device="cuda:1") == kernel.cuda(x, device="sm_80")
    (version,) = kw.kernel(text, debug=True).explain(t).versions
    assert version.on_host and "device      the host, on copies of the arrays: debug=True\n" in str(version)
