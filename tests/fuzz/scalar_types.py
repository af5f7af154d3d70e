"""The types of generated expressions: promotion by NEP 50, with weak Python numbers and bfloat16.

A type is a dtype name, or "wb", "wi", "wf" for a weak bool, int, float. Computes no values.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = ("bool", *SIGNED, *UNSIGNED, *FLOATS)
WEAK = ("wb", "wi", "wf")
LIMITS = {d: (int(np.iinfo(d).min), int(np.iinfo(d).max)) for d in (*SIGNED, *UNSIGNED)}


def dtype_of(name: str) -> np.dtype:
    """The NumPy dtype of a strong type."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def is_weak(t: str) -> bool:
    return t in WEAK


def is_float(t: str) -> bool:
    return t in FLOATS or t == "wf"


def is_bool(t: str) -> bool:
    return t in ("bool", "wb")


def is_int(t: str) -> bool:
    return t == "wi" or t in SIGNED or t in UNSIGNED


def promote(a: str, b: str) -> str:
    """The common type of two operands."""
    if is_weak(a) and is_weak(b):
        return max(a, b, key=WEAK.index)
    if is_weak(a):
        a, b = b, a
    if b == "wi" and a == "bool":
        return "int64"
    if b == "wf" and not is_float(a):
        return "float64"
    if is_weak(b) or a == b:
        return a
    if "bfloat16" in (a, b):
        other = b if a == "bfloat16" else a
        if other in ("bool", "int8", "uint8"):
            return "bfloat16"
        return "float32" if other in ("float16", "float32", "int16", "uint16") else "float64"
    return np.promote_types(a, b).name


def arithmetic(op: str, a: str, b: str) -> str:
    """The type of a binary operation that is defined for these operands."""
    t = promote(a, b)
    if is_bool(t):
        weak = t == "wb"
        if op == "/":
            return "wf" if weak else "float64"
        if op in "&|^" or (not weak and op in "+*"):
            return t
        return "wi" if weak else "int8"
    if op == "/" and not is_float(t):
        return "wf" if t == "wi" else "float64"
    return t


def float_of(t: str) -> str:
    """The type that an elementary function of t has."""
    if is_weak(t):
        return "wf"
    if is_float(t):
        return t
    size = np.dtype(t).itemsize
    return {1: "float16", 2: "float32"}.get(size, "float64")


def merged(a: str, b: str) -> str | None:
    """The type behind two paths, or None where the language refuses it."""
    if a == b or (is_weak(a) and is_weak(b)):
        return promote(a, b)
    if is_weak(a):
        a, b = b, a
    if not is_weak(b):
        return None
    fits = is_float(a) or b == "wb" or (is_int(a) and b == "wi")
    return a if fits else None


def fits(value: object, t: str) -> bool:
    """Whether a weak constant may stand beside a strong operand."""
    if isinstance(value, float) or value is None:
        return True
    if t == "bool":
        return value in (0, 1)
    return t not in LIMITS or LIMITS[t][0] <= int(value) <= LIMITS[t][1]  # type: ignore[call-overload]
