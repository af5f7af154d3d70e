"""W401 to W410: hints whose claim is false or could not be proved, with their texts in cases/w40*.txt, and
plans of the scheduler that are not legal."""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import random
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from diagnostics import CASES, warned

import kernelwright as kw
from kernelwright import HintIgnoredWarning, _core, _core_testing

F32 = np.ones(4, np.float32)
I64 = np.arange(4)


@kw.kernel
def factorises(a):
    n = a.shape[0]
    for k in parallel(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


@kw.kernel
def keeps_the_last(a):
    c = output_tensor((1,), a.dtype)
    for i in parallel(a.shape[0]):
        c[0] = a[i]
    return c


@kw.kernel
def shifts(a):
    for i in parallel(a.shape[0] - 2, 0, -1):
        a[i] = a[i - 1]
    return a


@kw.kernel
def below(a, p):
    for t in range(3):
        for i in parallel(a.shape[0]):
            if i > p and p >= t:
                a[i] += a[i - p - 1]
    return a


@kw.kernel
def positive(a):
    c = output_tensor(a.shape, a.dtype)
    for i in parallel(a.shape[0] - 1):
        if a[i] > 0:
            c[i] = 1.0
            c[i + 1] = 2.0
    return c


@kw.kernel
def shares_a_temporary(a):
    t = allocate((2,), a.dtype)
    for i in parallel(a.shape[0]):
        t[0] = a[i]
        t[1] = 2.0 * a[i]
        a[i] = t[0] + t[1]
    return a


@kw.kernel
def carries_an_element(a):
    t = allocate((1,), a.dtype)
    c = output_tensor(a.shape, a.dtype)
    t[0] = 1.0
    for i in parallel(a.shape[0]):
        t[0] = t[0] * a[i]
        c[i] = t[0]
    return c


@kw.kernel
def leaves_an_element(a):
    t = allocate((1,), a.dtype)
    c = output_tensor((2,), a.dtype)
    t[0] = 1.0
    for i in parallel(a.shape[0]):
        t[0] = a[i]
        c[0] = 2.0 * t[0]
    c[1] = t[0]
    return c


@kw.kernel
def carries_a_scalar(a):
    last = float32(0.0)
    for i in parallel(a.shape[0]):
        now = a[i]
        a[i] = now - last
        last = now
    return a


@kw.kernel
def leaves(a):
    for i in parallel(a.shape[0]):
        if a[i] > 3:
            break
        a[i] = 0.0
    return a


@kw.kernel
def not_a_sum(a):
    s = float32(0.0)
    for i in reduce(a.shape[0]):
        s += a[i]
        a[i] = s
    return a


@kw.kernel
def running_sum(a):
    for i in range(a.shape[0]):
        for j in vectorize(1, a.shape[1]):
            a[i, j] = a[i, j] + a[i, j - 1]
    return a


@kw.kernel
def inlines(a):
    for i in parallel(a.shape[0]):
        smooth(a, i)
    return a


def smooth(x, i):
    for j in vectorize(1, x.shape[1]):
        x[i, j] += x[i, j - 1]


@kw.kernel
def scatters(x, idx):
    y = output_tensor(x.shape, x.dtype)
    for i in parallel(x.shape[0]):
        for j in range(2):
            y[idx[i]] = x[i] + j
    return y


@kw.kernel
def histogram(x):
    n = output_tensor((4,), "int32")
    for j in range(4):
        n[j] = 0
    for i in vectorize(x.shape[0]):
        k = x[i]
        n[k] += 1
    return n


@kw.kernel
def dots(a, b):
    c = output_tensor((1,), a.dtype)
    s = float32(0.0)
    for i in range(a.shape[0]):
        for j in parallel(i):
            s += a[j] * b[i]
    c[0] = s
    return c


@kw.kernel
def finds_the_largest(a):
    c = output_tensor((2,), a.dtype)
    best = a[0]
    at = 0
    for i in parallel(1, a.shape[0]):
        if a[i] > best:
            best = a[i]
            at = i
    c[0] = best
    c[1] = at
    return c


@kw.kernel
def follows(a, p):
    for i in parallel(a.shape[0]):
        a[i] = a[p[i]]
    return a


@kw.kernel
def squares(a):
    for i in parallel(2):
        a[i * i] = 0.0
    return a


@kw.kernel
def far(a, p):
    for i in parallel(a.shape[0]):
        if i >= p and p > 4000000000:
            a[i] = a[i - p]
    return a


def check(kernel: kw.Kernel, code: str, *args: object) -> None:
    """The call warns once with the text that stands under the kernel's name in the file of the code."""
    blocks = (CASES / f"{code}.txt").read_text().split("## ")
    named = {block.split("\n", 1)[0]: block.split("\n", 1)[1] for block in blocks if block}
    text = named[kernel.__name__]
    assert f": warning[{code.upper()}]: " in text
    fresh = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    warned(kernel, fresh, HintIgnoredWarning, text)


SQUARE = np.eye(4, dtype=np.float32)


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        (factorises, (SQUARE,)),
        (keeps_the_last, (F32,)),
        (shifts, (F32,)),
        (below, (F32, 1)),
        (positive, (F32,)),
        (carries_an_element, (F32,)),
        (leaves_an_element, (F32,)),
        (carries_a_scalar, (F32,)),
        (leaves, (F32,)),
        (not_a_sum, (F32,)),
    ],
)
def test_w401_dependent_iterations(kernel: kw.Kernel, args: tuple[object, ...]) -> None:
    check(kernel, "w401", *args)


