"""`kernel.export` and `kw export`: libraries that compute what the kernel computes, without kernelwright."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported_library import ExportedError, Library, as_scalars

import kernelwright as kw
from kernelwright import export as export_module

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))
import corpus

WEIGHTS = np.array([0.25, 0.5, 0.25], "f4")


@kw.kernel
def scaled_rows(x, by):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * by
    return y


@kw.kernel
def smooth(x, n):
    y = output_tensor((n,), x.dtype)
    for i in range(n):
        for k in range(3):
            y[i] += WEIGHTS[k] * x[i + k]
    return y


@kw.kernel
def at(table, index):
    y = output_tensor(index.shape, table.dtype)
    for i in range(index.shape[0]):
        y[i] = table[index[i]]
    return y


@kw.kernel
def count_up(x, unused, start):
    for i in range(x.shape[0]):
        x[i] = start + i
    return x


@kw.kernel
def grid_and_sum(n):
    g = output_tensor((n, n), "int32")
    t = output_tensor((), "float64")
    for i in range(n):
        for j in range(n):
            g[i, j] = i * n + j
            t[()] += 1.5
    return t, g


POSITIVE = """\
def positive(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        assert x[i] > 0, "bad value"
        y[i] = x[i]
    return y
"""


def library(tmp_path: Path, kernel: Any, *types: Any, **options: Any) -> Library:
    number = len(list(tmp_path.iterdir()))  # the loader opens a path once
    made = kernel.export(tmp_path / f"libk{number}.so", *types, **options)
    return Library(made.library, made.name)


def refused(lib: Library, arguments: list[Any], outputs: list[np.ndarray], **options: Any) -> tuple[int, str]:
    with pytest.raises(ExportedError) as caught:
        lib.run(arguments, outputs, **options)
    return caught.value.code, caught.value.message


@pytest.mark.parametrize("linker", ["ld", "ld.lld"])
def test_a_library_computes_what_the_kernel_does(
    tmp_path: Path, linker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which(linker) is None:
        pytest.skip(f"no {linker}")
    monkeypatch.setattr(export_module, "_linkers", (linker,))
    lib = library(tmp_path, scaled_rows, "f32[:, :]", "float")
    x = np.random.default_rng(1).standard_normal((37, 21)).astype("f4")
    assert lib.shapes([x, np.float64(3.5)], [2]) == [(37, 21)]
    y = np.empty_like(x)
    lib.run([x, np.float64(3.5)], [y])
    assert np.array_equal(y, scaled_rows(x, 3.5))
    lib.run([x, np.float64(0.5)], [y], with_strides=False)
    assert np.array_equal(y, x * np.float32(0.5))
    empty = np.empty((0, 21), "f4")
    lib.run([empty, np.float64(1)], [empty.copy()])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k0.h", "libk0.so"]


def test_it_needs_only_the_c_library(tmp_path: Path) -> None:
    made = scaled_rows.export(tmp_path / "libk.so", "f32[:, :]", "float")
    if shutil.which("nm"):
        names = subprocess.run(["nm", "-D", made.library], capture_output=True, text=True, check=True).stdout
        wanted = {line.split()[-1].split("@")[0] for line in names.splitlines() if " U " in line}
        assert wanted <= {
            "aligned_alloc",
            "free",
            "memcmp",
            "memcpy",
            "memmove",
            "memset",
            "snprintf",
            "strcmp",
            "strlen",
            "strpbrk",
            "strtod",
            "write",
        }
        public = {line.split()[-1] for line in names.splitlines() if " U " not in line}
        assert public == {"scaled_rows", "scaled_rows_run", "scaled_rows_shapes"}


def test_captured_arrays_and_scalars(tmp_path: Path) -> None:
    lib = library(tmp_path, smooth, "f32[:]", "int")
    x = np.arange(10, dtype="f4") ** 2
    y = np.full(8, np.nan, "f4")
    lib.run([x, np.int64(8)], [y])
    assert np.array_equal(y, smooth(x, 8))
    WEIGHTS[0] = 99  # the library has its own copy
    lib.run([x, np.int64(8)], [y])
    WEIGHTS[0] = 0.25
    assert np.array_equal(y, smooth(x, 8))


def test_strides(tmp_path: Path) -> None:
    whole = np.random.default_rng(2).standard_normal((9, 20)).astype("f4")
    y = np.empty((4, 5), "f4")
    for types, x in (
        ("f32[:, :]/inner", whole[1:5, 3:8]),
        ("f32[:, :]/any", whole[8:0:-2, 2:12:2]),
        ("f32[:, :]/any", np.broadcast_to(whole[0, :5], (4, 5))),
        ("f32[:, :]/any", np.ascontiguousarray(whole[:4, :5])),
    ):
        lib = library(tmp_path, kw.kernel(scaled_rows.__wrapped__), types, "float")
        lib.run([x, np.float64(2)], [y])
        assert np.array_equal(y, x * 2)
    rows = library(tmp_path, kw.kernel(scaled_rows.__wrapped__), "f32[:, :]", "float", name="rows")
    assert refused(rows, [whole[1:5, 3:8], np.float64(2)], [y]) == (
        2,
        "'x' is not row-major, but the library was exported for row-major arrays",
    )
    gaps = library(tmp_path, kw.kernel(scaled_rows.__wrapped__), "f32[:, :]/inner", "float", name="gaps")
    assert refused(gaps, [whole[:4, :10:2], np.float64(2)], [y]) == (
        2,
        "'x' has gaps between the elements of its last dimension, for which the library was not exported",
    )


def test_written_and_unused_arguments(tmp_path: Path) -> None:
    lib = library(tmp_path, count_up, "i32[:]", "f64[:]", "int")
    x = np.zeros(5, "i4")
    unused = np.zeros(0)
    assert lib.shapes([x, unused, np.int64(7)], [1]) == [(5,)]
    lib.run([x, unused, np.int64(7)], [])
    assert x.tolist() == [7, 8, 9, 10, 11]


def test_several_results_in_the_order_of_return(tmp_path: Path) -> None:
    lib = library(tmp_path, grid_and_sum, "int")
    assert lib.shapes([np.int64(3)], [0, 2]) == [(), (3, 3)]
    t, g = np.empty((), "f8"), np.empty((3, 3), "i4")
    lib.run([np.int64(3)], [t, g])
    assert t == 13.5 and g.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_what_is_written_shares_no_memory(tmp_path: Path) -> None:
    lib = library(tmp_path, scaled_rows, "f32[:, :]", "float")
    whole = np.ones((4, 4), "f4")
    for x, y in ((whole[:3], whole[1:]), (whole, whole)):
        shares = (2, "'y' is written, but shares memory with 'x'")
        assert refused(lib, [x, np.float64(2)], [y]) == shares
    assert np.array_equal(whole, np.ones((4, 4), "f4"))


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    lib = library(tmp_path, scaled_rows, "f32[:, :]", "float")
    x, y, by = np.ones((3, 4), "f4"), np.zeros((3, 4), "f4"), np.float64(2)
    bytes_of = np.zeros(3 * 4 * 4 + 1, "u1")
    odd = bytes_of[1:].view("f4").reshape(3, 4)
    for arguments, outputs, message in (
        (
            [x, by],
            [np.zeros((4, 3), "f4")],
            "'y' has the shape (4, 3), but the kernel computes the shape (3, 4)",
        ),
        ([None, by], [y], "'x' has no shape"),
        ([x, None], [y], "'by' has no address"),
        ([odd, by], [y], "'x' is not aligned to its elements"),
        ([x, by], [np.zeros((4, 3), "f4").T], "'y' is not row-major, as results must be"),
        ([x, by], [None], "'y' has no shape"),
    ):
        assert refused(lib, arguments, outputs) == (2, message)
    assert not y.any()
    numbers = library(tmp_path, grid_and_sum, "int", name="numbers")
    assert refused(numbers, [np.int64(-2)], [np.empty((), "f8"), np.empty((0, 0), "i4")]) == (
        2,
        "extent 0 of output 'g' is negative: -2",
    )
    assert refused(numbers, [np.int64(2**40)], [np.empty((), "f8"), np.empty((0, 0), "i4")]) == (
        2,
        "'g' exceeds 2^46 elements",
    )
    written = library(tmp_path, count_up, "i32[:]/any", "f64[:]", "int", name="written")
    assert refused(
        written,
        [np.lib.stride_tricks.as_strided(np.zeros(1, "i4"), (5,), (0,)), np.zeros(0), np.int64(1)],
        [],
    ) == (2, "'x' is written, but some of its elements share memory")


def test_failed_checks_have_the_words_of_calls(tmp_path: Path) -> None:
    lib = library(tmp_path, at, "f64[:]", "i64[:]")
    table, y = np.arange(4.0), np.zeros(3)
    code, message = refused(lib, [table, np.array([0, 7, 1])], [y])
    line = next(
        n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "table[index[i]]" in text
    )
    assert code == 1 and message == (
        f"test_export.py:{line}: E303: index 7 is out of range for dimension 0 of 'table', whose extent is 4"
    )
    with pytest.raises(IndexError) as caught:
        at(table, np.array([0, 7, 1]))
    assert caught.value.message.startswith(message.split("E303: ")[1])  # type: ignore[attr-defined]
    asserted = library(tmp_path, kw.kernel(POSITIVE, debug=True), "f64[:]")
    code, message = refused(asserted, [np.array([1.0, -0.1])], [np.zeros(2)])
    assert code == 1 and message.endswith("E305: bad value")
    long_enough = np.ones(2)
    asserted.run([long_enough], [y[:2]])


def test_both_bodies_are_inside(tmp_path: Path) -> None:
    """A shape for which the facts of the optimised body do not hold runs the checked one."""
    lib = library(tmp_path, smooth, "f32[:]", "int")
    code, message = refused(lib, [np.ones(5, "f4"), np.int64(4)], [np.zeros(4, "f4")])
    assert code == 1 and "index 5 is out of range for dimension 0 of 'x', whose extent is 5" in message


def test_mindspore_runs_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from kernelwright.mindspore import Tensor, ops

    made = count_up.export(tmp_path / "libcount.so", "i32[:]", "f64[:]", "int")
    op = ops.Custom(
        f"{made.library}:count_up",
        out_shape=lambda x, unused, start: x,
        out_dtype=lambda x, unused, start: x,
        func_type="aot",
    )
    x = Tensor(np.zeros(4, "i4"))
    assert op(x, Tensor(np.zeros(1)), Tensor(np.array(3))).asnumpy().tolist() == [3, 4, 5, 6]
    assert x.asnumpy().tolist() == [0, 0, 0, 0]
    with pytest.raises(RuntimeError, match=r"is 2\. Any return value not equal to 0"):
        op(Tensor(np.zeros(4, "f4")), Tensor(np.zeros(1)), Tensor(np.array(3)))
    said = "count_up: 'x' is float32, but the library was exported for int32\n"
    assert said in capfd.readouterr().err


C_PROGRAM = """\
#include <stdio.h>
#include "k.h"

int main(void) {
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6];
  int64_t shape[2] = {2, 3}, wrong[2] = {3, 2};
  char message[100];
  int64_t *results[1] = {wrong};
  void *data[2] = {x, &(double){10}};
  const int64_t *shapes[2] = {shape, NULL};
  if (scaled_rows_shapes(data, shapes, results, NULL, 0) || wrong[0] != 2 || wrong[1] != 3) return 1;
  if (scaled_rows_call(x, shape, 10, y, shape, NULL, 0)) return 2;
  for (int i = 0; i < 6; ++i) printf("%g ", y[i]);
  wrong[0] = 3;
  int code = scaled_rows_call(x, shape, 10, y, wrong, message, sizeof message);
  printf("%d %s\\n", code, message);
  code = scaled_rows_call(x, shape, 10, y, wrong, message, 8);
  printf("%s\\n", message);
  return 0;
}
"""


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("gcc", ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]),
        ("g++", ["-Wall", "-Wextra", "-Werror"]),
    ],
)
def test_a_c_program_calls_it(tmp_path: Path, compiler: str, flags: list[str]) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    scaled_rows.export(tmp_path / "libk.so", "f32[:, :]", "float")
    text = (
        C_PROGRAM
        if compiler == "gcc"
        else C_PROGRAM.replace("&(double){10}", "&ten").replace("float x[6]", "double ten = 10; float x[6]")
    )
    program = "program.c" if compiler == "gcc" else "program.cpp"
    (tmp_path / program).write_text(text)
    command = [compiler, *flags, program, "./libk.so", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(
        [tmp_path / "program"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={"LD_LIBRARY_PATH": str(tmp_path)},
    )
    assert done.stdout == (
        "10 20 30 40 50 60 2 'y' has the shape (3, 3), but the kernel computes the shape (2, 3)\n'y' has\n"
    )


def test_the_header_tells_the_interface(tmp_path: Path) -> None:
    made = count_up.export(tmp_path / "libup.so", "i32[:]/any", "f64[:]", "int", name="up")
    text = made.header.read_text()
    assert made.header.name == "up.h" and made.name == "up"
    for line in (
        " *   0  x: int32, 1 dimension, any strides, written in place",
        " *   1  unused: float64, 1 dimension, row-major",
        " *   2  start: int64, scalar",
    ):
        assert line + "\n" in text
    parameters = (
        "int32_t *x",
        "const int64_t x_shape[1]",
        "const int64_t x_strides[1]",
        "const double *unused",
        "const int64_t unused_shape[1]",
        "int64_t start",
        "char *message",
        "size_t message_bytes",
    )
    assert f"static inline int up_call(\n    {(',' + chr(10) + '    ').join(parameters)}) {{\n" in text


CTYPES_PROGRAM = """\
import ctypes, sys
k = ctypes.CDLL(sys.argv[1]).scaled_rows_run
x = (ctypes.c_float * 6)(1, 2, 3, 4, 5, 6)
y = (ctypes.c_float * 6)()
shape = (ctypes.c_int64 * 2)(2, 3)
by = ctypes.c_double(10)
address = lambda o: ctypes.cast(ctypes.pointer(o), ctypes.c_void_p)
data = (ctypes.c_void_p * 3)(address(x), address(by), address(y))
shapes = (ctypes.c_void_p * 3)(address(shape), None, address(shape))
message = ctypes.create_string_buffer(100)
assert k(data, shapes, None, message, 100) == 0, message.value
print(list(y))
assert "kernelwright" not in open("/proc/self/maps").read()
"""


def test_a_ctypes_program_calls_it(tmp_path: Path) -> None:
    made = scaled_rows.export(tmp_path / "libk.so", "f32[:, :]", "float")
    command = [sys.executable, "-I", "-c", CTYPES_PROGRAM, made.library]
    moved = tmp_path / "elsewhere.so"
    shutil.copy(made.library, moved)
    command[-1] = moved
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[10.0, 20.0, 30.0, 40.0, 50.0, 60.0]\n"


@pytest.mark.parametrize("target", ["generic", "avx2", "avx512"])
def test_targets_of_other_machines(tmp_path: Path, target: str) -> None:
    """A library for another class of processors says so instead of crashing."""
    lib = library(tmp_path, scaled_rows, "f32[:, :]", "float", target=target)
    x, y = np.ones((3, 4), "f4"), np.zeros((3, 4), "f4")
    flags = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    wanted = {"generic": "sse4_2", "avx2": "avx2", "avx512": "avx512f"}[target]
    if wanted in flags.split():
        lib.run([x, np.float64(2)], [y])
        assert np.array_equal(y, x * 2)
    else:
        assert refused(lib, [x, np.float64(2)], [y]) == (
            4,
            "this processor lacks avx512f, which the library was exported for",
        )


def test_the_command(tmp_path: Path) -> None:
    program = tmp_path / "kernels.py"
    program.write_text("""\
