"""Convolution and pooling over images (n, c, h, w) with MindSpore's padding modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...tensor import as_list, operator
from ..common.tensor import Tensor

Pads = list[tuple[int, int]]  # before and after, for h and for w


def _pair(numbers: Any) -> tuple[int, int]:
    """Returns one number for both dimensions, or one for each (of four, those of the images)."""
    given = as_list(numbers)
    if len(given) not in (1, 2, 4):
        raise ValueError(f"a window is told by one, two or four numbers, but got {numbers}")
    return (given[0], given[0]) if len(given) == 1 else (given[-2], given[-1])


def _same(shape: Sequence[int], kernel: Any, stride: Any, dilation: Any) -> Pads:
    """Returns the padding for ceil(extent / stride) windows, with the odd one after; none where the operator
    refuses it.
    """
    pads = []
    if len(shape) != 4 or min(*_pair(stride), *_pair(dilation)) < 1:
        return [(0, 0), (0, 0)]
    for extent, k, s, d in zip(shape[2:], _pair(kernel), _pair(stride), _pair(dilation), strict=True):
        windows = -(-extent // s)
        total = max((windows - 1) * s + (k - 1) * d + 1 - extent, 0)
        pads.append((total // 2, total - total // 2))
    return pads


def check_pads(
    name: str, mode: str, padding: Any = 0, modes: Sequence[str] = ("valid", "same", "pad")
) -> None:
    """Raises ValueError for other modes, and for numbers if the mode determines the padding."""
    if not isinstance(mode, str) or mode.lower() not in modes:
        shown = ", ".join(map(repr, modes[:-1]))
        raise ValueError(f"{name}: pad_mode must be {shown} or {modes[-1]!r}, but got {mode!r}")
    given = as_list(padding)
    if mode.lower() != "pad" and any(given):
        raise ValueError(f"{name}: the padding must be 0 where pad_mode is {mode!r}, but is {padding}")
    if len(given) not in (1, 2, 4):
        raise ValueError(f"{name}: the padding must be one, two or four numbers, but is {padding}")


def _told(padding: Any) -> Pads:
    given = as_list(padding)
    return [(given[0], given[1]), (given[2], given[3])] if len(given) == 4 else [(p, p) for p in _pair(given)]


def _even(x: Any, pads: Pads, value: float) -> tuple[Any, list[int]]:
    """Pads the images on the larger side; returns them and the padding that remains for both sides."""
    for dim, (before, behind) in enumerate(pads, 2):
        extra = abs(before - behind)
        if extra:
            shape = [extra if d == dim else e for d, e in enumerate(x.shape)]
            more = Tensor(np.full(shape, value, x.numpy_dtype))
            x = operator("concat")([more, x] if before > behind else [x, more], dim)
    return x, [min(p) for p in pads]


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Convolves images with weights (out, in / groups, h, w). `padding` is for pad_mode="pad": one number,
    two (h, w), or four (top, bottom, left, right). Stride and dilation are one number or two.
    """
    check_pads("ops.conv2d", pad_mode, padding)
    is_same = pad_mode.lower() == "same" and len(weight.shape) == 4
    pads = _same(input.shape, weight.shape[2:], stride, dilation) if is_same else _told(padding)
    x, even = _even(input, pads, 0.0) if len(input.shape) == 4 else (input, [0, 0])
    out = operator("conv2d")(x, weight, list(_pair(stride)), even, list(_pair(dilation)), groups)
    return out if bias is None else out + bias.reshape(1, -1, 1, 1)


def max_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Any:
    """Returns the largest element of each window; the default stride is the window."""
    return operator("maxpool2d")(x, as_list(kernel_size), as_list(stride), as_list(padding))


def max_pool(x: Any, kernel_size: Any, strides: Any, pad_mode: str) -> Any:
    """Same as max_pool2d with pad_mode "valid" or "same"; padding belongs to no window."""
    even = [0, 0]
    if pad_mode.lower() == "same":
        x, even = _even(x, _same(x.shape, kernel_size, strides, 1), -np.inf)
    return operator("maxpool2d")(x, list(_pair(kernel_size)), list(_pair(strides)), even)
