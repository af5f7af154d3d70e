"""MindSpore's functions for gradients: GradOperation, grad, value_and_grad, vjp."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._locks import ForkLock
from .common.parameter import Parameter, ParameterTuple
from .common.tensor import Tensor

_weights_in_use = ForkLock()  # parameters represent variables of one gradient at a time


def _hold(weights: Sequence[Parameter], held: list[Any], variables: list[Any]) -> list[Any]:
    """Makes each parameter represent a variable, once. Returns the handles for gradients, in the order of the
    weights.
    """
    asked = []
    for w in weights:
        if not isinstance(w, Parameter):
            raise TypeError(f"a weight is {type(w).__name__}, but must be a Parameter")
        known = next((i for i, (other, _) in enumerate(held) if other is w), None)
        if known is None:
            variable, by = _core.make_variable(w)
            known = len(held)
            held.append((w, Tensor._as_class(w)))
            variables.append((Tensor._as_class(variable), by))
            w._assign(variable)
        asked.append(variables[known][1])
    return asked


def _release(held: list[Any], variables: list[Any]) -> None:
    """Restores each parameter, except those to which the function gave other values."""
    for (w, before), (variable, _) in zip(held, variables, strict=False):
        if w._is(variable):
            w._assign(before)


def _flat(out: Any) -> list[Any]:
    if isinstance(out, _core.Tensor):
        return [out]
    if isinstance(out, (tuple, list)):
        return [t for item in out for t in _flat(item)]
    return []


def _or_zeros(gradient: Any, variable: Any) -> Any:
    if gradient is not None:
        return gradient
    return Tensor(np.zeros(variable.shape, variable.numpy_dtype))


def _differentiate(
    function: Callable[..., Any],
    args: Sequence[Any],
    positions: Sequence[int],
    weights: Sequence[Parameter],
    sens: Any = None,
    has_aux: bool = False,
) -> tuple[Any, list[Any], list[Any]]:
    """Returns the function's result, its gradients by some arguments, and those by the weights. The calls of
    the gradients are recorded if an outer recording is active.
    """
    seeds = () if sens is None else [_as_seed(s) for s in _flat_seeds(sens)]
    if not weights and not has_aux:
        return (*_core.differentiate(function, args, positions, None, seeds), [])
    held: list[Any] = []
    holding: list[Any] = []
    returned, since = None, _core.call_number()

    def called(*given: Any) -> Any:
        nonlocal returned
        returned = function(*given)
        if has_aux and not (isinstance(returned, tuple) and len(returned) > 1):
            raise ValueError("When has_aux is True, origin fn requires more than one outputs.")
        return returned[0] if has_aux else returned

    with _weights_in_use if weights else contextlib.nullcontext():
        try:
            _, found = _core.differentiate(
                called, args, positions, lambda: _hold(weights, held, holding), seeds
            )
        finally:
            _release(held, holding)
    _core.forget_history(returned, since)
    return returned, found[: len(positions)], found[len(positions) :]


def _flat_seeds(sens: Any) -> list[Any]:
    return [s for item in sens for s in _flat_seeds(item)] if isinstance(sens, (tuple, list)) else [sens]


def _as_seed(s: Any) -> Any:
    return s if isinstance(s, _core.Tensor) else Tensor(s)


def _listed(weights: Any) -> list[Parameter]:
    return [weights] if isinstance(weights, Parameter) else list(weights)


def _weight_gradients(weights: Any, found: list[Any]) -> Any:
    return found[0] if isinstance(weights, Parameter) else tuple(found)


class GradOperation:
    """`GradOperation(get_all, get_by_list, sens_param)(function, weights)(*inputs[, sens])`.

    Without options: the gradient by the first input, of the sum of the outputs.
    """

    def __init__(self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False) -> None:
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            if not isinstance(value, bool):
                raise TypeError(
                    f"For 'GradOperation', the '{name}' should be bool, but got {type(value).__name__}"
                )
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        if self.get_by_list and weights is None:
            parameters = getattr(fn, "trainable_params", None)
            if parameters is None:
                raise TypeError("For 'GradOperation', get_by_list needs weights: a ParameterTuple")
            weights = ParameterTuple(parameters())

        def gradient(*args: Any) -> Any:
            inputs, sens = (args[:-1], args[-1]) if self.sens_param else (args, None)
            tensors = [i for i, x in enumerate(inputs) if isinstance(x, _core.Tensor)]
            if not tensors and not self.get_by_list:
                left = (
                    " before the last argument, which is 'sens' (sens_param=True)," if self.sens_param else ""
                )
                raise TypeError(f"For 'GradOperation', none of the inputs{left} is a Tensor")
            positions = tensors if self.get_all else [] if self.get_by_list else tensors[:1]
            listed = _listed(weights) if self.get_by_list else []
            _, by_inputs, by_weights = _differentiate(fn, inputs, positions, listed, sens)
            if self.get_by_list:
                found = _weight_gradients(weights, by_weights)
                return (tuple(by_inputs), found) if self.get_all else found
            return tuple(by_inputs) if self.get_all else by_inputs[0]

        return gradient


def _positions(grad_position: Any, count: int) -> list[int]:
    asked = list(grad_position) if isinstance(grad_position, tuple) else [grad_position]
    for p in asked:
        if not isinstance(p, int) or isinstance(p, bool):
            raise TypeError("For 'F.grad', the 'grad_position' must be int or tuple.")
        if not 0 <= p < count:
            raise RuntimeError(f"Position index {p} is exceed input size.")
    return asked


def _by_inputs(
    fn: Callable[..., Any], asked: list[int], several: bool, with_value: bool
) -> Callable[..., Any]:
    """Implements value_and_grad or grad without options, with as few frames as possible."""
    differentiate, last = _core.differentiate, max(asked, default=-1)

    def run(*args: Any) -> Any:
        if last >= len(args):
            _positions(tuple(asked), len(args))  # raises the error that names the position
        out, found = differentiate(fn, args, asked, None, ())
        by_inputs = tuple(found) if several else found[0]
        return (out, by_inputs) if with_value else by_inputs

    return run


def value_and_grad(
    fn: Callable[..., Any],
    grad_position: Any = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Callable[..., Any]:
    """Returns a function that returns the result of `fn` and its gradients."""
    if grad_position is None and weights is None:
        raise ValueError("`grad_position` and `weight` can not be None at the same time.")
    asked = [] if grad_position is None else _positions(grad_position, 1 << 30)
    if weights is None and not has_aux and not return_ids:
        return _by_inputs(fn, asked, isinstance(grad_position, tuple), with_value=True)

    def both(*args: Any) -> tuple[Any, Any]:
        positions = [] if grad_position is None else _positions(grad_position, len(args))
        listed = [] if weights is None else _listed(weights)
        out, by_inputs, by_weights = _differentiate(fn, args, positions, listed, has_aux=has_aux)
        several = isinstance(grad_position, tuple)
        found: Any = None
        if grad_position is not None:
            pairs = [(p, g) if return_ids else g for p, g in zip(positions, by_inputs, strict=True)]
            found = tuple(pairs) if several else pairs[0]
        if weights is None:
            return out, found
        of_weights = _weight_gradients(weights, by_weights)
        return out, of_weights if grad_position is None else (found, of_weights)

    return both


def grad(
    fn: Callable[..., Any],
    grad_position: Any = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Callable[..., Any]:
    """Returns a function that returns gradients of `fn`, and with `has_aux` its outputs except the first."""
    if grad_position is not None and weights is None and not has_aux and not return_ids:
        asked = _positions(grad_position, 1 << 30)
        return _by_inputs(fn, asked, isinstance(grad_position, tuple), with_value=False)
    both = value_and_grad(fn, grad_position, weights, has_aux, return_ids)
    if not has_aux:
        return lambda *args: both(*args)[1]

    def gradient(*args: Any) -> Any:
        out, found = both(*args)
        return found, out[1:]

    return gradient


def vjp(fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool = False) -> Any:
    """Returns (outputs, function of their gradients); the function returns gradients by all inputs."""
    if weights is not None:
        raise ValueError("vjp by weights is not available here: use value_and_grad")
    given, variables = [], []
    before = _core.set_recording(True)
    try:
        for i, x in enumerate(inputs):
            if not isinstance(x, _core.Tensor):
                raise TypeError(f"input {i} is {type(x).__name__}, but must be a Tensor")
            variable, by = _core.make_variable(x)
            given.append(variable)
            variables.append(by)
        out = fn(*given)
    finally:
        _core.set_recording(before)
    # objects of its own: an outer gradient makes those of the result forget how they were computed
    outputs = [Tensor._as_class(o) for o in _flat(out[0] if has_aux else out)]

    def pull(*sens: Any) -> Any:
        seeds = [_as_seed(s) for s in _flat_seeds(sens)]
        found = _core.gradients(outputs, seeds, variables)
        return tuple(_or_zeros(g, v) for g, v in zip(found, variables, strict=True))

    return (out[0], pull, out[1:]) if has_aux else (out, pull)
