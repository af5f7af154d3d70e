"""Texts for types of arguments → example arguments, the smallest ones that have these types.

f32[:, :]         a contiguous array        f32[4096, 1024]   one of this shape
f32[:, :]/inner   rows with gaps            f32[:, :]/any     any strides
=0                the same view as argument 0
int float bool    numbers of Python         i64 f32 …         scalars of NumPy
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, get_origin

import numpy as np

_dtypes = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bool_": "bool",  # a scalar of NumPy; "bool" is that of Python
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}
_numbers: dict[str, int | float | bool] = {"int": 3, "float": 0.5, "bool": True}
_short = {**{name: word for word, name in _dtypes.items() if word != "bool_"}, "bfloat16": "bf16"}
numpy_names = {**_dtypes, "b1": "bool", "bf16": "bfloat16"}
"""NumPy's names of dtypes by the short names of the core."""
_TENSOR, _WEAK, _STRONG, _UNUSED = range(4)  # kinds of arguments, numbered as in the core
_stride_words = ["", "/inner", "/any"]  # of the classes of strides, in the order of the core
_open_extent = 2  # of a dimension ":": with 1, its stride would tell nothing


class ArgumentTypeError(ValueError):
    """A text names no type of an argument; the message says why."""


def _dtype(word: str) -> Any:
    if word == "bf16" or word == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise ArgumentTypeError("bfloat16 needs the package ml_dtypes") from None
        return np.dtype(ml_dtypes.bfloat16)
    try:
        return np.dtype(_dtypes.get(word, word))
    except TypeError:
        known = ", ".join([*_dtypes, "bf16", "bool", *(n for n in _numbers if n != "bool")])
        raise ArgumentTypeError(f"no type is called '{word}'; the types are {known}") from None


def _array(shape: Sequence[int], dtype: Any, strides: str) -> Any:
    """Returns an array whose strides are of this class.

    f32[2, 2]         strides (8, 4)
    f32[2, 2]/inner   strides (12, 4)
    f32[2, 2]/any     strides (24, 8)
    """
    if not strides:
        return np.empty(tuple(shape), dtype)
    gap, step = (1, 1) if strides == "inner" else (1, 2)
    wide = np.empty((*shape[:-1], shape[-1] * step + gap), dtype)
    return wide[..., : shape[-1] * step : step]


def example(text: str, earlier: Mapping[int, Any] | None = None) -> Any:
    """Returns the smallest argument of the type that a text names, or the number that it is ("2.5").

    `earlier` holds the arguments by their numbers, for "=N". Raises ArgumentTypeError.
    """
    text = text.strip()
    if text in _numbers:
        return _numbers[text]
    if same := re.fullmatch(r"=\s*(\d+)", text):
        if not earlier or int(same[1]) not in earlier:
            raise ArgumentTypeError(f"'{text}' refers to no earlier argument; they are numbered from 0")
        return earlier[int(same[1])]
    found = re.fullmatch(r"([A-Za-z_]\w*)\s*(?:\[(.*)\]\s*(?:/\s*(\w+))?)?", text)
    if found and text not in ("True", "False"):
        word, extents, strides = found[1], found[2], found[3] or ""
        dtype = _dtype(word)
        if extents is None:
            return dtype.type(0)
        parts = [part.strip() for part in extents.split(",") if part.strip()]
        if strides not in ("", "inner", "any") or (strides and not parts):
            raise ArgumentTypeError(
                f"'{text}': expected /inner (rows with gaps) or /any (any strides) after the dimensions"
            )
        try:
            return _array([_open_extent if p == ":" else int(p) for p in parts], dtype, strides)
        except (ValueError, MemoryError):
            raise ArgumentTypeError(
                f"'{text}': expected sizes or colons, as in {word}[4096, 1024] or {word}[:, :]"
            ) from None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if isinstance(value, int | float):
        return value
    raise ArgumentTypeError(
        f"'{text}' is no argument: expected f32[:, :], f32[4096, 1024], f32, int, float, bool or a number"
    )


def split(text: str) -> list[str]:
    """Splits a list with commas: "f32[4096,1024],f32[:]/any,3"."""
    return [part.strip() for part in re.findall(r"(?:\[[^\]]*\]|[^,\[])+", text)]


