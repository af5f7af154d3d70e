"""`mindspore.Tensor`: the tensors of the registry under MindSpore's names, rules and ways of printing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _core
from ...tensor import Tensor as _Tensor
from ...tensor import operator, place
from ..context import present_device
from . import dtype as mstype


def _from_data(data: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Converts data without a type as MindSpore does: Python floats become float32, Python ints int64."""
    if isinstance(data, _core.Tensor):
        if isinstance(data, _Tensor):
            data._check_leaving()
        data = data.numpy()
    array = np.asarray(data)
    if dtype is not None:
        return array.astype(np.dtype(dtype))
    own = isinstance(data, (np.ndarray, np.generic))
    if not own and array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise TypeError(
            f"For Tensor, the input_data is {data!r} that contain unsupported element of type {array.dtype}"
        )
    return array


def operands(x: Any, y: Any) -> tuple[Any, Any]:
    """Converts two operands to the type that MindSpore computes with; numbers stay numbers if they fit."""
    x_type, y_type = (t.dtype if isinstance(t, Tensor) else None for t in (x, y))
    if x_type is None and y_type is None:
        return Tensor(x), y
    if x_type is not None and y_type is not None:
        common = mstype.promoted(x_type, y_type)
        return x.astype(common), y.astype(common)
    tensor, number = (x, y) if x_type is not None else (y, x)
    if isinstance(number, (np.ndarray, np.generic, list, tuple)):
        return operands(*(Tensor(t) if t is number else t for t in (x, y)))
    kind = tensor.dtype.dtype.kind
    if isinstance(number, float) and kind in "iub":
        tensor = tensor.astype(mstype.float32)
    elif isinstance(number, int) and not isinstance(number, bool) and kind == "b":
        tensor = tensor.astype(mstype.int64)
    return (tensor, y) if x_type is not None else (x, tensor)


def binary(name: str) -> Callable[[Any, Any], Any]:
    """Returns a function of two operands by MindSpore's rule of types."""

    def function(input: Any, other: Any) -> Any:
        a, b = operands(input, other)
        if name == "matmul" and 1 in (a.ndim, b.ndim):
            return _product_of_vectors(a, b)
        if name == "div" and isinstance(a, Tensor) and a.dtype.dtype.kind in "iub":
            a = a.astype(mstype.float32)
            b = b.astype(mstype.float32) if isinstance(b, Tensor) else float(b)
        elif name == "div" and isinstance(b, Tensor) and b.dtype.dtype.kind in "iub":
            b = b.astype(mstype.float32)
        return operator(name)(a, b)

    return function


def _product_of_vectors(a: Any, b: Any) -> Any:
    """Computes a product with an operand of one dimension, which the result then lacks."""
    found = operator("matmul")(a.reshape(1, -1) if a.ndim == 1 else a, b.reshape(-1, 1) if b.ndim == 1 else b)
    outer = found.shape[:-2]
    rows, columns = ([] if t.ndim == 1 else [e] for t, e in ((a, found.shape[-2]), (b, found.shape[-1])))
    return found.reshape([*outer, *rows, *columns])


_accepted = (_core.Tensor, int, float, np.ndarray, np.generic, list, tuple)


def _method(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    compute = binary(name)

    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, _accepted):
            return NotImplemented
        return compute(other, self) if reflected else compute(self, other)

    return method


def on_present_device(made: Any) -> Any:
    """Returns a tensor on the device of the context."""
    device = present_device()
    return made if device == made.device else made._to(*place(device))


