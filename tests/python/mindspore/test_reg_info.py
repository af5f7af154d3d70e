"""CustomRegOp and DataType as MindSpore has them, and what they refuse in which words."""

from __future__ import annotations

from typing import Any

import pytest

from kernelwright.mindspore.ops import CustomRegOp, DataType, TBERegOp


def test_the_information() -> None:
    info = (
        CustomRegOp("Add")
        .input(0, "a")
        .input(1, "b", "dynamic", extra=1)
        .output(0, "c")
        .attr("k", "required", "float", "0.5")
        .attr("v", "optional", "int", value=3)
        .dtype_format(DataType.F32_Default, DataType.F32_Default, DataType.F16_Default_Tuple)
        .fusion_type("OPAQUE")
        .target("CPU")
        .get_op_info()
    )
    assert info == {
        "op_name": "Add",
        "inputs": [
            {"index": 0, "name": "a", "paramType": "required"},
            {"index": 1, "name": "b", "paramType": "dynamic", "extra": 1},
        ],
        "outputs": [{"index": 0, "name": "c", "paramType": "required"}],
        "attr": [
            {"name": "k", "paramType": "required", "type": "float", "defaultValue": "0.5"},
            {"name": "v", "paramType": "optional", "type": "int", "value": 3},
        ],
        "fusion_type": "OPAQUE",
        "dtype_format": [
            (
                ("float32", "DefaultFormat"),
                ("float32", "DefaultFormat"),
                ("float16", "DefaultFormat", "tuple"),
            )
        ],
        "target": "CPU",
    }


def test_an_empty_one() -> None:
    assert CustomRegOp().get_op_info() == {
        "op_name": "Custom",
        "inputs": [],
        "outputs": [],
        "attr": [],
        "fusion_type": "",
        "dtype_format": [],
        "target": "UnKnown",
    }


@pytest.mark.parametrize(
    "build, kind, text",
    [
        (lambda: CustomRegOp(3), ValueError, "op name value must be string"),
        (lambda: CustomRegOp(""), ValueError, "op name is empty"),
        (lambda: CustomRegOp().input("0", "x"), TypeError, "0 value must be int"),
        (lambda: CustomRegOp().input(0, 3), TypeError, "3 value must be str"),
        (lambda: CustomRegOp().input(0, "x", 3), TypeError, "3 value must be str"),
        (lambda: CustomRegOp().attr(3), TypeError, "3 value must be str"),
        (
            lambda: CustomRegOp().attr("a", "required", "int", default_value=3),
            TypeError,
            "3 value must be str",
        ),
        (lambda: CustomRegOp().target(3), TypeError, "3 value must be str"),
        (lambda: CustomRegOp().output("0", "y"), TypeError, "0 value must be int"),
        (lambda: CustomRegOp().output(0, 3), TypeError, "3 value must be str"),
        (lambda: CustomRegOp().attr("a", 3), TypeError, "3 value must be str"),
        (lambda: CustomRegOp().attr("a", "required", 3), TypeError, "3 value must be str"),
        (
            lambda: CustomRegOp().dtype_format(DataType.F32_Default),
            ValueError,
            "The size of 'args' must be equal to the sum of input tensors and output tensors, but got 1 vs 0",
        ),
        (
            lambda: CustomRegOp().input(0, "x").dtype_format(("a", "b", "c", "d")),
            ValueError,
            "dtype and format value must be tuple of two or three elements",
        ),
        (lambda: CustomRegOp().input(0, "x").dtype_format(("a", 3)), TypeError, "3 value must be str"),
        (lambda: CustomRegOp().fusion_type(3), TypeError, "3 value must be str"),
        (
            lambda: CustomRegOp().input(0, "x").output(0, "y").dtype_format(DataType.F32_Default),
            ValueError,
            "The size of 'args' must be equal to the sum of input tensors and output tensors, but got 1 vs 2",
        ),
        (
            lambda: CustomRegOp().input(0, "x").dtype_format("float32"),
            ValueError,
            "dtype and format value must be tuple of two or three elements",
        ),
        (
            lambda: CustomRegOp().input(0, "x").dtype_format(("float32",)),
            ValueError,
            "dtype and format value must be tuple of two or three elements",
        ),
    ],
)
def test_what_is_refused(build: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as e:
        build()
    assert str(e.value) == text


def test_the_names_of_types() -> None:
    names = [n for n in dir(DataType) if not n.startswith("_")]
    assert len(names) == 204
    assert DataType.F16_5HD == ("float16", "NC1HWC0")
    assert DataType.BOOL_None == ("bool", "")
    assert DataType.None_None == ("", "") and DataType.None_Default == ("", "DefaultFormat")
    assert DataType.F32_ND_RNNBIAS == ("float32", "ND_RNN_BIAS")
    assert DataType.I32_NCDHW == ("int32", "NCDHW") and not hasattr(DataType, "I64_NCDHW")


def test_builders_of_other_processors_take_what_theirs_take() -> None:
    made = TBERegOp("Op").fusion_type("OPAQUE").async_flag(False).partial_flag(True)
    made = made.input(0, "x", False, "required", "all").output(0, "y", False, "required", "all")
    told = made.dtype_format(DataType.F32_Default, DataType.F32_Default).get_op_info()
    assert [i["paramType"] for i in (*told["inputs"], *told["outputs"])] == ["required", "required"]
