"""E221 to E224: types and values of arguments, which are refused before anything runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from diagnostics import Check, calls

import kernelwright as kw
from kernelwright import KernelTypeError
from kernelwright.errors import KernelOverflowError, KernelValueError

F32 = np.ones(4, np.float32)


@kw.kernel
def copy(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c


@kw.kernel
def weigh(a, b):
    for i in range(a.shape[0]):
        a[i] *= b[0]
    return a


@kw.kernel
def shift(by, grid_points):
    for i in range(grid_points.shape[0]):
        grid_points[i] += by
    return grid_points


@kw.kernel
def scale(a, s):
    for i in range(a.shape[0]):
        a[i] = a[i] * s
    return a


@kw.kernel
def split(a):
    b = output_tensor(a.shape, a.dtype)
    c = output_tensor((2, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        b[i] = a[i]
        c[0, i] = a[i]
        c[1, i] = -a[i]
    return b, c


PASS_ARRAY = "pass a NumPy array or a number"
AS_ARRAY = "convert it: np.asarray(...)"
AS_TYPE = "convert it with .astype(...)"
AS_NATIVE = "convert it with .astype(a.dtype.newbyteorder('='))"
AS_PLAIN = "pass a plain array: np.asarray(...)"


class Remote:
    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("it lies elsewhere")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


WRONG_TYPES: dict[str, tuple[Any, str, str]] = {
    "list": ([1.0], "a list", AS_ARRAY),
    "tuple": ((1.0,), "a tuple", AS_ARRAY),
    "None": (None, "a NoneType", PASS_ARRAY),
    "str": ("x", "a str", PASS_ARRAY),
    "bytes": (b"x", "a bytes", PASS_ARRAY),
    "dict": ({}, "a dict", PASS_ARRAY),
    "complex": (1j, "a complex", PASS_ARRAY),
    "range": (range(3), "a range", PASS_ARRAY),
    "object": (object(), "an object", PASS_ARRAY),
    "byte-swapped": (np.ones(2, ">f4"), "an array of foreign byte order (>f4)", AS_NATIVE),
    "object array": (np.ones(2, "O"), "an array of dtype object", AS_TYPE),
    "string array": (np.array(["x"]), "an array of dtype <U1", AS_TYPE),
    "dates": (np.zeros(2, "M8[s]"), "an array of dtype datetime64[s]", AS_TYPE),
    "structured": (np.zeros(2, [("x", "f4")]), "an array of dtype [('x', '<f4')]", AS_TYPE),
    "long double": (np.ones(2, "g"), f"an array of dtype {np.dtype('g')}", AS_TYPE),
    "masked": (np.ma.ones(2), "a MaskedArray", AS_PLAIN),
    "remote": (
        Remote(),
        "a Remote that NumPy cannot read: it lies elsewhere",
        "pass an array in the memory of this process",
    ),
    "matrix": (np.ones((1, 2)).view(np.matrix), "a matrix", AS_PLAIN),
    "string scalar": (np.str_("x"), "a numpy.str_", "pass a number"),
    "date": (np.datetime64(0, "s"), "a numpy.datetime64", "pass a number"),
    "complex scalar": (np.complex64(1), "a numpy.complex64", "pass a number"),
}


def e221(parameter: str, kernel: str, what: str, help_text: str) -> str:
    return f"""
        error[E221]: argument '{parameter}' of kernel '{kernel}' is {what}
              = help: {help_text}
        """


NINE = "error[E221]: argument 'a' of kernel 'copy' is an array of 9 dimensions; at most 8 are possible"
PASS_OUT = "pass an array, or a tuple with one array or None per output"


@pytest.mark.parametrize(
    "case",
    [
        *(
            calls(copy, (value,), KernelTypeError, e221("a", "copy", what, help_text), id=name)
            for name, (value, what, help_text) in WRONG_TYPES.items()
        ),
        calls(scale, (F32, [2.0]), KernelTypeError, e221("s", "scale", "a list", AS_ARRAY), id="second"),
        calls(
            scale,
            (F32, None),
            KernelTypeError,
            e221("s", "scale", "a NoneType", PASS_ARRAY),
            id="None",
        ),
        calls(copy, (np.ones((1,) * 9),), KernelTypeError, NINE, id="nine dimensions"),
        calls(copy, (F32,), KernelTypeError, e221("out", "copy", "a list", PASS_OUT), out=[1], id="out list"),
        calls(
            copy,
            (F32,),
            KernelTypeError,
            e221("out", "copy", "a MaskedArray", AS_PLAIN),
            out=np.ma.ones(4, "f4"),
            id="out masked",
        ),
        calls(
            copy,
            (F32,),
            KernelTypeError,
            e221("out", "copy", "an array of foreign byte order (>f4)", AS_NATIVE),
            out=np.ones(4, ">f4"),
            id="out byte-swapped",
        ),
        calls(
            shift,
            (2, np.ones(4, ">f4")),
            KernelTypeError,
            e221(
                "grid_points",
                "shift",
                "an array of foreign byte order (>f4)",
                "convert it with .astype(grid_points.dtype.newbyteorder('='))",
            ),
            id="byte-swapped, by its name",
        ),
    ],
)
def test_e221_argument_type(case: Check) -> None:
    case()


def read_only() -> np.ndarray[Any, Any]:
    array = np.ones(4, np.float32)
    array.flags.writeable = False
    return array


def shared_elements() -> np.ndarray[Any, Any]:
    return np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (4,), (0,))


FIRST = "error[E222]: argument 'a' of kernel 'scale' is written but"
SHARED = "several of its elements share memory\n      = help: pass a copy: a.copy()"
READ_ONLY = "read-only\n      = help: pass a writable copy: a.copy()"
LEAVE_OUT = "or leave out= away and take the result"
OUT_SHARED = f"several of its elements share memory\n      = help: pass an array of its own, {LEAVE_OUT}"
OUT_READ_ONLY = f"read-only\n      = help: pass a writable array, {LEAVE_OUT}"
OUT = "error[E222]: out= of kernel 'copy'"
ONE_EACH = "give one array or None per output_tensor"
BLOCK = np.ones((3, 4), np.float32)


class Resizes:
    """Another library's array, which changes the first argument when it is read."""

    def __init__(self, first: Any) -> None:
        self.first = first

    @property
    def __array_interface__(self) -> Any:
        self.first.resize((1,), refcheck=False)
        return F32.__array_interface__


