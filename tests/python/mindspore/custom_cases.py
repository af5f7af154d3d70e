"""What tests of `ops.Custom` share: a kernel with an attribute, and inference by the first argument."""

from __future__ import annotations

from typing import Any


def scaled(a, k):
    c = output_tensor(a.shape, a.dtype)
    for p in grid(a.shape):
        c[p] = a[p] * k
    return c


def first(s: Any, *_: Any) -> Any:
    return s