def examples(texts: Iterable[Any]) -> list[Any]:
    """Returns arguments with every text among them replaced by an example of its type; others stay."""
    out: dict[int, Any] = {}
    for number, text in enumerate(texts):
        out[number] = example(text, out) if isinstance(text, str) else text
    return list(out.values())


def described(args: Sequence[Sequence[Any]]) -> list[str]:
    """Returns the texts for the arguments of a signature: (kind, dtype, rank, stride class, alias) each, with
    the numbers of the core. The alias of an argument of its own is its number, or -1.
    """
    out = []
    for number, (kind, dtype, rank, strides, alias) in enumerate(args):
        short = _short.get(dtype, dtype)
        if kind == _TENSOR and alias not in (-1, number):
            out.append(f"={alias}")
        elif kind == _TENSOR:
            out.append(f"{short}[{', '.join(':' * rank)}]{_stride_words[strides]}")
        elif kind == _WEAK:
            out.append({"int64": "int", "float64": "float", "bool": "bool"}[dtype])
        else:
            out.append("unused" if kind == _UNUSED else "bool_" if short == "bool" else short)
    return out


def signature(texts: Iterable[str]) -> list[tuple[int, str, int, int, int]]:
    """Returns the arguments of a signature for texts: the inverse of `described`.

    Raises ArgumentTypeError.
    """
    out: list[tuple[int, str, int, int, int]] = []
    for number, text in enumerate(texts):
        same = re.fullmatch(r"=(\d+)", text)
        found = re.fullmatch(r"(\w+)(?:\[([:, ]*)\](/inner|/any|))?", text)
        word = found[1] if found else ""
        dtype = "bfloat16" if word == "bf16" else _dtypes.get(word, word)
        if same and int(same[1]) < number:
            out.append((*out[int(same[1])][:4], int(same[1])))
        elif text == "unused":
            out.append((_UNUSED, "bool", 0, 0, number))
        elif text in _numbers:
            out.append((_WEAK, {"int": "int64", "float": "float64", "bool": "bool"}[text], 0, 0, number))
        elif found and (dtype in _dtypes.values() or dtype in ("bool", "bfloat16")):
            is_tensor, rank = found[2] is not None, (found[2] or "").count(":")
            out.append(
                (_TENSOR if is_tensor else _STRONG, dtype, rank, _stride_words.index(found[3] or ""), number)
            )
        else:
            raise ArgumentTypeError(f"'{text}' is no type of an argument")
    return out


def is_type(text: str) -> bool:
    """Returns whether a text is meant as a type of an argument, rather than as the name of a stage."""
    return bool(re.search(r"[\[=]", text)) or text in _numbers or text in _dtypes


def annotated_type(annotation: Any, names: Mapping[str, Any] | None = None) -> str | None:
    """Returns the text of the type that an annotation of a parameter names ("f32[:, :]", int, np.float32, or
    Annotated[NDArray[np.float32], "f32[:, :]"], which type checkers know), or None if it names no type of
    an argument. `names` are those of the module, for an annotation that is kept as its text.
    """
    if isinstance(annotation, str) and re.match(r"(\w+\.)?Annotated\[", annotation):
        try:
            annotation = eval(annotation, dict(names or {}))
        except Exception:
            return None
    if get_origin(annotation) is Annotated:
        found = (annotated_type(item) for item in annotation.__metadata__)
        return next((item for item in found if item is not None), None)
    if isinstance(annotation, type) and annotation.__name__ in _numbers:
        return annotation.__name__
    if isinstance(annotation, type) and issubclass(annotation, np.generic):
        return "bool_" if annotation is np.bool_ else np.dtype(annotation).name
    if not isinstance(annotation, str):
        return None
    text = annotation.strip("'\"")
    try:
        example(text)
    except ArgumentTypeError:
        return None
    return text


def annotated(annotation: Any, names: Mapping[str, Any] | None = None) -> Any:
    """Returns an example for an annotation of a parameter, or None if it names no type (annotated_type)."""
    text = annotated_type(annotation, names)
    return None if text is None else example(text)
