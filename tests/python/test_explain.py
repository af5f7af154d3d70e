"""kernel.explain() and the notebook view: facts of each version, their lines, and text that reads well."""

from __future__ import annotations

import linecache
import re
import warnings
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright.explain import Explanation, Fact, Version

F32 = np.ones((3, 4), np.float32)
SCALE = 2.0


@kw.kernel
def gathers(a, idx, b, n):
    c = output_tensor((n, a.shape[1]), a.dtype)
    t = allocate(a.shape, a.dtype)
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t[i, j] = a[i, j]
            s += t[i, j]
            c[i, j] += a[idx[i], j] + b[j]
    k = n // 2
    c[0, 0] = s * k
    return c


def first_line(kernel: kw.Kernel) -> int:
    return kernel.__wrapped__.__code__.co_firstlineno


def only(found: Explanation) -> Version:
    (version,) = found.versions
    return version


def facts(kernel: kw.Kernel, kind: str, *args: Any) -> list[tuple[int, str, int, str, str]]:
    """Facts of one kind, with lines counted from the kernel's first decorator as 1."""
    start = first_line(kernel) - 1
    version = only(kernel.explain(*args))
    assert {f.file for f in version.facts} <= {__file__}
    return [(f.line - start, f.subject, f.dim, f.what, f.why) for f in version.of(kind)]


ARGS = (F32, np.arange(3), np.ones(4), 3)


def test_accesses() -> None:
    found = facts(gathers, "access", *ARGS)
    assert (8, "a[i, j]", 0, "proved", "") in found and (8, "t[i, j]", 1, "proved", "") in found
    assert [f for f in found if f[3] == "checked"] == [
        (10, "a[idx[i], j]", 0, "checked", "the index is read from memory")
    ]
    assert [f[:3] + f[4:] for f in found if f[3] == "conditional"] == [
        (10, "c[i, j]", 0, "needs c.shape[0] >= a.shape[0]"),
        (10, "idx[i]", 0, "needs idx.shape[0] >= a.shape[0]"),
        (10, "b[j]", 0, "needs b.shape[0] >= a.shape[1]"),
        (10, "c[i, j]", 0, "needs c.shape[0] >= a.shape[0]"),
        (12, "c[0, 0]", 0, "needs c.shape[0] >= 1"),
    ]


@kw.kernel
def next_is_large(a, b):
    y = output_tensor(a.shape, a.dtype)
    for k in range(a.shape[0]):
        if k + 1 < a.shape[0] and b[k + 1] > 0.5:
            y[k] = 1.0
    return y


def test_a_guard_makes_a_condition_weaker() -> None:
    """Two arrays of one length fulfil it: their calls run the main body."""
    a, b = np.zeros(3), np.array([0.0, 1.0, 0.0])
    assert next_is_large(a, b).tolist() == next_is_large.py(a, b).tolist() == [1, 0, 0]
    version = only(next_is_large.explain())
    assert version.main and not version.plain and version.conditions == ("b.shape[0] >= a.shape[0]",)


def test_what_cannot_run_is_not_explained() -> None:
    @kw.kernel
    def reaches_too_far(a):
        for i in range(a.shape[0]):
            a[i] = a[i + 1]
        return a

    with pytest.raises(kw.KernelIndexError, match=r"error\[E301\]: index 0 of 'a' reaches a\.shape\[0\]"):
        reaches_too_far.explain(np.ones(3))


@kw.kernel
def counts_in_memory(m, s):
    for k in range(m.shape[0]):
        s[0] += 1 if m[k] else 2
    return s


def test_what_has_no_form_in_lanes_is_named() -> None:
    args = np.ones(4, bool), np.zeros(1, int)
    line = first_line(counts_in_memory) + 3
    missed = facts(counts_in_memory, "missed", *args)
    why = [w for _, subject, _, _, w in missed if subject == "not vectorized: k"]
    assert why == [f"`s[0] += 1 if m[k] else 2` at line {line} cannot be vectorized"]


