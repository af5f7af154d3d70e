"""The kinds of custom operators: what differs between loop kernels (hybrid, akg), Python functions (pyfunc)
and libraries (aot). `ops.Custom` does what they share.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ... import _core
from ...capture import with_akg_words
from ...errors import KernelError, placeless_error
from ...kernel import kernel as kw_kernel
from ..common import dtype as mstype
from . import kernel_check
from .argument_patterns import TensorSpec
from .py_body import PyFuncBody

if TYPE_CHECKING:
    from .custom import Custom

Types = list[tuple[str, tuple[int, ...]]]  # dtypes and shapes of outputs


def unsupported(message: str, help_text: str) -> Exception:
    return placeless_error("UnsupportedError", "E102", message, help_text)


def plain_function(func: Any) -> Any:
    """Returns the function below decorators."""
    return inspect.unwrap(func)


def signature_of(func: Any) -> inspect.Signature | None:
    """Returns the signature; None for C functions without one, and for libraries."""
    if isinstance(func, str):
        return None
    try:
        return inspect.signature(plain_function(func))
    except ValueError:
        return None


def check_is_function_or_text(func: Any) -> None:
    if not callable(func) and not isinstance(func, str):
        raise TypeError(f"For 'Custom', 'func' must be of type function or str, but got {type(func)}")


class CustomKind:
    """One kind of operators. Methods get the operator, which holds its function and its declarations."""

    name: ClassVar[str]  # the 'func_type'
    row_kind: ClassVar[str]  # of the kernel in the registry
    may_lack_outputs: ClassVar[bool] = False  # 'out_shape' and 'out_dtype' may be left out
    has_known_outputs: ClassVar[bool] = False  # before a run, though neither is given
    writes_inputs: ClassVar[bool] = False
    default_target: ClassVar[str | None] = None  # where the registration names none

    def check_function(self, func: Any, prefix: str) -> None:
        """Raises TypeError, in MindSpore's words, for a function that is none of this kind."""
        check_is_function_or_text(func)
        if not callable(func):
            raise TypeError(
                f"For 'Custom', 'func' of func_type '{self.name}' must be a function, but got a str"
            )

    def warn_of_function(self, func: Any, prefix: str) -> None:
        """Warns of a function that another kind would run better."""

    def make_body(self, custom: Custom) -> Any:
        """Returns what runs, from arrays to arrays. `custom` is a weak reference."""
        raise NotImplementedError

    def device(self, custom: Custom) -> str:
        """Returns the registry's name of the devices that the body runs on; "" for what its kind says."""
        return ""

    def runner(self, custom: Custom, back: list[int]) -> Callable[..., Any]:
        """Returns a function of inputs and attributes, in the order of the registry; `back` gives the place
        of each argument of the body among them.
        """
        body = custom.body
        return lambda *given: body(*(given[k] for k in back))

    def check_arguments(self, custom: Custom, pattern: Any, args: Sequence[Any], values: list[int]) -> None:
        """Raises TypeError for arguments that the body cannot take; `values` are the places of those that are
        no tensors.
        """

    def check_count(self, custom: Custom, count: int) -> None:
        """Raises TypeError if the function does not take `count` arguments."""
        signature = signature_of(custom.func)
        try:
            if signature:
                signature.bind(*range(count))
        except TypeError:
            name = getattr(custom.func, "__name__", "the function")
            raise TypeError(f"{custom.prefix}: {name}{signature} was called with {count} inputs") from None

    def declared_dtype(self, dtype: Any) -> Any:
        """Returns what an 'out_dtype' means."""
        return dtype

    def declared_extents(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns what one shape of 'out_shape' means."""
        return shape

    def complete_types(
        self, custom: Custom, args: Any, shapes: Any, dtypes: Any, count: int | None
    ) -> tuple[Any, Any]:
        """Returns the shapes and dtypes of the outputs, with those that the body itself knows; `count` is the
        number of declared dtypes.
        """
        return shapes, dtypes

    def made_types(self, custom: Custom, shapes: Any, dtypes: Any, args: Sequence[Any]) -> Types | None:
        """Returns the types of results, compared with the declared ones; None if only a run tells them."""
        return None

    def result_names(self, custom: Custom, args: Sequence[Any]) -> list[str]:
        """Returns the dtypes of results that are not declared; none if they are unknown."""
        return []

    def is_silent(self, custom: Custom) -> bool:
        """Returns whether a call returns a placeholder, because the function has no outputs."""
        return False


class AkgKind(CustomKind):
    """Functions in the language of kernels, with the words of akg."""

    name = "akg"
    row_kind = "JitLoop"
    may_lack_outputs = True
    writes_inputs = True

    def refuse_builders(self, custom: Custom) -> None:
        """Raises UnsupportedError for functions that build operators of another kind."""
        plain = plain_function(custom.func)
        names = set(getattr(getattr(plain, "__code__", None), "co_names", ()))
        for word in ("tvm", "topi", "ir_builder"):
            if word in names:
                raise unsupported(
                    f"{custom.prefix}: operators built with '{word}' do not run here",
                    'write the loops of the operator as a kernel (func_type="hybrid")',
                )

    def make_body(self, custom: Custom) -> Any:
        self.refuse_builders(custom)
        made = kw_kernel(with_akg_words(plain_function(custom.func)))
        made.check()
        return made

    def runner(self, custom: Custom, back: list[int]) -> Callable[..., Any]:
        body = custom.body
        if custom.declared.fixed_attrs:
            return lambda *given: body(*custom.with_fixed(tuple(given[k] for k in back)))
        # the registry calls a kernel itself with tensors, without arrays in between
        return body if back == sorted(back) else super().runner(custom, back)

    def check_arguments(self, custom: Custom, pattern: Any, args: Sequence[Any], values: list[int]) -> None:
        for i, (form, value) in enumerate(zip(pattern, args, strict=True)):
            if form == "attribute" and not isinstance(value, (bool, int, float, np.generic)):
                raise TypeError(
                    f"{custom.prefix}: argument {i} is {value!r}, but kernels take tensors and numbers"
                )

    def made_types(self, custom: Custom, shapes: Any, dtypes: Any, args: Sequence[Any]) -> Types | None:
        made = self._types(custom, args)
        names = [t for t, _ in made] if dtypes is None else [t.name for t in dtypes]
        declared = list(zip(names, [s for _, s in made] if shapes is None else shapes, strict=False))
        if made == declared and len(made) == max(len(names), len(shapes or made)):
            return made
        shown = [" and ".join(f"{t}{list(s)}" for t, s in types) for types in (declared, made)]
        raise TypeError(
            f"{custom.prefix}: out_shape and out_dtype declare {shown[0]}, but the kernel returns {shown[1]}"
        )

    def result_names(self, custom: Custom, args: Sequence[Any]) -> list[str]:
        try:
            return [t for t, _ in self._types(custom, args)]
        except KernelError:
            return []

    def _types(self, custom: Custom, args: Sequence[Any]) -> Types:
        """Returns the types of the results, without a run."""
        tensors = (_core.Tensor, TensorSpec)
        arrays = [np.empty(a.shape, a.numpy_dtype) if isinstance(a, tensors) else a for a in args]
        if custom.declared.fixed_attrs:
            arrays = [*custom.with_fixed(tuple(arrays))]
        made: Types = _core.output_types(custom.body, tuple(arrays))
        return made


class HybridKind(AkgKind):
    """Functions decorated by MindSpore's `kernel`, which checks them by rules of its own."""

    name = "hybrid"

    def check_function(self, func: Any, prefix: str) -> None:
        if not getattr(func, "ms_kernel_flag", False):
            raise TypeError(f"{prefix}, 'func' must be a function decorated by kernel")
        super().check_function(func, prefix)

    def make_body(self, custom: Custom) -> Any:
        self.refuse_builders(custom)
        kernel_check.check(plain_function(custom.func))
        return super().make_body(custom)


class PyFuncKind(CustomKind):
    """Python functions of arrays."""

    name = "pyfunc"
    row_kind = "PyFunc"
    default_target = "CPU"

    def warn_of_function(self, func: Any, prefix: str) -> None:
        if getattr(func, "ms_kernel_flag", False):
            warnings.warn(
                f"{prefix}, 'func' is decorated by kernel, but CPython runs it, element by element:"
                " func_type='hybrid' compiles it",
                stacklevel=3,
            )

    def make_body(self, custom: Custom) -> Any:
        return PyFuncBody(custom)

    def declared_dtype(self, dtype: Any) -> Any:
        return mstype.int32 if dtype == () else dtype  # as MindSpore does, which has a placeholder there

    def declared_extents(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape or (1,)  # as MindSpore does: one element, in one dimension

    def is_silent(self, custom: Custom) -> bool:
        return bool(custom.out_shape == () and custom.out_dtype == ())


class AotKind(CustomKind):
    """Functions of compiled C and C++ libraries."""

    name = "aot"
    row_kind = "AotSymbol"
    may_lack_outputs = True
    has_known_outputs = True

    def check_function(self, func: Any, prefix: str) -> None:
        if not isinstance(func, str):
            raise TypeError(f"{prefix}, 'func' must be of type str, but got {type(func)}")

    def make_body(self, custom: Custom) -> Any:
        from .aot import AotBody  # imported when a library is used

        return AotBody(custom)

    def device(self, custom: Custom) -> str:
        return str(custom.body.kernel.device)

    def check_arguments(self, custom: Custom, pattern: Any, args: Sequence[Any], values: list[int]) -> None:
        names = custom.declared.attr_names
        if len(values) > len(names):
            i = values[len(names)]
            raise TypeError(
                f"{custom.prefix}: argument {i} is {args[i]!r}, but libraries take tensors, and the"
                " attributes that the registration information declares"
            )

    def check_count(self, custom: Custom, count: int) -> None:
        """A library does not tell how many arguments it takes."""

    def complete_types(
        self, custom: Custom, args: Any, shapes: Any, dtypes: Any, count: int | None
    ) -> tuple[Any, Any]:
        if shapes is not None and dtypes is not None:
            return shapes, dtypes
        types: tuple[Any, Any] = custom.body.types(
            args, shapes, dtypes, count or custom.declared.outputs or 1
        )
        return types


class UnsupportedKind(CustomKind):
    """Kinds of MindSpore that do not run here."""

    instead: ClassVar[str]  # what to do

    def check_function(self, func: Any, prefix: str) -> None:
        check_is_function_or_text(func)
        raise unsupported(f"{prefix}: func_type {self.name!r} does not run here", self.instead)


class TbeKind(UnsupportedKind):
    name = "tbe"
    instead = 'write its loops as a kernel (func_type="hybrid")'

    def check_function(self, func: Any, prefix: str) -> None:
        if not callable(func):
            raise TypeError(f"{prefix}, 'func' must be of type function, but got {type(func)}")
        super().check_function(func, prefix)


class AicpuKind(UnsupportedKind):
    name = "aicpu"
    instead = 'compile its source by func_type="aot"'


class JuliaKind(UnsupportedKind):
    name = "julia"
    instead = 'write it as a kernel (func_type="hybrid") or in C++ (func_type="aot")'

    def check_function(self, func: Any, prefix: str) -> None:
        if not isinstance(func, str):
            raise TypeError(f"{prefix}, 'func' must be of type str, but got {type(func)}")
        super().check_function(func, prefix)


# in the order in which MindSpore lists them
_all_kinds = (HybridKind, AkgKind, TbeKind, AicpuKind, AotKind, PyFuncKind, JuliaKind)
_kinds: dict[str, type[CustomKind]] = {k.name: k for k in _all_kinds}


def kind_of(func_type: str | None, func: Any) -> str:
    """Returns the type of an operator; without one, the type that its function tells."""
    if func_type:
        return func_type
    if isinstance(func, str):
        return "aot"
    return "hybrid" if getattr(func, "ms_kernel_flag", False) else "pyfunc"


def make_kind(func_type: str, func: Any, prefix: str) -> CustomKind:
    """Returns the strategy of a type; raises ValueError and TypeError, in MindSpore's words, for a type that
    does not exist and for a function that is none of it.
    """
    if func_type not in list(_kinds):  # a list: it may be an object without a hash
        raise ValueError(f"{prefix}, 'func_type' must be one of {list(_kinds)}, but got {func_type}")
    kind = _kinds[func_type]()
    kind.check_function(func, prefix)
    return kind
