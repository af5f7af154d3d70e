"""Warm-up of the disk cache: compiles kernels for types of arguments, without a call and without data."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from .._core import Kernel
from ..argument_types import ArgumentTypeError, annotated_type, example
from ..cuda import device as device_of
from ..cuda import find_nvrtc, parse_device

BODIES = ("main", "plain", "overlapping")
"""The bodies of a version, in the order of the core."""


@dataclass(frozen=True)
class WarmedVersion:
    """One body of a kernel that a warm-up put into the cache, or found there.

    `body` is "main", or "plain": the serial, fully checked one, which runs if a condition of `main` does not
    hold.
    """

    kernel: str
    target: str
    body: str
    key: str
    was_cached: bool
    milliseconds: float


def parameter_names(kernel: Kernel) -> list[str]:
    """Returns the names of all parameters of a kernel, in their order."""
    code = _core.function_of(kernel).__code__
    return list(code.co_varnames[: code.co_argcount])


def with_examples(
    kernel: Kernel, args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Replaces each text among the arguments of a kernel by an example of its type (argument_types), and each
    tensor on a GPU by one of its dtype and shape.

    "=N" counts the parameters from 0, however they are given. Raises ArgumentTypeError, which names the
    parameter.
    """
    if not any(isinstance(value, str | _core.Tensor) for value in (*args, *keywords.values())):
        return args, dict(keywords)
    names = parameter_names(kernel)
    by_number: dict[int, Any] = {}

    def one(number: int, name: str, value: Any) -> Any:
        if isinstance(value, _core.Tensor) and value.device != "cpu":
            extents = ", ".join(map(str, value.shape))
            value = f"{value.numpy_dtype}[{extents}]" if extents else value.numpy()
        try:
            by_number[number] = example(value, by_number) if isinstance(value, str) else value
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"kernel '{kernel.__name__}', parameter '{name}': {error}") from None
        return by_number[number]

    positional = [one(i, names[i] if i < len(names) else str(i), value) for i, value in enumerate(args)]
    order = sorted(keywords, key=lambda name: names.index(name) if name in names else len(names))
    # the call tells of names that no parameter has
    by_name = {n: one(names.index(n), n, keywords[n]) if n in names else keywords[n] for n in order}
    return tuple(positional), by_name


def architecture_of(values: Iterable[Any]) -> str:
    """Returns the architecture of the GPU on which the first tensor of a GPU among values lies, "sm_90"; ""
    without one.
    """
    for value in values:
        if isinstance(value, _core.Tensor) and value.device != "cpu":
            return device_of(parse_device(value.device)[1]).arch
    return ""


def parameters_behind(kernel: Kernel, given: int) -> Iterator[tuple[str, str | None, bool]]:
    """Yields the parameters behind the first `given`: name, text of the annotated type if any, and whether
    there is a default value.
    """
    function = _core.function_of(kernel)
    names = parameter_names(kernel)
    with_default = names[len(names) - len(function.__defaults__ or ()) :]
    for name in names[given:]:
        text = annotated_type(function.__annotations__.get(name), function.__globals__)
        yield name, text, name in with_default


def _annotated_rest(kernel: Kernel, given: int, keywords: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Returns examples for the parameters that are not given, by their annotations. Parameters with a default
    value and no annotation keep the default value. Raises TypeError for others.
    """
    out: dict[str, Any] = {}
    for name, text, has_default in parameters_behind(kernel, given):
        if name in keywords:
            continue
        if text is not None:
            out[name] = example(text)
        elif not has_default:
            raise TypeError(
                f"kernel '{kernel.__name__}': {what}() needs the type of '{name}': give it, as "
                f'{name}="f32[:, :]" or {name}="float", or annotate the parameter so: '
                f'"f32[:, :]", or Annotated[NDArray[np.float32], "f32[:, :]"]'
            )
    return out


def arguments_of(
    kernel: Kernel, args: tuple[Any, ...], keywords: Mapping[str, Any], what: str
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns an example for every parameter of a kernel, from texts, given arguments or annotations. `what`
    names the method that asks. Raises ArgumentTypeError for a text that is no type, TypeError for a missing
    type.
    """
    names = parameter_names(kernel)
    for name in keywords:
        if name not in names:
            method = inspect.signature(getattr(Kernel, what)).parameters.values()
            options = [p.name for p in method if p.kind is inspect.Parameter.KEYWORD_ONLY]
            near = difflib.get_close_matches(name, [*names, *options], 1)
            hint = f": did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"kernel '{kernel.__name__}' has no parameter or option '{name}'{hint}")
    positional, by_name = with_examples(kernel, args, keywords)
    return positional, by_name | _annotated_rest(kernel, len(positional), by_name, what)


def _names(given: str | Iterable[str] | None) -> list[str]:
    names = given.split(",") if isinstance(given, str) else list(given or ())
    return [name.strip() for name in names]


def warmup(
    kernel: Kernel,
    args: tuple[Any, ...],
    keywords: Mapping[str, Any],
    target: str | Iterable[str] | None,
    device: str | Iterable[str] | None = None,
) -> list[WarmedVersion]:
    """Compiles a kernel for types of arguments, given as texts, as example arrays or by annotations, and
    stores it in the disk cache. Runs nothing. Without a target, tensors of a GPU choose its architecture.
    """
    if device is None and target is None:
        device = architecture_of((*args, *keywords.values())) or None
    positional, by_name = arguments_of(kernel, args, keywords, "warmup")
    named = _names(device)
    devices = [name for name in named if name != "cpu"]
    if devices:
        find_nvrtc()
    targets = _names(target) or (["host"] if "cpu" in named or not named else [])
    made = _core.warm(kernel, positional, by_name, targets, devices)
    return [WarmedVersion(kernel.__name__, *row) for row in made]
