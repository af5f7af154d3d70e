"""Arrays of other libraries as arguments: DLPack and the array interface, without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright.errors import KernelTypeError, KernelValueError

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


class Tensor:
    """A tensor as PyTorch has them, which refuses to be exported; PyTorch itself is not needed."""

    __module__ = "torch"

    def __init__(self, why: str, dtype: str = "torch.float32", requires_grad: bool = False) -> None:
        self.why, self.dtype, self.requires_grad = why, dtype, requires_grad

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError(self.why)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class Guarded(Tensor):
    def __getattribute__(self, name: str) -> Any:
        if name in ("dtype", "requires_grad"):
            raise RuntimeError(f"nobody asks for my {name}")
        return super().__getattribute__(name)


NEEDS_GRADIENT = "Can't export tensors that require gradient, use tensor.detach()"
NO_BFLOAT16 = "Can't export tensors of dtype bfloat16"
ELSEWHERE = "it lies elsewhere"
DETACH = "pass {}.detach(): kernels record no gradient of it"
AS_FLOAT = "pass {}.float(), or its bits as an array of ml_dtypes.bfloat16"
IN_MEMORY = "pass an array in the memory of this process"


@pytest.mark.parametrize(
    ("given", "help_text"),
    [
        ((NEEDS_GRADIENT, "torch.float32", True), DETACH),
        ((NEEDS_GRADIENT, "torch.bfloat16", True), DETACH),
        ((NO_BFLOAT16, "torch.bfloat16"), AS_FLOAT),
        ((ELSEWHERE, "torch.float32"), IN_MEMORY),
        ((ELSEWHERE, "torch.float16", None), IN_MEMORY),
        ((ELSEWHERE, None, 1), IN_MEMORY),
    ],
)
def test_a_tensor_that_cannot_be_read_is_refused_with_what_to_do(
    given: tuple[Any, ...], help_text: str
) -> None:
    x = Tensor(*given)
    for name, arguments in (("a", (x, count())), ("b", (count(), x))):
        with pytest.raises(KernelTypeError) as e:
            add(*arguments)
        assert e.value.code == "E221"
        assert str(e.value) == (
            f"error[E221]: argument '{name}' of kernel 'add' is a Tensor that NumPy cannot read: {given[0]}\n"
            f"      = help: {help_text.format(name)}"
        )


def test_a_tensor_is_refused_whatever_its_attributes_raise() -> None:
    with pytest.raises(KernelTypeError) as e:
        add(Guarded(ELSEWHERE), count())
    assert str(e.value) == (
        f"error[E221]: argument 'a' of kernel 'add' is a Guarded that NumPy cannot read: {ELSEWHERE}\n"
        f"      = help: {IN_MEMORY}"
    )


def test_an_operator_names_the_module_of_a_tensor_that_is_none_of_ours() -> None:
    twice = kw.register_op("foreign::twice", lambda x: x * 2)
    try:
        for x in (Tensor(NEEDS_GRADIENT, requires_grad=True), type("Tensor", (), {"__module__": "torch"})()):
            with pytest.raises(TypeError) as e:
                twice(x)
            assert str(e.value) == "input 'x' of foreign::twice is a torch.Tensor, but must be a tensor"
        with pytest.raises(TypeError) as e:
            twice("Tensor")
        assert str(e.value) == "input 'x' of foreign::twice is a str, but must be a tensor"
    finally:
        kw.remove_op("foreign::twice")
