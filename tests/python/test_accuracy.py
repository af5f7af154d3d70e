"""Every elementary function: within its bound of the true value, machine code = interpreter = kernel.py,
special values as C99 and NumPy.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
from math_points import (
    FUNCTIONS,
    INF,
    NAN,
    POINTS,
    Array,
    coordinates,
    errors_in_ulp,
    exact_error,
    kernel_of,
    points,
    powers,
    reference,
)

import kernelwright as kw

SEED = int(os.environ.get("KW_FUZZ_SEED") or random.randrange(2**32))
DTYPES = ("float32", "float64")
SAMPLE = 1500  # for the interpreter


def bits(a: Array) -> bytes:
    """The bytes, with every NaN made the same."""
    return np.where(np.isnan(a), np.array(NAN, a.dtype), a).tobytes() if a.dtype.kind == "f" else a.tobytes()


def evaluate(name: str, *args: Array, fp: str = "strict", sample: int = SAMPLE) -> Array:
    """By machine code, after comparing a sample of its bits with the interpreter's and with kernel.py's."""
    function = kernel_of(name, len(args))
    with kw.debug("cache=off"):
        got = kw.kernel(fp=fp)(function)(*args)
    step = max(1, len(args[0]) // sample)
    some = tuple(np.ascontiguousarray(a[::step]) for a in args)
    with kw.debug("cache=off; interp"):
        assert bits(kw.kernel(fp=fp)(function)(*some)) == bits(got[::step]), "LLVM and the interpreter differ"
    few = tuple(np.ascontiguousarray(a[:: len(a) // 60 + 1]) for a in args)
    assert bits(kw.kernel(fp=fp)(function).py(*few)) == bits(got[:: len(got) // 60 + 1]), "kernel.py differs"
    return got


def check_bound(name: str, bound: float, got: Array, *args: Array) -> None:
    """By long doubles, then the worst and some other points by mpmath."""
    true = reference(name, got.dtype.name, *args)
    errors = errors_in_ulp(got, true)
    worst = int(np.argmax(errors))
    at = tuple(a[worst].item() for a in args)
    print(f"{name} {got.dtype}: {errors[worst]:.4f} ULP at {at!r}, seed {SEED}")
    assert errors[worst] <= bound, f"{name}: {errors[worst]} ULP at {at!r} (KW_FUZZ_SEED={SEED})"
    order = np.argsort(errors)
    for i in (*order[-12:], *order[:: len(order) // 12]):
        if np.isnan(got[i]) or not np.isfinite(true[i]):
            continue
        error = exact_error(name, got[i], *(a[i].item() for a in args))
        assert error <= bound and abs(error - errors[i]) < 0.01, (
            name,
            [a[i] for a in args],
            error,
            errors[i],
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_argument(name: str, dtype: str) -> None:
    x = points(name, dtype, np.random.default_rng(SEED))
    assert len(x) >= POINTS
    got = evaluate(name, x)
    assert bits(got) == bits(kw.kernel(kernel_of(name))(x)), "default and strict differ"
    check_bound(name, FUNCTIONS[name][0], got, x)


def test_erf_where_its_two_forms_meet() -> None:
    """A series up to 0.75 was 1.085 ULP off at the first of these."""
    x = np.concatenate([[-0.7439336942926826, 0.6249999999999999, 0.625], np.linspace(0.6, 0.75, 5000)])
    check_bound("erf", 1, evaluate("erf", x), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["atan2", "power"])
def test_functions_of_two_arguments(name: str, dtype: str) -> None:
    rng = np.random.default_rng(SEED)
    a, b = coordinates(dtype, rng) if name == "atan2" else powers(dtype, rng)
    assert len(a) >= POINTS
    check_bound(name, 1, evaluate(name, a, b), a, b)


def special(dtype: str) -> Array:
    info = np.finfo(dtype)
    some = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 7.0, 1e5, 2.0**53 - 1, 2.0**60, 1 - info.epsneg, 1 + info.eps]
    some += [float(v) for v in (info.max, info.tiny, info.smallest_subnormal)]
    return np.array([NAN, INF, -INF, *some, *(-v for v in some)], dtype)


def check_special(name: str, got: Array, *args: Array) -> None:
    """NaN, infinities, zeros and their signs where the true function has them."""
    with np.errstate(all="ignore"):
        true = reference(name, got.dtype.name, *args).astype(got.dtype)
    same_kind = (
        (np.isnan(got) == np.isnan(true)) & (np.isinf(got) == np.isinf(true)) & ((got == 0) == (true == 0))
    )
    same_sign = np.isnan(true) | (np.signbit(got) == np.signbit(true))
    wrong = np.flatnonzero(~(same_kind & same_sign))
    assert not len(wrong), [(name, [a[i] for a in args], got[i], true[i]) for i in wrong[:5]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_of_one_argument(name: str, dtype: str) -> None:
    x = special(dtype)
    check_special(name, evaluate(name, x), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["atan2", "power"])
def test_special_values_of_two_arguments(name: str, dtype: str) -> None:
    a, b = np.repeat(special(dtype), 35), np.tile(special(dtype), 35)
    check_special(name, evaluate(name, a, b), a, b)


def test_exact_results() -> None:
    whole = np.arange(-300.0, 300)
    assert evaluate("exp2", whole).tolist() == [2.0**k for k in range(-300, 300)]
    assert evaluate("log2", np.exp2(whole)).tolist() == whole.tolist()
    assert evaluate("log10", np.array([10.0**k for k in range(23)])).tolist() == [*range(23)]
    base, exponent = np.repeat(np.arange(-9.0, 10), 15), np.tile(np.arange(15.0), 19)
    assert evaluate("power", base, exponent).tolist() == [
        float(int(b) ** int(e)) for b, e in zip(base, exponent, strict=True)
    ]
    assert evaluate("erfc", np.array([0.0, -30.0, 30.0])).tolist() == [1.0, 2.0, 0.0]


def test_code_of_both_sides_of_a_branch_is_shared() -> None:
    """erfc of negative and positive arguments differ only in their last step. The body stands there for whole
    vectors and for what is left of them."""
    assert kw.kernel(kernel_of("erfc")).llvm(np.ones(3)).count(" fdiv ") == 2 * 5


def powers_of_operators(a: Any, b: Any, n: Any) -> Any:
    out = output_tensor((5, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = a[i] ** b[i]
        out[1, i] = a[i] ** 3
        out[2, i] = a[i] ** -1.5
        out[3, i] = a[i] ** n
        out[4, i] = 2.0**i
    return out


def functions_of_operators(a: Any, b: Any, n: Any) -> Any:
    out = output_tensor((5, a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        out[0, i] = power(a[i], b[i])
        out[1, i] = power(a[i], 3)
        out[2, i] = power(a[i], -1.5)
        out[3, i] = power(a[i], n)
        out[4, i] = power(2.0, i)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_operator_is_the_function(dtype: str) -> None:
    rng = np.random.default_rng(SEED)
    a, b = rng.uniform(0, 9, (2, 50)).astype(dtype)
    for n in (5, 0.25, -3):
        operators = kw.kernel(powers_of_operators)(a, b, n)
        assert bits(operators) == bits(kw.kernel(functions_of_operators)(a, b, n))
        assert np.allclose(operators, kw.kernel(powers_of_operators).py(a, b, n), rtol=1e-6)


def jumps(name: str) -> int:
    """Of a kernel that applies a function to every float32."""
    kernel = kw.kernel(kernel_of(name))
    kernel(np.ones(64, "float32"))
    assembly = kernel.asm()
    if "vfmadd" not in assembly:
        pytest.skip("a target without fma has float64 forms")
    return sum(line.strip().startswith("j") for line in assembly.splitlines())


@pytest.mark.parametrize("name", ["log", "log2", "log10", "tanh", "erf", "sigmoid"])
def test_lanes_of_float32_do_not_branch(name: str) -> None:
    """Special values and the parts of a range are chosen lane by lane, as in exp, which has no parts."""
    assert jumps(name) == jumps("exp")
