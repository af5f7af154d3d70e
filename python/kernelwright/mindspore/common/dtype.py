"""`mindspore.dtype`: the types of elements, which print as MindSpore prints them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..missing import missing


class Type:
    """The type of a tensor's elements; `np.dtype(t)` is NumPy's."""

    def __init__(self, name: str, shown: str) -> None:
        self.name = name
        self._shown = shown

    @property
    def dtype(self) -> Any:
        if self.name != "bfloat16":
            return np.dtype(self.name)
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)

    @property
    def kw_dtype(self) -> Any:
        return self.dtype

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    def __repr__(self) -> str:
        return self._shown

    def __reduce__(self) -> Any:
        return (_by_name, (self.name,))


class TensorType:
    """The argument of infer functions: `mindspore.tensor[float32]`, which compares equal to its elements'
    type.
    """

    def __init__(self, element: Type) -> None:
        self.element = element

    @property
    def dtype(self) -> Any:
        return self.element.dtype

    @property
    def kw_dtype(self) -> Any:
        return self.element.dtype

    @property
    def name(self) -> str:
        return self.element.name

    def element_type(self) -> Type:
        return self.element

    def __eq__(self, other: object) -> bool:
        return other is self.element or (isinstance(other, TensorType) and other.element is self.element)

    def __hash__(self) -> int:
        return hash(self.element)

    def __repr__(self) -> str:
        return f"mindspore.tensor[{self.name}]"


class Scalar:
    """The type of an argument that is not a tensor: Int, Float, Bool, String."""

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def __repr__(self) -> str:
        return self._shown


bool_ = Type("bool", "Bool")
int8, int16 = Type("int8", "Int8"), Type("int16", "Int16")
int32, int64 = Type("int32", "Int32"), Type("int64", "Int64")
uint8, uint16 = Type("uint8", "UInt8"), Type("uint16", "UInt16")
uint32, uint64 = Type("uint32", "UInt32"), Type("uint64", "UInt64")
float16, bfloat16 = Type("float16", "Float16"), Type("bfloat16", "BFloat16")
float32, float64 = Type("float32", "Float32"), Type("float64", "Float64")
byte, short, intc, intp, int_ = int8, int16, int32, int64, int64
ubyte, ushort, uintc, uintp, uint = uint8, uint16, uint32, uint64, uint64
half, single, double, float_ = float16, float32, float64, float64

all_types = (
    bool_,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
)
number_type = all_types[1:]
float_type = (float16, float32, float64)
int_type = (int8, int16, int32, int64)
uint_type = (uint8, uint16, uint32, uint64)

_names = {t.name: t for t in all_types}
_scalars = {bool: Scalar("Bool"), int: Scalar("Int"), float: Scalar("Float"), str: Scalar("String")}
_tensors = {t.name: TensorType(t) for t in all_types}


def _by_name(name: str) -> Type:
    return _names[name]


def of_numpy(dtype: Any) -> Type:
    """Returns the type for a NumPy dtype; raises TypeError for dtypes that tensors do not have."""
    name = np.dtype(dtype).name
    if name not in _names:
        raise TypeError(f"tensors have no elements of the type {name}")
    return _names[name]


def name_shown(name: str) -> str:
    """Returns a dtype's name as MindSpore shows it, also for dtypes that tensors do not have."""
    return repr(_names[name]) if name in _names else name.capitalize()


def tensor_type(dtype: Any) -> TensorType:
    return _tensors[np.dtype(dtype).name]


def scalar_type(value: Any) -> Any:
    """Returns the type that an infer function gets for an argument that is not a tensor."""
    return _scalars.get(type(value))


def dtype_to_nptype(type_: Type) -> Any:
    return type_.dtype.type


def dtype_to_pytype(type_: Type) -> type:
    kind = type_.dtype.kind
    return bool if kind == "b" else int if kind in "iu" else float


def pytype_to_dtype(obj: Any) -> Type:
    if isinstance(obj, Type):
        return obj
    found = {bool: bool_, int: int64, float: float64}.get(obj)
    return found or of_numpy(obj)


def promoted(a: Type, b: Type) -> Type:
    """Returns the type of the result of two tensors by MindSpore's rule: floats over integers, the wider over
    the narrower, and a signed type that holds both for signed and unsigned ones.
    """
    if a is b or b is bool_:
        return a
    if a is bool_:
        return b
    floats = [t for t in (a, b) if t.dtype.kind not in "iu"]
    if len(floats) == 1:
        return floats[0]
    if floats:
        if {a, b} == {float16, bfloat16}:
            return float32
        return a if a.itemsize >= b.itemsize else b
    return of_numpy(np.result_type(a.dtype, b.dtype)) if {a, b} != {int64, uint64} else int64


def __getattr__(name: str) -> Any:
    raise missing("mindspore.common.dtype", name, globals())
