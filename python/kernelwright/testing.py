"""Helpers for tests and measurements of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .measure.sweep import Sweep, SweepTable, sweep
from .measure.timing import Candidate, Timing, time_calls

__all__ = ["Sweep", "SweepTable", "Timing", "assert_close", "bench", "sweep"]

# (relative, absolute) by the dtype of the result: a few hundred roundings, chosen like those of peers
_tolerances = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-9),
}


def bench(call: Callable[[], Any], *, reset: Callable[[], Any] | None = None, seconds: float = 0.3) -> Timing:
    """Returns the time of one call in seconds: median, quartiles and least, over at least five samples.

    Short calls are repeated within a sample. With `reset`, which is not timed, each sample is one call after
    a reset: for calls that change their arguments. Takes about `seconds`. Raises what the call raises.
    """
    return time_calls({"": Candidate(call, reset)}, seconds)[""]


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    same_dtype: bool = True,
) -> None:
    """Asserts that results agree, as far as their dtype allows: arrays, tensors, numbers, or tuples of them.

    Elements agree if they are equal, or |actual - expected| <= atol + rtol * |expected|. The tolerances of
    floats follow the dtype of `actual`; integers and bools agree only if they are equal. With `equal_nan`,
    NaN agrees with NaN. Dtypes must be equal unless `same_dtype` is False, shapes always.
    Raises AssertionError, which tells how many elements differ, the worst of them and where it is, and
    TypeError for what is no array of numbers.
    """
    if isinstance(actual, tuple | list) or isinstance(expected, tuple | list):
        _assert_all_close(actual, expected, rtol, atol, equal_nan, same_dtype)
        return
    a, e = _array(actual), _array(expected)
    if a.shape != e.shape:
        raise AssertionError(f"the shape is {a.shape}, expected {e.shape}")
    if same_dtype and a.dtype != e.dtype:
        raise AssertionError(f"the dtype is {a.dtype}, expected {e.dtype}")
    is_float = a.dtype.name in _tolerances or e.dtype.name in _tolerances
    default = _tolerances.get(a.dtype.name, (0.0, 0.0))
    relative = default[0] if rtol is None else rtol
    absolute = default[1] if atol is None else atol
    wrong, error = _differences(a, e, relative if is_float else 0, absolute if is_float else 0, equal_nan)
    if not wrong.any():
        return
    at = np.unravel_index(int(np.argmax(np.where(wrong, error, -1))), a.shape)
    place = f" at [{', '.join(map(str, at))}]" if a.ndim else ""
    allowed = f" (rtol {relative:g}, atol {absolute:g})" if is_float else ""
    raise AssertionError(
        f"{int(wrong.sum())} of {a.size} elements differ{allowed}; the worst{place} is {a[at]}, "
        f"expected {e[at]}"
    )


def _assert_all_close(
    actual: Any, expected: Any, rtol: float | None, atol: float | None, equal_nan: bool, same_dtype: bool
) -> None:
    counts = [
        f"{len(x)} results" if isinstance(x, tuple | list) else "one result" for x in (actual, expected)
    ]
    if counts[0] != counts[1]:
        raise AssertionError(f"there are {counts[0]}, expected {counts[1]}")
    for number, (a, e) in enumerate(zip(actual, expected, strict=True)):
        try:
            assert_close(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan, same_dtype=same_dtype)
        except AssertionError as error:
            raise AssertionError(f"result {number}: {error}") from None


def _array(value: Any) -> Any:
    found = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    if found.dtype.kind not in "biuf" and found.dtype.name != "bfloat16":
        raise TypeError(f"expected an array of numbers, got {type(value).__name__} of dtype {found.dtype}")
    return found


def _differences(a: Any, e: Any, rtol: float, atol: float, equal_nan: bool) -> tuple[Any, Any]:
    """Returns which elements differ, and by how much; infinity where a NaN or an infinity is involved."""
    if a.dtype.kind in "biu" and e.dtype.kind in "biu":
        wrong = a != e
        return wrong, np.abs(a.astype(object) - e.astype(object)).astype(float) if wrong.any() else wrong
    x, y = a.astype(np.float64), e.astype(np.float64)
    with np.errstate(all="ignore"):
        error = np.abs(x - y)
        same = (x == y) | (equal_nan & np.isnan(x) & np.isnan(y))
        close = np.isfinite(x) & np.isfinite(y) & (error <= atol + rtol * np.abs(y))
    return ~(same | close), np.where(np.isnan(error), np.inf, error)
