"""Captures of a kernel: the identity of its code and the values of its globals and closures, described for
the core.

Called at the first call of a kernel and again when a captured name holds another object. Reads no source
text.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from _frozen_importlib_external import MAGIC_NUMBER
from typing import Any

from . import _core, kept_text

Described = tuple[Any, ...]

_ENTRY, _CELL, _CODE, _DEFAULTS, _KEYWORD_DEFAULTS = range(5)  # kinds of places, numbered as in the core

_opcodes: tuple[int, int, int] | None = None


def _load_opcodes() -> tuple[int, int, int]:
    """Returns (LOAD_GLOBAL, EXTENDED_ARG, shift of the name index)."""
    global _opcodes
    if _opcodes is None:
        shift = 1 if sys.version_info >= (3, 11) else 0
        if sys.version_info < (3, 13):
            _opcodes = (116, 144, shift)
        else:
            import opcode

            _opcodes = (opcode.opmap["LOAD_GLOBAL"], opcode.opmap["EXTENDED_ARG"], shift)
    return _opcodes


def global_names(code: types.CodeType) -> list[str]:
    """Returns the names in LOAD_GLOBAL instructions, in order of first use."""
    load, extended, shift = _load_opcodes()
    raw, names, out, high = code.co_code, code.co_names, dict[str, None](), 0
    for at in range(0, len(raw), 2):
        op, arg = raw[at], raw[at + 1] | high
        high = arg << 8 if op == extended else 0
        if op == load:
            out[names[arg >> shift]] = None
    return list(out)


def _code_bytes(code: types.CodeType, out: list[bytes]) -> None:
    """Appends everything of a code object except its file and first line."""
    for part in (code.co_code, code.co_linetable):
        out.append(b"%d:" % len(part))
        out.append(part)
    meta = (
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_name,
    )
    out.append(repr(meta).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _code_bytes(constant, out)
        else:
            out.append(f"{type(constant).__name__}:{constant!r};".encode())


def _identity(code: types.CodeType) -> bytes:
    """Returns the bytes that identify a code object. They hold the version of the bytecode, not the build of
    Python: the same text gives the same code under all builds of one version.
    """
    out = [f"{sys.implementation.cache_tag}:".encode(), MAGIC_NUMBER]
    _code_bytes(code, out)
    return b"".join(out)


def identity_of(codes: list[types.CodeType]) -> bytes:
    """Returns the bytes that identify a kernel: those of its code and of the functions that it calls."""
    return b"".join(map(_identity, codes))


def word_of(value: Any) -> str | None:
    """Returns the language word that an object means: one of our functions, one of NumPy's and math's of the
    same name, or a builtin.
    """
    module = getattr(value, "__module__", None)
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        return None
    if module == "kernelwright.lang":
        return name
    if f"{module}.{name}" in _rounding_to_int:
        return f"{module}.{name}"
    if module in ("numpy", "math") or type(value).__name__ == "ufunc":
        if module == "numpy" and name in _constructors:
            return f"np.{name}"
        name = _numpy_aliases.get(name, name)
        return name if name in _numpy_words else None
    if module == "builtins" and name in _builtin_words:
        return name
    return None


_numpy_aliases = {
    **{"absolute": "abs", "minimum": "min", "maximum": "max", "pow": "power", "rint": "round"},
    **{"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "bitwise_count": "popcount"},
}
_constructors = frozenset("zeros ones empty full zeros_like ones_like empty_like full_like".split())
_rounding_to_int = frozenset({"math.floor", "math.ceil", "math.trunc", "builtins.round"})
"""Functions that return Python ints; NumPy's and the language's functions keep the dtype."""
_builtin_words = frozenset("range len min max abs int float bool print enumerate zip reversed".split())
_numpy_words = frozenset(
    "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh erf erfc floor"
    " ceil trunc round abs sign power fmod min max isnan isinf isfinite popcount".split()
)
_dtype_names = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16"
    " complex64 complex128".split()
)


def _dtype_name(value: Any) -> str | None:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.dtype):
        return value.name if value.name in _dtype_names else None
    if isinstance(value, type) and issubclass(value, numpy.generic):
        name = numpy.dtype(value).name
        return name if name in _dtype_names else None
    return None


def _scalar_bits(value: Any) -> tuple[str, int] | None:
    """Returns (dtype, bits) of a NumPy scalar whose dtype kernels support; None for other objects."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.generic) or value.dtype.name not in _dtype_names:
        return None
    if value.dtype.kind == "c":
        return None
    return value.dtype.name, int.from_bytes(value.tobytes(), sys.byteorder)


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _describe_value(value: Any, depth: int = 0) -> Described:
    kind = type(value)
    if kind is bool:
        return ("boolean", int(value))
    if kind is int:
        return ("integer", value)
    if kind is float:
        return ("real", value)
    if kind is str:
        return ("text", value)
    if kind is tuple and depth < 4:
        return ("tuple", tuple(_describe_value(v, depth + 1) for v in value))
    dtype = _dtype_name(value)
    if dtype is not None:
        return ("dtype", dtype)
    word = word_of(value)
    if word is not None:
        return ("word", word)
    scalar = _scalar_bits(value)
    if scalar is not None:
        return ("scalar", scalar)
    if kind is types.FunctionType or kind.__name__ == "Kernel":
        return ("function", getattr(value, "__qualname__", "function"))
    return ("other", "type" if isinstance(value, type) else kind.__name__)


_akg_functions: weakref.WeakSet[types.FunctionType] = weakref.WeakSet()
_akg_copy = "__kernelwright_akg__"


