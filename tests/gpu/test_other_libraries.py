"""Arrays of other libraries that work in streams of their own: what ours and theirs wait for."""

from __future__ import annotations

import ctypes
import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import stand_ins
from device import Capsules, Device, View
from test_device import double, gpu, scale_in_place

import kernelwright as kw
from kernelwright import _core

X = np.arange(1000, dtype=np.float32)


class FakeTorch(ModuleType):
    """What we ask of torch: the stream in which it works, and arrays that tell theirs to DLPack alone."""

    def __init__(self) -> None:
        super().__init__("torch")
        self.stream = 0
        self.cuda = ModuleType("torch.cuda")
        present = lambda index: SimpleNamespace(cuda_stream=self.stream)  # noqa: E731
        self.cuda.current_stream = present  # type: ignore[attr-defined]

        class Array:
            __module__ = "torch"

            def __init__(self, tensor: Any) -> None:
                self.tensor = tensor

            @property
            def __cuda_array_interface__(self) -> dict[str, Any]:
                described = dict(self.tensor.__cuda_array_interface__, version=2)
                del described["stream"]
                return described

            def __dlpack_device__(self) -> tuple[int, int]:
                return self.tensor.__dlpack_device__()

            def __dlpack__(array, stream: int | None = None) -> Any:
                with kw.cuda.stream(self.stream or 1):
                    return array.tensor.__dlpack__(stream=stream)

        self.Array = Array

    def from_dlpack(self, tensor: Any) -> Any:
        with kw.cuda.stream(self.stream or 1):
            tensor.__dlpack__(stream=self.stream or 1)
        return self.Array(tensor)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    fake = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setitem(sys.modules, "torch.cuda", fake.cuda)
    return fake


def seen_in(stream: int, tensor: Any) -> np.ndarray[Any, Any]:
    """What another library reads of a tensor like X, in its own stream."""
    with kw.cuda.stream(stream):
        u = kw.Tensor(np.zeros_like(X), device="cuda")
    driver = ctypes.CDLL(stand_ins.environment()["KW_LIBCUDA"])
    addresses = [ctypes.c_void_p(t.__cuda_array_interface__["data"][0]) for t in (u, tensor)]
    assert driver.cuMemcpyDtoDAsync_v2(*addresses, ctypes.c_size_t(X.nbytes), ctypes.c_void_p(stream)) == 0
    with kw.cuda.stream(stream):
        return u.numpy()


def test_streams_of_torch_are_kept(torch: FakeTorch, device: Device) -> None:
    """Ours waits for what theirs has to do, and theirs for what ours has written."""
    for seed in range(8):
        device.seed(seed)
        torch.stream = device.stream(blocking=False)
        with kw.cuda.stream(torch.stream):
            t = double(gpu(X))
        array = torch.Array(t)
        result = double(array)
        assert type(result) is torch.Array and np.array_equal(result.tensor.numpy(), 4 * X)
        assert scale_in_place(array, 3.0) is array
        assert np.array_equal(seen_in(torch.stream, t), 6 * X), seed


def test_calls_run_in_the_stream_of_torch(torch: FakeTorch, device: Device) -> None:
    """So torch can capture them; a stream that kw.cuda.stream has chosen comes first."""
    driver, array = device.library, torch.Array(gpu(X))
    torch.stream = device.stream(blocking=False)
    scale_in_place(array, 1.0)
    kw.cuda.synchronize()
    graph = ctypes.c_void_p()
    assert driver.cuStreamBeginCapture_v2(ctypes.c_void_p(torch.stream), 0) == 0
    scale_in_place(array, 2.0)
    other = device.stream(blocking=False)
    with kw.cuda.stream(other):
        t = double(gpu(X))
    assert driver.cuStreamEndCapture(ctypes.c_void_p(torch.stream), ctypes.byref(graph)) == 0
    assert np.array_equal(array.tensor.numpy(), X) and np.array_equal(t.numpy(), 2 * X)
    for _ in range(2):
        assert driver.cuGraphLaunch(graph, ctypes.c_void_p(torch.stream)) == 0
    assert driver.cuStreamSynchronize(ctypes.c_void_p(torch.stream)) == 0
    assert np.array_equal(array.tensor.numpy(), 4 * X)
    assert np.array_equal(double(gpu(X)).numpy(), 2 * X)  # the thread is in its own stream again


