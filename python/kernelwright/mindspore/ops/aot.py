"""C, C++ and CUDA libraries as bodies of custom operators (aot): finds them and calls them."""

from __future__ import annotations

import os
import stat
import struct
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ..common.tensor import Tensor
from .argument_patterns import TensorSpec, as_tensors, tensors_in, values_in
from .compilers import compile_source

if TYPE_CHECKING:
    from .custom import Custom


def _check_whole(path: str, data: bytes) -> None:
    """Raises RuntimeError for a file that is not a library or was truncated: loading it would end the
    process.
    """
    is_elf = len(data) >= 64 and data[:5] == b"\x7fELF\x02" and sys.byteorder == "little"
    if not is_elf:
        raise RuntimeError(
            f"{path} is no library of this machine. The source file must be a cc/cpp/cu file, but get: {path}"
        )
    program, section = struct.unpack_from("<QQ", data, 32)
    program_size, programs, section_size, sections = struct.unpack_from("<HHHH", data, 54)
    end = max(program + program_size * programs, section + section_size * sections)
    for i in range(programs if end <= len(data) else 0):
        offset, _, _, size = struct.unpack_from("<QQQQ", data, program + i * program_size + 8)
        end = max(end, offset + size)
    if end > len(data):
        raise RuntimeError(f"{path}: the library is cut short: {len(data)} of at least {end} bytes are there")


def _read(path: str) -> tuple[bytes, str]:
    """Returns the bytes of a regular file and its real path, whatever links lead to it. The open file gives
    both, so that nothing can change in between. Raises OSError, and RuntimeError if it is not a regular file.
    """
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise RuntimeError(f"{path} is no regular file")
    with open(number, "rb") as file:
        try:
            real = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            real = os.path.realpath(path)
        return file.read(), real


def _is_inside(path: str, folder: str) -> bool:
    """Returns whether a file is in a folder or is the folder, by whole path components."""
    return os.path.commonpath([path, folder]) == folder


class AotBody:
    """One function of a library. The constructor raises errors in its name, its file and its symbol."""

    def __init__(self, custom: Custom) -> None:
        self.custom = custom
        path, name = self._parts(custom.func)
        self.name, self.path = name, path
        self.image, self.path_of_image = self._library(path)
        self._kernels: dict[str, Any] = {}
        self.kernel = self._kernel(())
        if custom.out_shape is None and not self.kernel.infers_shapes:
            raise RuntimeError(
                f"{custom.prefix}: 'out_shape' is None, but the library has no function {name}InferShape"
            )
        if custom.out_dtype is None and not self.kernel.infers_types:
            raise RuntimeError(
                f"{custom.prefix}: 'out_dtype' is None, but the library has no function {name}InferType"
            )

    def _kernel_of(self, args: Sequence[Any]) -> Any:
        """Returns the kernel for a call. Omitted optional inputs are not attributes."""
        absent = self.custom._absent(args)
        return self._kernel(values_in([x for i, x in enumerate(args) if i not in absent]))

    def _kernel(self, passed: Sequence[Any]) -> Any:
        """Returns the kernel for the attribute values that a call passes, plus the added ones."""
        custom = self.custom
        added = {k: v for k, v in custom.attrs.items() if k not in custom.own_attrs}
        attrs = {
            **custom.declared.fixed_attrs,
            **added,
            **dict(zip(custom.declared.attr_names, passed, strict=False)),
        }
        key = repr(attrs)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = _core.AotKernel(self.image, self.path_of_image, self.name, attrs)
        return kernel

    def _parts(self, func: str) -> tuple[str, str]:
        path, colon, name = func.rpartition(":")
        if not colon or not path or not name or ":" in path:
            # also if 'out_shape' is a function, unlike MindSpore, which reports it only at the run
            raise TypeError(
                f"{self.custom.prefix}, 'func' should be like 'file_name:func_name', but got {func}"
            )
        if path.isidentifier() and not os.path.exists(path):
            path = os.environ.get(path, path)  # operators with the attribute path_from_env
        return os.path.abspath(path), name

    def _library(self, path: str) -> tuple[bytes, str]:
        """Returns the bytes of the library, and its name in messages. Without bytes the file itself is
        loaded: if it is missing, so that the loader reports it, or if it needs libraries next to it.
        """
        data = None
        try:
            data, real = _read(path)
        except (FileNotFoundError, NotADirectoryError):
            real = os.path.realpath(path)
        except OSError as e:
            raise RuntimeError(f"{path} cannot be read: {e.strerror}") from None
        self._check_place(real)
        if path.endswith((".cc", ".cpp", ".cu")):
            if data is None:
                raise RuntimeError(f"Compilation error in compiling {path}:\nthere is no such file")
            return compile_source(path, data), path
        if data is None:
            return b"", path
        _check_whole(path, data)
        return (b"", real) if b"$ORIGIN" in data else (data, path)

    def _check_place(self, real: str) -> None:
        """Raises TypeError for a file outside of the folder in MS_CUSTOM_AOT_WHITE_LIST."""
        white = os.environ.get("MS_CUSTOM_AOT_WHITE_LIST", "")
        if white and not _is_inside(real, os.path.realpath(white)):
            raise TypeError(
                f"{self.custom.prefix}, the legal path for the file is {white}, but the file is {real}"
            )

    def types(self, args: Sequence[Any], shapes: Any, dtypes: Any, count: int) -> tuple[Any, Any]:
        """Returns shapes and dtypes of the outputs of a call; the library's own if none are declared."""
        inputs, kernel = tensors_in(args), self._kernel_of(args)
        given = [
            Tensor._from_array(np.empty(t.shape, t.numpy_dtype)) if isinstance(t, TensorSpec) else t
            for t in inputs
        ]
        if shapes is None:
            found = kernel.infer_shapes(given, count > 1)
            shapes = [tuple(s) for s in found]
            if any(e < 0 for s in shapes for e in s):
                raise RuntimeError(f"{self.custom.prefix}: {self.name}InferShape returned {found}")
        if dtypes is None:
            dtypes = [np.dtype(t) for t in kernel.infer_types(given, len(shapes) > 1)]
        return shapes, dtypes

    def __call__(self, *args: Any) -> Any:
        given = [as_tensors(a) for a in args]
        if self.kernel.device == "CUDA":
            shapes, dtypes, _ = self.custom.declared_types(None, given)
            types = [(np.dtype(t).name, tuple(s)) for s, t in zip(shapes, dtypes, strict=True)]
            return tuple(self._kernel_of(given).run_on_device(tensors_in(given), types))
        inputs = [np.ascontiguousarray(t.numpy()).reshape(t.shape) for t in tensors_in(given)]
        shapes, dtypes, _ = self.custom.declared_types(None, given)
        outputs = [np.zeros(s, t) for s, t in zip(shapes, dtypes, strict=True)]
        self._kernel_of(given).run(inputs, outputs)
        return tuple(outputs)
