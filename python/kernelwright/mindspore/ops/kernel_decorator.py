"""`@kernel`: a function in the hybrid DSL. A call runs it under CPython over arrays."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ... import _core
from ...capture import with_akg_words
from ...kernel import kernel as kw_kernel


def kernel(fn: Callable[..., Any] | None = None, reg_info: Any = None, compile_attrs: Any = None) -> Any:
    """Marks a function for `ops.Custom(f, func_type="hybrid")`. Raises TypeError for wrong options."""
    if compile_attrs is not None and not isinstance(compile_attrs, dict):
        raise TypeError(
            f"The input 'compile_attrs' of @kernel must be a dict, but get a {type(compile_attrs)}"
        )
    for key in compile_attrs or {}:
        if not isinstance(key, str):
            raise TypeError(f"The key of 'compile_attrs' of @kernel must be a str, but get a {type(key)}")
    if reg_info is not None and not isinstance(reg_info, (str, dict, tuple)):
        raise TypeError(
            "The input 'reg_info' of @kernel should be one of str, dict and tuple, but get a"
            f" {type(reg_info)}"
        )

    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any) -> Any:
            arrays = [x.numpy() if isinstance(x, _core.Tensor) else x for x in args]
            return kw_kernel(with_akg_words(function)).py(*arrays)

        wrapper.ms_kernel_flag = True  # type: ignore[attr-defined]
        wrapper.compile_attrs = compile_attrs or {}  # type: ignore[attr-defined]
        if reg_info is not None:
            wrapper.reg_info = reg_info  # type: ignore[attr-defined]
        return wrapper

    return decorator if fn is None else decorator(fn)


def _deprecated(name: str) -> Callable[..., Any]:
    """Returns `kernel` under a name of earlier versions; each use of it warns."""

    @functools.wraps(kernel)
    def alias(*args: Any, **options: Any) -> Any:
        warnings.warn(
            f"'{name}' is deprecated from version 1.8 and will be removed in a future version, use 'kernel'"
            " instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        return kernel(*args, **options)

    alias.__name__ = alias.__qualname__ = name
    return alias


ms_kernel, ms_hybrid = _deprecated("ms_kernel"), _deprecated("ms_hybrid")