def test_streams_that_arrays_name_wait_for_us(device: Device) -> None:
    for seed in range(8):
        device.seed(seed)
        theirs = device.stream(blocking=False)
        with kw.cuda.stream(theirs):
            t = double(gpu(X))
        foreign = View(t, X, X.ctypes.data, theirs)
        assert scale_in_place(foreign, 3.0) is foreign
        assert np.array_equal(seen_in(theirs, t), 6 * X), seed


def test_a_call_waits_if_the_stream_is_not_known(device: Device) -> None:
    """Of arrays that have DLPack alone."""
    for seed in range(8):
        device.seed(seed)
        theirs = device.stream(blocking=False)
        with kw.cuda.stream(theirs):
            t = double(gpu(X))
        foreign = Capsules(t, theirs)
        assert scale_in_place(foreign, 3.0) is foreign
        assert np.array_equal(seen_in(theirs, t), 6 * X), seed


def test_memory_given_back_by_another_thread(device: Device) -> None:
    """One that has not worked with the device: the default stream belongs to a context."""
    for seed in range(8):
        device.seed(seed)
        theirs = device.stream(blocking=False)
        with kw.cuda.stream(theirs):
            t = double(gpu(X))
        foreign = View(t, X, X.ctypes.data, theirs)
        held = [_core.Tensor._adopted(foreign)]
        scale_in_place(held[0], 3.0)
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()
        assert np.array_equal(seen_in(theirs, t), 6 * X), seed


def test_memory_that_others_have_used_is_kept_for_them(device: Device) -> None:
    """A capsule tells its stream: what comes after its release waits for that."""
    for seed in range(8):
        device.seed(seed)
        theirs = device.stream(blocking=False)
        t = gpu(X)
        capsule = t.__dlpack__(stream=theirs)
        with kw.cuda.stream(theirs):
            read = double(View(t, X, X.ctypes.data))
        del capsule
        scale_in_place(t, 5.0)
        with kw.cuda.stream(theirs):
            assert np.array_equal(read.numpy(), 2 * X), seed


def test_a_stream_of_a_gpu_that_is_not_here(device: Device) -> None:
    with (
        pytest.raises(kw.DeviceError, match="there is no device 7, only"),
        kw.cuda.stream(1, 7),
    ):
        pass


def test_operators_take_arrays_of_other_libraries(torch: FakeTorch, device: Device) -> None:
    torch.stream = device.stream(blocking=False)
    with kw.cuda.stream(torch.stream):
        t = double(gpu(X))
    for array in (View(t, X, X.ctypes.data), torch.Array(t)):
        assert np.array_equal(kw.ops.add(array, gpu(X)).numpy(), 3 * X)
        copy = kw.Tensor(array)
        assert copy.device == "cuda:0" and np.array_equal(copy.numpy(), 2 * X)
        assert np.array_equal(kw.Tensor(array, device="cpu").numpy(), 2 * X)


def test_interfaces_of_instances_and_of_nothing(device: Device) -> None:
    """An attribute of the object alone, as programs with addresses make it; no address without elements."""
    t = kw.Tensor(X, device="cuda")
    plain = SimpleNamespace(__cuda_array_interface__=t.__cuda_array_interface__)
    assert np.array_equal(double(plain).numpy(), 2 * X)
    empty = {"shape": (0,), "typestr": "<f8", "data": (0, False), "strides": None, "version": 3}
    assert double(SimpleNamespace(__cuda_array_interface__=empty)).shape == (0,)
