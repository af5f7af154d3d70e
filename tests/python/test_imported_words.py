"""The words of the language by their other names: imported from `kernelwright.lang`, also under another name,
as attributes of the package and of `lang`. They mean what the bare words mean, hints too.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
from kernelwright import lang
from kernelwright.lang import const_range, grid, output_tensor, parallel
from kernelwright.lang import parallel as on_threads

Array = np.ndarray[Any, Any]


@kw.kernel
def imported(a):
    c = output_tensor(a.shape, a.dtype)
    for i in parallel(a.shape[0]):
        for j in const_range(2):
            c[i, j] = a[i, j] * (j + 2)
    for p in grid((2, 2)):
        c[p] = c[p] + 1
    return c


@kw.kernel
def of_package(a):
    c = kw.output_tensor(a.shape, a.dtype)
    for i in kw.parallel(a.shape[0]):
        for j in kw.const_range(2):
            c[i, j] = a[i, j] * (j + 2)
    for p in kw.grid((2, 2)):
        c[p] = c[p] + 1
    return c


@kw.kernel
def under_another_name(a):
    c = lang.output_tensor(a.shape, a.dtype)
    for i in on_threads(a.shape[0]):
        for j in lang.const_range(2):
            c[i, j] = a[i, j] * (j + 2)
    for p in lang.grid((2, 2)):
        c[p] = c[p] + 1
    return c


def ir_of(kernel: kw.Kernel, *arguments: Any) -> str:
    return kernel.ir(*arguments).replace(f"def {kernel.__name__}(", "def k(")


@pytest.mark.parametrize("kernel", [imported, of_package, under_another_name], ids=lambda k: k.__name__)
def test_a_kernel_in_a_file_knows_the_words_by_each_of_their_names(kernel: kw.Kernel) -> None:
    a = np.arange(6.0).reshape(3, 2)
    expected = [[1.0, 4.0], [5.0, 10.0], [8.0, 15.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel(a).tolist() == kernel.py(a).tolist() == expected
    assert ir_of(kernel, a) == ir_of(imported, a)
    assert "  for i in serial(0, a_0, 1, hint='parallel'):\n" in kernel.ir(a)
    told = str(kernel.explain(a))
    assert ": i in parallel(a.shape[0]): " in told and "`parallel(i)` is proved: no iteration" in told


ALL_WORDS = (
    "output_tensor",
    "parallel",
    "vectorize",
    "serial",
    "unroll",
    "const_range",
    "allocate",
    "grid",
    "reduce",
    "likely",
)
ALL = """\
def k(a):
    c = {output_tensor}(a.shape, a.dtype)
    for i in {parallel}(a.shape[0]):
        for j in {vectorize}(a.shape[1]):
            c[i, j] = a[i, j] * 2
    for i in {serial}(a.shape[0]):
        for j in {unroll}(4):
            c[i, j] = c[i, j] + 1
    for n in {const_range}(2):
        c[n, n] = c[n, n] + n
    t = {allocate}((2, 2), a.dtype)
    for p in {grid}((2, 2)):
        t[p] = a[p]
    s = 0.0
    for i in {reduce}(a.shape[0]):
        if {likely}(a[i, 0] >= 0):
            s = s + a[i, 0]
    c[0, 0] = s + t[0, 1]
    return c
"""
FORMS = {
    "imported": (f"from kernelwright.lang import {', '.join(ALL_WORDS)}\n", "{}"),
    "imported from the package": (f"from kernelwright import {', '.join(ALL_WORDS)}\n", "{}"),
    "imported under another name": (
        "".join(f"from kernelwright.lang import {w} as my_{w}\n" for w in ALL_WORDS),
        "my_{}",
    ),
    "of the package": ("import kernelwright as kw\n", "kw.{}"),
    "of the package by its name": ("import kernelwright\n", "kernelwright.{}"),
    "of lang": ("from kernelwright import lang\n", "lang.{}"),
    "of lang under another name": ("import kernelwright.lang as kl\n", "kl.{}"),
}


def all_words(form: str) -> kw.Kernel:
    imports, name = FORMS[form]
    return kw.kernel(imports + ALL.format(**{word: name.format(word) for word in ALL_WORDS}))


def doubled(a: Array) -> Array:
    c = a * 2 + 1
    c[1, 1] += 1
    c[0, 0] = a[:, 0].sum() + a[0, 1]
    return c


@pytest.mark.parametrize("form", FORMS)
def test_every_word_means_the_same_by_each_of_its_names(form: str) -> None:
    a = np.arange(24.0).reshape(6, 4)
    bare = kw.kernel(ALL.format(**{word: word for word in ALL_WORDS}))
    kernel = all_words(form)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel(a).tolist() == kernel.py(a).tolist() == doubled(a).tolist()
        kernel.check()
    assert kernel.ir(a) == bare.ir(a)
    hints = re.findall(r"^ *for (\w+) in serial\(.*, hint='(\w+)'\):$", kernel.ir(a), re.MULTILINE)
    assert hints == [
        ("i", "parallel"),
        ("j", "vectorize"),
        ("i_1", "serial"),
        ("j_1", "unroll"),
        ("i_2", "reduce"),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_an_explanation_shows_the_hints_by_each_of_their_names(form: str) -> None:
    a = np.arange(24.0).reshape(6, 4)
    loops = re.findall(r"\w+ in (\w+)\([^)]*\): ", str(all_words(form).explain(a)).split("  schedule")[0])
    assert loops == ["parallel", "vectorize", "serial", "unroll", "range", "reduce"]


@pytest.mark.parametrize("form", FORMS)
def test_a_false_hint_is_told_by_each_of_its_names(form: str) -> None:
    imports, name = FORMS[form]
    text = "{}def k(a):\n    for i in {}(1, a.shape[0]):\n        a[i] += a[i - 1]\n    return a\n"
    kernel = kw.kernel(text.format(imports, name.format("parallel")))
    with pytest.warns(kw.HintIgnoredWarning) as seen:
        assert kernel(np.ones(4)).tolist() == kernel.py(np.ones(4)).tolist() == [1, 2, 3, 4]
    (warning,) = seen
    assert re.match(r".*: warning\[W401\]: `parallel\(i\)` is false: ", str(warning.message))


@pytest.mark.parametrize("word", ["parallel", "vectorize", "unroll", "reduce", "serial", "const_range"])
@pytest.mark.parametrize("name", ["kw.{}", "lang.{}"])
def test_words_of_loops_run_under_cpython_as_range_does(word: str, name: str) -> None:
    kernel = kw.kernel(
        f"def k(a):\n    for i in {name.format(word)}(4, 0, -2):\n        a[i] = i\n    return a\n",
        scope={"kw": kw, "lang": lang},
    )
    assert kernel(np.zeros(5)).tolist() == kernel.py(np.zeros(5)).tolist() == [0, 0, 2, 0, 4]
