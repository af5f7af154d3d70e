"""Checks the result of a bprop and reports errors in MindSpore's words. The number of gradients is always
checked; with the context's `check_bprop` also their kinds, shapes and types. Computes no gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _core
from .. import context

asked = context._options.get  # called with "check_bprop"


def gradients(found: Any, inputs: Sequence[Any], net: str, custom: str = "") -> Sequence[Any]:
    """Returns the gradients, one per input; a single tensor counts as a tuple of one.

    `net` is the cell's class, or "" for an operator, which `custom` describes. Raises TypeError for a wrong
    count. With `check_bprop`: raises TypeError if the gradient of a tensor is neither a tensor nor None, or
    has another dtype, and ValueError if it has another shape.
    """
    words = f"For user defined method 'bprop' of net '{net}', the "
    if isinstance(found, _core.Tensor) and len(inputs) == 1:
        found = (found,)
    if not isinstance(found, (tuple, list)) or len(found) != len(inputs):
        told = len(found) if isinstance(found, (tuple, list)) else type(found).__name__
        whose = f"{custom}: the number of return values(gradients) of 'bprop'"
        if asked("check_bprop") or not custom:
            whose = f"{words}number of return values(gradients)"
        raise TypeError(
            f"{whose} should be equal to the number of input arguments except 'out' and 'dout', which is:"
            f" {len(inputs)}, but got:{told}."
        )
    if asked("check_bprop"):
        for i, (gradient, x) in enumerate(zip(found, inputs, strict=True)):
            if gradient is not None and isinstance(x, _core.Tensor):
                _check(f"{words}{i}th return value(gradient of the {i}th argument) should", gradient, x, i)
    return found


def _check(words: str, gradient: Any, x: Any, i: int) -> None:
    if not isinstance(gradient, _core.Tensor):
        raise TypeError(f"{words} be Tensor, but got {type(gradient).__name__}, and the value is {gradient}.")
    for what, error in (("shape", ValueError), ("dtype", TypeError)):
        wanted, made = getattr(x, what), getattr(gradient, what)
        if wanted != made:
            raise error(
                f"{words} have the same {what} as the {i}th argument, which is:{wanted}, but got: {made}."
            )