@pytest.mark.parametrize("kernel", [running_sum, inlines])
def test_w402_dependent_lanes(kernel: kw.Kernel) -> None:
    check(kernel, "w402", SQUARE)


def test_w403_repeated_index() -> None:
    check(scatters, "w403", F32, I64)
    check(histogram, "w403", I64)


def test_w404_ordered_reduction() -> None:
    check(dots, "w404", F32, F32)
    check(finds_the_largest, "w404", F32)


def run_at_told_sizes(kernel: kw.Kernel, args: tuple[object, ...]) -> bool:
    """Calls with the sizes of the warning, and zeros as data; False when there is none or it tells none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(kw.KernelIndexError):  # these may be too small for it
            kernel(*(np.zeros_like(a) if isinstance(a, np.ndarray) else a for a in args))
        notes = "".join(str(w.message).partition("for example with")[2] for w in caught)
        told = dict(re.findall(r"([\w.\[\]]+) = (-?\d+)", notes))
        if not told:
            return False
        fitted: list[object] = []
        for name, a in zip(inspect.signature(kernel).parameters, args, strict=True):
            if isinstance(a, np.ndarray):
                shape = [int(told.get(f"{name}.shape[{d}]", 40)) for d in range(a.ndim)]
                fitted.append(np.zeros(shape, a.dtype))
            else:
                fitted.append(int(told.get(name, 0)))
        kernel(*fitted)
    return True


def test_kernels_run_at_the_sizes_that_are_told() -> None:
    kernels = [factorises, keeps_the_last, shifts, positive, shares_a_temporary, carries_a_scalar, not_a_sum]
    for kernel in kernels:
        assert run_at_told_sizes(again(kernel), (SQUARE if kernel is factorises else F32,)), kernel
    cases = [(below, (F32, 1)), (running_sum, (SQUARE,)), (scatters, (F32, I64)), (histogram, (I64,))]
    cases += [(dots, (F32, F32)), (finds_the_largest, (F32,)), (follows, (F32, I64))]
    for kernel, args in cases:
        assert run_at_told_sizes(again(kernel), args), kernel


def again(kernel: kw.Kernel) -> kw.Kernel:
    """A new kernel of the same function, which has not warned yet."""
    return kw.kernel(kernel.__wrapped__)


def random_kernel(number: int, random: random.Random) -> str:
    """A loop over a that is claimed parallel, with accesses to b and to d, and loops that tie sizes."""

    def place(iterator: str) -> str:
        factor = random.choice(["", "", "2 * "])
        return f"{factor}{iterator} + {random.randrange(4)}"

    lines = [f"@kw.kernel\ndef k{number}(a, b, d, idx, p):"]
    if random.random() < 0.5:
        lines += ["    for j in range(b.shape[0]):", f"        d[{place('j')}] = 1.0"]
    bound = random.choice(["a.shape[0] - 6", "b.shape[0]", "p", "9"])
    lines.append(f"    for i in parallel({random.choice(['', '2, '])}{bound}):")
    inside = " " * 8
    if random.random() < 0.3:
        lines.append(f"{inside}if i > p:")
        inside += " " * 4
    target = random.choice([place("i"), place("i"), "idx[i]", "i // 2", "3"])
    lines.append(f"{inside}a[{target}] = a[{place('i')}] + b[{place('i')}] + d[{place('i')}]")
    return "\n".join([*lines, "    return a, d"])


def test_random_kernels_run_at_the_sizes_that_are_told(tmp_path: Path) -> None:
    seed = int(os.environ.get("KW_TEST_SEED", "20250611"))
    print("KW_TEST_SEED", seed)
    count = 20 if "asan" in os.environ.get("LD_PRELOAD", "") else 80
    texts = [random_kernel(k, random.Random(seed + k)) for k in range(count)]
    path = tmp_path / "kernels.py"
    path.write_text("\n\n\n".join(["import kernelwright as kw", *texts]) + "\n")
    space: dict[str, kw.Kernel] = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    args = (np.ones(60), np.ones(20), np.ones(50), np.zeros(30, int), 5)
    told = 0
    for k, text in enumerate(texts):
        try:
            told += run_at_told_sizes(space[f"k{k}"], args)
        except kw.KernelIndexError as error:
            raise AssertionError(text) from error
    assert told > count // 2


def test_w405_unproved() -> None:
    check(follows, "w405", F32, I64)
    check(squares, "w405", F32)
    check(far, "w405", F32, 3)


@kw.kernel
def written_out(a):
    for i in range(a.shape[0]):
        for k in unroll(200):
            a[i] = a[i] * a[i] + k
    return a


@kw.kernel
def written_out_with_a_jump(a):
    for i in unroll(4):
        if a[i] > 0:
            break
        a[i] += 1
    return a


def test_w406_unroll() -> None:
    check(written_out, "w406", F32)
    check(written_out_with_a_jump, "w406", F32)


@kw.kernel
def reads_ahead(a):
    t = allocate(a.shape, a.dtype)
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0] - 1):
        for j in range(a.shape[1]):
            t[i, j] = a[i, j] * 2.0
    for i in range(a.shape[0] - 1):
        for j in range(a.shape[1]):
            c[i, j] = t[i, j] + t[i + 1, j]
    return c


@kw.kernel
def reads_anywhere(a, p):
    t = allocate(a.shape, a.dtype)
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        t[i] = a[i] * 2.0
    for i in range(a.shape[0]):
        c[i] = t[p[i]]
    return c


@kw.kernel
def overwrites(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0] - 1):
        c[i] = a[i] * a[i]
    for i in range(a.shape[0] - 1):
        a[i + 1] = 0.0
    return a, c


def elements(kernel: kw.Kernel, line: int, iteration: str) -> set[object]:
    """Array and subscript of what a statement touches, by its line, in an iteration "i = 0, j = 0"."""
    values = {name: int(value) for name, value in re.findall(r"(\w) = (\d)", iteration)}
    text = inspect.getsource(kernel.__wrapped__).splitlines()[
        line - kernel.__wrapped__.__code__.co_firstlineno
    ]
    space = {**values, "p": [1, 1]}  # data: any value that makes the two meet
    return {
        (node.value.id, eval(ast.unparse(node.slice), space))
        for node in ast.walk(ast.parse(text.strip()))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id != "p"
    }


@kw.kernel
def reads_sometimes(a):
    t = allocate(a.shape, a.dtype)
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0] - 1):
        t[i] = a[i] * 2.0
    for i in range(a.shape[0] - 1):
        if a[i] > 0.5:
            c[i] = t[i + 1]
    return c


@kw.kernel
def writes_by_comparison(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0] - 1):
        c[i] = a[i] * a[i]
    for i in range(a.shape[0] - 1):
        a[i + int(a.shape[0] == 3)] = 0.0
    return a, c


@kw.kernel
def looks_back(a):
    t = allocate(a.shape, a.dtype)
    c = output_tensor(a.shape, a.dtype)
    for i in range(1, a.shape[0]):
        t[i] = a[i] * 2.0
    for i in range(1, a.shape[0]):
        c[i] = t[i - 1]
    return c


@kw.kernel
def stands_apart(a):
    t = allocate(a.shape, a.dtype)
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        t[i] = a[i] * 2.0
    c[0] = t[0]
    for i in range(a.shape[0]):
        c[i] = t[i] + c[i]
    return c


@kw.kernel
def fuses_two_of_three(a):
    t = allocate(a.shape, a.dtype)
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0] - 1):
        t[i] = a[i] * 2.0
    for i in range(a.shape[0] - 1):
        c[i] = t[i] + 1.0
    for i in range(a.shape[0] - 1):
        c[i] = c[i] + t[i + 1]
    return c


APART = [reads_ahead, reads_anywhere, overwrites, reads_sometimes, writes_by_comparison, looks_back]
APART += [stands_apart, fuses_two_of_three]


@pytest.mark.parametrize("kernel", APART)
def test_w407_unfused(kernel: kw.Kernel) -> None:
    """Told by explain() alone; the two iterations that it names touch one element."""
    block = (CASES / "w407.txt").read_text().split(f"## {kernel.__name__}\n")[1].split("\n## ")[0]
    start = kernel.__wrapped__.__code__.co_firstlineno - 1
    expected = re.sub(r"@(\d+)", lambda found: str(int(found[1]) + start), block).strip()
    args = {reads_ahead: (SQUARE,), reads_anywhere: (F32, I64)}.get(kernel, (F32,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kw.UninitializedReadWarning)
        (version,) = kernel.explain(*args).versions
    found = [(f.line, f.why) for f in version.of("missed") if f.subject == "W407"]
    assert found == [(int(re.findall(r"at lines (\d+)", expected)[0]), expected)]
    if "iteration i = " not in expected:
        return
    sink, source = re.findall(r"iteration ((?:\w = \d(?:, )?)+)", expected)
    line, other = re.findall(r"line (\d+)", expected)
    ends = ((int(line), sink), (int(other), source))
    touched = {iterations: elements(kernel, at, iterations) for at, iterations in ends}
    assert touched[sink] & touched[source]


RUNNING = """\
# kw-ir 2
def f(a: inout(f64, (n, m)), p: weak(i64)):
  fp('strict')
  dims(n, m)
  for i in serial(0, n, 1):
    for j in serial(1, m, 1):
      a[i, j] = a[i, j] + a[i, j - 1]
  return a
