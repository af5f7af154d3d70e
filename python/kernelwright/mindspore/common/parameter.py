"""`mindspore.Parameter`: a tensor that a Cell owns and by which gradients are requested."""

from __future__ import annotations

from typing import Any

from .tensor import Tensor


class Parameter(Tensor):
    """A copy of its first value; results of operators on it are plain tensors."""

    name: str
    requires_grad: bool

    def __new__(
        cls, default_input: Any, name: str | None = None, requires_grad: bool = True, **_: Any
    ) -> Any:
        made = Tensor.__new__(cls, default_input)
        made.name = name or "Parameter"
        made.requires_grad = requires_grad
        return made

    def __repr__(self) -> str:
        kind = f"shape={self.shape}, dtype={self.dtype}, requires_grad={self.requires_grad}"
        return f"Parameter (name={self.name}, {kind})"

    def set_data(self, data: Any, slice_shape: bool = False) -> Any:
        """Gives this parameter other data; raises ValueError if the shape differs."""
        given = data if isinstance(data, Tensor) else Tensor(data)
        if given.shape != self.shape and not slice_shape:
            raise ValueError(
                f"For 'Parameter', the data of '{self.name}' must have the shape {self.shape}, but has"
                f" {given.shape}"
            )
        return self.assign_value(given)

    def clone(self) -> Any:
        return Parameter(self, self.name, self.requires_grad)

    def value(self) -> Any:
        return Tensor._as_class(self)


class ParameterTuple(tuple[Any, ...]):
    """Parameters, in the order in which their gradients are returned."""

    def __new__(cls, parameters: Any) -> ParameterTuple:
        given = tuple(parameters)
        for p in given:
            if not isinstance(p, Parameter):
                raise TypeError(
                    "For ParameterTuple initialization, the type of input should be 'Parameter', but got "
                    f"{type(p)}"
                )
        return super().__new__(cls, given)
