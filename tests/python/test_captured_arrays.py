"""Captured arrays and NumPy scalars: arguments that the call does not show, and strong constants."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import types

import numpy as np
import pytest

import kernelwright as kw

WEIGHTS = np.array([0.25, 0.5, 0.25])
ROOT = np.float32(2.0)
COUNT = np.int16(3)
tables = types.ModuleType("tables")
tables.OFFSETS = np.arange(4, dtype="float32")  # type: ignore[attr-defined]


def weighted(x, i, k):
    """A helper that captures the same array."""
    return x[i + k - 1] * WEIGHTS[k]


@kw.kernel
def smooth(x):
    y = np.zeros_like(x)
    for i in range(1, x.shape[0] - 1):
        for k in range(WEIGHTS.shape[0]):
            y[i] += weighted(x, i, k)
        y[i] = y[i] * ROOT + COUNT + tables.OFFSETS[0] + tables.OFFSETS[3]
    return y


def test_each_call_reads_the_array_that_the_name_holds() -> None:
    global WEIGHTS
    x = np.arange(6.0)
    for weights in (WEIGHTS, np.array([1.0, 0, 0]), np.array([0, 2, 0], "float32"), WEIGHTS[::-1]):
        WEIGHTS = weights
        np.testing.assert_array_equal(smooth(x), smooth.py(x))
    WEIGHTS[0] = 7.0  # in place
    np.testing.assert_array_equal(smooth(x), smooth.py(x))


def scaled_by(factors):
    @kw.kernel
    def scale(x):
        y = np.empty_like(x)
        for i in range(x.shape[0]):
            y[i] = x[i] * factors[i]
        return y

    return scale


def test_elements_are_not_in_the_key() -> None:
    x = np.ones(3)
    first, second = scaled_by(np.arange(3.0)), scaled_by(np.arange(3.0) + 1)
    assert kw._core.key_preimage(first, (x,)) == kw._core.key_preimage(second, (x,))
    np.testing.assert_array_equal(first(x), [0, 1, 2])
    np.testing.assert_array_equal(second(x), [1, 2, 3])


@kw.kernel
def add_captured(a):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] + WEIGHTS[i]
    return a


def test_a_written_parameter_may_overlap_a_captured_array() -> None:
    global WEIGHTS
    base, expected = np.arange(9.0), np.arange(9.0)
    WEIGHTS = expected[:-1]
    add_captured.py(expected[1:])
    WEIGHTS = base[:-1]
    add_captured(base[1:])
    np.testing.assert_array_equal(base, expected)


@kw.kernel
def turn_captured(a):
    for i in range(a.shape[0]):
        a[i] = WEIGHTS[WEIGHTS.shape[0] - 1 - i] * 2 + WEIGHTS[0]
    return a


def weight_of(w, i):
    return w[i] + WEIGHTS[0]


@kw.kernel
def by_a_helper(a):
    for i in range(1, a.shape[0]):
        a[i] = weight_of(WEIGHTS, i - 1) + 1
    return a


@pytest.mark.parametrize("kernel", [add_captured, turn_captured, by_a_helper])
def test_a_written_parameter_may_be_the_captured_array_itself(kernel: kw.Kernel) -> None:
    global WEIGHTS
    WEIGHTS = expected = np.arange(100.0)
    kernel.py(expected)
    for fp in ("strict", "default", "fast"):
        WEIGHTS = np.arange(100.0)
        again = kw.kernel(fp=fp)(kernel.__wrapped__)
        other = again(np.arange(100.0))  # the same kernel for arrays apart
        np.testing.assert_array_equal(WEIGHTS, np.arange(100.0))
        again(WEIGHTS)
        np.testing.assert_array_equal(WEIGHTS, expected)
        assert other.shape == expected.shape


@kw.kernel
def add_weights(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = x[i] + WEIGHTS[i]
    return y


@kw.kernel
def turn_weights(x):
    y = output_tensor(x.shape, x.dtype)
    t = allocate(x.shape, x.dtype)
    for i in range(x.shape[0]):
        t[i] = WEIGHTS[x.shape[0] - 1 - i] + x[i]
    for i in range(x.shape[0]):
        y[i] = t[i] * 2
    return y


@kw.kernel
def weight_before(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = WEIGHTS[max(i - 1, 0)] + x[i]
    return y


@pytest.mark.parametrize("fp", ["strict", "default", "fast"])
@pytest.mark.parametrize("kernel", [add_weights, turn_weights, weight_before])
def test_out_may_be_a_captured_array(kernel: kw.Kernel, fp: str) -> None:
    global WEIGHTS
    for n in (3, 300, 5000):
        x, WEIGHTS = np.ones(n), np.arange(float(n))
        again = kw.kernel(fp=fp)(kernel.__wrapped__)
        expected = again(x)
        np.testing.assert_array_equal(expected, kernel.py(x))
        assert again(x, out=WEIGHTS) is WEIGHTS
        np.testing.assert_array_equal(WEIGHTS, expected)


def test_a_captured_array_is_read_only() -> None:
    with pytest.raises(kw.KernelSyntaxError, match="the captured array 'WEIGHTS' is written"):
        kw.kernel(writes_captured)(np.ones(1))
    with pytest.raises(kw.KernelTypeError, match="'WEIGHTS' is a captured array and cannot be returned"):
        kw.kernel(returns_captured)(np.ones(1))


def writes_captured(x):
    WEIGHTS[0] = x[0]
    return x


def returns_captured(x):
    return WEIGHTS


def test_arrays_of_dtypes_that_kernels_lack_are_named() -> None:
    names = np.array(["a", "b"])

    @kw.kernel
    def reads(x):
        x[0] = names[0]
        return x

    with pytest.raises(kw.KernelTypeError, match="argument 'names' of kernel 'reads' is an array of dtype"):
        reads(np.ones(1))


@kw.kernel
def typed(x):
    y = output_tensor(x.shape, "float64")
    for i in range(x.shape[0]):
        y[i] = x[i] * ROOT  # int8 * float32 is float32
        y[i] += x[i] + COUNT  # int8 + int16 wraps at 16 bits
    return y


def test_captured_numpy_scalars_are_strong() -> None:
    global ROOT, COUNT
    x = np.array([1, 100, -7], "int8")
    for root, count in (
        (np.float32(2.5), np.int16(3)),
        (np.float64(0.1), np.int8(30)),
        (np.float16(3), np.uint8(9)),
    ):
        ROOT, COUNT = root, count
        np.testing.assert_array_equal(typed(x), typed.py(x))


def test_an_operator_reads_a_captured_array_at_each_call() -> None:
    global WEIGHTS
    WEIGHTS = np.array([1.0, 2.0])
    op = kw.register_op("captured::scale", captured_scale, bprop=lambda x, out, dout: (dout,))
    try:
        np.testing.assert_array_equal(op(kw.Tensor(np.ones(2))).numpy(), [1, 2])
        WEIGHTS = np.array([3.0, 4.0])
        np.testing.assert_array_equal(op(kw.Tensor(np.ones(2))).numpy(), [3, 4])
        np.testing.assert_array_equal(op(kw.Tensor(np.ones(2))).numpy(), [3, 4])
    finally:
        kw.remove_op("captured::scale")


@kw.kernel
def captured_scale(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] * WEIGHTS[i]
    return y
