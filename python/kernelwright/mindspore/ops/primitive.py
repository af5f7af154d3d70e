"""`ops.Mul()` and similar: operators as objects, and the functions that they call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import _core
from ...tensor import as_list, operator
from ..common import dtype as mstype
from ..common.tensor import Tensor, binary


class Primitive:
    """An operator as an object; attributes and devices may be set on it."""

    def __init__(self, name: str = "") -> None:
        self.name = name or type(self).__name__
        self.attrs: dict[str, Any] = {}

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        self.attrs[name] = value
        return self

    def del_prim_attr(self, name: str) -> Primitive:
        self.attrs.pop(name, None)
        return self

    def set_device(self, device_target: str) -> Primitive:
        return self.add_prim_attr("primitive_target", device_target)

    def shard(self, *strategies: Any) -> Primitive:
        """Does nothing: programs are not distributed over devices."""
        return self

    def set_stage(self, stage: int) -> Primitive:
        return self

    def __repr__(self) -> str:
        return f"Prim[{self.name}]"


PrimitiveWithInfer = Primitive


def as_tensor(x: Any) -> Any:
    return x if isinstance(x, _core.Tensor) else Tensor(x)


def unary(name: str) -> Callable[[Any], Any]:
    """Returns a function of one tensor. Functions over the reals convert integers to float32, as in
    MindSpore.
    """
    over_reals = name not in {"neg", "abs", "sign", "relu", "floor", "identity", "ones_like", "zeros_like"}

    def function(input: Any) -> Any:
        t = as_tensor(input)
        if over_reals and t.dtype.dtype.kind in "biu":
            t = t.astype(mstype.float32)
        return operator(name)(t)

    function.__name__ = name
    return function


def reduction(name: str) -> Callable[..., Any]:
    def function(x: Any, axis: Any = None, keep_dims: bool = False) -> Any:
        t = as_tensor(x)
        found = operator(name)(t, as_list(axis), keep_dims)
        return found.astype(t.dtype) if t.dtype.dtype.kind in "iu" else found

    return function


def primitive(name: str, function: Callable[..., Any], count: int) -> type[Primitive]:
    """Returns a class whose instances call a function with `count` tensors."""

    def call(self: Primitive, *inputs: Any) -> Any:
        if len(inputs) != count:
            raise TypeError(f"{name} takes {count} input{'s' * (count != 1)}, but {len(inputs)} were given")
        return function(*inputs)

    return type(name, (Primitive,), {"__call__": call, "__doc__": f"`ops.{name}()`."})


def _reduce_class(name: str, op: str) -> type[Primitive]:
    function = reduction(op)

    def init(self: Any, keep_dims: bool = False) -> None:
        Primitive.__init__(self)
        self.keep_dims = keep_dims

    def call(self: Any, x: Any, axis: Any = ()) -> Any:
        return function(x, axis, self.keep_dims)

    return type(name, (Primitive,), {"__init__": init, "__call__": call})


def _swapped(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: function(y, x)


unary_names = {
    "neg": "Neg",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "tanh": "Tanh",
    "sin": "Sin",
    "cos": "Cos",
    "erf": "Erf",
    "abs": "Abs",
    "sign": "Sign",
    "floor": "Floor",
    "relu": "ReLU",
    "sigmoid": "Sigmoid",
    "gelu": "GeLU",
    "ones_like": "OnesLike",
    "zeros_like": "ZerosLike",
    "identity": "Identity",
}
binary_names = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "pow": "Pow",
    "floor_div": "FloorDiv",
    "mod": "Mod",
    "maximum": "Maximum",
    "minimum": "Minimum",
    "less": "Less",
    "less_equal": "LessEqual",
    "equal": "Equal",
    "not_equal": "NotEqual",
}
reduce_names = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin"}

_turned = {"greater": "less", "greater_equal": "less_equal"}

functions: dict[str, Callable[..., Any]] = {name: unary(name) for name in unary_names}
functions.update({name: binary(name) for name in binary_names})
functions.update({name: _swapped(binary(less)) for name, less in _turned.items()})
functions["square"] = lambda x: binary("mul")(x, x)
classes: dict[str, type[Primitive]] = {
    shown: primitive(shown, functions[name], 1) for name, shown in unary_names.items()
}
classes.update({shown: primitive(shown, functions[name], 2) for name, shown in binary_names.items()})
classes.update({shown: _reduce_class(shown, name) for name, shown in reduce_names.items()})
classes["Square"] = primitive("Square", functions["square"], 1)
classes["Greater"] = primitive("Greater", functions["greater"], 2)
classes["GreaterEqual"] = primitive("GreaterEqual", functions["greater_equal"], 2)
classes["RealDiv"] = primitive("RealDiv", functions["div"], 2)
classes["TensorAdd"] = primitive("TensorAdd", functions["add"], 2)


def matmul(input: Any, other: Any) -> Any:
    """Returns the matrix product of two tensors."""
    return binary("matmul")(input, other)


class MatMul(Primitive):
    """`ops.MatMul(transpose_a, transpose_b)`, also of batches as `ops.BatchMatMul`."""

    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None:
        super().__init__()
        self.transposed = (transpose_a, transpose_b)

    def __call__(self, x: Any, y: Any) -> Any:
        return operator("matmul")(as_tensor(x), as_tensor(y), *self.transposed)


class BatchMatMul(MatMul):
    """Same as MatMul."""


class Softmax(Primitive):
    """`ops.Softmax(axis)`."""

    op = "softmax"

    def __init__(self, axis: Any = -1) -> None:
        super().__init__()
        if isinstance(axis, (tuple, list)) and len(axis) != 1:
            raise ValueError(f"ops.{type(self).__name__} here takes one axis, but got {axis}")
        self.axis = axis[0] if isinstance(axis, (tuple, list)) else axis

    def __call__(self, x: Any) -> Any:
        return operator(self.op)(as_tensor(x), self.axis)


class LogSoftmax(Softmax):
    """`ops.LogSoftmax(axis)`."""

    op = "log_softmax"


def layer_norm_from(x: Any, gamma: Any, beta: Any, axis: int, epsilon: float) -> tuple[Any, Any, Any]:
    """Returns (output, mean, 1 / deviation) over all axes from `axis` on."""
    t = as_tensor(x)
    if not -len(t.shape) <= axis < len(t.shape):
        raise ValueError(f"a layer norm from axis {axis} on, of a tensor of the shape {t.shape}")
    axis %= len(t.shape)
    outer, inner = t.shape[:axis], t.shape[axis:]
    wrong = [s for s in (gamma.shape, beta.shape) if s != inner]
    if wrong:
        raise ValueError(f"a layer norm over {inner} takes gamma and beta of that shape, but got {wrong[0]}")
    flat = [v.reshape(-1) for v in (gamma, beta)]
    out, mean, inverse = operator("layernorm")(t.reshape(*outer, -1), *flat, epsilon)
    ones = [*outer, *(1 for _ in inner)]
    return out.reshape(t.shape), mean.reshape(ones), inverse.reshape(ones)


class LayerNorm(Primitive):
    """Returns (output, mean, variance) over all axes from `begin_norm_axis` on."""

    def __init__(self, begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-7) -> None:
        super().__init__()
        if begin_norm_axis != begin_params_axis:
            raise ValueError("ops.LayerNorm here takes begin_norm_axis and begin_params_axis alike")
        self.axis, self.epsilon = begin_norm_axis, epsilon

    def __call__(self, x: Any, gamma: Any, beta: Any) -> Any:
        out, mean, inverse = layer_norm_from(x, gamma, beta, self.axis, self.epsilon)
        return out, mean, 1.0 / (inverse * inverse) - self.epsilon


class Cast(Primitive):
    """`ops.Cast()(x, dtype)`."""

    def __call__(self, x: Any, dtype: Any) -> Any:
        return as_tensor(x).astype(dtype)


class Reshape(Primitive):
    """`ops.Reshape()(x, shape)`."""

    def __call__(self, x: Any, shape: Any) -> Any:
        return as_tensor(x).reshape(shape)


class Transpose(Primitive):
    """`ops.Transpose()(x, axes)`."""

    def __call__(self, x: Any, axes: Any) -> Any:
        return operator("transpose")(as_tensor(x), list(axes))


class BroadcastTo(Primitive):
    """`ops.BroadcastTo(shape)(x)`."""

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.shape = list(shape)

    def __call__(self, x: Any) -> Any:
        return operator("broadcast_to")(as_tensor(x), self.shape)


class Concat(Primitive):
    """`ops.Concat(axis)(tensors)`."""

    def __init__(self, axis: int = 0) -> None:
        super().__init__()
        self.axis = axis

    def __call__(self, tensors: Any) -> Any:
        return operator("concat")(list(tensors), self.axis)


class Gather(Primitive):
    """`ops.Gather()(x, indices, axis)`."""

    def __call__(self, x: Any, indices: Any, axis: int) -> Any:
        return operator("gather")(as_tensor(x), as_tensor(indices), int(axis))


class Argmax(Primitive):
    """`ops.Argmax(axis, output_type)`."""

    def __init__(self, axis: int = -1, output_type: Any = mstype.int32) -> None:
        super().__init__()
        self.axis, self.output_type = axis, output_type

    def __call__(self, x: Any) -> Any:
        return operator("argmax")(as_tensor(x), self.axis, np.dtype(self.output_type))