import kernelwright as kw

@kw.kernel
def twice(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = 2 * x[i]
    return y

def plain(x: "f32[:]"):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = x[i]
    return y
""")

    def command(*words: str) -> tuple[int, str, str]:
        line = [sys.executable, "-m", "kernelwright", "export", *words]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    code, out, _ = command("kernels.py:twice", "--args", "f64[:]", "-o", "libt.so", "--name", "t")
    assert code == 0 and re.fullmatch(
        r"libt\.so \(\d+ KB\) and t\.h: t_run\(…\), t_shapes\(…\), and t\(…\) for MindSpore\n", out
    )
    y = np.empty(3)
    Library(tmp_path / "libt.so", "t").run([np.arange(3.0)], [y])
    assert y.tolist() == [0, 2, 4]
    assert command("kernels.py:plain")[0] == 0 and (tmp_path / "libplain.so").exists()
    assert command("kernels.py", "-o", "no/libt.so", "--args", "f64[:]") == (
        2,
        "",
        "kw export: error[E508]: there is no folder 'no' for libt.so\n",
    )
    assert command("kernels.py:twice")[2] == (
        "kw export: kernel 'twice': export() needs the type of 'x': give it, as "
        'x="f32[:, :]" or x="float", or annotate the parameter so: "f32[:, :]", or '
        'Annotated[NDArray[np.float32], "f32[:, :]"]\n'
    )


def test_methods(tmp_path: Path) -> None:
    class Scaler:
        @kw.kernel
        def scaled(self, x):
            y = output_tensor(x.shape, x.dtype)
            for i in range(x.shape[0]):
                y[i] = x[i] * 3
            return y

    made = Scaler().scaled.export(tmp_path / "libs.so", "f64[:]")
    y = np.empty(2)
    Library(made.library, "scaled").run([None, np.array([1.0, 2.0])], [y])
    assert y.tolist() == [3, 6]


@pytest.mark.parametrize("case", corpus.load()[::11], ids=lambda c: c.name)
def test_kernels_of_the_corpus(case: corpus.Case, tmp_path: Path) -> None:
    kernel = kw.kernel(case.fn)
    mine, theirs = (case.make(np.random.default_rng(5)) for _ in range(2))
    with kw.debug(""):
        made = kernel.export(tmp_path / "libk.so", *mine)
        wanted = kernel(*mine)
    results = wanted if isinstance(wanted, tuple) else (wanted,)
    lib = Library(made.library, made.name)
    arguments = as_scalars(theirs)
    shapes = lib.shapes(arguments, [np.ndim(r) for r in results])
    assert shapes == [np.shape(r) for r in results]
    fresh = [np.full(r.shape, 77).astype(r.dtype) for r in results if not any(r is a for a in mine)]
    lib.run(arguments, fresh)
    written = iter(fresh)
    for result in results:
        position = next((i for i, a in enumerate(mine) if a is result), None)
        found = next(written) if position is None else theirs[position]
        assert found.tobytes() == result.tobytes()


def test_the_functions_are_found_by_name(tmp_path: Path) -> None:
    made = scaled_rows.export(tmp_path / "libk.so", "f32[:, :]", "float", name="other")
    lib = ctypes.CDLL(str(made.library))
    assert lib.other_run and lib.other_shapes and lib.other
    with pytest.raises(AttributeError):
        lib.kw_entry  # noqa: B018


def test_names_that_c_cannot_tell_apart(tmp_path: Path) -> None:
    @kw.kernel
    def odd(x, x_shape, xor, asm, arg0):
        y = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            y[i] = x[i] * x_shape + xor - asm + arg0
        return y

    made = odd.export(tmp_path / "libodd.so", "f64[:]", "float", "float", "float", "float")
    (tmp_path / "program.c").write_text('#include "odd.h"\nint main(void) { return 0; }\n')
    for compiler, language in (("gcc", "c"), ("g++", "c++")):
        if shutil.which(compiler):
            command = [
                compiler,
                "-x",
                language,
                "-Wall",
                "-Wextra",
                "-Werror",
                "-c",
                "program.c",
                "-o",
                "out",
            ]
            subprocess.run(command, cwd=tmp_path, check=True)
    assert "A call needs up to " in made.header.read_text()


def test_a_name_of_c_that_the_library_calls(tmp_path: Path) -> None:
    with pytest.raises(kw.UnsupportedError, match="the library itself calls 'write' of C's library"):
        scaled_rows.export(tmp_path / "libk.so", "f32[:, :]", "float", name="write")


def test_names_of_files(tmp_path: Path) -> None:
    with pytest.raises(kw.UnsupportedError, match=r"k\.h' is no name of a shared library"):
        scaled_rows.export(tmp_path / "k.h", "f32[:, :]", "float")
    made = scaled_rows.export(tmp_path / "lib.so.1", "f32[:, :]", "float")
    assert made.header == tmp_path / "lib.h"


def test_mindspores_entry_writes_nothing_that_it_refuses(tmp_path: Path) -> None:
    made = count_up.export(tmp_path / "libcount.so", "i32[:]", "f64[:]", "int")
    entry = ctypes.CDLL(str(made.library)).count_up
    x, unused, start = np.arange(4, dtype="i4"), np.zeros(1), np.array(3)
    result = np.full(5, 77, "i4")
    arrays = [x, unused, start, result]
    shapes = [np.array(a.shape, "i8") for a in arrays]
    pointers = (ctypes.c_void_p * 4)(*(a.ctypes.data for a in arrays))
    ranks = (ctypes.c_int * 4)(*(a.ndim for a in arrays))
    extents = (ctypes.c_void_p * 4)(*(s.ctypes.data for s in shapes))
    dtypes = (ctypes.c_char_p * 4)(b"int32", b"float64", b"int64", b"int32")
    assert entry(4, pointers, ranks, extents, dtypes, None, None) == 2
    assert result.tolist() == [77] * 5
