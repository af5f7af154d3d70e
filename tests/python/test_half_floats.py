"""float16 and bfloat16 through machine code, interpreter and CPython: all values, casts, pairs, arguments."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from scalar_cases import (
    INTEGERS,
    SEED,
    Array,
    bits_of,
    cast,
    comparisons,
    extremes,
    float_ops,
    float_unary,
)

import kernelwright as kw
from kernelwright import KernelTypeError, lang

BF16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [np.dtype("float16"), BF16]
ALL = np.arange(65536, dtype=np.uint16)


def exponential(a):
    out = output_tensor((1, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = exp(a[i])
    return out


def chain(a, b):
    """Every operation rounds: in float32 throughout, the result would have other bits."""
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        x = a[i] * b[i] + a[i]
        y = (x - b[i]) / 3 + x * x
        out[i] = y if y > x else y * b[i] - x
    return out


def store_as(dtype: str) -> Callable[..., Any]:
    def cast_all(a):
        out = output_tensor(a.shape, dtype)
        for i in range(a.shape[0]):
            out[i] = a[i]
        return out

    return cast_all


def check(function: Callable[..., Any], *args: Array, expected: Array | None = None) -> None:
    """Machine code, interpreter and what is expected (CPython) have the same bits."""
    kernel = kw.kernel(fp="strict")(function)
    with np.errstate(all="ignore"):
        results = [kernel.py(*args) if expected is None else expected]
        for words in ("cache=off; verify=each", "cache=off; interp"):
            with kw.debug(words):
                results.append(kernel(*args))
    for got, how in zip(results[1:], ("LLVM", "interpreter"), strict=True):
        assert got.dtype == results[0].dtype and got.shape == results[0].shape
        wrong = np.nonzero((bits_of(got) != bits_of(results[0])).reshape(-1, got.shape[-1]))
        if len(wrong[0]):
            row, i = int(wrong[0][0]), int(wrong[1][0])
            shown = [got.reshape(-1, got.shape[-1])[row, i], results[0].reshape(-1, got.shape[-1])[row, i]]
            pytest.fail(
                f"row {row} of {[a[i] for a in args]}: {shown[0]!r} by {how}, not {shown[1]!r} ({SEED=})"
            )


def sampled_pairs(dtype: np.dtype[Any]) -> tuple[Array, Array]:
    rng = np.random.default_rng(SEED)
    words = rng.integers(0, 65536, 3000, np.uint16)
    near = words ^ rng.integers(0, 4096, 3000, np.uint16)
    edges = np.array([0, 0x8000, 1, 0x8001, 0x3C00, 0xBF80, 0x7C00, 0xFC00, 0x7F80, 0xFF80, 0x7E00, 0x7BFF])
    edges = edges.astype(np.uint16)
    a = np.concatenate([words, words, np.repeat(edges, len(edges))])
    b = np.concatenate([near, rng.permutation(words), np.tile(edges, len(edges))])
    return a.view(dtype), b.view(dtype)


@pytest.mark.parametrize("function", [float_unary, exponential], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_all_values_through_unary_functions(dtype: np.dtype[Any], function: Callable[..., Any]) -> None:
    check(function, ALL.view(dtype))


@pytest.mark.parametrize("to", ["bool", *INTEGERS, "float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_all_values_through_casts(dtype: np.dtype[Any], to: str) -> None:
    a = ALL.view(dtype)
    with np.errstate(all="ignore"):
        wide = a.astype("float64")  # exact, so the cast of the table does not depend on ml_dtypes
        check(store_as(to), a, expected=wide.astype(BF16) if to == "bfloat16" else cast(wide, to))


def rounded_once(a: Array, dtype: np.dtype[Any]) -> Array:
    """Integers and floats to 16 bits by exact comparison of neighbours, independent of any cast."""
    every = ALL[ALL != 0x8000].view(dtype)  # one zero
    with np.errstate(all="ignore"):
        finite = np.sort(every[np.isfinite(every)].astype("float64"))
    step = finite[-1] - finite[-2]
    table = np.concatenate([[finite[0] - step], finite, [finite[-1] + step]])
    exact = a.astype("longdouble")  # 64 bits: every integer of ours
    at = np.clip(np.searchsorted(table, exact), 1, len(table) - 1)
    low, high = table[at - 1], table[at]
    middle = low.astype("longdouble") + (high - low) / 2
    with np.errstate(all="ignore"):
        even = (np.abs(low).astype(dtype).view(np.uint16) & 1) == 0
    out = np.where((exact > middle) | ((exact == middle) & ~even), high, low)
    out = np.where(out == 0, np.copysign(0.0, a.astype("float64")), out)
    with np.errstate(all="ignore"):
        return out.astype("float32").astype(dtype)


@pytest.mark.parametrize("source", ["int32", "int64", "uint32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_casts_to_16_bits_round_once(dtype: np.dtype[Any], source: str) -> None:
    rng = np.random.default_rng(SEED)
    tail = np.uint64(1) << rng.integers(0, 60, 4000).astype(np.uint64)
    words = (rng.integers(0, 2**64, 4000, np.uint64) // tail | np.uint64(1)) * tail
    words = (words + rng.integers(0, 3, 4000).astype(np.uint64) - np.uint64(1)) >> rng.integers(
        0, 60, 4000
    ).astype(np.uint64)
    if source.startswith("float"):
        value = words.astype(source) * np.exp2(rng.integers(-90, 20, 4000)).astype(source)
        edge = [1 + 2**-8 + 2**-40, 1 + 2**-11 + 2**-40, 65519.99, 65520.0, 2.0**-25, 3 * 2.0**-26, 0.0]
        a = np.concatenate([value, -value, np.array([*edge, np.inf], source)])
        a = a[np.abs(a) < 1e30] if dtype == BF16 else a[np.abs(a) < 1e5]
    else:
        a = words.astype(source)
        a = a[np.abs(a.astype("float64")) < 65536] if dtype != BF16 else a
        a = np.concatenate([a, np.array([0, 1, 65519, 65520, 65521], source)])
    check(store_as(str(dtype)), a, expected=rounded_once(a, dtype))


@pytest.mark.parametrize("function", [float_ops, extremes, comparisons, chain], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_sampled_pairs(dtype: np.dtype[Any], function: Callable[..., Any]) -> None:
    check(function, *sampled_pairs(dtype))


def add_scalar(a, s):
    out = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        out[i] = a[i] * s + 1
    return out


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_arguments_of_every_kind(dtype: np.dtype[Any]) -> None:
    kernel, s = kw.kernel(add_scalar), dtype.type(2.5)
    a = np.arange(12).astype(dtype)
    want = (a * s + dtype.type(1)).astype(dtype)
    assert np.array_equal(kernel(a, s), want) and kernel(a, s).dtype == dtype
    assert np.array_equal(kernel(a[::-3], s), want[::-3])
    odd = np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(dtype)
    assert np.array_equal(kernel(odd, s), want)
    out = np.zeros((12, 2), dtype)[:, 0]
    assert kernel(a, s, out=out) is out and np.array_equal(out, want)
    with pytest.raises(KernelTypeError):
        kernel(a.astype(object), s)


def to_bfloat16(a):
    out = output_tensor(a.shape, "bfloat16")
    for i in range(a.shape[0]):
        out[i] = a[i]
    return out


def test_bfloat16_of_the_language_and_of_ml_dtypes_mean_the_same() -> None:
    words = (lang.bfloat16, ml_dtypes.bfloat16)

    def make(word: Any) -> Any:
        def rounds(a):
            out = output_tensor(a.shape, word)
            for i in range(a.shape[0]):
                out[i] = word(a[i] * 3) if a.dtype != word else a[i]
            return out

        return kw.kernel(rounds)

    a = np.arange(5) * 0.37
    for kernel in map(make, words):
        assert kernel(a).dtype == BF16 and np.array_equal(kernel(a), kernel.py(a))
        assert np.array_equal(kernel(kernel(a)), kernel(a))


def fresh(code: str, folder: Path) -> str:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "KW_CACHE_DIR": str(folder)}
    line = [sys.executable, "-c", f"import sys\n{code}"]
    done = subprocess.run(line, env=env, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_ml_dtypes_is_imported_for_outputs_only(tmp_path: Path) -> None:
    use = "import numpy as np, kernelwright as kw, test_half_floats as t\n"
    code = "import numpy as np, kernelwright as kw\nprint('ml_dtypes' in sys.modules)"
    assert fresh(code, tmp_path) == "False\n"
    made = fresh(f"{use}print(kw.kernel(t.to_bfloat16)(np.ones(2)).dtype)", tmp_path)
    assert made == "bfloat16\n"


def test_outputs_without_ml_dtypes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(
        "def k(a):\n    c = output_tensor((1,), 'bfloat16')\n    c[0] = a[0]\n    return c\n"
    )
    code = f"sys.path.insert(0, {str(tmp_path)!r}); sys.modules['ml_dtypes'] = None\n" + (
        "import numpy as np, kernelwright as kw, plain\n"
        "try:\n    kw.kernel(plain.k)(np.ones(1))\nexcept kw.UnsupportedError as e:\n    print(e)"
    )
    assert fresh(code, tmp_path) == (
        "error[E102]: an output of dtype bfloat16 needs the package ml_dtypes, which is missing\n"
        "      = help: pip install ml_dtypes\n"
    )


def signs(a):
    out = output_tensor((1, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = sign(a[i])
    return out


@pytest.mark.parametrize("dtype", HALVES, ids=["float16", "bfloat16"])
def test_the_sign_of_every_value_is_that_of_a_float32(dtype: np.dtype[Any]) -> None:
    """Of -0 it is 0, which ml_dtypes alone sees otherwise."""
    a = ALL.view(dtype)
    with np.errstate(invalid="ignore"):
        expected = np.sign(a.astype("float32")).astype(dtype)
    for ours in (kw.kernel(signs)(a)[0], kw.kernel(signs).py(a)[0]):
        assert bits_of(ours).tolist() == bits_of(expected).tolist()
