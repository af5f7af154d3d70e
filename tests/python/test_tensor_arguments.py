"""Kernels called with kw.Tensor on the CPU, as on a GPU: a program names its device in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kernelwright as kw

ONES = np.ones(3)


@kw.kernel
def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c


@kw.kernel
def grow(a):
    for i in range(a.shape[0]):
        a[i] = a[i] + 1
    return a


@kw.kernel
def both(a):
    low = output_tensor(a.shape, a.dtype)
    high = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        low[i] = a[i] - 1
        high[i] = a[i] + 1
    return low, high


def raised(kind: type[BaseException], action: Callable[[], Any]) -> str:
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


def test_results_are_tensors_where_an_argument_is_one() -> None:
    x = kw.Tensor(np.arange(4.0))
    for _ in range(3):
        doubled = add(x, x)
        assert type(doubled) is kw.Tensor and doubled.device == "cpu"
        assert doubled.numpy().tolist() == [0, 2, 4, 6]
    low, high = both(x)
    assert low.numpy().tolist() == [-1, 0, 1, 2] and high.numpy().tolist() == [1, 2, 3, 4]
    assert type(add(ONES, kw.Tensor(ONES))) is type(add(kw.Tensor(ONES), ONES)) is kw.Tensor
    assert type(add(ONES, ONES)) is np.ndarray


def test_results_have_the_class_of_operators() -> None:
    class Own(kw.Tensor):
        pass

    own = Own(ONES)
    assert type(add(own, own)) is type(kw.ops.exp(own))


def test_tensors_that_are_written() -> None:
    x = kw.Tensor(np.arange(4.0))
    assert grow(x) is x and x.numpy().tolist() == [1, 2, 3, 4]
    given = kw.Tensor(np.zeros(4))
    assert add(x, b=x, out=given) is given and given.numpy().tolist() == [2, 4, 6, 8]
    memory = np.ones(4)
    assert add(memory, memory, out=given) is given and given.numpy().tolist() == [2, 2, 2, 2]
    assert add(x, given, out=x) is x and x.numpy().tolist() == [3, 4, 5, 6]
    rows = x.numpy()
    assert add(rows[:3], rows[1:], out=rows[1:]).tolist() == [7, 9, 11]
    assert x.numpy().tolist() == [3, 7, 9, 11]


def test_gradients_do_not_go_through_kernels() -> None:
    tracked = "is a tensor that gradients go through\n"
    told = raised(kw.KernelTypeError, lambda: kw.vjp(lambda t: add(t, t), kw.Tensor(ONES)))
    assert told == (
        f"error[E221]: argument 'a' of kernel 'add' {tracked}"
        '      = help: register the kernel: kw.register_op("namespace::add", add)'
    )
    told = raised(kw.KernelTypeError, lambda: kw.vjp(lambda t: add(ONES, ONES, out=t), kw.Tensor(ONES)))
    assert told.startswith(f"error[E221]: argument 'out' of kernel 'add' {tracked}")


def test_gradients_notice_what_kernels_write() -> None:
    given = kw.Tensor(np.arange(3.0))

    def scaled(t: kw.Tensor) -> kw.Tensor:
        out = t * given
        grow(given)
        return out

    _, pull = kw.vjp(scaled, kw.Tensor(ONES))
    assert "was written after the call" in raised(RuntimeError, lambda: pull(ONES))
