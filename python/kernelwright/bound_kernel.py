"""Kernels as methods of an instance. The core imports this module when one is first looked up."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ._core import Kernel
from .kernel import stage_of

if TYPE_CHECKING:
    import os

    from .explain import Explanation, HtmlExplanation
    from .export import ExportedLibrary
    from .measure.bench import Result
    from .warm.warmup import WarmedVersion


class _FromKernel(str):
    """A text of the class that its instances read from their kernels. Used for two attributes that every
    class has, which therefore never reach `__getattr__`.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return str(self) if instance is None else getattr(instance.__func__, self.attribute)


class BoundKernel:
    __doc__ = _FromKernel(
        "A kernel as a method of an instance, which every call and every inspection gets as first argument."
    )
    __module__ = _FromKernel(__name__)
    __slots__ = ("__func__", "__self__", "__weakref__")

    def __init__(self, kernel: Kernel, instance: object) -> None:
        self.__func__ = kernel
        self.__self__ = instance

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.__func__(self.__self__, *args, **keywords)

    def py(self, *args: Any, **keywords: Any) -> Any:
        """Runs the original function under CPython."""
        return self.__func__.py(self.__self__, *args, **keywords)

    def ir(self, *args: Any, **keywords: Any) -> str:
        """Returns the IR after a stage, as `Kernel.ir`."""
        keywords["stage"], args = stage_of(keywords.get("stage", "lower"), args)
        return self.__func__.ir(*self._with_instance(args, keywords), **keywords)

    def llvm(self, *args: Any, **keywords: Any) -> str:
        """Returns the LLVM IR, as `Kernel.llvm`."""
        return self.__func__.llvm(*self._with_instance(args, keywords), **keywords)

    def asm(self, *args: Any, **keywords: Any) -> str:
        """Returns the assembly, as `Kernel.asm`."""
        return self.__func__.asm(*self._with_instance(args, keywords), **keywords)

    def cuda(self, *args: Any, device: str = "sm_90", **keywords: Any) -> str:
        """Returns the CUDA C++ text, as `Kernel.cuda`."""
        return self.__func__.cuda(*self._with_instance(args, keywords), device=device, **keywords)

    def ptx(self, *args: Any, device: str = "sm_90", **keywords: Any) -> str:
        """Returns the PTX text, as `Kernel.ptx`."""
        return self.__func__.ptx(*self._with_instance(args, keywords), device=device, **keywords)

    def explain(
        self, *args: Any, html: bool = False, device: str = "", **keywords: Any
    ) -> Explanation | HtmlExplanation:
        """Returns the explanation, as `Kernel.explain`."""
        return self.__func__.explain(
            *self._with_instance(args, keywords), html=html, device=device, **keywords
        )

    def check(self, *args: Any, **keywords: Any) -> None:
        """Raises the errors of the text and of types, as `Kernel.check`."""
        self.__func__.check(*self._with_instance(args, keywords), **keywords)

    def warmup(self, *types: Any, **options: Any) -> list[WarmedVersion]:
        """Compiles it for types of arguments, as `Kernel.warmup`."""
        return self.__func__.warmup(self.__self__, *types, **options)

    def export(self, path: str | os.PathLike[str] = "", /, *types: Any, **options: Any) -> ExportedLibrary:
        """Writes it as a shared library, as `Kernel.export`."""
        return self.__func__.export(path, self.__self__, *types, **options)

    def bench(self, *args: Any, **options: Any) -> Result:
        """Measures it, as `Kernel.bench`."""
        return self.__func__.bench(self.__self__, *args, **options)

    def _with_instance(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """Adds the instance to the arguments. Without arguments these methods use earlier calls, so nothing
        is added.
        """
        given = bool(args) or any(name != "stage" for name in keywords)
        return (self.__self__, *args) if given else ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__func__, name)

    # makes `inspect` and similar tools treat it as a method
    __class__ = property(lambda self: types.MethodType)

    def __eq__(self, other: object) -> bool:
        same = type(other) is BoundKernel and other.__func__ is self.__func__
        return same and other.__self__ is self.__self__  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.__func__))

    def __reduce__(self) -> tuple[Any, ...]:
        return (getattr, (self.__self__, self.__func__.__name__))

    def __repr__(self) -> str:
        return f"<bound {repr(self.__func__)[1:-1]} of {self.__self__!r}>"