def changed_argument() -> None:
    first = np.ones(4)
    expected = (
        "error[E222]: argument 'a' of kernel 'weigh' was changed while the call read its arguments\n"
        "      = help: a property of another argument, or another thread, has resized it"
    )
    with pytest.raises(KernelValueError) as caught:
        weigh(first, Resizes(first))
    assert str(caught.value) == expected


def wrong_out(array: Any, text: str, name: str) -> Any:
    return calls(copy, (F32,), KernelValueError, f"{OUT} {text}", out=array, id=name)


@pytest.mark.parametrize(
    "case",
    [
        calls(scale, (read_only(), 2), KernelValueError, f"{FIRST} {READ_ONLY}", id="read-only"),
        calls(scale, (shared_elements(), 2), KernelValueError, f"{FIRST} {SHARED}", id="stride 0"),
        wrong_out(read_only(), f"is written but {OUT_READ_ONLY}", "out read-only"),
        wrong_out(shared_elements(), f"is written but {OUT_SHARED}", "out stride 0"),
        wrong_out(np.ones(3, "f4"), "for 'c' is float32 (3,) but must be float32 (4,)", "out shape"),
        wrong_out(np.ones((4, 1), "f4"), "for 'c' is float32 (4, 1) but must be float32 (4,)", "out rank"),
        wrong_out(np.array(1, "f4"), "for 'c' is float32 () but must be float32 (4,)", "out rank 0"),
        wrong_out(np.ones(4), "for 'c' is float64 (4,) but must be float32 (4,)", "out dtype"),
        wrong_out((), f"has 0 entries for 1 output\n      = help: {ONE_EACH}", "no entries"),
        wrong_out((None, None), f"has 2 entries for 1 output\n      = help: {ONE_EACH}", "two entries"),
        calls(
            split,
            (F32,),
            KernelValueError,
            f"error[E222]: out= of kernel 'split' has 1 entry for 2 outputs\n      = help: {ONE_EACH}",
            out=np.ones(4, np.float32),
            id="one array for two outputs",
        ),
        wrong_out((F32, F32), f"has 2 entries for 1 output\n      = help: {ONE_EACH}", "one array twice"),
        calls(
            scale,
            (np.ones(4, np.float32), 2),
            KernelValueError,
            "error[E222]: out= of kernel 'scale' has 1 entry for 0 outputs\n"
            "      = help: call it without out=",
            out=np.ones(4, np.float32),
            id="out= without outputs",
        ),
        calls(
            shift,
            (2, read_only()),
            KernelValueError,
            "error[E222]: argument 'grid_points' of kernel 'shift' is written but read-only\n"
            "      = help: pass a writable copy: grid_points.copy()",
            id="read-only, by its name",
        ),
        calls(
            shift,
            (2, shared_elements()),
            KernelValueError,
            "error[E222]: argument 'grid_points' of kernel 'shift' is written but several of its elements"
            " share memory\n      = help: pass a copy: grid_points.copy()",
            id="stride 0, by its name",
        ),
        calls(
            split,
            (F32,),
            KernelValueError,
            "error[E222]: two arrays of out= of kernel 'split' overlap",
            out=(BLOCK[0], BLOCK[:2]),
            id="overlapping outputs",
        ),
        changed_argument,
    ],
)
def test_e222_argument_value(case: Check) -> None:
    case()


