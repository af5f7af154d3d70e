"""User-defined operators: kernels and Python functions as rows of the registry, besides the built-in ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from .tensor import Tensor

REQUIRED = inspect.Parameter.empty  # default of an attribute that every call must give


def source_of(function: Any) -> str:
    """Returns "file:line" of a function or kernel; "" if it has none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else ""


def _row_name(dtype: Any) -> str:
    """Returns the name of a dtype; "" for any dtype. NumPy knows "bfloat16" only if ml_dtypes is imported."""
    if dtype is None:
        return ""
    return dtype if isinstance(dtype, str) and dtype == "bfloat16" else np.dtype(dtype).name


def kernel_row(
    run: Callable[..., Any],
    *,
    kind: str | None = None,
    rows: Sequence[Sequence[str | None]] = (),
    when: Callable[..., bool] | None = None,
    when_text: str = "",
    priority: int = 0,
    source: str | None = None,
    device: str | None = "",
) -> dict[str, Any]:
    """Describes one of several kernels of an operator, for `register_op`: a `@kw.kernel` or a function of
    arrays.

    It runs for `rows` of dtypes (None: any; no rows: those of `register_op`) on calls for which `when` is
    true. `when` gets the inputs and attributes; `when_text`, or its docstring, tells people what it wants. Of
    the kernels that fit, the one of the highest priority runs; then the kind decides, loops before functions.
    `device` is "CPU", "CUDA" or None for any; without it, kernels run on every device, and functions of
    arrays on the CPU, where they get copies of tensors of GPUs.
    """
    return {
        "run": run,
        "kind": kind or ("JitLoop" if isinstance(run, _core.Kernel) else "PyFunc"),
        "rows": [list(map(_row_name, row)) for row in rows],
        "when": when,
        "when_text": when_text or getattr(when, "__doc__", None) or getattr(when, "__name__", ""),
        "priority": priority,
        "source": source_of(run) if source is None else source,
        "device": device or (None if device is None or isinstance(run, _core.Kernel) else "CPU"),
    }


def make_operator(
    name: str,
    kernels: Sequence[dict[str, Any]],
    *,
    inputs: Sequence[tuple[str, str, bool]],
    outputs: Sequence[str | tuple[str, int, int | None]],
    attrs: Sequence[tuple[str, str, bool, Any]] = (),
    infer: Callable[..., Any] | None = None,
    bprop: Callable[..., Any] | None = None,
    check: Callable[[Any, Any], Any] | None = None,
    source: str = "",
    tensor_class: type = Tensor,
    tuple_of_one: bool = False,
    is_registered: bool = True,
    infer_repeats: bool | None = None,
) -> Any:
    """Makes an operator; raises ValueError with all faults if it cannot be registered.

    `outputs`: names, or (name, least, most) with the number of tensors; None means any number.
    `check(found, inputs)` makes gradients from the result of a bprop, or raises. It gets results that are not
    a tuple of one gradient per input and attribute, and with `_core.check_gradients(True)` all results.
    `infer_repeats`: the result of `infer` depends only on its arguments, so that a repeated call need not run
    it.
    """
    for what, function in (("infer", infer), ("bprop", bprop)):
        if function is not None and not callable(function):
            raise TypeError(
                f"{what} of operator '{name}' is {type(function).__name__}, but must be a function"
            )
    spec = {
        "name": name,
        "source": source,
        "inputs": list(inputs),
        "outputs": list(outputs),
        "attrs": list(attrs),
        "infer": infer,
        "infer_repeats": _is_pure(infer) if infer_repeats is None else infer_repeats,
        "kernels": list(kernels),
        "bprop": bprop,
        "check": check,
        "tensor_class": tensor_class,
        "tuple": tuple_of_one or len(outputs) > 1,
    }
    return _core.make_operator(spec, is_registered, tuple_of_one)


def _is_pure(function: Any) -> bool:
    """Returns whether a function reads only its arguments; False if this is unknown."""
    code = getattr(function, "__code__", None)
    return code is not None and not code.co_names and not code.co_freevars


def check_parameters(whose: str, bprop: Callable[..., Any], count: int) -> None:
    """Raises TypeError for a bprop that cannot be called with `count` inputs and attributes, the outputs and
    their gradients.
    """
    try:
        signature = inspect.signature(bprop)
    except ValueError:
        return  # a C function without a signature
    try:
        signature.bind(*range(count + 2))
    except TypeError:
        raise TypeError(
            f"{whose} takes {signature}, but is called with {count} input{'s' * (count != 1)}, the output and"
            " its gradient"
        ) from None


