"""MindSpore's interface with its tensors on the emulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device import Device

import kernelwright.mindspore as ms
from kernelwright.mindspore import Parameter, Tensor, context, nn, ops

X = np.array([1, 2, 3], np.float32)


@pytest.fixture(autouse=True)
def on_the_device(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_decided", "gpu")


@pytest.mark.filterwarnings("ignore:.*W505")
def test_a_gradient_may_be_an_array() -> None:
    double = ops.Custom(
        lambda a: a * 2,
        lambda a: a,
        lambda a: a,
        "pyfunc",
        lambda a, out, dout: (2 * dout.asnumpy(),),
    )
    found = ms.grad(lambda t: double(t) * t)(Tensor(X))
    assert found.device == "cuda:0"
    assert found.asnumpy().tolist() == (4 * X).tolist()


@pytest.mark.filterwarnings("ignore:.*W505")
def test_a_cell_with_its_own_bprop() -> None:
    class Weighted(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor(X), name="w")

        def construct(self, a: Any) -> Any:
            return a * self.w

        def bprop(self, a: Any, out: Any, dout: Any) -> Any:
            return (dout * self.w * 10,)

    found = ms.grad(Weighted())(Tensor(X))
    assert found.device == "cuda:0"
    assert found.asnumpy().tolist() == (10 * X).tolist()
