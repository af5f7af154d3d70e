"""`mindspore.ops.composite.multitype_ops`."""

from . import zeros_like_impl
from .zeros_like_impl import zeros_like

__all__ = ["zeros_like", "zeros_like_impl"]
