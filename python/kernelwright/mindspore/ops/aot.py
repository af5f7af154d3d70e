"""Libraries in C and C++ as bodies of custom operators (aot): found, compiled if they are sources, called."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core, include_paths
from ..common.tensor import Tensor
from .call_forms import Typed, as_tensors, tensors_in, values_in

if TYPE_CHECKING:
    from .custom import Custom

_flags = ["-std=c++17", "-O2", "-shared", "-fPIC", "-D_GLIBCXX_USE_CXX11_ABI=0"]
_timeout = 300  # seconds for one compilation


def _compiler() -> str:
    name = os.environ.get("CXX", "g++")
    found = shutil.which(name)
    if found is None:
        raise RuntimeError(
            f"the C++ compiler '{name}' is missing: install it, or set CXX to one that is there"
        )
    return found


def _run(source: str, command: list[str]) -> bytes:
    done = subprocess.run(command, capture_output=True, timeout=_timeout, check=False)
    if done.returncode:
        text = done.stderr.decode(errors="replace")
        raise RuntimeError(f"Compilation error in compiling {source}:\n{text}")
    return done.stdout


def _folder() -> str:
    """Where compiled libraries are kept: beside the kernels, private to the user."""
    folder = os.path.join(_core.cache_directory(), "aot")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        status = os.stat(folder)
        if status.st_uid == os.getuid() and not status.st_mode & 0o022 and os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return tempfile.mkdtemp(prefix="kernelwright-aot-")


def compile_source(source: str) -> str:
    """The library for a C++ source: compiled once for what its text is with everything that it includes.

    Raises RuntimeError with the compiler's words.
    """
    if not os.path.isfile(source):
        raise RuntimeError(f"Compilation error in compiling {source}:\nthere is no such file")
    compiler = _compiler()
    includes = [f"-I{p}" for p in (*include_paths(), os.path.dirname(source))]
    text = _run(source, [compiler, *_flags, *includes, "-E", source])
    version = _run(source, [compiler, "--version"])
    digest = hashlib.sha256(b"\0".join([text, version, " ".join(_flags).encode()])).hexdigest()[:32]
    stem = os.path.splitext(os.path.basename(source))[0]
    folder = _folder()
    library = os.path.join(folder, f"{stem}.{digest}.so")
    if not os.path.exists(library):
        made, partial = tempfile.mkstemp(suffix=".so", dir=folder)
        os.close(made)
        try:
            _run(source, [compiler, *_flags, *includes, "-o", partial, source])
            os.chmod(partial, 0o700)
            os.replace(partial, library)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)
    return library


def _check_whole(path: str, data: bytes) -> None:
    """RuntimeError for what is no library, or one that was cut short: loading it would end the process."""
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


def _kept_copy(path: str) -> str:
    """A copy of a library under the name of its contents: the file may be replaced or removed while the copy
    is in use. Libraries that look for others beside themselves stay where they are.
    """
    if not os.path.isfile(path):
        return path  # the loader's caller says what is missing
    with open(path, "rb") as file:
        data = file.read()
    _check_whole(path, data)
    if b"$ORIGIN" in data:
        return path
    stem = os.path.splitext(os.path.basename(path))[0]
    folder = _folder()
    copy = os.path.join(folder, f"{stem}.{hashlib.sha256(data).hexdigest()[:32]}.so")
    if not os.path.exists(copy):
        number, partial = tempfile.mkstemp(suffix=".so", dir=folder)
        with os.fdopen(number, "wb") as file:
            file.write(data)
        os.chmod(partial, 0o700)
        os.replace(partial, copy)
    return copy


class AotBody:
    """One function of a library. Raises what is wrong with its name here, with its file or symbol as well."""

    def __init__(self, custom: Custom) -> None:
        self.custom = custom
        path, name = self._parts(custom.func)
        white = os.environ.get("MS_CUSTOM_AOT_WHITE_LIST", "")
        illegal = [p for p in (os.path.realpath(path), path) if white not in p]  # also where a link leads
        if illegal:
            raise TypeError(
                f"{custom.prefix}, the legal path for the file is {white}, but the file is {illegal[0]}"
            )
        self.name, self.path = name, path
        self.library = self._library(path)
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
        """The kernel for a call, of which optional inputs that are left out are no attributes."""
        absent = self.custom._absent(args)
        return self._kernel(values_in([x for i, x in enumerate(args) if i not in absent]))

    def _kernel(self, passed: Sequence[Any]) -> Any:
        """The kernel for the values of the attributes that a call passes, and those that were added."""
        custom = self.custom
        added = {k: v for k, v in custom.attrs.items() if k not in custom.own_attrs}
        attrs = {**custom.fixed_attrs, **added, **dict(zip(custom.attr_names, passed, strict=False))}
        key = repr(attrs)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = _core.AotKernel(self.library, self.path, self.name, attrs)
        return kernel

    def _parts(self, func: str) -> tuple[str, str]:
        path, colon, name = func.rpartition(":")
        if not colon or not path or not name or ":" in path:
            # also where 'out_shape' is a function, unlike MindSpore: it is told before anything runs
            raise TypeError(
                f"{self.custom.prefix}, 'func' should be like 'file_name:func_name', but got {func}"
            )
        if path.isidentifier() and not os.path.exists(path):
            path = os.environ.get(path, path)  # of operators that are then given the attribute path_from_env
        return os.path.abspath(path), name

    def _library(self, path: str) -> str:
        if path.endswith(".cu"):
            raise RuntimeError(
                f"{self.custom.prefix}: {path} is a CUDA source, and kernels for CUDA devices do not run here"
            )
        return compile_source(path) if path.endswith((".cc", ".cpp")) else _kept_copy(path)

    def types(self, args: Sequence[Any], shapes: Any, dtypes: Any, count: int) -> tuple[Any, Any]:
        """Shapes and dtypes of the outputs of a call, the library's own where none are declared."""
        inputs, kernel = tensors_in(args), self._kernel_of(args)
        given = [
            Tensor._from_array(np.empty(t.shape, t.numpy_dtype)) if isinstance(t, Typed) else t
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
        inputs = [np.ascontiguousarray(t.numpy()).reshape(t.shape) for t in tensors_in(given)]
        shapes, dtypes, _ = self.custom.declared_types(None, given)
        outputs = [np.zeros(s, t) for s, t in zip(shapes, dtypes, strict=True)]
        self._kernel_of(given).run(inputs, outputs)
        return tuple(outputs)
