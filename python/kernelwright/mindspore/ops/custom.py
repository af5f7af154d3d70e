"""`ops.Custom`: an operator of the registry made of a function or of a compiled library.

The kinds differ in what runs: loop kernels (hybrid, akg), Python functions (pyfunc), libraries (aot).
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import os
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import _core
from ..._locks import ForkLock
from ...capture import with_akg_words
from ...errors import KernelError, make_error
from ...kernel import kernel as kw_kernel
from ...operators import _is_pure, check_parameters, kernel_row, make_operator, source_of
from ..common import bprop_check
from ..common import dtype as mstype
from ..common.tensor import Tensor
from . import kernel_check
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
from .primitive import Primitive
from .py_body import PyFuncBody
from .reg_info import Info, checked, flatten
from .registered import Declared, Registered

func_types = ["hybrid", "akg", "tbe", "aicpu", "aot", "pyfunc", "julia"]
_targets = ["Ascend", "GPU", "CPU"]
_instead = {
    "tbe": 'write its loops as a kernel (func_type="hybrid")',
    "aicpu": 'compile its source by func_type="aot"',
    "julia": 'write it as a kernel (func_type="hybrid") or in C++ (func_type="aot")',
}


def unsupported(message: str, help_text: str) -> Exception:
    rendered = f"error[E102]: {message}\n      = help: {help_text}"
    return make_error("UnsupportedError", "E102", rendered, message, "", 0, 0, 0, "", "")


def _kind_of(func: Any) -> str:
    """Returns the type that is meant if it is omitted."""
    if isinstance(func, str):
        return "aot"
    return "hybrid" if getattr(func, "ms_kernel_flag", False) else "pyfunc"


def _signature_of(func: Any) -> inspect.Signature | None:
    """Returns the signature; None for C functions without one."""
    try:
        return inspect.signature(_plain(func))
    except ValueError:
        return None


def _plain(func: Any) -> Any:
    """Returns the function below decorators."""
    return inspect.unwrap(func)


def _bound_info(func: Any) -> Any:
    """Returns the registration information that a decorator bound to the function."""
    return getattr(func, "reg_info", None) or getattr(_plain(func), "reg_info", None)


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
        self.func, self.func_type = func, func_type or _kind_of(func)
        self.prefix = f"For 'Custom', 'func_type': {self.func_type}, 'func': {func}"
        self.out_shape, self.out_dtype = out_shape, out_dtype
        self._check_func()
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
        self._body = self._make_body()
        registered.keep()

    # -- construction

    def _check_func(self) -> None:
        func, kind = self.func, self.func_type
        if kind not in func_types:
            raise ValueError(f"{self.prefix}, 'func_type' must be one of {func_types}, but got {kind}")
        if kind in ("aot", "julia") and not isinstance(func, str):
            raise TypeError(f"{self.prefix}, 'func' must be of type str, but got {type(func)}")
        if kind == "hybrid" and not getattr(func, "ms_kernel_flag", False):
            raise TypeError(f"{self.prefix}, 'func' must be a function decorated by kernel")
        if kind == "tbe" and not callable(func):
            raise TypeError(f"{self.prefix}, 'func' must be of type function, but got {type(func)}")
        if not callable(func) and not isinstance(func, str):
            raise TypeError(f"For 'Custom', 'func' must be of type function or str, but got {type(func)}")
        if kind in _instead:
            raise unsupported(f"{self.prefix}: func_type {kind!r} does not run here", _instead[kind])
        if kind in ("pyfunc", "akg") and isinstance(func, str):
            raise TypeError(f"For 'Custom', 'func' of func_type '{kind}' must be a function, but got a str")
        if kind == "pyfunc" and getattr(func, "ms_kernel_flag", False) and not self._is_copy:
            warnings.warn(
                f"{self.prefix}, 'func' is decorated by kernel, but CPython runs it, element by element:"
                " func_type='hybrid' compiles it",
                stacklevel=3,
            )

    def _check_declared(self) -> None:
        def is_function(value: Any) -> bool:
            return callable(value) and not isinstance(value, (type, mstype.Type, mstype.TensorType))

        self._shape_function = self.out_shape if is_function(self.out_shape) else None
        self._dtype_function = self.out_dtype if is_function(self.out_dtype) else None
        may_lack = self.func_type in ("hybrid", "akg", "aot")
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
        plain = _plain(func)
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
        if found is None and self.func_type == "pyfunc":
            found = "CPU"
        if found not in _targets:
            shown = None if info.get("target") in (None, "UnKnown") else info.get("target")
            raise ValueError(
                f"{self.prefix}, target set in registration information must be one of {_targets}, but got"
                f" {shown}"
            )
        return str(found)

    def _make_body(self) -> Any:
        """Returns the body that runs for this type, from arrays to arrays."""
        if self.func_type == "aot":
            from .aot import AotBody

            return AotBody(self._weak())
        plain = _plain(self.func)
        if self.func_type == "pyfunc":
            return PyFuncBody(self._weak())
        names = set(getattr(getattr(plain, "__code__", None), "co_names", ()))
        for word in ("tvm", "topi", "ir_builder"):
            if word in names:
                raise unsupported(
                    f"{self.prefix}: operators built with '{word}' do not run here",
                    'write the loops of the operator as a kernel (func_type="hybrid")',
                )
        if self.func_type == "hybrid":
            kernel_check.check(plain)
        made = kw_kernel(with_akg_words(plain))
        made.check()
        return made

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
            if getattr(error, "operator", None) != op.name:
                raise
            raise TypeError(self._no_row_text(pattern, args)) from None

    def _absent(self, args: Sequence[Any]) -> tuple[int, ...]:
        """Returns the positions at which optional inputs are None."""
        kinds = enumerate(zip(args, self.declared.input_kinds, strict=False))
        return tuple(i for i, (x, kind) in kinds if x is None and kind == "optional")

    def _with_fixed(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
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
        names = self._names_made(args) if dtypes is None else [t.name for t in dtypes]
        made = "".join(f"{shown(n)} " for n in names)
        return (
            f"Select CPU operator[{self.uniq_name}] fail! Unsupported data type!\n"
            f"The supported data types are {rows}, but get input[{given}] and output[{made}]"
        )

    def _names_made(self, args: Sequence[Any]) -> list[str]:
        """Returns the dtypes of a kernel's results, which are not declared; none if the kernel refuses the
        arguments.
        """
        try:
            return [t for t, _ in self._types_made(args)]
        except KernelError:
            return []

    def _types_made(self, args: Sequence[Any]) -> list[tuple[str, tuple[int, ...]]]:
        """Returns the dtypes and shapes of a kernel's results, without running it."""
        tensors = (_core.Tensor, TensorSpec)
        arrays = [np.empty(a.shape, a.numpy_dtype) if isinstance(a, tensors) else a for a in args]
        if self.declared.fixed_attrs:
            arrays = [*self._with_fixed(tuple(arrays))]
        made: list[tuple[str, tuple[int, ...]]] = _core.output_types(self._body, tuple(arrays))
        return made

    def declared_types(self, pattern: Any, args: Sequence[Any]) -> tuple[Any, Any, bool]:
        """Returns the shapes and dtypes that are declared for the outputs of a call (None: not declared), and
        whether its result is a tuple.
        """
        shape, dtype = self.out_shape, self.out_dtype
        if self._is_silent():
            return [(1,)], [np.dtype(np.int32)], False
        if self._shape_function is not None:
            shape = self._asked("out_shape", self._shape_function, map(shape_of, args))
            self._check_shape(shape)
        if self._dtype_function is not None:
            dtype = self._asked("out_dtype", self._dtype_function, map(type_of, args))
            self._check_dtype(dtype)
        if self.func_type == "pyfunc" and dtype == ():
            dtype = mstype.int32  # as MindSpore does, which has a placeholder there
        several = isinstance(dtype, (tuple, list))
        if shape is None and dtype is None and self.func_type != "aot":
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
        if self.func_type == "aot" and (shapes is None or dtypes is None):
            count = len(dtypes) if dtypes is not None and several else self.declared.outputs or 1
            shapes, dtypes = self._body.types(args, shapes, dtypes, count)
            several = several or len(shapes) > 1
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
        if not shape and self.func_type == "pyfunc":
            return (1,)  # as MindSpore does: one element, in one dimension
        return tuple(int(e) for e in shape)

    def _asked(self, what: str, function: Any, args: Any) -> Any:
        """Calls a function of the shapes or types; its errors name the operator."""
        args = tuple(args)
        try:
            return function(*args)
        except Exception as error:
            self._check_count(len(args))
            raise RuntimeError(f"{self.prefix}: '{what}' raised {type(error).__name__}: {error}") from error

    def _check_count(self, count: int) -> None:
        """Raises TypeError if the operator's own function does not take `count` arguments."""
        if self.func_type not in ("hybrid", "akg", "pyfunc"):
            return
        signature = _signature_of(self.func)
        try:
            if signature:
                signature.bind(*range(count))
        except TypeError:
            name = getattr(self.func, "__name__", "the function")
            raise TypeError(f"{self.prefix}: {name}{signature} was called with {count} inputs") from None

    def _names_of(self, count: int) -> list[str]:
        """Returns the names of the arguments: those of the function's parameters, if it has one for each."""
        numbered = [f"x{i}" for i in range(count)]
        signature = None if isinstance(self.func, str) else _signature_of(self.func)
        names = list(signature.parameters)[:count] if signature else []
        others = {f"{letter}{i}" for letter in "ay" for i in range(count)}  # names of attributes and results
        return numbered if len(names) < count or others & {*names} else names

    def _make_operator(self, key: Any, pattern: Any, args: Sequence[Any]) -> Any:
        """Returns the operator for calls of this pattern: which arguments are tensors, tuples of tensors, or
        attributes.
        """
        absent = self._absent(args)
        if isinstance(self._body, _core.Kernel):
            self._check_scalars(pattern, args)
        if self.declared.attr_names and len(args) < (self.declared.inputs or 0) + len(
            self.declared.attr_names
        ):
            missing = self.declared.attr_names[len(args) - (self.declared.inputs or 0)]
            raise TypeError(f"{self.prefix}, the attribute '{missing}' is missing from the call")
        shapes, _, several = self.declared_types(pattern, args)
        inputs = [i for i, form in enumerate(pattern) if form != "attribute"]
        attributes = [i for i, form in enumerate(pattern) if form == "attribute"]
        back = places(inputs, attributes)
        if self.declared.shown_rows and not self.declared.rows:
            raise TypeError(self._no_row_text(pattern, args))
        self._check_counts(len(inputs) + len(absent), len(shapes or ()))
        custom, is_kernel = self._weak(), isinstance(self._body, _core.Kernel)
        values = [i for i in attributes if i not in absent]
        if self.func_type == "aot" and len(values) > len(self.declared.attr_names):
            i = values[len(self.declared.attr_names)]
            raise TypeError(
                f"{self.prefix}: argument {i} is {args[i]!r}, but libraries take tensors, and the attributes"
                " that the registration information declares"
            )

        def infer(*given: Any) -> Any:
            return custom._infer(pattern, [given[k] for k in back])

        name, names = f"custom::{name_part(self.uniq_name)}_{next(_numbers)}", self._names_of(len(pattern))
        row = kernel_row(
            self._runner(back),
            kind={"pyfunc": "PyFunc", "aot": "AotSymbol"}.get(self.func_type, "JitLoop"),
            rows=self._rows_of(absent) if "tuple" not in pattern else (),
            source=self._source(),
        )
        if self.bprop is not None:
            check_parameters(f"{self.prefix}: 'bprop'", self.bprop, len(pattern))
        op = make_operator(
            name,
            [row],
            inputs=[
                (names[i], "dynamic" if pattern[i] == "tuple" else "required", is_kernel) for i in inputs
            ],
            outputs=[f"y{i}" for i in range(len(shapes) if shapes else 1)],
            attrs=[(f"a{i}", "any value", False, None) for i in attributes],
            infer=infer if self._is_declared() or (self.declared.rows and "tuple" in pattern) else None,
            **self._back(back, inputs, len(pattern)),
            source=self._source(),
            tensor_class=Tensor,
            variable_outputs=shapes is None,
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

    def _check_scalars(self, pattern: Any, args: Sequence[Any]) -> None:
        for i, (form, value) in enumerate(zip(pattern, args, strict=True)):
            if form == "attribute" and not isinstance(value, (bool, int, float, np.generic)):
                raise TypeError(
                    f"{self.prefix}: argument {i} is {value!r}, but kernels take tensors and numbers"
                )

    def _is_declared(self) -> bool:
        """Returns whether the outputs are known before the body runs."""
        return self.func_type == "aot" or not (self.out_shape is None and self.out_dtype is None)

    def _source(self) -> str:
        return self.func if isinstance(self.func, str) else source_of(self.func)

    def _infer(self, pattern: Any, given: Sequence[Any]) -> list[tuple[str, tuple[int, ...]]]:
        args = [
            TensorSpec(g) if form == "tensor" else typed_tuple(g) if form == "tuple" else g
            for form, g in zip(pattern, given, strict=True)
        ]
        shapes, dtypes, _ = self.declared_types(pattern, args)
        if isinstance(self._body, _core.Kernel) and "tuple" not in pattern:
            return self._made(shapes, dtypes, args)
        if "tuple" in pattern:
            self._check_rows(pattern, args, dtypes)
        if shapes is None or dtypes is None:
            raise TypeError(f"{self.prefix}: 'out_shape' and 'out_dtype' are both needed here")
        return [(t.name, s) for t, s in zip(dtypes, shapes, strict=True)]

    def _made(self, shapes: Any, dtypes: Any, args: Sequence[Any]) -> list[tuple[str, tuple[int, ...]]]:
        """Returns the types of the kernel's results before it runs, after comparing them with the declared
        ones.
        """
        made = self._types_made(args)
        names = [t for t, _ in made] if dtypes is None else [t.name for t in dtypes]
        declared = list(zip(names, [s for _, s in made] if shapes is None else shapes, strict=False))
        if made == declared and len(made) == max(len(names), len(shapes or made)):
            return made
        shown = [" and ".join(f"{t}{list(s)}" for t, s in types) for types in (declared, made)]
        raise TypeError(
            f"{self.prefix}: out_shape and out_dtype declare {shown[0]}, but the kernel returns {shown[1]}"
        )

    def _runner(self, back: list[int]) -> Any:
        body = self._body
        if not isinstance(body, _core.Kernel):
            return lambda *given: body(*(given[k] for k in back))
        if self.declared.fixed_attrs:
            custom = self._weak()
            return lambda *given: body(*custom._with_fixed(tuple(given[k] for k in back)))
        return body if back == sorted(back) else lambda *given: body(*(given[k] for k in back))

    def _is_silent(self) -> bool:
        """Returns whether it is a Python function without outputs, whose call returns a placeholder."""
        return self.func_type == "pyfunc" and self.out_shape == () and self.out_dtype == ()

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