"""


def many(statements: int) -> str:
    """A kernel whose cuts are proved one by one, and whose pieces together are too many for a proof."""
    loops = [f"{'    ' * (d + 1)}for {name} in range(A.shape[0]):" for d, name in enumerate("kijl")]
    body = [f"{'    ' * 5}A[i, j, l] = A[i, j, l] + A[k, j, l] * A[i, k, l]"] * statements
    return "\n".join(["def many(A):", *loops, *body, "    return A"]) + "\n"


def test_what_is_too_large_for_a_proof_is_no_fault() -> None:
    """Two cuts of one nest, each proved alone: what is not proved of both runs as it may, without a word."""
    kernel = kw.kernel(many(25), fp="strict")
    a = np.random.default_rng(3).random((5, 5, 5)) / 5000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = kernel(a.copy())
    assert np.array_equal(done, kernel.py(a.copy()))


def test_w409_refused_plan() -> None:
    """What a plan did before its illegal step is taken back as well."""
    untouched, nothing = _core_testing.planned_ir(RUNNING, "")
    assert nothing == ""
    planned, nothing = _core_testing.planned_ir(RUNNING, "parallel i\nsplit j by 4")
    assert nothing == "" and "parallel" in planned and planned != untouched
    text = """\
<plan>:6:5: warning[W409]: the loops of 'f' run as they are written: `parallel j` was planned and is not legal
    6 |     for j in serial(1, m, 1):
      |     ^~~~~~~~~~~~~~~~~~~~~~~~
      = note: iterations would meet in 'a' in another order
      = help: results are right, but not fast; this is a fault of kernelwright, please report it
