"""Texts for types of arguments: which examples they make, and what is said of others."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import _core
from kernelwright.argument_types import ArgumentTypeError, annotated, examples, is_type, split


@kw.kernel
def take_two(a, b):
    c = np.zeros((1,), "float64")
    c[0] = a[0, 0] + b
    return c


def signature(*texts: str) -> str:
    """Returns the line of the cache key that tells the types."""
    return re.findall(r"^signature (.*) outs", _core.key_preimage(take_two, tuple(examples(texts))), re.M)[0]


def test_a_list_becomes_arguments() -> None:
    a, b, n, x, flag, s, i = examples(split("f32[4096, 1024],u8[3],int,2.5,True,f64,-2"))
    assert (a.shape, a.dtype, b.shape, b.dtype) == ((4096, 1024), np.float32, (3,), np.uint8)
    assert (type(n), x, flag, type(s), i) == (int, 2.5, True, np.float64, -2)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("f32[:, :]", "0:f32:2:0"),
        ("f32[:, :]/inner", "0:f32:2:1"),
        ("float32[ : , : ] / any", "0:f32:2:2"),
        ("i8[:, 5]/any", "0:i8:2:2"),
        ("bool[3, 1]", "0:b1:2:0"),
    ],
)
def test_types_of_arrays(text: str, kind: str) -> None:
    assert signature(text, "f64").split()[0].startswith(kind + ":")


@pytest.mark.parametrize("rank", range(1, 9))
def test_strides_of_every_rank(rank: int) -> None:
    dims = ", ".join(":" * rank)
    for strides in ("inner", "any"):
        (array,) = examples([f"f64[{dims}]/{strides}"])
        unit = array.strides[-1] == 8
        # of one dimension, a part of a row is contiguous
        assert array.ndim == rank and unit == (strides == "inner")
        assert array.flags.c_contiguous == (strides == "inner" and rank == 1)


def test_types_of_numbers() -> None:
    kinds = [signature("f32[:, :]", text).split()[1].split(":")[:2] for text in ("int", "float", "bool")]
    assert kinds == [["1", "i64"], ["1", "f64"], ["1", "b1"]]
    kinds = [signature("f32[:, :]", text).split()[1].split(":")[:2] for text in ("i64", "f32", "u8")]
    assert kinds == [["2", "i64"], ["2", "f32"], ["2", "u8"]]


def test_the_same_view_as_an_earlier_argument() -> None:
    a, n, same = examples(["f32[:]", 3, "=0"])
    assert same is a and n == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x32[3]", "no type is called 'x32'; the types are f16, "),
        ("f32[n]", r"'f32\[n\]': expected sizes or colons, as in f32\[4096, 1024\] or f32\[:, :\]"),
        ("f32[-1]", r"'f32\[-1\]': expected sizes or colons"),
        ("f32[:]/outer", r"'f32\[:\]/outer': expected /inner \(rows with gaps\) or /any"),
        ("f32[]/any", r"'f32\[\]/any': expected /inner"),
        ("a+b", r"'a\+b' is no argument: expected f32\[:, :\], f32\[4096, 1024\], f32, int, float, bool or"),
        ("=0", "'=0' refers to no earlier argument; they are numbered from 0"),
    ],
)
def test_texts_that_are_no_types(text: str, message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=message):
        examples([text])


def test_annotations() -> None:
    def type_of(annotation: Any) -> str:
        return type(annotated(annotation)).__name__

    assert [type_of(a) for a in (int, float, bool, np.int8)] == ["int", "float", "bool", "int8"]
    assert annotated('"f64[:, :]"').dtype == np.float64
    assert annotated("ndarray") is None and annotated(str) is None and annotated(list[int]) is None


def test_types_are_told_from_stages() -> None:
    assert all(map(is_type, ("f32[:]", "=0", "int", "f64")))
    assert not any(map(is_type, ("lower", "final", "unroll_small_loops")))
