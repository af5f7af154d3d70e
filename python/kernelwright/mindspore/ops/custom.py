"""`ops.Custom`: an operator of the registry made of a function or of a compiled library."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import _core
from ..._locks import ForkLock
from ...operators import _is_pure, check_parameters, kernel_row, make_operator, source_of
from ..common import bprop_check
from ..common import dtype as mstype
from ..common.tensor import Tensor
from .argument_patterns import (
    TensorSpec,
    form_of,
    name_part,
    ordered,
    places,
    shape_of,
    tensors_in,
    type_of,
    typed_tuple,
)
from .custom_kind import Types, kind_of, make_kind, plain_function, signature_of
from .primitive import Primitive
from .reg_info import Info, checked, flatten
from .registered import Declared, Registered

_targets = ["Ascend", "GPU", "CPU"]


def _bound_info(func: Any) -> Any:
    """Returns the registration information that a decorator bound to the function."""
    return getattr(func, "reg_info", None) or getattr(plain_function(func), "reg_info", None)


_numbers = itertools.count()  # for names in the registry
_making = ForkLock()


class Custom(Primitive, _core.FastCallProxy):
    """`Custom(func, out_shape, out_dtype, func_type, bprop, reg_info)`; called with tensors and attributes.

    `out_shape` and `out_dtype` are values or functions of the shapes (lists) and types of all arguments. The
    constructor raises ValueError and TypeError, in MindSpore's words, for errors in the description; the call
    raises errors in the arguments.
    """

    _is_copy = False  # the original was warned when it was made

    def __init__(
        self,
        func: Any,
        out_shape: Any = None,
        out_dtype: Any = None,
        func_type: str | None = None,
        bprop: Callable[..., Any] | None = None,
        reg_info: Any = None,
    ) -> None:
        super().__init__("Custom")
        self.func, self.func_type = func, kind_of(func_type, func)
        self.prefix = f"For 'Custom', 'func_type': {self.func_type}, 'func': {func}"
        self.out_shape, self.out_dtype = out_shape, out_dtype
        self.kind = make_kind(self.func_type, func, self.prefix)
        if not self._is_copy:
            self.kind.warn_of_function(func, self.prefix)
        self._check_declared()
        self.bprop = self._checked_bprop(bprop)
        self.uniq_name = self._unique_name()
        self.add_prim_attr("func_type", self.func_type).add_prim_attr("uniq_name", self.uniq_name)
        self.own_attrs = set(self.attrs)
        self._reg_info = reg_info
        infos = self._parts_of(reg_info if reg_info is not None else _bound_info(func))
        if reg_info is not None and not isinstance(reg_info, (dict, str, list, tuple)):
            raise TypeError(
                f"{self.prefix}, the registration information must be of type dict, but got {reg_info} with"
                f" type {type(reg_info)}. Use 'CustomRegOp' to generate the registration information, then"
                " pass it to 'reg_info'"
            )
        self.declared = Declared()
        registered = Registered(func, self.func_type, self.prefix)
        for info in infos:
            target = self._target_of(info)
            self._register(target, registered.take(target, info))
        self._operators: dict[Any, Any] = {}
        self.body = self.kind.make_body(self._weak())
        registered.keep()

    # -- construction

    def _check_declared(self) -> None:
        def is_function(value: Any) -> bool:
            return callable(value) and not isinstance(value, (type, mstype.Type, mstype.TensorType))

        self._shape_function = self.out_shape if is_function(self.out_shape) else None
        self._dtype_function = self.out_dtype if is_function(self.out_dtype) else None
        may_lack = self.kind.may_lack_outputs
        if self._shape_function is None and not (self.out_shape is None and may_lack):
            self._check_shape(self.out_shape)
        if self._dtype_function is None and not (self.out_dtype is None and may_lack):
            self._check_dtype(self.out_dtype)

    def _check_shape(self, value: Any) -> None:
        if not isinstance(value, (tuple, list)):
            raise TypeError(
                f"{self.prefix}, 'out_shape' must be one of [tuple, list, function], but got {type(value)}"
            )

    def _check_dtype(self, value: Any) -> None:
        fits = isinstance(value, (tuple, list, mstype.Type, mstype.TensorType, np.dtype))
        if not fits and not (isinstance(value, type) and issubclass(value, (np.generic, bool, int, float))):
            raise TypeError(
                f"{self.prefix}, 'out_dtype' must be one of [mindspore.dtype, tuple, list, function], but"
                f" got {type(value)}"
            )
        for part in value if isinstance(value, (tuple, list)) else ():
            if isinstance(part, (tuple, list)):
                raise TypeError(f"{self.prefix}: 'out_dtype' holds {part}, but must hold dtypes")
            self._check_dtype(part)

    def _checked_bprop(self, bprop: Any) -> Any:
        if bprop is not None and not callable(bprop):
            raise TypeError(f"{self.prefix}, 'bprop' must be a function, but got {type(bprop)}")
        return bprop

    def _unique_name(self) -> str:
        func = self.func
        if isinstance(func, str):
            return f"Custom_{func}"
        plain = plain_function(func)
        try:
            text = inspect.getsource(plain)
        except (OSError, TypeError):
            text = repr(getattr(getattr(plain, "__code__", None), "co_code", plain))
        code = getattr(plain, "__code__", None)
        path = os.path.realpath(getattr(code, "co_filename", ""))
        body = b"" if code is None else code.co_code + repr((code.co_names, code.co_varnames)).encode()
        digest = hashlib.sha256((path + text).encode() + body).hexdigest()  # two lambdas may be on one line
        return f"Custom_{getattr(plain, '__name__', type(plain).__name__)}_{digest}"

    def _parts_of(self, reg_info: Any) -> list[Info]:
        try:
            return [checked(info) for info in flatten(reg_info)]
        except ValueError as error:
            raise ValueError(
                f"{self.prefix}, the registration information is registered failed. Use 'CustomRegOp' to"
                " generate the registration information, then pass it to 'reg_info' or use"
                " 'custom_info_register' to bind it to 'func' if 'func' is a function."
                f"\n{error}"
            ) from None

    def _register(self, target: str, info: Info) -> None:
        """Uses the registration for the CPU; if there is none, the first one."""
        if target == "CPU" or not self.declared.is_for_cpu:
            self.declared = Declared.of(target, info)

    def _target_of(self, info: Info) -> str:
        by_processor = {"AiCore": "Ascend", "CUDA": "GPU", "CPU": "CPU"}
        by_imply = {"TBE": "Ascend", "GPU": "GPU", "CPU": "CPU"}
        found = info.get("target")
        if found not in _targets:
            found = by_processor.get(info.get("processor", "")) or by_imply.get(info.get("imply_type", ""))
        found = found or self.kind.default_target
        if found not in _targets:
            shown = None if info.get("target") in (None, "UnKnown") else info.get("target")
            raise ValueError(
                f"{self.prefix}, target set in registration information must be one of {_targets}, but got"
                f" {shown}"
            )
        return str(found)

    def _weak(self) -> Any:
        """Returns a weak reference for the registry, which would otherwise keep this object alive."""
        return weakref.proxy(self)

    def __deepcopy__(self, memo: Any) -> Custom:
        """Makes another operator of the same description."""
        given = (self.func, self.out_shape, self.out_dtype, self.func_type, self.bprop, self._reg_info)
        made = type(self).__new__(type(self))
        made._is_copy = True
        Custom.__init__(made, *given)
        made.attrs.update(self.attrs)
        return made

    # -- calls

    def _call(self, args: tuple[Any, ...]) -> Any:
        """Runs every call, except those of tensors only, which the base class runs after the first."""
        if self.declared.attr_names:
            args += tuple(self._left_out(len(args) - (self.declared.inputs or 0)))
        pattern = tuple(map(form_of, args))
        key = (pattern, self._absent(args)) if "optional" in self.declared.input_kinds else pattern
        op = self._operators.get(key)
        if op is None:
            with _making:
                op = self._operators.get(key) or self._make_operator(key, pattern, args)
        try:
            return op(*ordered(pattern, args))
        except TypeError as error:
            if getattr(error, "operator", None) != op.name or not self.declared.shown_rows:
                raise  # which tells of devices
            raise TypeError(self._no_row_text(pattern, args)) from None

    def _absent(self, args: Sequence[Any]) -> tuple[int, ...]:
        """Returns the positions at which optional inputs are None."""
        kinds = enumerate(zip(args, self.declared.input_kinds, strict=False))
        return tuple(i for i, (x, kind) in kinds if x is None and kind == "optional")

    def with_fixed(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the arguments of a kernel: inputs, then all attributes in the order of the registration,
        also those whose value the registration fixes.
        """
        count = len(args) - len(self.declared.attr_names)
        passed = iter(args[count:])
        return args[:count] + tuple(next(passed) if v is None else v for _, v in self.declared.all_attrs)

    def _left_out(self, count: int) -> list[Any]:
        """Returns the defaults of attributes after the first `count`, up to the first without one."""
        return list(itertools.takewhile(lambda d: d is not None, self.declared.defaults[max(count, 0) :]))

    def _no_row_text(self, pattern: Any, args: Sequence[Any]) -> str:
        shown = mstype.name_shown
        inputs = self.declared.inputs or 0
        rows = "".join(
            f"input[{' '.join(map(shown, r[:inputs]))}], output[{' '.join(map(shown, r[inputs:]))}]; "
            for r in self.declared.shown_rows
        )
        _, dtypes, _ = self.declared_types(pattern, args)
        given = "".join(f"{shown(str(t.numpy_dtype))} " for t in tensors_in(args))
        names = self.kind.result_names(self, args) if dtypes is None else [t.name for t in dtypes]
        made = "".join(f"{shown(n)} " for n in names)
        return (
            f"Select CPU operator[{self.uniq_name}] fail! Unsupported data type!\n"
            f"The supported data types are {rows}, but get input[{given}] and output[{made}]"
        )

    def declared_types(self, pattern: Any, args: Sequence[Any]) -> tuple[Any, Any, bool]:
        """Returns the shapes and dtypes that are declared for the outputs of a call (None: not declared), and
        whether its result is a tuple.
        """
        shape, dtype = self.out_shape, self.out_dtype
        if self.kind.is_silent(self):
            return [(1,)], [np.dtype(np.int32)], False
        if self._shape_function is not None:
            shape = self._asked("out_shape", self._shape_function, map(shape_of, args))
            self._check_shape(shape)
        if self._dtype_function is not None:
            dtype = self._asked("out_dtype", self._dtype_function, map(type_of, args))
            self._check_dtype(dtype)
        dtype = self.kind.declared_dtype(dtype)
        several = isinstance(dtype, (tuple, list))
        if shape is None and dtype is None and not self.kind.has_known_outputs:
            return None, None, False
        dtypes = None if dtype is None else [np.dtype(t) for t in (dtype if several else [dtype])]
        shapes = None
        if shape is not None:
            nested = several or (len(shape) > 0 and isinstance(shape[0], (tuple, list)))
            if several and not all(isinstance(s, (tuple, list)) for s in shape):
                raise TypeError(
                    f"{self.prefix}: 'out_dtype' is a {type(dtype).__name__} of {len(dtype)}, so 'out_shape'"
                    f" must be as many shapes, but is {shape}"
                )
            shapes = [self._extents(s) for s in (shape if nested else [shape])]
        count = len(dtypes) if dtypes is not None and several else None
        shapes, dtypes = self.kind.complete_types(self, args, shapes, dtypes, count)
        several = several or (shapes is not None and dtypes is not None and len(shapes) > 1)
        if shapes is not None and dtypes is not None and len(shapes) != len(dtypes):
            raise ValueError(
                f"{self.prefix}, 'out_shape' describes {len(shapes)} outputs, but 'out_dtype' {len(dtypes)}"
            )
        return shapes, dtypes, several

    def _extents(self, shape: Any) -> tuple[int, ...]:
        fits = isinstance(shape, (tuple, list)) and all(hasattr(e, "__index__") and e >= 0 for e in shape)
        if not fits:
            raise TypeError(
                f"{self.prefix}: 'out_shape' holds {shape!r}, but must hold shapes of extents >= 0"
            )
        return self.kind.declared_extents(tuple(int(e) for e in shape))

    def _asked(self, what: str, function: Any, args: Any) -> Any:
        """Calls a function of the shapes or types; its errors name the operator."""
        args = tuple(args)
        try:
            return function(*args)
        except Exception as error:
            self.kind.check_count(self, len(args))
            raise RuntimeError(f"{self.prefix}: '{what}' raised {type(error).__name__}: {error}") from error

    def _names_of(self, count: int) -> list[str]:
        """Returns the names of the arguments: those of the function's parameters, if it has one for each."""
        numbered = [f"x{i}" for i in range(count)]
        signature = signature_of(self.func)
        names = list(signature.parameters)[:count] if signature else []
        others = {f"{letter}{i}" for letter in "ay" for i in range(count)}  # names of attributes and results
        return numbered if len(names) < count or others & {*names} else names

    def _make_operator(self, key: Any, pattern: Any, args: Sequence[Any]) -> Any:
        """Returns the operator for calls of this pattern: which arguments are tensors, tuples of tensors, or
        attributes.
        """
        absent = self._absent(args)
        attributes = [i for i, form in enumerate(pattern) if form == "attribute"]
        self.kind.check_arguments(self, pattern, args, [i for i in attributes if i not in absent])
        if self.declared.attr_names and len(args) < (self.declared.inputs or 0) + len(
            self.declared.attr_names
        ):
            missing = self.declared.attr_names[len(args) - (self.declared.inputs or 0)]
            raise TypeError(f"{self.prefix}, the attribute '{missing}' is missing from the call")
        shapes, _, several = self.declared_types(pattern, args)
        inputs = [i for i, form in enumerate(pattern) if form != "attribute"]
        back = places(inputs, attributes)
        if self.declared.shown_rows and not self.declared.rows:
            raise TypeError(self._no_row_text(pattern, args))
        self._check_counts(len(inputs) + len(absent), len(shapes or ()))
        custom = self._weak()

        def infer(*given: Any) -> Any:
            return custom._infer(pattern, [given[k] for k in back])

        name, names = f"custom::{name_part(self.uniq_name)}_{next(_numbers)}", self._names_of(len(pattern))
        row = kernel_row(
            self.kind.runner(custom, back),
            kind=self.kind.row_kind,
            rows=self._rows_of(absent) if "tuple" not in pattern else (),
            source=self._source(),
            device=self.kind.device(custom),
        )
        if self.bprop is not None:
            check_parameters(f"{self.prefix}: 'bprop'", self.bprop, len(pattern))
        op = make_operator(
            name,
            [row],
            inputs=[
                (names[i], "dynamic" if pattern[i] == "tuple" else "required", self.kind.writes_inputs)
                for i in inputs
            ],
            outputs=[("y0", 0, None)] if shapes is None else [f"y{i}" for i in range(len(shapes) or 1)],
            attrs=[(f"a{i}", "any value", False, None) for i in attributes],
            infer=infer if self._is_declared() or (self.declared.rows and "tuple" in pattern) else None,
            **self._back(back, inputs, len(pattern)),
            source=self._source(),
            tensor_class=Tensor,
            tuple_of_one=several,
            infer_repeats=all(f is None or _is_pure(f) for f in (self._shape_function, self._dtype_function)),
        )
        weakref.finalize(self, _core.remove_operator, name)
        self._operators[key] = op
        if all(form == "tensor" for form in pattern):
            self._set_short(op, len(pattern))
        return op

    def _check_counts(self, inputs: int, outputs: int) -> None:
        """Raises TypeError if the registration has rows for other numbers of inputs or outputs."""
        if self.declared.rows and self.declared.inputs not in (None, inputs):
            raise TypeError(
                f"{self.prefix}, the registration information declares {self.declared.inputs} inputs, but the"
                f" call has {inputs}"
            )
        if self.declared.rows and outputs and self.declared.outputs not in (None, outputs):
            raise TypeError(
                f"{self.prefix}, the registration information declares {self.declared.outputs} outputs, but"
                f" 'out_shape' and 'out_dtype' describe {outputs}"
            )

    def _rows_of(self, absent: Sequence[int]) -> list[list[str | None]]:
        """Returns the rows without the columns of inputs that a call omits."""
        return [[t or None for i, t in enumerate(row) if i not in absent] for row in self.declared.rows]

    def _check_rows(self, pattern: Any, args: Sequence[Any], dtypes: Any) -> None:
        """Raises TypeError if no row fits a call with tuples of tensors. Each tensor must have its input's
        type.
        """
        inputs = [tensors_in([x]) for x, form in zip(args, pattern, strict=True) if form != "attribute"]
        given = [{str(t.numpy_dtype) for t in tensors} for tensors in inputs]
        given += [{t.name} for t in dtypes or ()]
        rows = self._rows_of(self._absent(args))

        def fits(row: list[str | None]) -> bool:
            return all(t is None or names <= {t} for t, names in zip(row, given, strict=False))

        if rows and not any(map(fits, rows)):
            raise TypeError(self._no_row_text(pattern, args))

    def _is_declared(self) -> bool:
        """Returns whether the outputs are known before the body runs."""
        return self.kind.has_known_outputs or not (self.out_shape is None and self.out_dtype is None)

    def _source(self) -> str:
        return self.func if isinstance(self.func, str) else source_of(self.func)

    def _infer(self, pattern: Any, given: Sequence[Any]) -> Types:
        args = [
            TensorSpec(g) if form == "tensor" else typed_tuple(g) if form == "tuple" else g
            for form, g in zip(pattern, given, strict=True)
        ]
        shapes, dtypes, _ = self.declared_types(pattern, args)
        if "tuple" in pattern:
            self._check_rows(pattern, args, dtypes)
        elif (made := self.kind.made_types(self, shapes, dtypes, args)) is not None:
            return made
        if shapes is None or dtypes is None:
            raise TypeError(f"{self.prefix}: 'out_shape' and 'out_dtype' are both needed here")
        return [(t.name, s) for t, s in zip(dtypes, shapes, strict=True)]

    def _back(self, back: list[int], inputs: list[int], count: int) -> dict[str, Any]:
        """Returns the bprop and its check. The bprop gets inputs and attributes in the order of the call,
        then outputs.
        """
        bprop, prefix = self.bprop, self.prefix
        if bprop is None:
            return {}

        def check(found: Any, args: Any) -> Any:
            return bprop_check.gradients(found, args, "", prefix)

        def reordered(*given: Any) -> Any:
            args = [given[k] for k in back]
            found = check(bprop(*args, *given[count:]), args)
            return tuple(found[i] for i in inputs)

        return {"bprop": bprop, "check": check} if back == inputs == [*range(count)] else {"bprop": reordered}
