"""Gradients of functions of tensors: records the calls of operators and runs the backward pass through them.

Arrays may be passed as tensors; their gradients are returned as arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _core
from .tensor import Tensor, place


@contextmanager
def recording(on: bool = True) -> Any:
    """Records, or does not record, the operator calls of this thread inside the `with` block."""
    before = _core.set_recording(on)
    try:
        yield
    finally:
        _core.set_recording(before)


def _is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic))


def _as_tensor(x: Any, position: int) -> Any:
    kind = x.numpy_dtype if isinstance(x, _core.Tensor) else x.dtype if _is_array(x) else None
    if kind is not None and kind.kind in "iub":
        raise TypeError(f"argument {position} is of dtype {kind}; gradients are by floats: convert it")
    if isinstance(x, _core.Tensor):
        return x
    if _is_array(x) or isinstance(x, (int, float)):
        is_number = isinstance(x, (int, float)) and not isinstance(x, np.generic)  # np.float64 is a float
        return Tensor(x, np.float32 if is_number else None)
    convert = ": convert it by np.asarray" if isinstance(x, (list, tuple)) else ""
    raise TypeError(
        f"argument {position} is {type(x).__name__}; gradients are by tensors and arrays{convert}"
    )


def _flat(out: Any) -> list[Any]:
    outputs = list(out) if isinstance(out, (tuple, list)) else [out]
    for o in outputs:
        if not isinstance(o, _core.Tensor):
            raise TypeError(f"the function returned {type(o).__name__}, but must return tensors")
    return outputs


def record(
    function: Callable[..., Any], args: Sequence[Any], positions: Sequence[int]
) -> tuple[Any, list[Any]]:
    """Returns the function's result for the arguments, and the variables that replaced some of them."""
    given, variables = list(args), []
    with recording():
        for p in positions:
            given[p], variable = _core.make_variable(_as_tensor(given[p], p))
            variables.append(variable)
        return function(*given), variables


def _positions(argnums: int | Sequence[int], count: int) -> list[int]:
    asked = [argnums] if isinstance(argnums, int) else list(argnums)
    if not asked or not all(isinstance(p, int) for p in asked):
        raise TypeError(f"argnums is {argnums!r}, but must be the position of an argument, or several")
    for p in asked:
        if not -count <= p < count:
            raise ValueError(f"a gradient by argument {p} was asked for, but the call has {count}")
    return [p % count for p in asked]


def _returned(gradient: Any, variable: Any, argument: Any) -> Any:
    """Returns the gradient by an argument; zeros if nothing depends on it. The gradient of an array is an
    array, except if gradients of the gradient need the tensor.
    """
    if gradient is None:
        gradient = type(variable)._from_array(np.zeros(variable.shape, variable.numpy_dtype))
        if variable.device != "cpu":
            gradient = gradient._to(*place(variable.device))
    return gradient.numpy() if _is_array(argument) and not gradient._is_tracked else gradient


def vjp(function: Callable[..., Any], *args: Any) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
    """Returns the function's result, and a function from gradients of the result to gradients of all
    arguments.

    The arguments of that function are one tensor or array per output, or None for ones.
    """
    out, variables = record(function, args, range(len(args)))
    # objects of its own: an outer gradient makes those of the result forget how they were computed
    outputs = [Tensor._as_class(o) for o in _flat(out)]

    def pull(*seeds: Any) -> tuple[Any, ...]:
        if len(seeds) != len(outputs):
            raise TypeError(
                f"{len(seeds)} gradients for {len(outputs)} output{'s' * (len(outputs) != 1)}: give one for"
                " each, or None for ones"
            )
        found = _core.gradients(outputs, list(seeds), variables)
        return tuple(map(_returned, found, variables, args))

    return out, pull


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., tuple[Any, Any]]:
    """Returns a function that returns the result of `function`, and the gradient of its sum by an argument.

    Several `argnums` give a tuple of gradients. Raises RuntimeError for operators without a gradient.
    """

    def both(*args: Any) -> tuple[Any, Any]:
        positions = _positions(argnums, len(args))
        since = _core.call_number()
        out, variables = record(function, args, positions)
        found = _core.gradients(_flat(out), [], variables)
        _core.forget_history(out, since)
        named = [args[p] for p in positions]
        gradients = tuple(map(_returned, found, variables, named))
        return out, gradients[0] if isinstance(argnums, int) else gradients

    return both


def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Returns a function that returns the gradient of the sum of `function`'s result; see value_and_grad."""
    both = value_and_grad(function, argnums)
    return lambda *args: both(*args)[1]