TOO_WIDE = """
    error[E223]: argument 's' of kernel 'scale' does not fit into 64 bits
          = help: pass a float, or a smaller number
    """


@pytest.mark.parametrize(
    "case",
    [
        calls(scale, (np.ones(2, np.int64), 2**63), KernelOverflowError, TOO_WIDE, id="above"),
        calls(scale, (np.ones(2, np.int64), -(2**63) - 1), KernelOverflowError, TOO_WIDE, id="below"),
        calls(scale, (), KernelOverflowError, TOO_WIDE, a=F32, s=10**30, id="by keyword"),
    ],
)
def test_e223_argument_range(case: Check) -> None:
    case()


def test_limits_of_int64() -> None:
    assert scale(np.ones(1, np.int64), 2**63 - 1).tolist() == [2**63 - 1]
    assert scale(np.ones(1, np.int64), -(2**63)).tolist() == [-(2**63)]


@kw.kernel
def line(a, n):
    c = output_tensor((n,), a.dtype)
    return c


@kw.kernel
def square(a, n):
    c = output_tensor((n, n), a.dtype)
    return c


@kw.kernel
def with_wide_temporary(a):
    c = output_tensor((1,), a.dtype)
    t = allocate((2**31, 2**31), a.dtype)
    t[0, 0] = a[0]
    c[0] = t[0, 0]
    return c


@kw.kernel
def with_wrapping_temporary(a):
    t = allocate((2**61 + 1,), "float64")
    for i in range(1000):
        t[i] = a[0]
    a[0] = t[2]
    return a


@kw.kernel
def with_constant_temporary(a):
    t = allocate((2048, 4096, 4096, 4096, 4096, 4096), "float32")
    t[0, 0, 0, 0, 0, 1] = a[0]
    a[0] = t[0, 0, 0, 0, 0, 1]
    return a


@kw.kernel
def with_temporary(a, n):
    c = output_tensor(a.shape, a.dtype)
    t = allocate((n, n), a.dtype)
    t[0, 0] = a[0]
    c[0] = t[0, 0]
    return c


WIDE = """
    FILE:@{0}:5: error[E224]: the temporary 't' exceeds 2^46 bytes
       @{0} |     t = allocate({1})
          |     ^
    """
FAR = "error[E224]: argument 'a' of kernel 'copy' reaches beyond 2^46 elements"
LARGE = """
    FILE:@3:5: error[E224]: the extents of output 'c' exceed 2^46 elements
       @3 |     c = output_tensor({}, a.dtype)
          |     ^
    """


@pytest.mark.parametrize(
    "case",
    [
        calls(copy, (np.broadcast_to(F32[0], 2**47),), KernelValueError, FAR, id="many elements"),
        calls(
            copy,
            (np.lib.stride_tricks.as_strided(F32, (2,), (2**50,)),),
            KernelValueError,
            FAR,
            id="far apart",
        ),
        calls(line, (F32, 2**46), KernelValueError, LARGE.format("(n,)"), id="one extent"),
        calls(square, (F32, 2**40), KernelValueError, LARGE.format("(n, n)"), id="product"),
        calls(
            with_temporary,
            (F32, 2**31),
            KernelValueError,
            "error[E224]: the temporaries of kernel 'with_temporary' exceed 2^46 bytes",
            id="temporaries",
        ),
        calls(
            with_constant_temporary,
            (F32,),
            KernelValueError,
            WIDE.format(3, '(2048, 4096, 4096, 4096, 4096, 4096), "float32"'),
            id="product of constants",  # 2^73 bytes, which are none modulo 2^64
        ),
        calls(
            with_wide_temporary,
            (F32,),
            KernelValueError,
            WIDE.format(4, "(2**31, 2**31), a.dtype"),
            id="wide",
        ),
        calls(
            with_wrapping_temporary,
            (F32.copy(),),
            KernelValueError,
            WIDE.format(3, '(2**61 + 1,), "float64"'),
            id="beyond 64 bits",
        ),
    ],
)
def test_e224_extents(case: Check) -> None:
    case()
