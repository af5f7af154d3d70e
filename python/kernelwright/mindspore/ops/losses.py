"""Losses of logits (n, classes)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import operator
from ..common.tensor import Tensor
from .primitive import as_tensor


def check_options(name: str, reduction: str, label_smoothing: float) -> None:
    """Raises ValueError for other reductions, and for a smoothing."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{name}: reduction must be 'mean', 'sum' or 'none', but got {reduction!r}")
    if label_smoothing:
        raise ValueError(f"{name} here takes label_smoothing=0, but got {label_smoothing}")


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Computes the loss of logits (n, classes) and labels (n), or probabilities (n, classes). `weight` has a
    factor per class. Rows whose label is `ignore_index` are ignored. Raises ValueError for other shapes and
    for a smoothing, and IndexError for labels that are not classes.
    """
    check_options("ops.cross_entropy", reduction, label_smoothing)
    x, labels = as_tensor(input), as_tensor(target)
    by_class = None if weight is None else as_tensor(weight)
    is_probability = labels.numpy_dtype.kind == "f"
    if len(x.shape) != 2 or labels.shape != (x.shape if is_probability else x.shape[:1]):
        raise ValueError(
            f"ops.cross_entropy takes logits (n, classes) and labels (n) or probabilities (n, classes), but"
            f" got the shapes {x.shape} and {labels.shape}"
        )
    if by_class is not None and by_class.shape != x.shape[1:]:
        raise ValueError(f"ops.cross_entropy: weights of the shape {by_class.shape} for {x.shape[1]} classes")
    if is_probability:
        return _of_probabilities(x, labels, by_class, reduction)
    return _of_labels(x, labels, by_class, ignore_index, reduction)


def _of_probabilities(x: Any, target: Any, by_class: Any, reduction: str) -> Any:
    terms = operator("log_softmax")(x, 1) * target
    losses = -(terms if by_class is None else terms * by_class).sum(1)
    if reduction == "none":
        return losses
    return losses.sum() / x.shape[0] if reduction == "mean" else losses.sum()


def _of_labels(x: Any, labels: Any, by_class: Any, ignore_index: int, reduction: str) -> Any:
    """Computes the loss by labels; the mean is weighted."""
    at, (count, classes) = np.asarray(labels.numpy()), x.shape
    rows = np.flatnonzero(at != ignore_index)
    if by_class is None and len(rows) == count:
        return operator("cross_entropy")(x, labels, reduction)
    wrong = [r for r in rows if not 0 <= at[r] < classes]
    if wrong:
        raise IndexError(
            f"ops.cross_entropy: the label {at[wrong[0]]} of row {wrong[0]} is none of {classes} classes"
        )
    # ignored rows are removed before any computation on them
    logs = operator("log_softmax")(x if len(rows) == count else x[rows], 1)
    picked = logs.reshape(-1)[np.arange(len(rows)) * classes + at[rows]]
    weights = Tensor(np.ones(len(rows), x.numpy_dtype)) if by_class is None else by_class[at[rows]]
    losses = -(picked * weights)
    if reduction == "none":
        return operator("scatter_add")(Tensor(np.zeros(count, x.numpy_dtype)), Tensor(rows), losses, 0)
    return losses.sum() / weights.sum() if reduction == "mean" else losses.sum()
