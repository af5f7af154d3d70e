"""Tensors: arrays that operators take and return, and that gradients pass through.

A tensor has the arithmetic of NumPy; each step is one operator of the registry. Its own operators never
change it, but kernels that write an argument in place do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import _core
from .lang import bfloat16

_Axes = int | Sequence[int] | None


@functools.cache
def operator(name: str) -> Callable[..., Any]:
    """Returns a built-in operator by its name without the namespace; raises ValueError if there is none."""
    return _core.find_operator(f"kw::{name}")


def as_list(numbers: _Axes) -> list[int]:
    """Returns one number or several as a list; an empty one for None."""
    if numbers is None:
        return []
    return [numbers] if isinstance(numbers, int) else list(numbers)


def place(device: str) -> tuple[int, int]:
    """Returns the kind and the number of a device (kernelwright.cuda.parse_device)."""
    if device == "cpu":
        return 0, 0
    from .cuda import parse_device

    return parse_device(device)


def _binary(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, _operands):
            return NotImplemented
        return operator(name)(other, self) if reflected else operator(name)(self, other)

    return method


def _with_bfloat16(dtype: Any) -> Any:
    """Returns a dtype as NumPy takes it, which may not know the name "bfloat16"."""
    return bfloat16.dtype if isinstance(dtype, str) and dtype == "bfloat16" else dtype


class Tensor(_core.Tensor):
    """A copy of an array, or of an object that NumPy converts to one.

    `device` says where its elements lie: "cpu", "cuda" or "cuda:1". Without it the copy of a tensor, or of an
    array of torch or CuPy, stays on its device; everything else lies on the CPU. Raises DeviceError E501 if
    there is no such device.
    """

    __array_priority__ = 1000  # makes `array + tensor` a tensor
    __array_ufunc__ = None

    def __new__(cls, array: Any, dtype: Any = None, device: str | None = None) -> Any:
        if isinstance(array, Tensor):
            array._check_leaving()
        elif not isinstance(array, np.ndarray | _core.Tensor):
            adopted = _core.Tensor._adopted(array)
            array = array if adopted is None else adopted
        is_tensor = isinstance(array, _core.Tensor)
        where = device if device is not None else array.device if is_tensor else "cpu"
        if is_tensor and dtype is None and array.device != "cpu":
            return cls._as_class(array._to(*place(where)))
        values = np.asarray(array.numpy() if is_tensor else array, _with_bfloat16(dtype))
        made = _core.Tensor.__new__(cls, values)
        return made if where == "cpu" else made._to(*place(where))

    def to(self, device: str) -> Any:
        """Returns the tensor itself if it lies on that device, else a copy there, without history."""
        kind, index = place(device)
        if self.device == ("cpu" if kind == 0 else f"cuda:{index}"):
            return self
        self._check_leaving()
        return self._to(kind, index)

    def cpu(self) -> Any:
        """Returns the tensor on the CPU."""
        return self.to("cpu")

    @property
    def dtype(self) -> Any:
        return self.numpy_dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def T(self) -> Any:
        return operator("transpose")(self)

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", True)
    __truediv__, __rtruediv__ = _binary("div"), _binary("div", True)
    __floordiv__, __rfloordiv__ = _binary("floor_div"), _binary("floor_div", True)
    __mod__, __rmod__ = _binary("mod"), _binary("mod", True)
    __pow__, __rpow__ = _binary("pow"), _binary("pow", True)
    __matmul__, __rmatmul__ = _binary("matmul"), _binary("matmul", True)
    __lt__, __gt__ = _binary("less"), _binary("less", True)
    __le__, __ge__ = _binary("less_equal"), _binary("less_equal", True)
    __eq__, __ne__ = _binary("equal"), _binary("not_equal")
    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        return operator("neg")(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return operator("abs")(self)

    def _check_leaving(self) -> None:
        if self._is_tracked and _core.is_recording():
            raise TypeError(
                "a tensor that gradients go through cannot become an array or a number here: they would not"
                " go on; compute with operators (kw.ops), or take .numpy() for what gradients need not see"
            )

    def __reduce__(self) -> Any:  # of pickle and copy
        self._check_leaving()
        return (_restore, (type(self), self.numpy().copy(), self.__dict__.copy(), self.device))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        self._check_leaving()
        converts = dtype is not None and self.numpy_dtype != dtype
        if copy is False and (converts or self.device != "cpu"):
            why = f"has the dtype {self.numpy_dtype}" if self.device == "cpu" else f"lies on {self.device}"
            raise ValueError(f"no array without a copy: the tensor {why}")
        array: np.ndarray[Any, Any] = self.numpy()
        if converts:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Exports the memory to another library, as DLPack describes it; a copy of it if `copy`.

        Raises BufferError for another device than the tensor's, and for read-only memory.
        """
        self._check_leaving()
        if dl_device is not None and dl_device != self.__dlpack_device__():
            raise BufferError(f"the tensor lies on {self.device}: move it with .to()")
        exported = type(self)(self) if copy else self
        return exported._dlpack(stream, max_version is not None and max_version[0] >= 1)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        """Returns `self[index]` for integers, slices, an ellipsis, None, and one array of integers or
        booleans. Gradients pass through.

        Integers and slices of step 1 give views: what a kernel writes there changes this tensor. Other
        slices, arrays and masks give copies.
        """
        from .indexing import take

        return take(self, index)

    def item(self) -> Any:
        """Returns the only element as a Python number."""
        self._check_leaving()
        return self.numpy().item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        found = self.numpy().item()
        if not isinstance(found, int) or isinstance(found, bool):
            raise TypeError("only a tensor of one integer can be an index")
        return found

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth of a tensor of several elements is ambiguous")
        return bool(self.numpy().item())

    def __str__(self) -> str:
        return str(self.numpy())

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec)

    def __repr__(self) -> str:
        where = "" if self.device == "cpu" else f", device={self.device}"
        return f"Tensor(shape={list(self.shape)}, dtype={self.numpy_dtype}{where}, value=\n{self.numpy()!s})"

    def astype(self, dtype: Any) -> Any:
        return operator("cast")(self, np.dtype(_with_bfloat16(dtype)))

    def reshape(self, *shape: Any) -> Any:
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return operator("reshape")(self, list(given))

    def transpose(self, *axes: Any) -> Any:
        given = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        return operator("transpose")(self, list(given))

    def sum(self, axis: _Axes = None, keepdims: bool = False) -> Any:
        return operator("sum")(self, as_list(axis), keepdims)

    def mean(self, axis: _Axes = None, keepdims: bool = False) -> Any:
        return operator("mean")(self, as_list(axis), keepdims)

    def max(self, axis: _Axes = None, keepdims: bool = False) -> Any:
        return operator("max")(self, as_list(axis), keepdims)

    def min(self, axis: _Axes = None, keepdims: bool = False) -> Any:
        return operator("min")(self, as_list(axis), keepdims)


def _restore(cls: type, array: Any, attributes: dict[str, Any], device: str = "cpu") -> Any:
    """Returns a tensor from a pickle: a copy on the same device, without history."""
    made = cls._from_array(array)  # type: ignore[attr-defined]
    if device != "cpu":
        made = made._to(*place(device))
    made.__dict__.update(attributes)
    return made


_operands = (_core.Tensor, int, float, np.ndarray, np.generic)
_core.add_result_class(Tensor)
