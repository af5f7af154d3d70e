"""Kernels that the real MindSpore compiles to something else on a CPU, without a word: here they are right,
in both modes, beside their own execution by CPython.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kernelwright as kw
import kernelwright.mindspore as ms
from kernelwright.mindspore import Tensor, ops


def sum_by_scalar(a):
    c = output_tensor((1,), a.dtype)
    s = 0.0
    for i in range(a.shape[0]):
        s = s + a[i]
    c[0] = s
    return c


def sum_in_place(a):
    c = output_tensor((1,), a.dtype)
    c[0] = 0.0
    for i in range(a.shape[0]):
        c[0] = c[0] + a[i]
    return c


def horner(a):
    c = output_tensor((1,), a.dtype)
    c[0] = 0.0
    for i in serial(a.shape[0]):
        c[0] = c[0] * 2.0 + a[i]
    return c


def horner_in_range(a):
    c = output_tensor((1,), a.dtype)
    c[0] = 0.0
    for i in range(a.shape[0]):
        c[0] = c[0] * 2.0 + a[i]
    return c


def scalar_set_twice(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        s = a[i] * 2.0
        s = s + 1.0
        c[i] = s
    return c


def temporary_in_a_loop(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        d = allocate((1,), a.dtype)
        d[0] = a[i] * 3.0
        c[i] = d[0]
    return c


def reversed_index(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[a.shape[0] - 1 - i] * 2.0
    return c


def both_branches(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        if a[i] > 1.0:
            c[i] = a[i] * 2.0
        else:
            c[i] = a[i] * 5.0
    return c


def negative_index(a):
    c = output_tensor((1,), a.dtype)
    c[0] = a[-1]
    return c


def integer_division(a):
    c = output_tensor(a.shape, "int32")
    for i in range(a.shape[0]):
        c[i] = 7 // int32(a[i]) + 7 % int32(a[i])
    return c


def int_plus_half(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = int32(a[i]) + 0.5
    return c


def rounded(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = round(a[i] * 0.5)
    return c


def transposed(a):
    c = output_tensor((a.shape[1], a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[j, i] = a[i, j]
    return c


def row_maximum(a):
    c = output_tensor((a.shape[0],), a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i, 0]
        for j in range(a.shape[1]):
            c[i] = max(c[i], a[i, j])
    return c


def softmax(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        m = a[i, 0]
        for j in range(a.shape[1]):
            m = max(m, a[i, j])
        s = 0.0
        for j in range(a.shape[1]):
            c[i, j] = exp(a[i, j] - m)
            s = s + c[i, j]
        for j in range(a.shape[1]):
            c[i, j] = c[i, j] / s
    return c


def layer_norm(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        m = 0.0
        for j in range(a.shape[1]):
            m = m + a[i, j]
        m = m / a.shape[1]
        v = 0.0
        for j in range(a.shape[1]):
            v = v + (a[i, j] - m) * (a[i, j] - m)
        r = 1.0 / sqrt(v / a.shape[1] + 1e-5)
        for j in range(a.shape[1]):
            c[i, j] = (a[i, j] - m) * r
    return c


vectors = [
    sum_by_scalar,
    sum_in_place,
    horner,
    horner_in_range,
    scalar_set_twice,
    temporary_in_a_loop,
    reversed_index,
    both_branches,
    negative_index,
    integer_division,
    int_plus_half,
    rounded,
]
matrices = [transposed, row_maximum, softmax, layer_norm]
cases = [(f, (n,)) for f in vectors for n in (4, 33)]
cases += [(f, s) for f in matrices for s in ((4, 4), (33, 57), (64, 64))]


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
@pytest.mark.parametrize("func, shape", cases)
def test_as_cpython(func: Any, shape: Any, mode: int) -> None:
    ms.set_context(mode=mode)
    a = np.random.default_rng(1).integers(0, 5, shape).astype(np.float32)
    with np.errstate(all="ignore"):
        expected = kw.kernel(func).py(a)
    for op in (ops.Custom(ops.kernel(func)), ops.Custom(func, None, None, "akg")):
        found = op(Tensor(a)).asnumpy()
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, 1e-6, 1e-6)


def test_two_outputs() -> None:
    def both(a, b):
        c = output_tensor(a.shape, a.dtype)
        d = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] + b[i]
            d[i] = a[i] * b[i]
        return c, d

    for n in (4, 1000):
        a = np.arange(n, dtype=np.float32)
        c, d = ops.Custom(both, lambda s, _: (s, s), lambda t, _: (t, t), "akg")(Tensor(a), Tensor(a))
        assert (c.asnumpy() == a + a).all() and (d.asnumpy() == a * a).all()


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
@pytest.mark.parametrize("kind", ["hybrid", "akg"])
def test_two_outputs_of_rank_two(kind: str, mode: int) -> None:
    def both(a, b):
        c = output_tensor(a.shape, a.dtype)
        d = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                c[i, j] = a[i, j] + b[i, j]
                d[i, j] = a[i, j] * b[i, j]
        return c, d

    ms.set_context(mode=mode)
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    func = ops.kernel(both) if kind == "hybrid" else both
    c, d = ops.Custom(func, lambda s, _: (s, s), lambda t, _: (t, t), kind)(Tensor(a), Tensor(a + 1))
    assert c.asnumpy().tolist() == (a + (a + 1)).tolist()
    assert d.asnumpy().tolist() == (a * (a + 1)).tolist()


def times_a_fraction(a):
    c = output_tensor(a.shape, "float32")
    for i in range(a.shape[0]):
        c[i] = a[i] * 2.5
    return c


def plus_a_fraction(a):
    c = output_tensor(a.shape, "float32")
    for i in range(a.shape[0]):
        c[i] = a[i] + 0.5
    return c


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
@pytest.mark.parametrize(
    "func, expected", [(times_a_fraction, [2.5, 5, 7.5, -10]), (plus_a_fraction, [1.5, 2.5, 3.5, -3.5])]
)
def test_fractions_beside_integers_stay_fractions(func: Any, expected: list[float], mode: int) -> None:
    ms.set_context(mode=mode)
    a = np.array([1, 2, 3, -4], np.int32)
    for op in (ops.Custom(ops.kernel(func)), ops.Custom(func, None, None, "akg")):
        found = op(Tensor(a))
        assert found.dtype == ms.float32 and found.asnumpy().tolist() == expected
    assert kw.kernel(func).py(a).tolist() == expected


def test_an_index_out_of_bounds_is_an_error() -> None:
    def beyond(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i + 1]
        return c

    with pytest.raises(kw.KernelIndexError):
        ops.Custom(beyond, lambda s: s, lambda t: t, "akg")(Tensor([1.0, 2.0]))


def test_outputs_that_are_read_first_are_zeros() -> None:
    def read_first(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = c[i] * c[i] + 1.0
        return c

    with pytest.warns(kw.UninitializedReadWarning, match="W301"):
        assert ops.Custom(read_first, lambda s: s, lambda t: t, "akg")(
            Tensor([5.0, 6.0])
        ).asnumpy().tolist() == [1, 1]


def test_an_input_that_is_returned_is_changed_in_place() -> None:
    def shift(a, b):
        for i in range(a.shape[0]):
            a[i] = a[i] + b[i]
        return a

    op = ops.Custom(shift, lambda s, _: s, lambda t, _: t, "akg")
    a, b = Tensor([1.0, 2.0]), Tensor([10.0, 20.0])
    out = op(a, b)
    assert a.asnumpy().tolist() == out.asnumpy().tolist() == [11, 22]
    assert (a * 1.0).asnumpy().tolist() == [11, 22]