"""
    assert _core_testing.planned_ir(RUNNING, "parallel i\nparallel j\nsplit j by 4") == (untouched, text)
    text = """\
<plan>:5:3: warning[W409]: the loops of 'f' run as they are written: `fuse i j` was planned and is not legal
    5 |   for i in serial(0, n, 1):
      |   ^~~~~~~~~~~~~~~~~~~~~~~~
      = note: the loops do not follow each other directly
      = help: results are right, but not fast; this is a fault of kernelwright, please report it
"""
    assert _core_testing.planned_ir(RUNNING, "fuse i j") == (untouched, text)


CHECKED_LANES = """\
# kw-ir 2
def f(w: inout(i64, (n,))):
  fp('strict')
  dims(n)
  site('E303', w, 0)
  for i in vector(0, n, 1, vector_width=8):
    check(w[i] < n, site=0)
  return w
"""


def test_w410_not_vectorized() -> None:
    before = os.environ["KW_DEBUG"]
    assert _core.set_debug("") == ""  # without verify=each, under which all tests run
    lowered, warned = _core_testing.lowered_ir(CHECKED_LANES)
    assert _core.set_debug(before) == ""
    assert "for i in serial(0, n, 1)" in lowered
    text = """\
<ir>:6:3: warning[W410]: the vector loop over 'i' of 'f' has no vector form and runs serially
    6 |   for i in vector(0, n, 1, vector_width=8):
      |   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
      = help: results are right, but not fast; this is a fault of kernelwright, please report it
"""
    assert warned == text
    with pytest.raises(RuntimeError, match="has no vector form"):
        _core_testing.lowered_ir(CHECKED_LANES)


def test_w408_shared_temporary() -> None:
    check(shares_a_temporary, "w408", F32)