def with_akg_words(function: Any) -> Any:
    """Returns a copy of a function that, with its callees, knows the words of AKG that Python has too: there
    `round` keeps the dtype. Returns the same copy each time, so its text is kept once. Kernels of the
    function itself do not change. Returns other objects unchanged.
    """
    if not isinstance(function, types.FunctionType) or function in _akg_functions:
        return function
    known = function.__dict__.get(_akg_copy)
    if known is not None and known.__code__ is function.__code__:
        return known
    copy = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    functools.update_wrapper(copy, function)
    copy.__dict__.pop("__wrapped__")
    copy.__kwdefaults__ = function.__kwdefaults__
    _akg_functions.add(copy)
    function.__dict__[_akg_copy] = copy  # stored in the function, for its lifetime
    return copy


def knows_akg_words(function: types.FunctionType) -> bool:
    """Returns whether `with_akg_words` made this function."""
    return function in _akg_functions


class _Describer:
    """Collects the captures of a kernel and of the functions that it calls."""

    def __init__(self, function: types.FunctionType) -> None:
        self._kernel = function
        self._akg = knows_akg_words(function)
        self.places: list[Described] = []
        self.arrays: list[tuple[str, Any]] = []  # arguments that the call does not pass
        self.callees: list[tuple[types.FunctionType, types.CodeType]] = []
        self._numbers: dict[types.FunctionType, int] = {function: 0}

    def captures(self, function: types.FunctionType, code: types.CodeType) -> list[Described]:
        """Returns (name, description) of the closures and globals that a function names, and notes their
        places.

        `code` is the function's code, read once, because it may be replaced at any time.
        """
        space = function.__globals__
        self.places.append((function, "__code__", _CODE, code))
        values: list[Described] = []
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue  # not yet assigned
            self.places.append((cell, name, _CELL, value))
            values.append((name, self._value(name, value, code)))
        for name in global_names(code):
            if name in space:
                self.places.append((space, name, _ENTRY, space[name]))
                values.append((name, self._value(name, space[name], code)))
        if self._akg:
            values.append(("words of akg", ("boolean", 1)))
        return values

    def _value(self, name: str, value: Any, code: types.CodeType) -> Described:
        if isinstance(value, types.ModuleType):
            return self._module(value, code.co_names)
        if _is_array(value):
            return self._array(name, value)
        described = _describe_value(value)
        return self._function(value) if described[0] == "function" else described

    def _array(self, name: str, value: Any) -> Described:
        """Describes an array by its number. One array has one number, under whatever names."""
        for number, (_, known) in enumerate(self.arrays):
            if known is value:
                return ("array", (name, number))
        self.arrays.append((name, value))
        return ("array", (name, len(self.arrays) - 1))

    def _module(self, module: types.ModuleType, names: tuple[str, ...]) -> Described:
        """Describes a module, with those of its attributes that the code names."""
        attributes = []
        space = vars(module)
        for name in names:
            if name not in space and not (module.__name__ == "kernelwright" and hasattr(module, name)):
                continue  # the package resolves the words of the language on demand
            value = space[name]
            self.places.append((space, name, _ENTRY, value))
            described = self._array(name, value) if _is_array(value) else _describe_value(value)
            if described[0] == "function":
                described = self._function(value)
            if described[0] != "other":
                attributes.append((name, described))
        return ("module", module.__name__, tuple(attributes))

    def _function(self, value: Any) -> Described:
        """Describes a function by its number; its captures accompany the first mention."""
        function = value if isinstance(value, types.FunctionType) else _core.function_of(value)
        if (function.__module__ or "").split(".")[0] == "numpy":
            return ("other", "function")
        known = self._numbers.get(function)
        if known is not None:
            return ("function", (function.__name__, known), ())
        if len(self.callees) == _max_callees:
            return ("other", "function")
        kept_text.keep_called(function, self._kernel)
        code = function.__code__
        self.callees.append((function, code))
        number = self._numbers[function] = len(self.callees)
        defaults = self._defaults(function, code)
        return ("function", (function.__name__, number), (*self.captures(function, code), *defaults))

    def _defaults(self, function: types.FunctionType, code: types.CodeType) -> list[Described]:
        """Returns ("p=", description) of each parameter p with a default value."""
        values, by_name = function.__defaults__, function.__kwdefaults__
        self.places.append((function, "__defaults__", _DEFAULTS, values))
        self.places.append((function, "__kwdefaults__", _KEYWORD_DEFAULTS, by_name))
        names = code.co_varnames[: code.co_argcount]
        given = (values or ())[-len(names) :] if names else ()
        pairs = [*zip(names[len(names) - len(given) :], given, strict=True)]
        for name, value in (by_name or {}).items():
            self.places.append((by_name, name, _ENTRY, value))
            pairs.append((name, value))
        return [(f"{name}=", _describe_value(value)) for name, value in pairs]


_max_callees = 64


def describe(
    function: types.FunctionType, code: types.CodeType
) -> tuple[bytes, tuple[Described, ...], tuple[Described, ...], tuple[Described, ...], tuple[Described, ...]]:
    """Returns (identity, guarded places, described values, called functions, captured arrays) of a kernel's
    function that runs `code`.

    A place is (dict, cell or function, key, kind, the object found there); a value is (name, description); a
    called function is (function, its code, file, first line); an array is (name, the array).
    """
    found = _Describer(function)
    values = found.captures(function, code)
    identity = identity_of([code, *(c for _, c in found.callees)])
    called = ((f, c, c.co_filename, c.co_firstlineno) for f, c in found.callees)
    return identity, tuple(found.places), tuple(values), tuple(called), tuple(found.arrays)
