"""Primitives over windows of images (n, c, h, w)."""

from __future__ import annotations

from typing import Any

from .. import windows
from ..primitive import Primitive


class Conv2D(Primitive):
    """`ops.Conv2D(out_channel, kernel_size, pad_mode=…)(x, weight)`; pad_mode is "valid", "same" or "pad"."""

    def __init__(
        self,
        out_channel: int,
        kernel_size: Any,
        mode: int = 1,
        pad_mode: str = "valid",
        pad: Any = 0,
        stride: Any = 1,
        dilation: Any = 1,
        group: int = 1,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        if mode != 1 or data_format != "NCHW":
            raise ValueError('ops.Conv2D here takes mode=1, data_format="NCHW"')
        windows.check_pads("ops.Conv2D", pad_mode, pad)
        self.out_channel, self.stride, self.dilation, self.group = out_channel, stride, dilation, group
        self.kernel = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        self.pad_mode, self.pad = pad_mode, pad

    def __call__(self, x: Any, weight: Any) -> Any:
        if weight.shape[0] != self.out_channel or tuple(weight.shape[2:]) != self.kernel:
            raise ValueError(
                f"ops.Conv2D of {self.out_channel} channels by a kernel of {self.kernel} was given a weight"
                f" of the shape {weight.shape}"
            )
        pads = (self.pad_mode, self.pad)
        return windows.conv2d(x, weight, None, self.stride, *pads, self.dilation, self.group)


class MaxPool(Primitive):
    """`ops.MaxPool(kernel_size, strides)`; pad_mode "valid" uses only whole windows, "same" all."""

    def __init__(
        self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", data_format: str = "NCHW"
    ) -> None:
        super().__init__()
        if data_format != "NCHW":
            raise ValueError('ops.MaxPool here takes data_format="NCHW"')
        windows.check_pads("ops.MaxPool", pad_mode, modes=("valid", "same"))
        self.kernel_size, self.strides, self.pad_mode = kernel_size, strides, pad_mode

    def __call__(self, x: Any) -> Any:
        return windows.max_pool(x, self.kernel_size, self.strides, self.pad_mode)
