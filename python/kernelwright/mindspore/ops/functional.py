"""`mindspore.ops` as functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import as_list, operator
from ..common.tensor import Tensor
from ..gradients import grad as grad
from ..gradients import value_and_grad as value_and_grad
from ..gradients import vjp as vjp
from ..missing import missing
from .losses import cross_entropy as cross_entropy
from .primitive import as_tensor, functions, layer_norm_from, reduction
from .primitive import matmul as matmul
from .windows import conv2d as conv2d
from .windows import max_pool2d as max_pool2d

globals().update(functions)
reduce_sum, reduce_mean, reduce_max, reduce_min = map(reduction, ("sum", "mean", "max", "min"))
mean = reduce_mean
subtract, multiply, divide, negative = (functions[n] for n in ("sub", "mul", "div", "neg"))
bmm = matmul


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Sums over one axis, several or all."""
    found = reduce_sum(input, dim, keepdim)
    return found if dtype is None else found.astype(dtype)


def max(input: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns (values, indices); without an axis the maximum of all elements, with the index 0."""
    t = as_tensor(input)
    if axis is None:
        return t.max(), Tensor(np.int64(0))
    index = operator("argmax")(t, axis, np.dtype(np.int64))
    if keepdims:
        index = index.reshape([1 if d == axis % len(t.shape) else e for d, e in enumerate(t.shape)])
    return t.max(axis, keepdims), index


def argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    t = as_tensor(input)
    flat = t.reshape(-1) if dim is None else t
    found = operator("argmax")(flat, 0 if dim is None else dim, np.dtype(np.int64))
    if keepdim and dim is not None:
        found = found.reshape([1 if d == dim % len(t.shape) else e for d, e in enumerate(t.shape)])
    return found


def softmax(input: Any, axis: int = -1, *, dtype: Any = None) -> Any:
    t = as_tensor(input)
    return operator("softmax")(t if dtype is None else t.astype(dtype), axis)


def log_softmax(logits: Any, axis: int = -1) -> Any:
    return operator("log_softmax")(as_tensor(logits), axis)


def transpose(input: Any, input_perm: Any) -> Any:
    return operator("transpose")(as_tensor(input), list(input_perm))


def reshape(input: Any, shape: Any) -> Any:
    return as_tensor(input).reshape(shape)


def broadcast_to(input: Any, shape: Any) -> Any:
    return operator("broadcast_to")(as_tensor(input), list(shape))


def concat(tensors: Any, axis: int = 0) -> Any:
    return operator("concat")([as_tensor(t) for t in tensors], axis)


cat = concat


def split(tensor: Any, split_size_or_sections: Any, axis: int = 0) -> Any:
    """Splits into parts of one size (the last may be smaller) or of the sizes in a list."""
    extent = tensor.shape[axis]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 1:
            raise ValueError(f"ops.split: a size of {step}")
        sizes = [min(step, extent - at) for at in range(0, extent, step)]
    else:
        sizes = list(split_size_or_sections)
    if not isinstance(split_size_or_sections, int) and sum(sizes) != extent:
        raise ValueError(f"ops.split: the sizes {sizes} do not add up to the extent {extent}")
    parts, at = [], 0
    for size in sizes:
        parts.append(operator("narrow")(tensor, axis, at, size))
        at += size
    return tuple(parts)


def gather(input_params: Any, input_indices: Any, axis: int, batch_dims: int = 0) -> Any:
    if batch_dims:
        raise ValueError("ops.gather here takes batch_dims=0")
    return operator("gather")(as_tensor(input_params), as_tensor(input_indices), int(axis))


def cast(input: Any, dtype: Any) -> Any:
    return as_tensor(input).astype(dtype)


def layer_norm(input: Any, normalized_shape: Any, gamma: Any, beta: Any, eps: float = 1e-5) -> Any:
    """Normalizes over the last axes, as many as `normalized_shape` has extents; raises ValueError if these
    differ.
    """
    inner = tuple(as_list(normalized_shape))
    if not inner or tuple(input.shape[-len(inner) :]) != inner:
        raise ValueError(f"ops.layer_norm over {inner} of a tensor of the shape {input.shape}")
    return layer_norm_from(input, gamma, beta, -len(inner), eps)[0]


def gelu(input: Any, approximate: str = "none") -> Any:
    """Returns x times the normal distribution function, or (approximate="tanh") its approximation by tanh."""
    x = as_tensor(input)
    if approximate not in ("none", "tanh"):
        raise ValueError(f"ops.gelu: approximate must be 'none' or 'tanh', but got '{approximate}'")
    if approximate == "tanh":
        return operator("gelu")(x)
    return x * 0.5 * (1.0 + functions["erf"](x * np.sqrt(0.5).item()))


def zeros(size: Any, dtype: Any = np.float32) -> Any:
    return Tensor(np.zeros(size, np.dtype(dtype)))


def ones(size: Any, dtype: Any = np.float32) -> Any:
    return Tensor(np.ones(size, np.dtype(dtype)))


def select(condition: Any, input: Any, other: Any) -> Any:
    return operator("select")(condition, input, other)


def one_hot(indices: Any, depth: int, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Any:
    """Returns 1 at the index, times (on - off), plus off; along the last axis."""
    if axis != -1:
        raise ValueError("ops.one_hot here takes axis=-1")
    return operator("one_hot")(as_tensor(indices), depth) * (on_value - off_value) + off_value


where = select


def tensor_scatter_add(input_x: Any, indices: Any, updates: Any) -> Any:
    """Returns `input_x` with updates added at the first coordinates that the last axis of `indices` gives."""
    x, at = as_tensor(input_x), np.asarray(as_tensor(indices).numpy())
    depth = at.shape[-1] if at.ndim else 0
    if not 1 <= depth <= len(x.shape) or at.dtype.kind not in "iu":
        raise ValueError(
            f"ops.tensor_scatter_add: indices of the shape {at.shape} and dtype {at.dtype} for a tensor of"
            f" the shape {x.shape}: the last axis holds 1 to {len(x.shape)} integers"
        )
    outer, inner = x.shape[:depth], x.shape[depth:]
    if ((at < 0) | (at >= outer)).any():
        raise IndexError(f"ops.tensor_scatter_add: an index is outside of {outer}")
    rows = np.ravel_multi_index(tuple(np.moveaxis(at, -1, 0)), outer)
    flat = as_tensor(updates).reshape(rows.size, *inner)
    found = operator("scatter_add")(x.reshape(-1, *inner), Tensor(rows.reshape(-1)), flat, 0)
    return found.reshape(x.shape)


def scatter_add(input_x: Any, indices: Any, updates: Any) -> Any:
    """Adds updates to the rows of a Parameter that `indices` selects, in place, and returns the Parameter."""
    input_x.set_data(operator("scatter_add")(input_x, as_tensor(indices), as_tensor(updates), 0))
    return input_x


def expand_dims(input_x: Any, axis: int) -> Any:
    t = as_tensor(input_x)
    rank = len(t.shape) + 1
    at = axis % rank
    return t.reshape([*t.shape[:at], 1, *t.shape[at:]])


def squeeze(input: Any, axis: Any = None) -> Any:
    """Removes the given dimensions of extent 1, or all of them if none is given."""
    t = as_tensor(input)
    listed = range(len(t.shape)) if axis is None else [axis] if isinstance(axis, int) else axis
    gone = {a % max(len(t.shape), 1) for a in listed}
    wrong = [a for a in gone if axis is not None and t.shape[a] != 1]
    if wrong:
        raise ValueError(f"ops.squeeze: dimension {wrong[0]} of the shape {t.shape} is not 1")
    return t.reshape([e for d, e in enumerate(t.shape) if d not in gone or e != 1])


def stack(tensors: Any, axis: int = 0) -> Any:
    return concat([expand_dims(t, axis) for t in tensors], axis)


def stop_gradient(value: Any) -> Any:
    """Returns a copy that gradients do not pass through."""
    return Tensor(value.numpy() if isinstance(value, Tensor) else value)


def __getattr__(name: str) -> Any:
    raise missing("mindspore.ops.functional", name, globals())
