"""`mindspore.nn.Cell`: functions with parameters and cells inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import _core
from ...operators import kernel_row, make_operator, source_of
from ..common.parameter import Parameter
from ..common.tensor import Tensor


class Cell:
    """Subclasses define `construct`; cells and parameters that are assigned to attributes are theirs.

    A subclass may define `bprop(inputs…, out, dout)`, which then gives its gradients.
    """

    _cells: dict[str, Cell]
    _params: dict[str, Parameter]

    def __init__(self, auto_prefix: bool = True, flags: Any = None) -> None:
        object.__setattr__(self, "_params", {})
        object.__setattr__(self, "_cells", {})
        self.training = False

    def __setattr__(self, name: str, value: Any) -> None:
        held = self.__dict__.get("_cells")
        if isinstance(value, (Cell, Parameter)) and held is None:
            raise AttributeError(
                f"For 'Cell', call super().__init__() of '{type(self).__name__}' before '{name}' is assigned"
            )
        if held is not None:
            held.pop(name, None)
            self._params.pop(name, None)
            if isinstance(value, Cell):
                held[name] = value
            if isinstance(value, Parameter):
                if value.name == "Parameter":
                    value.name = name
                self._params[name] = value
        object.__setattr__(self, name, value)

    def construct(self, *inputs: Any, **keywords: Any) -> Any:
        raise AttributeError(f"For 'Cell', the method 'construct' of '{type(self).__name__}' is not defined.")

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        own = getattr(type(self), "bprop", None)
        if own is None or not _core.is_recording() or keywords:
            return self.construct(*inputs, **keywords)
        return self._with_own_bprop(inputs)

    def _with_own_bprop(self, inputs: tuple[Any, ...]) -> Any:
        """One recorded call whose gradient is the method `bprop`; inputs that are no tensors pass through."""
        tensors = [i for i, x in enumerate(inputs) if isinstance(x, _core.Tensor)]
        single = True

        def run(*arrays: Any) -> Any:
            nonlocal single
            given = list(inputs)
            for i, a in zip(tensors, arrays, strict=True):
                given[i] = Tensor._from_array(a)
            out = self.construct(*given)
            single = not isinstance(out, tuple)
            return tuple(t.numpy() for t in out) if isinstance(out, tuple) else out.numpy()

        def back(*args: Any) -> Any:
            given, rest = list(inputs), args[len(tensors) :]
            for i, t in zip(tensors, args, strict=False):
                given[i] = t
            found = self.bprop(*given, *rest)  # type: ignore[attr-defined]
            if not isinstance(found, (tuple, list)) or len(found) != len(inputs):
                count = len(found) if isinstance(found, (tuple, list)) else 1
                raise TypeError(
                    f"For user defined method 'bprop' of net '{type(self).__name__}', the number of return"
                    " values(gradients) should be equal to the number of input arguments except 'out' and"
                    f" 'dout', which is: {len(inputs)}, but got:{count}."
                )
            return tuple(found[i] for i in tensors)

        op = make_operator(
            f"cell::{type(self).__name__}",
            [kernel_row(run, source=source_of(type(self).construct))],
            inputs=[(f"x{i}", "required", False) for i in range(len(tensors))],
            outputs=["output"],
            bprop=back,
            source=source_of(type(self).bprop),  # type: ignore[attr-defined]
            tensor_class=Tensor,
            variable_outputs=True,
            is_registered=False,
        )
        return op(*(inputs[i] for i in tensors))

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
        """Shapes are taken as they come; accepted for programs that declare them."""

    def to_float(self, dst_type: Any) -> Cell:
        return self

    def add_flags(self, **flags: Any) -> Cell:
        return self

    def __repr__(self) -> str:
        inside = "".join(f"\n  ({n}): {c!r}" for n, c in self._cells.items())
        return f"{type(self).__name__}<{inside}{chr(10) if inside else ''}>"
