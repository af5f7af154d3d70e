"""What a call accepts and gives back: out=, in-place arguments, layouts, scalars, shapes and faults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import KernelIndexError, _core
from kernelwright.errors import KernelValueError

Array = np.ndarray[Any, Any]


@kw.kernel
def copy(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c


@kw.kernel
def copy_half(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0] // 2):
        c[i] = a[i]
    return c


@kw.kernel
def split(a):
    b = output_tensor(a.shape, a.dtype)
    c = output_tensor((2, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        b[i] = a[i] + 1
        c[0, i] = a[i]
        c[1, i] = -a[i]
    return c, b


@kw.kernel
def increase_all(a):
    for i, j in grid(a.shape):
        a[i, j] = a[i, j] + 1
    return a


@kw.kernel
def increase(a):
    for i in range(a.shape[0]):
        a[i] = a[i] + 1
    return a


@kw.kernel
def add_to(a, b):
    for i in range(a.shape[0]):
        a[i] = a[i] + b[i]
    return a


@kw.kernel
def transpose(a):
    c = output_tensor((a.shape[1], a.shape[0]), a.dtype)
    for i, j in grid(a.shape):
        c[j, i] = a[i, j]
    return c


@kw.kernel
def double(a):
    for i, j in grid(a.shape):
        a[i, j] = a[i, j] * 2
    return a


def count(n: int) -> Array:
    """1, 2, ... n as float32."""
    return np.arange(1, n + 1, dtype=np.float32)


def test_out_array() -> None:
    out = np.zeros(4, np.float32)
    assert copy(count(4), out=out) is out
    assert out.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert copy(a=count(4), out=(out,)) is out


def test_out_tuple_with_none() -> None:
    """Entries follow the declarations, results the return; None makes a new array."""
    b, c = np.zeros(2, np.float32), np.zeros((2, 2), np.float32)
    got = split(count(2), out=(b, c))
    assert got[0] is c and got[1] is b
    assert b.tolist() == [2.0, 3.0] and c.tolist() == [[1.0, 2.0], [-1.0, -2.0]]
    made, kept = split(count(2), out=(b, None))
    assert kept is b and made is not c and made.tolist() == c.tolist()
    first, second = split(count(2), out=(None, None))
    assert first.tolist() == c.tolist() and second.tolist() == b.tolist()


STRIDED = {
    "every other": lambda block: block[8:16:2],
    "backwards": lambda block: block[15:7:-2],
    "far apart": lambda block: block[1:32:9],
}


@pytest.mark.parametrize("name", STRIDED)
def test_out_strides(name: str) -> None:
    """Only the elements of the view change."""
    block = np.full(32, 7, np.float32)
    out = STRIDED[name](block)
    expected = block.copy()
    STRIDED[name](expected)[:] = count(4)
    assert copy(count(4), out=out) is out
    assert block.tolist() == expected.tolist()


@pytest.mark.parametrize("name", STRIDED)
def test_out_unwritten_elements_are_zero(name: str) -> None:
    block = np.full(64, 7, np.float32)
    out = STRIDED[name](block[16:48])
    expected = block.copy()
    STRIDED[name](expected[16:48])[:] = [1.0, 2.0, 0.0, 0.0]
    assert copy_half(count(4), out=out) is out
    assert block.tolist() == expected.tolist()


def test_out_columns() -> None:
    block = np.zeros((3, 4), np.float32)
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert transpose(a, out=block[:, 1:3]).base is block
    assert block[:, 1:3].tolist() == a.T.tolist() and not block[:, [0, 3]].any()


def test_out_misaligned() -> None:
    out = np.frombuffer(bytearray(17), np.float32, 4, 1)
    assert copy(count(4), out=out) is out and out.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_out_is_checked_before_anything_is_written() -> None:
    b = np.zeros(2, np.float32)
    with pytest.raises(KernelValueError, match="E222"):
        split(count(2), out=(b, np.zeros((2, 3), np.float32)))
    assert not b.any()


def test_inputs_in_place() -> None:
    a = count(3)
    assert increase(a) is a and a.tolist() == [2.0, 3.0, 4.0]
    b = count(3)
    assert add_to(a, b) is a and a.tolist() == [3.0, 5.0, 7.0] and b.tolist() == [1.0, 2.0, 3.0]


def test_refused_arguments_stay_untouched() -> None:
    a = count(3)
    a.flags.writeable = False
    with pytest.raises(KernelValueError, match="argument 'a' of kernel 'increase' is written but read-only"):
        increase(a)
    assert a.tolist() == [1.0, 2.0, 3.0] and copy(a).tolist() == a.tolist()
    block = count(1)
    with pytest.raises(KernelValueError, match="share memory"):
        increase(np.lib.stride_tricks.as_strided(block, (3,), (0,)))
    assert block.tolist() == [1.0]


def test_overlapping_arguments_run_in_source_order() -> None:
    for step in (-2, -1, 0, 1, 2):
        blocks = count(8), count(8)
        results = [
            run(block[2:6], block[2 + step : 6 + step])
            for run, block in zip((add_to, add_to.py), blocks, strict=True)
        ]
        assert results[0].tolist() == results[1].tolist() and blocks[0].tolist() == blocks[1].tolist(), step
    block = count(6)
    assert add_to(block, block) is block and block.tolist() == [2.0 * x for x in range(1, 7)]
    assert add_to(block[:3], block[3:]).tolist() == [10.0, 14.0, 18.0]


def test_out_may_overlap_an_argument() -> None:
    block = count(6)
    assert copy(block[:3], out=block[:3]).tolist() == [1.0, 2.0, 3.0]
    assert copy(block[:3], out=block[1:4]).tolist() == [1.0, 2.0, 3.0]  # as without out=
    assert block.tolist() == [1.0, 1.0, 2.0, 3.0, 5.0, 6.0]
    assert copy(block[3:], out=block[2:5]).tolist() == [3.0, 5.0, 6.0]
    assert block.tolist() == [1.0, 1.0, 3.0, 5.0, 6.0, 6.0]


def test_misaligned_overlap_is_refused() -> None:
    raw = np.zeros(41, np.uint8)
    odd, even = raw[1:33].view(np.float64), raw[:32].view(np.float64)
    text = "is written and overlaps argument 'b', and one of them is not aligned to its items"
    with pytest.raises(KernelValueError, match=text):
        add_to(odd, even)
    with pytest.raises(KernelValueError, match=text):
        add_to(even, odd)
    assert not raw.any()


@pytest.mark.parametrize(
    ("shape", "strides", "twice"),
    [((5,), (2,), True), ((4, 3), (8, 8), True), ((3, 4), (32, 8), False), ((2, 2), (24, 16), False)],
)
def test_elements_that_share_memory(shape: tuple[int, ...], strides: tuple[int, ...], twice: bool) -> None:
    flat = np.lib.stride_tricks.as_strided(count(40), shape, strides)
    if twice:
        with pytest.raises(KernelValueError, match="several of its elements share memory"):
            (increase if len(shape) == 1 else increase_all)(flat)
    else:
        expected = flat + 1
        assert (increase_all(flat) == expected).all()


def test_interleaved_views() -> None:
    block = count(6)
    add_to(block[::2], block[1::2])
    assert block.tolist() == [3.0, 2.0, 7.0, 4.0, 11.0, 6.0]


def views(dtype: Any) -> dict[str, Array]:
    """Views of 4 elements in every layout."""
    structured = np.zeros(4, [("tag", "u1"), ("x", dtype)])["x"]
    unaligned = np.frombuffer(bytearray(4 * np.dtype(dtype).itemsize + 1), dtype, 4, 1)
    return {
        "contiguous": np.zeros(4, dtype),
        "step 3": np.zeros(12, dtype)[1::3],
        "backwards": np.zeros(4, dtype)[::-1],
        "backwards by 2": np.zeros(8, dtype)[::-2],
        "column": np.zeros((4, 3), dtype)[:, 1],
        "misaligned base": unaligned,
        "odd stride": structured,
        "odd stride backwards": structured[::-1],
    }


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", views("float32"))
def test_layouts_of_inputs(name: str, dtype: str) -> None:
    view = views(dtype)[name]
    view[:] = [1, 0, 1, 1]
    assert copy(view).tolist() == view.tolist()


@pytest.mark.parametrize("name", views("float32"))
def test_layouts_in_place(name: str) -> None:
    view = views("float32")[name]
    view[:] = count(4)
    assert increase(view) is view
    assert view.tolist() == [2.0, 3.0, 4.0, 5.0]


def test_layouts_of_matrices() -> None:
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    spread = np.lib.stride_tricks.as_strided(a, (3, 4), (0, 8))
    for view in (
        a,
        a.T,
        a[::-1, ::2],
        a[:, 2:5],
        np.asfortranarray(a),
        np.broadcast_to(a[0], (3, 6)),
        spread,
    ):
        assert transpose(view).tolist() == view.T.tolist()
    for view in (a.T, a[1:3, ::-1], a[:, 2:5]):
        expected = (view * 2).tolist()
        assert double(view) is view and view.tolist() == expected


def test_misaligned_faults_change_nothing() -> None:
    raw = np.frombuffer(bytearray(17), np.float32, 4, 1)
    raw[:] = count(4)
    with pytest.raises(KernelIndexError):
        add_to(raw, count(2))
    assert raw.tolist() == [1.0, 2.0, 3.0, 4.0]


@kw.kernel
def extremes(a):
    c = output_tensor((), a.dtype)
    c[()] = a[()] * 2
    return c


def test_no_elements_and_no_dimensions() -> None:
    empty = np.zeros(0, np.float32)
    assert copy(empty).shape == (0,) and increase(empty) is empty
    assert transpose(np.zeros((0, 3))).shape == (3, 0) and transpose(np.zeros((2, 0))).shape == (0, 2)
    assert copy(empty, out=empty) is empty
    got = extremes(np.array(4, np.int32))
    assert type(got) is np.ndarray and got.shape == () and got.dtype == np.int32 and got == 8
    out = np.array(0, np.int32)
    assert extremes(np.array(4, np.int32), out=out) is out and out == 8


def test_subclasses(tmp_path: Path) -> None:
    """Plain subclasses and memory maps pass; results are plain arrays, in-place arguments themselves."""

    class Sub(np.ndarray[Any, Any]):
        pass

    for array in (count(3).view(Sub), np.memmap(tmp_path / "map", np.float32, "w+", shape=3)):
        array[:] = count(3)
        made = copy(array)
        assert type(made) is np.ndarray and made.tolist() == [1.0, 2.0, 3.0]
        assert increase(array) is array and array.tolist() == [2.0, 3.0, 4.0]
        assert copy(count(3), out=array) is array and array.tolist() == [1.0, 2.0, 3.0]


@kw.kernel
def scale(a, s):
    c = output_tensor(a.shape, "float64")
    for i in range(a.shape[0]):
        c[i] = a[i] * s
    return c


def test_weak_and_strong_scalars() -> None:
    """Python numbers adopt the dtype of the array, NumPy scalars promote (NEP 50)."""
    tenth = np.full(1, 0.1, np.float32)
    for factor in (0.1, 3, True, np.float32(0.1), np.float64(0.1), np.int32(3), np.int64(3), np.bool_(True)):
        expected = float((tenth * factor)[0])
        assert scale(tenth, factor).tolist() == [expected]
    whole = np.full(1, 3, np.int32)
    for factor in (0.1, -7, False, np.float32(0.1), np.int64(2**40), np.int32(2**30)):
        assert scale(whole, factor).tolist() == [float((whole * factor)[0])]


def test_values_of_scalars_do_not_recompile() -> None:
    scale(count(2), 2)
    scale(count(2), 2.0)
    before = compiled("scale")
    for factor in (3, -1, 10**12, 0.5, float("nan"), float("inf")):
        scale(count(2), factor)
    assert compiled("scale") == before


def compiled(name: str) -> int:
    """How many versions of a kernel the cache holds."""
    return sum(entry[3] == name for entry in _core.cache_list())


@kw.kernel
def first_of_rows(a):
    c = output_tensor((a.shape[0],), a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i, 0]
    return c


def test_new_shapes_do_not_recompile() -> None:
    """One version serves all extents, except those that need the plain body."""
    assert first_of_rows(np.ones((2, 3))).tolist() == [1.0, 1.0]
    for shape in ((1, 1), (5, 2), (1000, 7), (3, 1)):
        assert first_of_rows(np.ones(shape)).tolist() == [1.0] * shape[0]
    assert compiled("first_of_rows") == 1
    assert first_of_rows(np.ones((0, 3))).shape == (0,)
    assert compiled("first_of_rows") == 2
    first_of_rows(np.ones((2, 3), np.int32))
    assert compiled("first_of_rows") == 3


@kw.kernel
def take(a, n):
    c = output_tensor((n - 1, 2), a.dtype)
    for i in range(n - 1):
        c[i, 0] = a[i]
        c[i, 1] = a[i] * 2
    return c


def test_extents_from_arguments() -> None:
    for n in (4, 1, 2, np.int32(3), 4):
        assert take(count(3), n).shape == (n - 1, 2)
    for n in (0, -5):
        with pytest.raises(KernelIndexError, match=rf"E304\]: extent 0 of output 'c' is negative: {n - 1}\n"):
            take(count(3), n)
    with pytest.raises(KernelIndexError, match="index 3 is out of range for dimension 0 of 'a'"):
        take(count(3), 5)


@kw.kernel
def gather(a, index):
    c = output_tensor(index.shape, a.dtype)
    for i in range(index.shape[0]):
        c[i] = a[index[i]]
    return c


def test_faults_in_the_main_body() -> None:
    """An index that is data is checked where it is used; the next call is fine."""
    line = gather.__wrapped__.__code__.co_firstlineno + 4
    for bad in (3, -1, 2**40):
        with pytest.raises(KernelIndexError) as caught:
            gather(count(3), np.array([0, bad, 99]))
        note = "" if bad > 0 else "      = note: a variable index below 0 does not count from the end\n"
        what = f"index {bad} is out of range for dimension 0 of 'a', whose extent is 3 (valid 0..2)"
        assert f"{caught.value}\n" == (
            f"{__file__}:{line}:18: error[E303]: {what}\n"
            f"{line:>5} |         c[i] = a[index[i]]\n"
            f"      |                  ^~~~~~~~\n{note}"
        )
        assert caught.value.lineno == line and caught.value.filename == __file__
        assert gather(count(3), np.array([2, 0])).tolist() == [3.0, 1.0]


def test_faults_in_the_plain_body() -> None:
    """Where shapes do not fit, iterations run in order up to the first bad access, as under Python."""
    a, b = count(4), count(4)
    with pytest.raises(KernelIndexError, match="index 2 is out of range for dimension 0 of 'b'"):
        add_to(a, count(2))
    with pytest.raises(IndexError):
        add_to.py(b, count(2))
    assert a.tolist() == b.tolist() == [2.0, 4.0, 3.0, 4.0]
    assert add_to(a, count(5)).tolist() == [3.0, 6.0, 6.0, 8.0]


ARGUMENTS: dict[kw.Kernel, Callable[[], tuple[Array, ...]]] = {
    gather: lambda: (count(3), np.array([2, 0])),
    add_to: lambda: (count(3), count(3)),
    double: lambda: (np.ones((2, 2)),),
}


@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda k: k.__name__)
def test_debug_checks_every_access(function: kw.Kernel) -> None:
    kernel, make = kw.kernel(debug=True)(function.__wrapped__), ARGUMENTS[function]
    final = kernel.ir(*make(), stage="final")
    assert "check(" in final and "fact(" not in final
    assert kernel(*make()).tolist() == function(*make()).tolist()


def test_debug_faults() -> None:
    for function, second in ((gather, np.array([0, 7])), (add_to, count(2))):
        with pytest.raises(KernelIndexError, match="out of range for dimension 0"):
            kw.kernel(debug=True)(function.__wrapped__)(count(3), second)
