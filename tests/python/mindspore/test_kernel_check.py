"""What is wrong with a `@kernel` function: MindSpore's exceptions and words, with the place."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import kernelwright as kw
import kernelwright.mindspore as ms
from kernelwright.mindspore import ops
from kernelwright.text import define

site = "For the full support list, please refer to 'Hybrid DSL' at https://www.mindspore.cn."
written = "In the function f written in the Hybrid DSL, "
element = "the element in the return value should be "
kept = element + "either an input tensor or a tensor allocated by output_tensor, but get name: "
result = "the return value should be either a single tensor or a tuple, but get a "
loop = "for i in range(a.shape[0]):\n        "


def unlisted(name: str) -> str:
    return f"In the function [f], function call id [{name}] not in intrinsics list of the Hybrid DSL. {site}"


def expects(name: str, what: str, given: int) -> str:
    return f"In the function [f], function [{name}] expects {what}, but get {given}."


def function(body: str, returned: str = "return c") -> Any:
    lines = [
        "c = output_tensor(a.shape, a.dtype)",
        "for i in range(a.shape[0]):",
        "    c[i] = a[i]",
        body,
        returned,
    ]
    return define("def f(a, b):\n" + "\n".join("    " + line for line in lines if line), {})


bodies = [
    (
        loop + "c[i] = print(a[i])",
        ValueError,
        ("In the function [f], function call id [print] not in intrinsics list of the Hybrid DSL. ") + site,
    ),
    (
        loop + "c[i] = sqrt(a[i], b[i])",
        TypeError,
        "In the function [f], function [sqrt] expects one input, but get 2.",
    ),
    (
        loop + "c[i] = sqrt()",
        TypeError,
        "In the function [f], function [sqrt] expects one input, but get 0.",
    ),
    (
        loop + "c[i] = power(a[i])",
        TypeError,
        "In the function [f], function [power] expects two inputs, but get 1.",
    ),
    (
        loop + "c[i] = ceil_div(a[i])",
        TypeError,
        "In the function [f], function [ceil_div] expects two inputs, but get 1.",
    ),
    (
        loop + "i = 3",
        ValueError,
        written + "iter var cannot be overwritten: i",
    ),
    (
        loop + "i += 1",
        ValueError,
        written + "iter var cannot be overwritten: i",
    ),
    (
        loop + "c[i] = a[i] + K",
        ValueError,
        written + "there is a undeclared variable: K",
    ),
    (
        "c[0] = i",
        ValueError,
        written + "there is a undeclared variable: i",
    ),
    (
        "c = output_tensor(a.shape, a.dtype)",
        ValueError,
        written + "the tensor is redefined: c",
    ),
    (
        "x = y = 1",
        ValueError,
        "One statement with multiple assignments is not allowed in the function f written in the Hybrid DSL.",
    ),
    (
        "n = a.size",
        ValueError,
        written + "a tensor object has no attribute called size",
    ),
    (
        "n = a.T",
        ValueError,
        written + "a tensor object has no attribute called T",
    ),
    (
        "n = (a + b).shape",
        ValueError,
        written
        + (
            "getattr is only supported for a tensor object, not for the object with type: <class 'ast.BinOp'>"
        ),
    ),
    (
        "n = d.shape\n    d = allocate(a.shape, a.dtype)",
        ValueError,
        written + ("getattr is only supported for a tensor variable after its declaration, not for: d"),
    ),
    (
        "with attr('k'):\n        x = 1",
        ValueError,
        written + "two inputs are expected by 'attr', but get 1",
    ),
    (
        "with attr(1, 2):\n        x = 1",
        ValueError,
        written + "the first input of 'attr' should be a string, but get <class 'ast.Constant'>",
    ),
    (
        "with attr('k', a):\n        x = 1",
        ValueError,
        written
        + ("the second input of 'attr' should be a string, number or bool value, but get <class 'ast.Name'>"),
    ),
    (
        "with block_realize(c, a):\n        x = 1",
        ValueError,
        written + "only one input is accepted by 'block_realize', but get 2",
    ),
    (
        "with block_realize('c'):\n        x = 1",
        ValueError,
        written + ("the input of 'block_realize' should be a tensor name, but get <class 'ast.Constant'>"),
    ),
    (
        "with open('x'):\n        x = 1",
        ValueError,
        "Unsupported function in With scope in the function f written in the Hybrid DSL: open",
    ),
    (
        "with allocate(a.shape, a.dtype) as d:\n        x = 1",
        ValueError,
        "Unsupported function in With scope in the function f written in the Hybrid DSL: allocate",
    ),
    (
        "with attr('k', 1, 2):\n        x = 1",
        ValueError,
        written + "two inputs are expected by 'attr', but get 3",
    ),
    (
        "with attr('k', None):\n        x = 1",
        ValueError,
        written
        + "the second input of 'attr' should be a string, number or bool value, but get"
        + " <class 'ast.Constant'>",
    ),
    (
        "with block_realize(c[0]):\n        x = 1",
        ValueError,
        written + "the input of 'block_realize' should be a tensor name, but get <class 'ast.Subscript'>",
    ),
    (
        "d = allocate(a.shape, a.dtype)\n    d = allocate(a.shape, a.dtype)",
        ValueError,
        written + "the tensor is redefined: d",
    ),
    ("c = sqrt(a[0])", ValueError, written + "the tensor is redefined: c"),
    (
        "n = a[0].shape",
        ValueError,
        written
        + "getattr is only supported for a tensor object, not for the object with type:"
        + " <class 'ast.Subscript'>",
    ),
    (
        "x = 1\n    n = x.shape",
        ValueError,
        written + "getattr is only supported for a tensor variable after its declaration, not for: x",
    ),
    ("g = lambda x: x", ValueError, written + "there is a undeclared variable: x"),
    (
        "try:\n        x = 1\n    except ValueError:\n        x = 2",
        ValueError,
        written + "there is a undeclared variable: ValueError",
    ),
    ("raise ValueError('x')", ValueError, unlisted("ValueError")),
    ("g = [x for x in range(3)]", ValueError, written + "there is a undeclared variable: x"),
    (loop + "c[i] = unroll(a[i])", ValueError, unlisted("unroll")),
    (loop + "c[i] = const_range(a[i])", ValueError, unlisted("const_range")),
    *(
        (loop + f"c[i] = {name}(a[i])", ValueError, unlisted(name))
        for name in "zip sum enumerate bind".split()
    ),
    (loop + "c[i] = max_num_threads(a[i])", ValueError, unlisted("max_num_threads")),
    *(
        (loop + f"c[i] = {name}({given})", TypeError, expects(name, "one input", n))
        for name in (
            "sign log tanh exp abs rsqrt erf isnan sin cos isinf isfinite atan expm1 floor ceil trunc round"
            " int8 int16 int32 int64 float16 float32 float64"
        ).split()
        for n, given in ((2, "a[i], b[i]"), (0, ""))
    ),
    (loop + "c[i] = power(a[i], b[i], a[i])", TypeError, expects("power", "two inputs", 3)),
    (loop + "c[i] = power(a[i], b=b[i])", TypeError, expects("power", "two inputs", 1)),
    (loop + "c[i] = atan2(a[i])", TypeError, expects("atan2", "two inputs", 1)),
    (loop + "c[i] = a.sum()", ValueError, written + "a tensor object has no attribute called sum"),
    ("d = output_tensor()", TypeError, expects("output_tensor", "two inputs", 0)),
    ("d = output_tensor(a.shape, a.dtype, 'local')", TypeError, expects("output_tensor", "two inputs", 3)),
    ("d = allocate()", TypeError, expects("allocate", "two inputs", 0)),
    ("d = allocate(a.shape, a.dtype, 'local', 1)", TypeError, expects("allocate", "two inputs", 4)),
    (
        loop + "s = a[i]\n    c[0] = s",
        ValueError,
        written + "there is a variable used out of the scope it is defined: s",
    ),
]
returns = [
    ("return a + b", f"{result}<class 'ast.BinOp'>."),
    ("return 1", f"{result}<class 'ast.Constant'>."),
    ("return c[0]", f"{result}<class 'ast.Subscript'>."),
    ("return [c]", f"{result}<class 'ast.List'>."),
    ("return None", f"{result}<class 'ast.Constant'>."),
    ("return", f"{result}<class 'NoneType'>."),
    ("return (c, 1)", f"{element}the name of a tensor, but get a <class 'ast.Constant'>."),
    ("return c, a[0]", f"{element}the name of a tensor, but get a <class 'ast.Subscript'>."),
    ("return d", kept + "d"),
    ("return c, d", kept + "d"),
    ("return s", kept + "s"),
    ("return undefined_name", kept + "undefined_name"),
    ("return a", "the tensor is allocated as an output tensor but not in the return value: c"),
]


@pytest.mark.parametrize("body, kind, text", bodies)
def test_bodies(body: str, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as e:
        ops.Custom(ops.kernel(function(body)), lambda s, _: s, lambda t, _: t, "hybrid")
    lines = str(e.value).splitlines()
    assert lines[0] == text
    assert re.fullmatch(r"  --> <kernel text \d+>:\d+:\d+", lines[1])


@pytest.mark.parametrize("returned, text", returns)
def test_returns(returned: str, text: str) -> None:
    made = ops.kernel(function("d = allocate(a.shape, a.dtype)\n    s = 1.0", returned))
    with pytest.raises(TypeError) as e:
        ops.Custom(made, lambda s, _: s, lambda t, _: t, "hybrid")
    assert str(e.value).splitlines()[0] == written + text


@pytest.mark.parametrize(
    "given, body, name", [("a, *, b", loop + "c[i] = b[i]", "b"), ("a, **kw", "c[0] = kw", "kw")]
)
def test_parameters_that_are_not_positional(given: str, body: str, name: str) -> None:
    text = f"def f({given}):\n    c = output_tensor(a.shape, a.dtype)\n    {body}\n    return c"
    with pytest.raises(ValueError) as e:
        ops.Custom(ops.kernel(define(text, {})), lambda s: s, lambda t: t, "hybrid")
    assert str(e.value).splitlines()[0] == f"{written}there is a undeclared variable: {name}"


@pytest.mark.parametrize(
    "body",
    [
        loop + "c[i] = sigmoid(a[i])",
        loop + "c[i] = atan2(a[i], b[i])",
        loop + "c[i] = float16(a[i])",
        loop + "c[i] = a[i] ** 2",
        loop + "if not a[i] > 0:\n            c[i] = 0",
        loop + "c[i] = expm1(a[i])",
        loop + "c[i] = a[i]\n        break",
        loop + "continue",
        "x: int = 1",
        "n = a.ndim",
        "d = allocate(shape=a.shape, dtype=a.dtype)",
        "for i in range(3):\n        s = a[i]\n        c[i] = s\n    s = 1.0\n    c[0] = s",
        loop + "c[i] = max(a[i], b[i], 0)",
        "i = 0\n    while i < 3:\n        i = i + 1",
        "d = allocate(a.shape, a.dtype, 'local')",
        "d = allocate(a.shape)",
        "n, = a.shape",
        loop + "c[i] = np.sqrt(a[i]) * np.pi",
        "with attr('k', 1):\n        x = 1",
        "for i, in grid(a.shape):\n        c[i] = a[i]",
    ],
)
def test_what_the_language_takes_beyond_mindspore(body: str) -> None:
    import numpy as np

    made = function(body)
    made.__globals__["np"] = np
    a = ms.Tensor([1.0, 2.0, 3.0])
    ops.Custom(ops.kernel(made), lambda s, _: s, lambda t, _: t, "hybrid")(a, a)


@pytest.mark.parametrize(
    "body, expected",
    [
        (loop + "c[i] = popcount(int32(a[i]) + 4)", [2, 2, 3]),
        (loop + "if likely(a[i] > 1.0):\n            c[i] = 0.0", [1, 0, 0]),
        (loop + "c[i] = uint8(a[i] + 0.5)", [1, 2, 3]),
        ("x: float32 = 1.0\n    c[0] = x + 1.0", [2, 2, 3]),
        ("for i, j in grid((2, 1)):\n        c[i] = a[j] + b[i]", [2, 3, 3]),
    ],
)
def test_values_of_what_mindspore_refuses(body: str, expected: list[float]) -> None:
    a = ms.Tensor([1.0, 2.0, 3.0])
    assert ops.Custom(ops.kernel(function(body)))(a, a).asnumpy().tolist() == expected


def test_an_output_without_a_type_is_of_float32() -> None:
    made = function("d = output_tensor(a.shape)\n    for i in range(3):\n        d[i] = b[i]", "return c, d")
    a = ms.Tensor([1.0, 2.0, 3.0], ms.float64)
    c, d = ops.Custom(ops.kernel(made))(a, a)
    assert c.dtype == ms.float64 and d.dtype == ms.float32 and d.asnumpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", [ms.float16, ms.float64])
def test_an_output_without_a_type_is_no_warning_here(dtype: Any) -> None:
    """A kernel of kernelwright warns of it (W102); MindSpore documents float32."""
    made = define("def f(a):\n    d = output_tensor(a.shape)\n    d[0] = a[0] + a[1]\n    return d", {})
    a = ms.Tensor([1.0, 2.0], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for op in (
            ops.Custom(ops.kernel(made), func_type="hybrid"),
            ops.Custom(made, (2,), ms.float32, "akg"),
        ):
            d = op(a)
            assert d.dtype == ms.float32 and d.asnumpy().tolist() == [3, 0]


def test_values_of_an_enclosing_function_are_captured() -> None:
    def times(k: float) -> Any:
        def f(a):
            c = output_tensor(a.shape, a.dtype)
            for i in range(a.shape[0]):
                c[i] = a[i] * k
            return c

        return ops.kernel(f)

    for k in (2.0, 3.0):
        found = ops.Custom(times(k), func_type="hybrid")(ms.Tensor([1.0, 2.0]))
        assert found.asnumpy().tolist() == [k, 2 * k]


def test_the_place_of_a_function_inside_another() -> None:
    def f(a, b):
        c = output_tensor(a.shape, a.dtype)
        c[0] = K9
        return c

    with pytest.raises(ValueError) as e:
        ops.Custom(ops.kernel(f), lambda s, _: s, lambda t, _: t, "hybrid")
    line = f.__code__.co_firstlineno + 2
    assert str(e.value).splitlines()[1] == f"  --> {__file__}:{line}:16"


def test_what_only_the_language_refuses() -> None:
    for made, text in (
        (lambda a, b: a, "a kernel is a function defined by `def`"),
        (function("def g(x): return x"), "a nested function is not part of the kernel language"),
    ):
        with pytest.raises(kw.KernelSyntaxError, match=text):
            ops.Custom(ops.kernel(made), lambda s, _: s, lambda t, _: t, "hybrid")


@pytest.mark.parametrize(
    "body, text",
    [
        ("with a.b():\n        x = 1", "5:10: error[E104]: methods cannot be called in a kernel ('b')"),
        ("with a:\n        x = 1", "5:10: error[E101]: this `with` scope is not part of the kernel language"),
        ("for c[0] in range(3):\n        x = 1", "5:9: error[E113]: a loop variable is a name"),
    ],
)
def test_scopes_and_targets_that_only_the_language_refuses(body: str, text: str) -> None:
    with pytest.raises(kw.KernelSyntaxError) as e:
        ops.Custom(ops.kernel(function(body)), lambda s, _: s, lambda t, _: t, "hybrid")
    assert re.sub(r"<kernel text \d+>:", "", str(e.value).splitlines()[0]) == text


def test_options_of_the_decorator() -> None:
    cases = [
        (
            {"compile_attrs": [1]},
            "The input 'compile_attrs' of @kernel must be a dict, but get a <class 'list'>",
        ),
        (
            {"compile_attrs": {1: 2}},
            "The key of 'compile_attrs' of @kernel must be a str, but get a <class 'int'>",
        ),
        (
            {"reg_info": [1]},
            "The input 'reg_info' of @kernel should be one of str, dict and tuple, but get a <class 'list'>",
        ),
        ({"foo": 1}, "kernel() got an unexpected keyword argument 'foo'"),
    ]
    for options, text in cases:
        with pytest.raises(TypeError) as e:
            ops.kernel(**options)
        assert str(e.value) == text


def test_names_of_earlier_versions_are_deprecated() -> None:
    for name in ("ms_kernel", "ms_hybrid"):
        alias = getattr(ops, name)
        with pytest.warns(DeprecationWarning) as seen:
            marked = [alias(function("")), alias(compile_attrs={"k": 1})(function(""))]
        assert [str(w.message) for w in seen] == [
            f"'{name}' is deprecated from version 1.8 and will be removed in a future version, use 'kernel'"
            " instead."
        ] * 2
        assert seen[0].filename == __file__ and marked[1].compile_attrs == {"k": 1}
        a = ms.Tensor([1.0, 2.0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for made in (*marked, ops.kernel(function(""))):
                assert ops.Custom(made)(a, a).asnumpy().tolist() == [1, 2]


def test_a_decorated_function_runs_under_cpython() -> None:
    import numpy as np

    made = ops.kernel(function(""))
    assert made(np.ones(2), np.ones(2)).tolist() == [1, 1]


def test_an_operator_leaves_kernels_of_its_function_as_they_are() -> None:
    f = define("def f(a):\n    c = output_tensor(a.shape)\n    c[0] = round(a[0])\n    return c\n", {})
    before = kw.kernel(f).ir(np.ones(2))
    operator = ops.Custom(f, (2,), ms.float32, "akg")
    assert operator(ms.Tensor(np.ones(2, np.float32))).shape == (2,)
    ops.kernel(f)(np.ones(2, np.float32))
    assert kw.kernel(f).ir(np.ones(2)) == before
