"""Libraries in C and C++ as bodies of custom operators (aot): found, compiled if they are sources, called."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core, include_paths
from ..common.tensor import Tensor
from .call_forms import Typed

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


class AotBody:
    """One function of a library. Raises what is wrong with its name here, with its file or symbol as well."""

    def __init__(self, custom: Custom) -> None:
        self.custom = custom
        path, name = self._parts(custom.func)
        white = os.environ.get("MS_CUSTOM_AOT_WHITE_LIST")
        if white and white not in path:
            raise TypeError(
                f"{custom.prefix}, the legal path for the file is {white}, but the file is {path}"
            )
        self.path, self.name = path, name
        library = self._library(path)
        self.kernel = _core.AotKernel(library, name, custom.fixed_attrs)
        if custom.out_shape is None and not self.kernel.infers_shapes:
            raise RuntimeError(
                f"{custom.prefix}: 'out_shape' is None, but the library has no function {name}InferShape"
            )
        if custom.out_dtype is None and not self.kernel.infers_types:
            raise RuntimeError(
                f"{custom.prefix}: 'out_dtype' is None, but the library has no function {name}InferType"
            )

    def _parts(self, func: str) -> tuple[str, str]:
        path, colon, name = func.rpartition(":")
        if not colon or not path or not name or ":" in path:
            raise TypeError(
                f"{self.custom.prefix}, 'func' should be like 'file_name:func_name', but got {func}"
            )
        if "path_from_env" in self.custom.attrs:
            path = os.environ.get(path, path)
        return os.path.abspath(path), name

    def _library(self, path: str) -> str:
        if path.endswith(".cu"):
            raise RuntimeError(
                f"{self.custom.prefix}: {path} is a CUDA source, and kernels for CUDA devices do not run here"
            )
        return compile_source(path) if path.endswith((".cc", ".cpp")) else path

    def types(self, inputs: Sequence[Any], shapes: Any, dtypes: Any) -> tuple[Any, Any]:
        """Shapes and dtypes of the outputs, the library's own where none are declared."""
        infos = self.custom.declared_outputs
        given = [
            Tensor._from_array(np.empty(t.shape, t.numpy_dtype)) if isinstance(t, Typed) else t
            for t in inputs
        ]
        if shapes is None:
            found = self.kernel.infer_shapes(given, infos is not None and infos > 1)
            shapes = [tuple(s) for s in found]
        if dtypes is None:
            dtypes = [np.dtype(t) for t in self.kernel.infer_types(given, len(shapes) > 1)]
        return shapes, dtypes

    def __call__(self, *args: Any) -> Any:
        arrays: list[Any] = []
        for a in args:
            arrays += list(a) if isinstance(a, tuple) else [a] if isinstance(a, np.ndarray) else []
        inputs = [np.ascontiguousarray(a).reshape(a.shape) for a in arrays]
        given = [tuple(map(Tensor._from_array, a)) if isinstance(a, tuple) else
                 Tensor._from_array(a) if isinstance(a, np.ndarray) else a for a in args]  # fmt: skip
        shapes, dtypes, _ = self.custom.declared_types(None, given)
        outputs = [np.empty(s, t) for s, t in zip(shapes, dtypes, strict=True)]
        self.kernel.run(inputs, outputs)
        return tuple(outputs)