def test_conditions_are_those_that_a_call_tests() -> None:
    """A condition that fails selects the plain body, and no other call does."""
    version = only(gathers.explain(*ARGS))
    assert set(version.conditions) == {
        "c.shape[0] >= a.shape[0]",
        "idx.shape[0] >= a.shape[0]",
        "b.shape[0] >= a.shape[1]",
        "c.shape[0] >= 1",
    }
    kernel = kw.kernel(gathers.__wrapped__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel(*ARGS)
        assert [(v.main, v.plain) for v in kernel.explain().versions] == [(True, False)]
        with pytest.raises(kw.KernelIndexError):
            kernel(F32, np.arange(2), np.ones(4), 3)
    assert [(v.main, v.plain) for v in kernel.explain().versions] == [(True, True)]


def test_buffers() -> None:
    """Zeros that are read are told with the lines of all reads, those of `+=` too."""
    reads = "may read an element before it is written"
    line = first_line(gathers) + 9
    assert facts(gathers, "buffer", *ARGS) == [
        (3, "c", -1, "zeroed", f"output float32[:, :], line {line} {reads}"),
        (4, "t", -1, "not zeroed", "temporary float32[:, :], every element is written before it is read"),
    ]
    why = f"output float64[:], line {first_line(claims) + 6} {reads}"
    assert facts(claims, "buffer", np.ones(3), np.ones(3), 2) == [(3, "c", -1, "zeroed", why)]
    lines = ", ".join(str(first_line(sums) + n) for n in (4, 6, 8))
    why = f"output float32[:], lines {lines} {reads}"
    assert facts(sums, "buffer", F32, F32[0]) == [(3, "c", -1, "zeroed", why)]


@kw.kernel
def writes_some(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(1, a.shape[0]):
        c[i] = a[i]
    return c


@kw.kernel
def writes_all(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
    return c


@kw.kernel
def claims(a, b, n):
    c = output_tensor(a.shape, a.dtype)
    for i in parallel(1, a.shape[0]):
        c[i] = b[i]
    for i in parallel(a.shape[0] - 1, 0, -1):
        c[i] = c[i - 1]
    k = n * n
    while k > 3:
        k -= 1
    for i, j in grid((k, 3)):
        c[0] = i + j
    return c


def test_loops() -> None:
    args = (np.ones(3), np.ones(3), 2)
    found = [(*rest, re.sub(r"\d+ iter", "N iter", why)) for *rest, why in facts(claims, "loop", *args)]
    assert found == [
        (4, "i in parallel(1, a.shape[0])", -1, "parallel vector", f"{SCHEDULED}; {PROVED}"),
        (6, "i in parallel(a.shape[0] - 1, 0, -1)", -1, "vector", f"N iterations at once; {FALSE}"),
        (9, "while k > 3", -1, "serial", ""),
        (11, "i in range(k)", -1, "serial", ""),
        (11, "j in range(3)", -1, "serial", ""),
    ]
    line = first_line(claims) + 3
    start = f"  loops       line {line}: i in parallel(1, a.shape[0]): parallel vector, on as many threads"
    assert start in str(claims.explain(*args))


SCHEDULED = "on as many threads as its work is worth, N iterations at once"
PROVED = "`parallel(i)` is proved: no iteration depends on another"
FALSE = "W401: `parallel(i)` is false: iterations of `i` depend on each other"


@kw.kernel
def adds(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i] + b[i]
    return c


def test_an_output_in_the_buffer_of_an_argument() -> None:
    """It is neither zeroed nor left alone: the heading tells whose it is."""
    kernel = kw.kernel(adds.__wrapped__)
    a, b = np.ones(3), np.ones(3)
    kernel(a, b)
    kernel(a, b, out=b)
    kernel(a, a, out=a)
    found = {v.shared: v for v in kernel.explain().versions}
    assert set(found) == {(), (("c", "b"),), (("b", "a"), ("c", "a"))}
    assert [[f.subject for f in v.of("buffer")] for s, v in sorted(found.items())] == [["c"], [], []]
    types = "version (a: float64[:], b: float64[:])"
    both = str(found[("b", "a"), ("c", "a")])
    assert both.startswith(f"{types}, where b is the buffer of a, c is the buffer of a\n")
    for given, out, shared in (
        ((a, b), None, ()),
        ((a, b), b, (("c", "b"),)),
        ((a, a), a, (("b", "a"), ("c", "a"))),
    ):
        (version,) = kernel.explain(*given, out=out).versions
        assert version.shared == shared


def test_outputs() -> None:
    text = "output float64[:], not every element is proved written before the return"
    assert facts(writes_some, "buffer", np.ones(3)) == [(3, "c", -1, "zeroed", text)]
    text = "output float64[:], every element is written before it is read and before the return"
    assert facts(writes_all, "buffer", np.ones(3)) == [(3, "c", -1, "not zeroed", text)]


def test_locals_have_their_types_at_each_assignment() -> None:
    assert facts(gathers, "local", *ARGS) == [
        (5, "s", -1, "a Python float", ""),
        (9, "s", -1, "float32", ""),
        (11, "k", -1, "a Python int", ""),
    ]


@kw.kernel
def sums(a, b):
    c = output_tensor((3,), a.dtype)
    for i in range(a.shape[0]):
        c[0] += a[i, 0]
        for j in range(a.shape[1]):
            c[1] += a[i, j] * b[j]
    for j in range(a.shape[1]):
        c[2] += b[j]
        if c[2] > 5:
            break
    return c


def test_sums() -> None:
    a, b = F32, np.ones(4, np.float32)
    last = "the sum runs along the last subscript of what is read"
    other = "no loop of the sum runs along the last subscript of what is read"
    assert facts(sums, "sum", a, b) == [
        (5, "c[0] += a[i, 0]", -1, "source order", f"over i; {other}"),
        (7, "c[1] += a[i, j] * b[j]", -1, "lanes", f"over i, j; {last}"),
        (9, "c[2] += b[j]", -1, "source order", "over j; the sum is used inside its loop"),
    ]
    strict = kw.kernel(fp="strict")(sums.__wrapped__)
    assert {f[3:] for f in facts(strict, "sum", a, b)} == {
        ("source order", "over i; fp='strict'"),
        ("source order", "over i, j; fp='strict'"),
        ("source order", "over j; fp='strict'"),
    }
    whole = facts(sums, "sum", a.astype(int), b.astype(int))
    assert {f[4].split("; ")[1] for f in whole} == {"integers: every order gives the same"}
    fast = kw.kernel(fp="fast")(sums.__wrapped__)
    assert [f[3] for f in facts(fast, "sum", a, b)] == ["any order", "lanes", "source order"]


def test_marks_of_sums_are_what_is_explained() -> None:
    assert sums.ir(F32, F32[0]).count("@ lanes") == 1


def test_why_accesses_are_checked() -> None:
    idx = np.arange(2)

    @kw.kernel
    def several(a, idx, n):
        k = idx[0]
        a[k] = 1.0
        if n > 2:
            a[n] = 2.0
        a[abs(n)] = 3.0
        a[n * n] = 3.0
        for i in range(a.shape[0]):
            if idx[0] > 0:
                a[i + 1] = 4.0
        return a

    found = {f[1]: f[4] for f in facts(several, "access", np.ones(9), idx, 2) if f[3] == "checked"}
    assert found == {
        "a[k]": "the index is a local whose range is not known",
        "a[n]": "it needs a.shape[0] >= n + 1 only where its guard lets it run",
        "a[abs(n)]": "the index is no sum of multiples of loop variables and sizes",
        "a[i + 1]": "no proof was found from the loops and guards around it",
    }


def test_options_that_change_checks() -> None:
    trusting = kw.kernel(unchecked=True)(gathers.__wrapped__)
    (fact,) = (f for f in facts(trusting, "access", *ARGS) if f[3] == "unchecked")
    assert fact == (10, "a[idx[i], j]", 0, "unchecked", "unchecked=True vouches for subscripts that are data")
    checking = kw.kernel(debug=True)(gathers.__wrapped__)
    found = facts(checking, "access", *ARGS)
    assert {(f[3], f[4]) for f in found} == {("checked", "debug=True checks every access")}
    assert only(checking.explain(*ARGS)).conditions == ()
    assert str(trusting.explain(*ARGS)).startswith("kernel gathers, unchecked=True\n")
    assert str(checking.explain(*ARGS)).startswith("kernel gathers, debug=True\n")


def scaled(a, i):
    twice = a[i] * SCALE
    return twice


@kw.kernel
def calls_a_helper(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = scaled(a, i)
    return c


def test_places_in_helpers() -> None:
    version = only(calls_a_helper.explain(F32[0]))
    line = scaled.__code__.co_firstlineno + 1
    assert Fact("access", __file__, line, "a[i]", 0, "proved", "") in version.facts
    assert Fact("local", __file__, line, "twice", -1, "float32", "") in version.facts


def test_versions_are_those_of_the_calls() -> None:
    """The last used first."""
    kernel = kw.kernel(writes_all.__wrapped__)
    for array in (np.ones(3), np.ones(6)[::2], np.ones(5), np.ones(3, np.float32)):
        kernel(array)
    found = kernel.explain()
    kinds = ["float32[:]", "float64[:]", "float64[:] (any strides)"]
    assert [v.parameters for v in found.versions] == [(("a", kind),) for kind in kinds]
    assert all(v.main for v in found.versions)
    assert not only(kernel.explain(np.ones(3, int))).main
    assert only(kernel.explain(a=np.ones(8))).main and only(kernel.explain(np.ones(8))).main


@kw.kernel
def by_scale(a, n=2):
    a[0] = n * SCALE
    return a


def test_versions_are_those_of_the_captured_values() -> None:
    global SCALE
    by_scale(np.ones(2))
    assert len(by_scale.explain().versions) == 1
    SCALE = 3.0
    with pytest.raises(TypeError, match="has no compiled version yet"):
        by_scale.explain()
    by_scale(np.ones(2))
    assert len(by_scale.explain().versions) == 1
    SCALE = 2.0


def test_kinds_of_parameters() -> None:
    @kw.kernel
    def many(a, b, n, x, flag, s):
        b[0] = a * n + x + flag + s[()]
        return b

    wide = np.ones((4, 6))[:, :3]
    version = only(many.explain(np.float32(1), np.ones(2), 1, 1.0, True, np.ones((), np.int8)))
    assert [kind for _, kind in version.parameters] == [
        "float32 scalar",
        "float64[:]",
        "Python int",
        "Python float",
        "Python bool",
        "int8[]",
    ]
    assert only(writes_two.explain(wide)).parameters == (("a", "float64[:, :] (rows apart)"),)


@kw.kernel
def follows(a, b):
    for i in parallel(b.shape[0]):
        a[i] = b[i] + 1
    return a


def test_a_call_whose_arguments_overlap_runs_serial_code() -> None:
    """Its loop is proved for tensors that are apart: a line says that such a call is another one."""
    kernel = kw.kernel(follows.__wrapped__)
    g, line = np.zeros(5), "these arguments overlap: the call runs serial code for such arguments"
    kernel(g[1:], g[:-1])
    assert g.tolist() == [0, 1, 2, 3, 4]
    for args, overlap in (((g[1:], g[:-1]), True), ((g[:2], g[3:]), False), ((g, g), False), ((), False)):
        found = kernel.explain(*args)
        assert only(found).overlaps is overlap
        assert (f"              {line}\n" in str(found)) is overlap


@kw.kernel
def writes_two(a):
    a[0, 0] = 1.0
    return a


TEXT = """\
kernel writes_two

version (a: float64[:, :])
  bodies      main: not compiled yet
              plain: compiled when a condition fails
  conditions  none but that no extent is 0
  accesses    2 in bounds for every shape"""


def test_text() -> None:
    found = writes_two.explain(np.ones((2, 2)))
    assert str(found) == repr(found) == TEXT
    lines = str(gathers.explain(*ARGS)).splitlines()
    start = first_line(gathers) - 1
    assert lines[2] == "version (a: float32[:, :], idx: int64[:], b: float64[:], n: Python int)"
    checked = f"line {start + 10}: a[idx[i], j], dimension 0: checked, the index is read from memory"
    assert [line.strip() for line in lines].count(checked) == 1
    assert f"  locals      line {start + 5}: s: a Python float" in lines
    assert max(map(len, lines)) < 120


@kw.kernel
def turned(a):
    c = output_tensor((a.shape[1], a.shape[0]), a.dtype)
    for i in range(a.shape[1]):
        for j in range(a.shape[0]):
            c[i, j] = a[j, i]
    return c


def test_the_schedule_is_told_step_by_step() -> None:
    found = turned.explain(F32)
    tails = [step for step in only(found).schedule if step.startswith("tail ")]
    strip, *threads, lanes, share, turn, store = (s for s in only(found).schedule if s not in tails)
    assert strip == "tile i by 256, j by 16  # read along one loop, written along the other"
    assert threads == ["parallel i0", "parallel j0"] and re.fullmatch(r"vectorize i by (4|8|16)", lanes)
    assert [share, turn, store] == ["collapse i0", "transpose j", "stream j"]
    # as the target masks; without masks the rest runs as scalars, and no step tells it
    assert tails in ([], ["tail i masked"], ["tail i overlapped_or_masked"])
    steps = "\n              ".join([f"  steps       {strip}", *only(found).schedule[1:]])
    assert f"{steps}\n" in str(found)
    assert only(kw.kernel(turned.__wrapped__, debug=True).explain(F32)).schedule == ()


TOLD = r"""  schedule    i0 in range\(0, a.shape\[1\], 256\): parallel  \[line 4\]
                j0 in range\(0, a.shape\[0\], 16\): parallel  \[line 5\]
                  i in its block at i0: vectorized by \d+  \[line 4\]
                    j in its block at j0: serial  \[line 5\]
                      8 bytes, [\d.]+ cycles? each: 100 % of the time
              \(by a model: one thread, all data near, 256 for each size that is no constant\)
"""


def lines_from_1(kernel: kw.Kernel, *args: Any) -> str:
    """The explanation with lines counted from the kernel's first decorator as 1."""
    start = first_line(kernel) - 1
    return re.sub(r"\bline (\d+)", lambda m: f"line {int(m[1]) - start}", str(kernel.explain(*args)))


def test_loops_are_told_as_they_run_with_what_the_model_says() -> None:
    assert re.search(TOLD, lines_from_1(turned, F32))


UNDONE = """
  not done    line 6: not parallelized or vectorized: i:
                iterations of `i` depend on each other
                iteration i = 2 reads c[1] (line 7), which iteration i = 1 writes (line 7)
              line 9: not parallelized: p: its work is worth one thread only
              line 9: not vectorized: p: it runs 3 times at most
"""


@kw.kernel
def runs_on(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        c[i] = a[i]
    for i in range(1, a.shape[0]):
        c[i] = c[i] + c[i - 1] * 0.5
    if a.shape[0] > 9:
        for p in range(3):
            c[p] += 1
    return c


def test_what_is_not_done_has_its_reason() -> None:
    assert UNDONE in lines_from_1(runs_on, F32[0])


def test_explaining_compiles_nothing_and_changes_no_byte() -> None:
    kernel = kw.kernel(writes_all.__wrapped__)
    before = kw._core.cache_list()
    kernel.explain(np.ones(3, np.int16))
    assert kw._core.cache_list() == before


def test_a_kernel_whose_source_is_gone() -> None:
    """The compiled version tells its conditions and what it checks."""
    text = "def f(a, k):\n    for i in range(a.shape[0]):\n        a[k[i]] = 1.0\n    return a\n"
    linecache.cache["<gone>"] = (len(text), None, text.splitlines(True), "<gone>")
    space: dict[str, Any] = {}
    exec(compile(text, "<gone>", "exec"), space)
    kernel = kw.kernel(space["f"])
    args = (np.ones(3), np.arange(3))
    kernel(*args)
    whole = only(kernel.explain())
    del linecache.cache["<gone>"]
    stored = only(kernel.explain())
    assert not whole.stored and stored.stored and only(kernel.explain(*args)).stored
    assert stored.conditions == whole.conditions == ("k.shape[0] >= a.shape[0]",)
    assert stored.parameters == whole.parameters and stored.main
    assert stored.facts == (Fact("access", "<gone>", 3, "a", 0, "checked", ""),)
    assert "  source      cannot be read: told are conditions and checks alone" in str(stored).splitlines()
    assert "              line 3: a, dimension 0: checked" in str(stored).splitlines()
    with pytest.raises(kw.KernelSyntaxError, match="E120"):
        kernel.explain(np.ones(3, np.float32), np.arange(3))


def test_extents_have_the_words_of_the_source() -> None:
    kernel = kw.kernel(
        "def k(a):\n    for i in range(a.shape[0] % 3):\n"
        "        for j in range(i // 2, min(a.shape[1], i * i)):\n            a[i, j] = 1\n    return a\n"
    )
    told = str(kernel.explain(np.ones((2, 2))))
    assert "i in range(a.shape[0] % 3)" in told and "min(a.shape[1], i * i)" in told and "a_0" not in told


def test_errors_are_those_of_a_call() -> None:
    @kw.kernel
    def wrong(a):
        a[0] = missing
        return a

    with pytest.raises(kw.KernelSyntaxError, match="E103"):
        wrong.explain(F32[0])


def test_notebook_view() -> None:
    @kw.kernel(fp="strict")
    def compares(a, b, c="<x> & 'y'"):
        for i in range(a.shape[0]):
            if a[i] < 1.0:
                a[i] = 1.0
        return a

    before = compares._repr_html_()
    assert "has no compiled version yet" in before and "<details" not in before
    name = "test_notebook_view.&lt;locals&gt;.compares"
    assert (
        f"kernel {name}(a, b, c=&quot;&lt;x&gt; &amp; &#x27;y&#x27;&quot;), fp=&#x27;strict&#x27;" in before
    )
    assert "if a[i] &lt; 1.0:" in before and "<x>" not in before and "a[i] < 1" not in before
    writes_all(np.ones(3))
    view = writes_all._repr_html_()
    assert view.startswith('<div class="kw"><style>') and "<b>kernel writes_all(a)</b>" in view
    assert "<details open><summary>version (a: float64[:])</summary>" in view
    assert "<summary>all decisions</summary><pre>  bodies" in view


def test_notebook_view_never_fails() -> None:
    space: dict[str, Any] = {}
    exec("def f(a):\n    return a", space)
    view = kw.kernel(space["f"])._repr_html_()
    assert "(no source text)" in view


@kw.kernel
def two_rows_of_sums(a):
    o = output_tensor((a.shape[0],), a.dtype)
    p = output_tensor((a.shape[0],), a.dtype)
    for i in range(a.shape[0]):
        o[i] = a[i, 0]
    for i in range(a.shape[0]):
        p[i] = a[i, 0] + o[i]
    return o, p


def test_a_fused_loop_tells_where_it_went() -> None:
    (version,) = two_rows_of_sums.explain(np.ones((3, 4), np.float32)).versions
    first, second = version.of("loop")
    assert second.why.startswith(f"one with the loop of line {first.line}")
    assert second.what == first.what == "parallel"
    missed = [(fact.line - first.line, fact.subject) for fact in version.of("missed")]
    assert missed == [(0, "not vectorized: i"), (2, "not vectorized: i")]  # they go down a column
