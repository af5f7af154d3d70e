"""Arrays whose strides lead far out of their memory: a call refuses them before it computes addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import kernelwright as kw


@kw.kernel
def copy_of(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c


@kw.kernel
def increase(a, b):
    for i in range(a.shape[0]):
        a[i] = b[i] + a[i]


FAR = (-(2**63), -(2**60), 2**48, 2**60, 2**62, 2**63 - 8)


def far(stride: int, dtype: Any = np.float64) -> Any:
    return as_strided(np.ones(3, dtype), (3,), (stride,))


@pytest.mark.parametrize("stride", FAR)
def test_far_arrays_are_refused(stride: int) -> None:
    near = np.ones(3)
    text = "reaches beyond 2\\^46 elements"
    for dtype in (np.float64, np.int8):
        with pytest.raises(kw.KernelValueError, match=f"argument 'a' of kernel 'copy_of' {text}"):
            copy_of(far(stride, dtype))
    with pytest.raises(kw.KernelValueError, match=f"argument 'b' of kernel 'increase' {text}"):
        increase(near, far(stride))
    with pytest.raises(kw.KernelValueError, match=f"out= of kernel 'copy_of' {text}"):
        copy_of(near, out=far(stride))
    # not aligned to its items: NumPy would copy it first
    odd = as_strided(np.ones(3), (3,), (stride + 1,))
    with pytest.raises(kw.KernelValueError, match=f"argument 'a' of kernel 'copy_of' {text}"):
        copy_of(odd)
    assert near.tolist() == [1, 1, 1]
