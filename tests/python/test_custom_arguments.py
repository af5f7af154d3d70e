"""What `ops.Custom` refuses at construction, in the words that MindSpore's users know."""

from __future__ import annotations

from typing import Any

import pytest

from kernelwright.mindspore import ops


def identity(a: Any) -> Any:
    return a


def test_an_unknown_func_type_is_a_value_error() -> None:
    with pytest.raises(ValueError) as caught:
        ops.Custom(identity, func_type="numba")
    assert str(caught.value) == (
        f"For 'Custom', 'func_type': numba, 'func': {identity}, 'func_type' must be one of"
        " ['hybrid', 'akg', 'tbe', 'aicpu', 'aot', 'pyfunc', 'julia'], but got numba"
    )


def test_an_operator_is_made_of_a_function() -> None:
    with pytest.raises(TypeError) as caught:
        ops.Custom(3, func_type="akg")  # type: ignore[arg-type]
    assert str(caught.value) == "For 'Custom', 'func' must be of type function or str, but got <class 'int'>"