class Tensor(_Tensor):
    """`Tensor(data)`, `Tensor(data, dtype)`; `Tensor(shape=[4, None], dtype=…)` stands for any extent."""

    def __new__(
        cls, input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None, **_: Any
    ) -> Any:
        if init is not None:
            raise ValueError("For Tensor, 'init' is not available here: give the data")
        if input_data is None and shape is not None:
            known = [1 if e is None or e < 0 else e for e in np.atleast_1d(np.array(shape, object))]
            made = _core.Tensor.__new__(cls, np.zeros(known, np.dtype(dtype or np.float32)))
            made.declared_shape = tuple(-1 if e is None else e for e in shape)
            return made  # it stands for a type, and nothing reads it
        if input_data is None:
            raise TypeError("For Tensor, there is no data: give input_data, or shape and dtype")
        return on_present_device(_core.Tensor.__new__(cls, _from_data(input_data, dtype)))

    @property
    def dtype(self) -> Any:
        return mstype.of_numpy(self.numpy_dtype)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        return self.itemsize * self.size

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """Returns an array over the tensor's memory, read-only while gradients need the memory as it is; of a
        tensor on a GPU a copy.
        """
        return self.numpy()  # type: ignore[no-any-return]

    @classmethod
    def from_numpy(cls, array: np.ndarray[Any, Any]) -> Any:
        """Returns a tensor over the memory of an array; on a GPU over a copy."""
        made = on_present_device(cls._from_array(array))
        made._mark_viewed()  # whoever has the array may write it, so gradients keep copies
        return made

    def __str__(self) -> str:
        return str(self.numpy())

    def __repr__(self) -> str:
        is_float = self.dtype.dtype.kind not in "biu"
        if not self.shape:
            value = f"{float(self.item()):g}" if is_float else str(self.item())
        elif is_float:
            form = {"float_kind": lambda v: f"{v: .8e}"}
            wide = self.numpy() if self.dtype.dtype.kind == "f" else self.numpy().astype(np.float32)
            value = np.array2string(wide, separator=", ", formatter=form)  # type: ignore[arg-type]
        else:
            value = np.array2string(self.numpy(), separator=", ")
        gap = "\n" if len(self.shape) > 1 else " "
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value={gap}{value})"

    __add__, __radd__ = _method("add"), _method("add", True)
    __sub__, __rsub__ = _method("sub"), _method("sub", True)
    __mul__, __rmul__ = _method("mul"), _method("mul", True)
    __truediv__, __rtruediv__ = _method("div"), _method("div", True)
    __floordiv__, __rfloordiv__ = _method("floor_div"), _method("floor_div", True)
    __mod__, __rmod__ = _method("mod"), _method("mod", True)
    __pow__, __rpow__ = _method("pow"), _method("pow", True)
    __matmul__, __rmatmul__ = _method("matmul"), _method("matmul", True)
    __lt__, __gt__ = _method("less"), _method("less", True)
    __le__, __ge__ = _method("less_equal"), _method("less_equal", True)
    __eq__, __ne__ = _method("equal"), _method("not_equal")
    __hash__ = object.__hash__

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        wanted = np.dtype(dtype)
        return self if wanted == self.numpy_dtype else operator("cast")(self, wanted)

    to = astype  # type: ignore[assignment]  # MindSpore's word; its devices are chosen by the context

    def contiguous(self) -> Any:
        return operator("identity")(self)

    copy = contiguous

    def view(self, *shape: Any) -> Any:
        return self.reshape(*shape)

    def flatten(self) -> Any:
        return self.reshape(-1)

    def abs(self) -> Any:
        return operator("abs")(self)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Writes in place; raises RuntimeError for a tensor that gradients pass through."""
        if self._is_tracked:
            raise RuntimeError("a tensor that gradients go through cannot be written by index")
        if isinstance(value, _Tensor):
            value._check_leaving()
        given = value.numpy() if isinstance(value, _core.Tensor) else value
        if self.device == "cpu":
            self._for_write()[index] = given
            return
        array = self.numpy()
        array[index] = given
        self._copy_from(array)

    def assign_value(self, value: Any) -> Any:
        """Copies the value of another tensor to this one. No gradient passes, as in MindSpore."""
        given = value.numpy() if isinstance(value, _core.Tensor) else value
        self._assign(Tensor(given, self.dtype))
        return self

    set_data = assign_value


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if self._is_tracked:
            raise RuntimeError(f"{name}_ writes a tensor that gradients go through")
        found = binary(name)(self, other).astype(self.dtype)
        found._check_leaving()
        if self.device == "cpu":
            np.copyto(self._for_write(), found.numpy())
        else:
            self._copy_from(np.ascontiguousarray(np.broadcast_to(found.numpy(), self.shape)))
        return self

    return method


for _name in ("add", "sub", "mul", "div"):
    setattr(Tensor, f"{_name}_", _in_place(_name))

_core.add_result_class(Tensor)


def tensor(input_data: Any, dtype: Any = None) -> Tensor:
    """Returns a tensor of the data."""
    made: Tensor = Tensor(input_data, dtype)
    return made
