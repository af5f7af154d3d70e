"""What the fuzzers found, each as its smallest kernel."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import _core_testing

BIG = 2**63 - 1
BACKENDS = ("cache=off; interp", "cache=off")


def kernel(text: str) -> Any:
    """The kernel f of a text."""
    name = f"<found {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    return kw.kernel(space["f"])


@pytest.mark.parametrize("words", BACKENDS)
@pytest.mark.parametrize("again", ["n = a.shape[0]", "n += 2", "n, m = a.shape"])
def test_extent_by_a_name_assigned_twice(again: str, words: str) -> None:
    f = kernel(
        f"def f(a):\n    n = a.shape[0]\n    {again}\n    b = output_tensor((n,), a.dtype)\n    return b\n"
    )
    with kw.debug(words):
        assert f(np.zeros((3, 4))).shape == f.py(np.zeros((3, 4))).shape


@pytest.mark.parametrize("words", BACKENDS)
def test_extent_by_a_name_assigned_again_later(words: str) -> None:
    f = kernel(
        "def f(a):\n    n = a.shape[0]\n    out = output_tensor((n,), a.dtype)\n    n = 7\n    return out\n"
    )
    with kw.debug(words):
        assert f(np.zeros(3)).shape == (3,)


LONG_RANGES = (
    ("-1, BIG", (0, 0)),
    ("-BIG, 3", (0, 0)),
    ("3, -BIG, -1", (0, 0)),
    ("lo, hi", (-1, BIG)),
    ("lo, hi", (-BIG - 1, BIG)),
    ("hi, lo, -1", (-BIG, 3)),
    ("a.shape[0] - 1, -BIG, -1", (0, 0)),
    ("lo, hi, 3", (-BIG - 1, BIG)),
)


@pytest.mark.parametrize("words", BACKENDS)
@pytest.mark.parametrize(("bounds", "limits"), LONG_RANGES)
def test_loop_of_more_than_2_63_trips(bounds: str, limits: tuple[int, int], words: str) -> None:
    """It runs into the first bad index; it is not taken for an empty one."""
    loop = bounds.replace("BIG", str(BIG))
    f = kernel(f"def f(a, lo, hi):\n    for i in range({loop}):\n        a[i] = 1.0\n    return a\n")
    with kw.debug(words), pytest.raises(kw.KernelIndexError, match=r"E30[13]"):
        f(np.zeros(4), *limits)


@pytest.mark.parametrize("literal", ["f32.bits(9223372036854775808)", "f32.bits(0x1ffffffff)"])
def test_wide_bits_in_ir_are_refused_or_come_back(literal: str) -> None:
    f = kernel("def f(a):\n    for i in range(a.shape[0]):\n        a[i] = 1.5\n    return a\n")
    text = f.ir(np.zeros(3, "float32"))
    assert text.count("= f32(1.5)\n") == 1
    printed, error, same = _core_testing.round_trip(text.replace("f32(1.5)", literal))
    assert same or (printed == "" and error != "")


PARSED = (
    "def f(a):\n    for a[0] in range(3):\n        pass\n    return a\n",
    "def f(a):\n    a[0] = 1 if a[0] > 0.7else 2\n    return a\n",
    "def f(a):\n    a[0] = 1.if a[1] > 2 else 3\n    return a\n",
    "def f(a):\n    a[0] = (a[1]\r + a[2])\n    return a\n",
)


@pytest.mark.parametrize("text", PARSED)
@pytest.mark.filterwarnings("ignore:invalid decimal literal")
def test_what_cpython_parses_is_not_called_malformed(text: str) -> None:
    compile(text, "<text>", "exec")
    assert "E100" not in _core_testing.compile_text(text, [("float64", 1)])


UNREAD = (
    "u = a[k] * 2\n    u = 3\n    a[0] = u",
    "u = 1.0\n    if True:\n        u = a[k]",
    "a[0] = select(a[0] > 100, a[k], 1.0)",
    "a[0] = select(True, 1.0, a[k])",
    "a[0] = a[k] ** 0",
    "a[0] = uint64(a[0]) > -1 and uint64(a[k]) > -1",
    "if uint64(a[k]) > -1:\n        a[0] = 1",
    "if -1 == uint64(a[k]):\n        a[0] = 1",
)


@pytest.mark.parametrize("words", BACKENDS)
@pytest.mark.parametrize("body", UNREAD)
def test_an_element_whose_value_nobody_asks_for_is_still_checked(body: str, words: str) -> None:
    f = kernel(f"def f(a, k):\n    {body}\n    return a\n")
    with pytest.raises(IndexError):
        f.py(np.zeros(4), 9)
    with kw.debug(words), pytest.raises(kw.KernelIndexError, match="index 9 is out of range"):
        f(np.zeros(4), 9)


@pytest.mark.parametrize("words", BACKENDS)
def test_an_unread_element_behind_a_guard_is_not_checked(words: str) -> None:
    f = kernel("def f(a, k):\n    a[0] = select(a[1] > 1, a[k], 1.0) if a[0] > 5 else 3\n    return a\n")
    with kw.debug(words):
        assert f(np.zeros(4), 9).tolist() == [3, 0, 0, 0]


@pytest.mark.parametrize("words", BACKENDS)
def test_a_bad_index_known_at_compile_time_is_told(words: str) -> None:
    f = kernel(
        "def f(n):\n    out = output_tensor((4,), 'int32')\n    for i in range(n):\n"
        "        for j in const_range(2):\n            out[j] = out[j - 1]\n    return out\n"
    )
    told = pytest.raises(kw.KernelIndexError, match="index -1 is out of range for dimension 0 of 'out'")
    with kw.debug(words), pytest.warns(kw.UninitializedReadWarning), told:
        f(2)


@pytest.mark.parametrize("words", ["cache=off", "cache=off; interp"])
def test_the_first_index_of_a_range_is_told_where_it_is_a_constant(words: str) -> None:
    f = kernel(
        "def f(ends):\n    out = output_tensor((4, 1), 'int32')\n    for i in range(ends[0]):\n"
        "        at = i - 1\n        out[0, at] = 1\n    return out\n"
    )
    told = "index -1 is out of range for dimension 1 of 'out', whose extent is 1"
    with kw.debug(words), pytest.raises(kw.KernelIndexError, match=told):
        f(np.array([1]))


FIRST = (
    ("a[a[i]] = a[k]", 9),
    ("a[i] = a[k] if a[k] > a[i] else 0", 9),
    ("a[0] = a[k] > a[i]", 9),
    ("a[0] = a[i] >= a[k]", 8),
    ("a[k] += a[i]", 9),
    ("a[0] = a[k] + twice(a[i])", 9),
    ("a[0] = a[k] + select(a[0] > 1, a[i], a[0])", 9),
    ("a[0] = a[k] - (a[i] + twice(a[i + 2]))", 9),
    ("a[0] = max(a[1], a[k], twice(a[i]))", 9),
    ("a[0] = a[k] > twice(a[i])", 9),
    ("a[k] += twice(a[i])", 9),
    ("a[twice(a[i])] = a[k]", 9),
    ("a[0] = product(a[k], twice(a[i]))", 9),
    ("a[0] = 1 if a[k] > 0 and twice(a[i]) > 0 else 0", 9),
    ("p, q = a[k], twice(a[i])", 9),
    ("for j in range(a[k], twice(a[i])):\n        a[0] = j", 9),
    ("a[0] = (a[k] if a[0] == 0 else a[1]) + twice(a[i])", 9),
    ("a[0] = (a[k] if a[0] == 1 else a[1]) + twice(a[i])", 8),
    ("a[0] = a[1] + twice(a[i]) * a[k]", 8),
)
HELPERS = "def twice(x):\n    return x + x\ndef product(x, y):\n    return x * y\n"


@pytest.mark.parametrize("words", BACKENDS)
@pytest.mark.parametrize(("statement", "index"), FIRST)
def test_the_first_bad_element_in_the_order_of_cpython_is_told(
    statement: str, index: int, words: str
) -> None:
    f = kernel(f"{HELPERS}def f(a, i, k):\n    {statement}\n    return a\n")
    with pytest.raises(IndexError, match=f"index {index} is out of bounds"):
        f.py(np.zeros(4, "int64"), 8, 9)
    with kw.debug(words), pytest.raises(kw.KernelIndexError, match=f"index {index} is out of range"):
        f(np.zeros(4, "int64"), 8, 9)


@pytest.mark.parametrize("fault", ["np.nothing(0)", "a[0, 0]", "nothing"])
def test_an_error_in_a_loop_is_told_where_it_makes_a_carried_name_faulty(fault: str) -> None:
    f = kernel(
        "import numpy as np\ndef f(a):\n    acc = 0\n    for j in range(3):\n"
        f"        acc += {fault}\n    a[0] = acc\n    return a\n"
    )
    with pytest.raises((kw.KernelSyntaxError, kw.KernelTypeError), match=r":5:16: error\[E") as told:
        f(np.zeros(4))
    assert str(told.value).count("error[") == 1


def _index_error(kernel: kw.Kernel, *args: object) -> str:
    with pytest.raises(IndexError) as caught:
        kernel(*args)
    return str(caught.value).splitlines()[0]


FAR = 10**12


def test_a_check_that_stays_in_a_strided_loop_still_protects_what_early_checks_read() -> None:
    @kw.kernel
    def strided(a, p, q, m):
        y = output_tensor((1,), a.dtype)
        for i in range(0, p.shape[0], 2):
            for j in range(m):
                y[0] = a[q[p[i]] + j]
        return y

    @kw.kernel
    def backwards(a, p, q, m):
        y = output_tensor((1,), a.dtype)
        for i in range(p.shape[0] - 1, -1, -1):
            for j in range(m):
                y[0] = a[q[p[i]] + j]
        return y

    for kernel in (strided, backwards):
        said = _index_error(kernel, np.ones(8), np.array([FAR, 0]), np.array([0]), 2)
        assert f"index {FAR} is out of range for dimension 0 of 'q'" in said


def _fills(y, t, j):
    for i in range(y.shape[0]):
        y[i] = t[j + i]


def test_a_check_outside_of_loops_still_protects_what_early_checks_read() -> None:
    @kw.kernel
    def outside(a, q, p):
        y = output_tensor((2,), a.dtype)
        _fills(y, a, q[p[0]])
        return y

    said = _index_error(outside, np.ones(8), np.array([0, 0]), np.array([FAR]))
    assert f"index {FAR} is out of range for dimension 0 of 'q'" in said


def test_a_check_left_out_for_an_equal_one_still_protects_its_tensor() -> None:
    @kw.kernel
    def twice(a, b, idx):
        z = output_tensor((a.shape[0],), "int64")
        y = output_tensor((idx.shape[0],), a.dtype)
        for i in range(idx.shape[0]):
            y[i] = a[idx[i]] + b[z[idx[i]]]
        return y, z

    said = _index_error(twice, np.ones(4), np.ones(4), np.array([0, 1, FAR]))
    assert f"index {FAR} is out of range" in said


@pytest.mark.parametrize("words", BACKENDS)
@pytest.mark.parametrize(("subscript", "column"), [("e[1], 0", 22), ("0, e[1]", 25), ("e", 22)])
def test_a_bad_item_of_a_grid_point_is_told_where_it_stands(subscript: str, column: int, words: str) -> None:
    f = kernel(
        "def f(b):\n    y = output_tensor((1, 1), 'int64')\n    for e in grid((2, 2)):\n"
        f"        y[0, 0] += b[{subscript}]\n    return y\n"
    )
    with kw.debug(words), pytest.raises(kw.KernelIndexError, match=rf":4:{column}: error\[E303\]"):
        f(np.zeros((1, 1), "int64"))


@pytest.mark.parametrize("words", BACKENDS)
def test_a_bad_unsigned_index_is_told_as_it_is(words: str) -> None:
    f = kernel("def f(a, k):\n    a[k[0] - 1] = 1\n    return a\n")
    with kw.debug(words), pytest.raises(kw.KernelIndexError) as told:
        f(np.zeros(4), np.zeros(1, "uint64"))
    assert "error[E303]: index 18446744073709551615 is out of range for dimension 0 of 'a'" in str(told.value)
    assert "below 0" not in str(told.value)


@pytest.mark.parametrize("words", BACKENDS)
def test_copies_of_a_place_tell_an_unsigned_index_each_by_itself(words: str) -> None:
    f = kernel("def f(a, idx):\n    for i in const_range(2):\n        a[idx[0] - i] = 0\n    return a\n")
    with kw.debug(words), pytest.raises(kw.KernelIndexError, match="index 18446744073709551615 is out of"):
        f(np.zeros(3), np.zeros(1, np.uint64))


def test_the_mark_of_an_unsigned_index_survives_printing() -> None:
    f = kernel("def f(a, k):\n    a[k[0] - 1] = 1\n    return a\n")
    text = f.ir("final", np.zeros(4), np.zeros(1, "uint64"))
    assert text.count(", is_unsigned=True)") == 1
    assert "is_unsigned" not in f.ir("final", np.zeros(4), np.zeros(1, "int64"))
    printed, error, same = _core_testing.round_trip(text)
    assert same and error == "" and printed == text


@pytest.mark.parametrize("words", BACKENDS)
@pytest.mark.parametrize("extent", [0, 1])
def test_a_bad_index_in_the_condition_of_select_is_told_before_those_behind_it(
    extent: int, words: str
) -> None:
    f = kernel(
        "def f(c, idx):\n    y = output_tensor((1,), c.dtype)\n"
        "    y[0] = select(idx[0] > 1, c[0], 0)\n    return y\n"
    )
    with kw.debug(words), pytest.raises(kw.KernelIndexError, match=r":3:23: error\[E303\].* of 'idx'"):
        f(np.zeros(extent), np.zeros(0, "int64"))
