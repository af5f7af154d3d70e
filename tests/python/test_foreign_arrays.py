"""Arrays of other libraries as arguments: DLPack and the array interface, without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright.errors import KernelValueError

Array = np.ndarray[Any, Any]


class ByDlpack:
    """What another library's tensor shows of itself."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class ByInterface:
    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.array.__array_interface__


KINDS = [ByDlpack, ByInterface]


@kw.kernel
def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c


@kw.kernel
def double(a):
    for i in range(a.shape[0]):
        a[i] = a[i] * 2
    return a


def count(dtype: str = "float32") -> Array:
    return np.arange(6).astype(dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_inputs(kind: Any, dtype: str) -> None:
    a = count(dtype)
    for left, right in [(kind(a), a), (a, kind(a)), (kind(a), kind(a)), (kind(a[::-1]), a[::-1])]:
        got = add(left, right)
        assert type(got) is np.ndarray and got.dtype == a.dtype
    assert np.array_equal(add(kind(a), a), a + a) and np.array_equal(add(kind(a[::-2]), a), (a[::-2] + a[:3]))


@pytest.mark.parametrize("kind", KINDS)
def test_written_in_place_and_returned_as_they_were_passed(kind: Any) -> None:
    a = count()
    foreign = kind(a)
    for factor in (2, 4):
        assert double(foreign) is foreign
        assert np.array_equal(a, count() * factor)


@pytest.mark.parametrize("kind", KINDS)
def test_read_only_memory_is_refused_only_when_written(kind: Any) -> None:
    a = count()
    a.flags.writeable = False
    assert np.array_equal(add(kind(a), a), a + a)
    with pytest.raises(KernelValueError, match="argument 'a' of kernel 'double' is written but read-only"):
        double(kind(a))


@pytest.mark.parametrize("kind", KINDS)
def test_the_view_lives_as_long_as_the_call(kind: Any) -> None:
    for _ in range(100):
        assert np.array_equal(
            add(kind(np.full(50_000, 1.0)), kind(np.full(50_000, 2.0))), np.full(50_000, 3.0)
        )


def test_numpy_scalars_stay_scalars() -> None:
    """They have an array interface too."""

    def scale(a, s):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            c[i] = a[i] * s
        return c

    assert np.array_equal(kw.kernel(scale)(count(), np.float32(3)), count() * 3)
