"""`kernel.warmup`: what it compiles without a call, and that calls then compile nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kernelwright as kw
from kernelwright import _core, _core_testing


@kw.kernel
def scale(a: f32[:, :], n: int, by=2.0):
    for i in range(n):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] * by
    return a


@kw.kernel
def add_to(x, y):
    for i in range(x.shape[0]):
        x[i] = x[i] + y[i]
    return x


@kw.kernel
def row(x, i):
    y = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        y[j] = x[i, j]
    return y


def bodies(made: list[Any]) -> list[tuple[str, str]]:
    return [(w.target, w.body) for w in made]


def key_of(kernel: Any, *args: Any) -> str:
    """Returns the name of the cache entry for a call."""
    return str(_core_testing.checksum(_core.key_preimage(kernel, args).encode())[::-1].hex())


def test_texts_arrays_and_annotations_make_one_version() -> None:
    by_text = kw.kernel(scale.__wrapped__).warmup("f32[:, :]", n="int")
    by_array = kw.kernel(scale.__wrapped__).warmup(np.ones((3, 4), "f4"), 2)
    by_annotation = kw.kernel(scale.__wrapped__).warmup()
    assert bodies(by_text) == [("host", "main"), ("host", "plain")]
    keys = [w.key for w in by_text]
    assert keys == [w.key for w in by_array] == [w.key for w in by_annotation]
    assert all(w.was_cached and w.kernel == "scale" and w.milliseconds >= 0 for w in by_array)


def test_types_name_the_versions_of_calls() -> None:
    wide = np.ones((6, 8))
    for text, array in {"f64[:, :]": wide, "f64[:, :]/inner": wide[:, :4], "f64[:, :]/any": wide.T}.items():
        made = kw.kernel(row.__wrapped__).warmup(text, "i32")
        assert made[0].key == key_of(row, array, np.int32(1))


def test_a_call_uses_what_was_made() -> None:
    kernel = kw.kernel(row.__wrapped__)
    kernel.warmup("f32[:, :]", "int")
    held = _core.held_versions(kernel)
    assert kernel(np.ones((2, 3), "f4"), 1).tolist() == [1, 1, 1]
    assert _core.held_versions(kernel) == held and len(held) == 1


def test_the_same_view_is_a_version_of_its_own() -> None:
    kernel = kw.kernel(add_to.__wrapped__)
    apart = kernel.warmup("f64[:]", "f64[:]")
    same = kernel.warmup("f64[:]", "=0")
    # a call first finds, by the version for arrays that are apart, that it writes one of them
    assert bodies(same) == [("host", "main"), ("host", "main"), ("host", "plain")]
    assert same[0].key == apart[0].key and not {w.key for w in apart} & {w.key for w in same[1:]}
    held = _core.held_versions(kernel)
    x = np.ones(4)
    assert kernel(x, x).tolist() == [2, 2, 2, 2] and _core.held_versions(kernel) == held
    assert len(kernel.warmup(y="=0", x="f64[:]", target="generic")) == 3


def test_targets() -> None:
    kernel = kw.kernel(row.__wrapped__)
    made = kernel.warmup("f32[:, :]", "int", target="generic, avx2,avx512")
    assert bodies(made) == [(t, b) for t in ("generic", "avx2", "avx512") for b in ("main", "plain")]
    assert len({w.key for w in made}) == 6
    again = kernel.warmup("f32[:, :]", "int", target=["generic", "avx512"])
    assert all(w.was_cached for w in again)


def test_methods_and_kernels_without_parameters() -> None:
    class Layer:
        @kw.kernel
        def forward(self, x):
            y = output_tensor(x.shape, x.dtype)
            for i in range(x.shape[0]):
                y[i] = x[i] + 1
            return y

    assert bodies(Layer().forward.warmup("f32[:]"))[0] == ("host", "main")
    assert "(self: unused, x: float32[:])" in str(Layer().forward.explain("f32[:]"))
    Layer().forward.check("f32[:]")

    @kw.kernel
    def five():
        y = output_tensor((5,), "float32")
        return y

    assert len(five.warmup()) == 2


def test_types_as_texts_where_arguments_are_taken() -> None:
    types, arrays = ("f32[:, :]", "int"), (np.ones((2, 2), "f4"), 1)
    assert row.ir(*types) == row.ir(*arrays) and row.ir("final", *types) == row.ir(*arrays, stage="final")
    assert row.llvm(*types) == row.llvm(*arrays) and row.asm(x=types[0], i="int") == row.asm(*arrays)
    assert str(row.explain(*types)) == str(row.explain(*arrays))
    row.check(*types)
    with pytest.raises(kw.KernelTypeError, match="E206"):
        row.check("f32[:]", "int")


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (
            TypeError,
            r"^kernel 'add_to': warmup\(\) needs the type of 'y': give it, as y=\"f32\[:, :\]\" or "
            r"y=\"float\", or annotate the parameter so: \"f32\[:, :\]\", or "
            r"Annotated\[NDArray\[np.float32\], \"f32\[:, :\]\"\]$",
            lambda: add_to.warmup("f64[:]"),
        ),
        (
            ValueError,
            r"^kernel 'add_to', parameter 'y': no type is called 'f63'; the types are f16, ",
            lambda: add_to.warmup("f64[:]", y="f63[:]"),
        ),
        (
            ValueError,
            r"^kernel 'add_to', parameter 'x': '=1' refers to no earlier argument; they are numbered from 0$",
            lambda: add_to.warmup("=1", "f64[:]"),
        ),
        (
            ValueError,
            r"^there is no target 'sse'; the targets are: host, avx512, avx2, generic$",
            lambda: add_to.warmup("f64[:]", "f64[:]", target="sse"),
        ),
        (TypeError, "too many|takes 2", lambda: add_to.warmup("f64[:]", "f64[:]", "f64[:]")),
        (kw.KernelTypeError, "E201", lambda: add_to.warmup("f64[:, :]", "f64[:]")),
    ],
)
def test_refused(error: type[Exception], message: str, call: Any) -> None:
    with pytest.raises(error, match=message):
        call()


PROGRAM = """
import sys
import numpy as np
import kernelwright as kw

@kw.kernel
def first(x):
    y = output_tensor((1,), x.dtype)
    y[0] = x[0]
    return y

if sys.argv[1] == "warm":
    first.warmup("f32[:]")
else:
    try:
        first(np.ones(0, "f4"))  # for no elements, `plain` runs
    except IndexError:
        pass
    print(first(np.ones(3, "f4"))[0], "_llvm.so" in open("/proc/self/maps").read())
"""


def test_another_process_compiles_nothing(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {k: v for k, v in os.environ.items() if not k.startswith("KW_")}
    env["KW_CACHE_DIR"] = str(tmp_path / "cache")

    def run(word: str) -> str:
        command = [sys.executable, "program.py", word]
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True
        ).stdout

    assert run("warm") == "" and run("call") == "1.0 False\n"


def test_annotations_that_type_checkers_know() -> None:
    @kw.kernel
    def scaled(x: Annotated[NDArray[np.float32], "f32[:, :]"], by: float):
        return x

    assert scaled.warmup()[0].kernel == "scaled"
    assert scaled(np.ones((2, 2), "f4"), 2.0).shape == (2, 2)


def test_a_mistyped_option() -> None:
    with pytest.raises(TypeError, match=r"has no parameter or option 'targt': did you mean 'target'\?$"):
        add_to.warmup("f64[:]", "float", targt="avx2")
