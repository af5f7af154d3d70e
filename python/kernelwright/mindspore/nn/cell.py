"""`mindspore.nn.Cell`: functions with parameters and cells inside."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from ... import _core
from ...operators import kernel_row, make_operator, source_of
from ..common.bprop_check import gradients
from ..common.parameter import Parameter
from ..common.tensor import Tensor, on_present_device

_TENSOR = object()  # marks a tensor in the structure of the inputs of a call


def _take_apart(value: Any, tensors: list[Any]) -> Any:
    """Moves the tensors in tuples and lists to `tensors`; returns the remaining structure."""
    if isinstance(value, _core.Tensor):
        tensors.append(value)
        return _TENSOR
    if isinstance(value, (tuple, list)):
        return type(value)(_take_apart(item, tensors) for item in value)
    return value


def _put_together(form: Any, tensors: list[Any]) -> Any:
    """Restores a structure with other tensors, which are taken from the list."""
    if form is _TENSOR:
        return tensors.pop(0)
    if isinstance(form, (tuple, list)):
        return type(form)(_put_together(item, tensors) for item in form)
    return form


def _select(form: Any, values: Any) -> list[Any]:
    """Returns the values at the places where the structure of the inputs has tensors."""
    if form is _TENSOR:
        return [values]
    if not isinstance(form, (tuple, list)):
        return []
    if values is None:
        values = [None] * len(form)
    return [v for f, item in zip(form, values, strict=True) for v in _select(f, item)]


class Cell:
    """Subclasses define `construct`. A cell owns the cells and parameters assigned to its attributes.

    A subclass may define `bprop(inputs…, out, dout)`, which then computes its gradients.
    """

    _cells: dict[str, Cell]
    _params: dict[str, Parameter]

    def __init__(self, auto_prefix: bool = True, flags: Any = None) -> None:
        object.__setattr__(self, "_params", {})
        object.__setattr__(self, "_cells", {})
        self.auto_prefix = auto_prefix
        self.training = False

    def __setattr__(self, name: str, value: Any) -> None:
        held = self.__dict__.get("_cells")
        if held is not None and name in self._params and type(value) is Tensor:
            self._params[name].set_data(value)
            return
        if isinstance(value, (Cell, Parameter)) and held is None:
            raise AttributeError(
                f"For 'Cell', call super().__init__() of '{type(self).__name__}' before '{name}' is assigned"
            )
        if held is not None:
            held.pop(name, None)
            self._params.pop(name, None)
            if isinstance(value, Cell):
                held[name] = value
                if self.auto_prefix:
                    value.update_parameters_name(f"{name}.")
            if isinstance(value, Parameter):
                if value.name == "Parameter":
                    value.name = name
                self._params[name] = value
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._cells.pop(name, None)
        self._params.pop(name, None)
        object.__delattr__(self, name)

    def construct(self, *inputs: Any, **keywords: Any) -> Any:
        raise AttributeError(f"For 'Cell', the method 'construct' of '{type(self).__name__}' is not defined.")

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        own = getattr(type(self), "bprop", None)
        if own is None or not _core.is_recording():
            return self.construct(*inputs, **keywords)
        bound = inspect.signature(self.construct).bind(*inputs, **keywords)
        bound.apply_defaults()
        return self._with_own_bprop((*bound.args, *bound.kwargs.values()))

    def _with_own_bprop(self, inputs: tuple[Any, ...]) -> Any:
        """Runs as one recorded call whose gradient is the method `bprop`; objects that are not tensors pass
        through.
        """
        name = type(self).__name__
        for p in self.get_parameters():
            if p._is_tracked:
                raise RuntimeError(
                    f"the gradient by the parameter '{p.name}' was asked for, but the method 'bprop' of"
                    f" '{name}' gives gradients by inputs alone"
                )
        tensors: list[Any] = []
        form = _take_apart(inputs, tensors)
        single = True

        def run(*arrays: Any) -> Any:
            nonlocal single
            given = [on_present_device(Tensor._from_array(array)) for array in arrays]
            out = self.construct(*_put_together(form, given))
            single = not isinstance(out, (tuple, list))
            for t in [out] if single else out:
                if not isinstance(t, _core.Tensor):
                    raise TypeError(
                        f"the method 'construct' of '{name}', which has a method 'bprop', must return a"
                        f" tensor or tensors, but returned a {type(t).__name__}"
                    )
            return (out.numpy(),) if single else tuple(t.numpy() for t in out)

        def back(*args: Any) -> Any:
            given, (out, dout) = _put_together(form, list(args[:-2])), args[-2:]
            ends = (out[0], dout[0]) if single else (out, dout)
            found = self.bprop(*given, *ends)  # type: ignore[attr-defined]
            return tuple(_select(form, gradients(found, given, name)))

        op = make_operator(
            f"cell::{name}",
            [kernel_row(run, source=source_of(type(self).construct))],
            inputs=[(f"x{i}", "required", False) for i in range(len(tensors))],
            outputs=[("output", 0, None)],
            bprop=back,
            source=source_of(type(self).bprop),  # type: ignore[attr-defined]
            tensor_class=Tensor,
            tuple_of_one=True,
            is_registered=False,
        )
        outputs = op(*tensors)
        return outputs[0] if single else outputs

    def cells(self) -> Iterator[Cell]:
        return iter(self._cells.values())

    def cells_and_names(self, name_prefix: str = "") -> Iterator[tuple[str, Cell]]:
        yield name_prefix, self
        for name, cell in self._cells.items():
            yield from cell.cells_and_names(f"{name_prefix}.{name}" if name_prefix else name)

    def name_cells(self) -> dict[str, Cell]:
        return dict(self._cells)

    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Any]]:
        for name, p in self._params.items():
            yield (f"{name_prefix}.{name}" if name_prefix else name), p
        for name, cell in self._cells.items() if expand else ():
            yield from cell.parameters_and_names(f"{name_prefix}.{name}" if name_prefix else name)

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Names each parameter by its place in this cell, after a prefix."""
        for name, p in self.parameters_and_names(expand=recurse):
            p.name = prefix + name

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        seen = set()
        for _, p in self.parameters_and_names(expand=expand):
            if id(p) not in seen:
                seen.add(id(p))
                yield p

    def parameters_dict(self) -> dict[str, Parameter]:
        return dict(self.parameters_and_names())

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def set_train(self, mode: bool = True) -> Cell:
        for _, cell in self.cells_and_names():
            cell.training = mode
        return self

    def set_grad(self, requires_grad: bool = True) -> Cell:
        return self

    def set_inputs(self, *inputs: Any, **keywords: Any) -> None:
        """Does nothing, because shapes need no declaration; accepted for programs that declare them."""

    def to_float(self, dst_type: Any) -> Cell:
        return self

    def add_flags(self, **flags: Any) -> Cell:
        return self

    def __repr__(self) -> str:
        inside = "".join(f"\n  ({n}): {c!r}" for n, c in self._cells.items())
        return f"{type(self).__name__}<{inside}{chr(10) if inside else ''}>"