_types = {bool: "bool", int: "int", float: "float", str: "str"}


def _declared_attrs(
    attrs: Sequence[str] | Mapping[str, Any], parameters: Mapping[str, inspect.Parameter]
) -> list[tuple[str, str, bool, Any]]:
    """Returns the attributes from names, or from names with types or with default values."""
    given = attrs if isinstance(attrs, Mapping) else {name: REQUIRED for name in attrs}
    out = []
    for name, value in given.items():
        if value is REQUIRED and name in parameters:
            value = parameters[name].default
        is_type = isinstance(value, type) and value is not REQUIRED
        kind = value if is_type else type(value)
        text = _types.get(kind, "any value")
        has_default = value is not REQUIRED and not is_type
        out.append((name, text, has_default, value if has_default else None))
    return out


def register_op(
    name: str,
    kernel: Callable[..., Any] | Sequence[Any] | None = None,
    *,
    attrs: Sequence[str] | Mapping[str, Any] = (),
    dtypes: Sequence[Sequence[str | None]] = (),
    outputs: Sequence[str] = ("output",),
    writes: Sequence[str] = (),
    infer: Callable[..., Any] | None = None,
    bprop: Callable[..., Any] | None = None,
) -> Any:
    """Registers a kernel, or a Python function of arrays, as the operator `name` ("namespace::name").

    Its parameters are the inputs, but for those in `attrs`: names, or a dict from names to their types or to
    the values that they have when a call gives none. `dtypes`: rows with a dtype, or None for any, for each
    input and output; without rows all are taken. Several kernels of the same parameters are a list of them,
    or of what `kernel_row` makes of each. `infer` gets (dtype, shape) of each input, then the attributes, and
    returns a list of (dtype, shape); without it the kernel's results are taken as they come.
    `bprop` gets the inputs and attributes, the output and its gradient (tuples of several), and returns a
    tuple of one gradient, or None, per input. `writes` names inputs that the kernel changes in place.

    Returns the operator, to be called with tensors or arrays. Without `kernel`: a decorator. Raises a
    ValueError that lists what is wrong; nothing is registered then.
    """
    if kernel is None:
        options: Any = {"attrs": attrs, "dtypes": dtypes, "outputs": outputs, "writes": writes}
        return lambda function: register_op(name, function, **options, infer=infer, bprop=bprop)
    given: list[Any] = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]
    if not given:
        raise ValueError(f"register_op({name!r}): there is no kernel")
    rows = [k if isinstance(k, dict) else kernel_row(k) for k in given]
    common = [list(map(_row_name, row)) for row in dtypes]
    rows = [{**row, "rows": row["rows"] or common} for row in rows]
    parameters = _parameters_of_all(name, rows)
    unknown = [n for n in (*attrs, *writes) if n not in parameters]
    if unknown:
        raise ValueError(f"register_op({name!r}): the kernel has no parameter {', '.join(unknown)}")
    starred = [p.name for p in parameters.values() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if starred:
        raise ValueError(f"register_op({name!r}): the kernel has the parameter *{starred[0]}")
    if bprop is not None and callable(bprop):
        check_parameters(f"register_op({name!r}): 'bprop'", bprop, len(parameters))
    names = [n for n in parameters if n not in attrs]
    if [*names, *attrs] != list(parameters):
        raise ValueError(f"register_op({name!r}): attributes come behind the inputs, in the kernel's order")
    return make_operator(
        name,
        rows,
        inputs=[(n, "required", n in writes) for n in names],
        outputs=outputs,
        attrs=_declared_attrs(attrs, parameters),
        infer=infer,
        bprop=bprop,
        source=rows[0]["source"],
    )


def _parameters_of_all(name: str, rows: Sequence[dict[str, Any]]) -> Mapping[str, inspect.Parameter]:
    """Returns the parameters of the first kernel; raises ValueError if another kernel has others."""
    found = [inspect.signature(row["run"]).parameters for row in rows]
    for parameters in found:
        if list(parameters) != list(found[0]):
            raise ValueError(
                f"register_op({name!r}): the kernels take ({', '.join(found[0])}) and"
                f" ({', '.join(parameters)}), but must have the same parameters"
            )
    return found[0]


def remove_op(name: str) -> None:
    """Removes an operator from the registry; calls through objects that hold it continue. Raises ValueError
    if there is none.
    """
    if not _core.remove_operator(name):
        raise ValueError(f"there is no operator '{name}'")
