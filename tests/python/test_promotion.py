"""All pairs of dtypes under all operators: the type and the values are NumPy's.

bfloat16 has its own row in the language: a Python float keeps it, where ml_dtypes makes float32 of the two.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from scalar_cases import bits_of

import kernelwright as kw
from kernelwright import _core_testing

BF16 = np.dtype(ml_dtypes.bfloat16)
NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64".split()
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


def dtype_of(name: str) -> np.dtype[Any]:
    return BF16 if name == "bfloat16" else np.dtype(name)


def numpy_type(f: Callable[[Any, Any], Any], a: Any, b: Any) -> str | None:
    """The dtype that NumPy gives the result of two scalars, or None."""
    try:
        with np.errstate(all="ignore"):
            return str(np.asarray(f(a, b)).dtype)
    except TypeError:
        return None


def errors(expression: str, result: str | None, dtypes: tuple[str, str]) -> str:
    """What the compiler says about the expression; nothing when it has exactly this type."""
    text = f"def k(a, b, c):\n    x = ({expression})[0]\n    return c\n"  # an error that names the type
    said = _core_testing.compile_text(text, [(d, 1) for d in (*dtypes, "float32")])
    return "" if f": {result} cannot be indexed" in said else said


def test_the_probe_can_fail() -> None:
    assert "E202" in errors("a[0] + b[0]", "int16", ("int8", "int8"))
    assert errors("a[0] + b[0]", "int8", ("int8", "int8")) == ""


@pytest.mark.parametrize("right", NAMES)
@pytest.mark.parametrize("left", NAMES)
def test_types_of_all_operators(left: str, right: str) -> None:
    a, b = dtype_of(left).type(1), dtype_of(right).type(1)
    for text, f in OPERATORS.items():
        want = numpy_type(f, a, b)
        found = errors(f"a[0] {text} b[0]", want, (left, right))
        if want is None:
            assert "error[E20" in found, f"{left} {text} {right}: {found or 'accepted'}"
        else:
            assert found == "", f"{left} {text} {right} must be {want}: {found}"
    common = numpy_type(operator.or_ if left == right == "bool" else operator.add, a, b)
    for call in ("min(a[0], b[0])", "max(a[0], b[0])", "select(c[0] > 0, a[0], b[0])"):
        assert errors(call, common, (left, right)) == "", call


@pytest.mark.parametrize("number", [True, 3, 0.5], ids=lambda n: type(n).__name__)
@pytest.mark.parametrize("name", NAMES)
def test_types_beside_python_numbers(name: str, number: Any) -> None:
    a = dtype_of(name).type(1)
    for text, f in OPERATORS.items():
        want = numpy_type(f, a, number)
        if name == "bfloat16" and type(number) is float and want == "float32":
            want = "bfloat16"
        for expression in (f"a[0] {text} {number}", f"{number} {text} a[0]"):
            found = errors(expression, want, (name, name))
            assert found == "" if want else "error[E20" in found, f"{expression}, {want}: {found}"


def values(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The ends of the range, small numbers of both signs, and what is special about floats."""
    if dtype == np.bool_:
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        some = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, info.max // 3]
        return np.array([*some, *([-1, -2, -7] if info.min else [])], dtype)
    return np.array([0.0, -0.0, 0.1, 1, -1.5, 2.5, 7, -300, 60000, np.inf, -np.inf, np.nan], "f4").astype(
        dtype
    )


def kernel_for(result: str, integral: bool, bools: bool) -> Callable[..., Any]:
    quotient = result if dtype_of(result).kind in "fV" else "float64"

    def arithmetic(a, b):
        r = output_tensor((9, a.shape[0]), result)
        q = output_tensor((1, a.shape[0]), quotient)
        c = output_tensor((6, a.shape[0]), "bool")
        for i in range(a.shape[0]):
            r[0, i] = a[i] + b[i]
            r[1, i] = a[i] * b[i]
            if not bools:
                r[2, i] = a[i] - b[i]
                r[3, i] = a[i] // b[i]
                r[4, i] = a[i] % b[i]
            if integral:
                r[5, i] = a[i] & b[i]
                r[6, i] = a[i] | b[i]
                r[7, i] = a[i] ^ b[i]
            if integral and not bools:
                r[8, i] = a[i] << b[i] if i % 2 == 0 else a[i] >> b[i]
            q[0, i] = a[i] / b[i]
            c[0, i] = a[i] < b[i]
            c[1, i] = a[i] <= b[i]
            c[2, i] = a[i] > b[i]
            c[3, i] = a[i] >= b[i]
            c[4, i] = a[i] == b[i]
            c[5, i] = a[i] != b[i]
        return r, q, c

    return arithmetic


@pytest.mark.parametrize("right", NAMES)
@pytest.mark.parametrize("left", NAMES)
def test_values_of_all_operators(left: str, right: str) -> None:
    x, y = values(dtype_of(left)), values(dtype_of(right))
    a, b = np.repeat(x, len(y)), np.tile(y, len(x))
    result = numpy_type(operator.add, a[0], b[0])
    assert result
    kernel = kw.kernel(fp="strict")(
        kernel_for(result, dtype_of(result).kind in "biu", left == right == "bool")
    )
    with np.errstate(all="ignore"):
        want = kernel.py(a, b)
        for words in ("cache=off", "cache=off; interp"):
            with kw.debug(words):
                got = kernel(a, b)
            for w, g in zip(want, got, strict=True):
                assert w.dtype == g.dtype
                wrong = np.argwhere(bits_of(w) != bits_of(g))
                assert not len(wrong), [
                    (int(r), a[i], b[i], w[r, i], g[r, i], words) for r, i in wrong[:3].tolist()
                ]
