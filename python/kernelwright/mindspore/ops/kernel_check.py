"""Raises the errors of MindSpore's checker of `@kernel` functions for what the kernel language also refuses.

Reads only the syntax tree. Accepts constructs that the language has and MindSpore's checker refused.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from typing import Any

from ... import lang
from ...capture import with_akg_words
from ...errors import KernelError
from ...kernel import kernel as kw_kernel
from ...source import read

_one = set(
    "sqrt sign log tanh exp abs rsqrt erf isnan sin cos isinf isfinite atan expm1"
    " floor ceil trunc round".split()
) | {"int8", "int16", "int32", "int64", "float16", "float32", "float64"}
_two = {"power", "ceil_div", "atan2"}
_loops = {"unroll", "const_range", "parallel", "vectorize", "reduce", "serial"}
_declares = {"output_tensor": range(1, 3), "allocate": range(1, 4)}
_builtin = {"range", "max", "min", "len", "int", "float", "bool", "abs", "round", "pow"}
_site = "For the full support list, please refer to 'Hybrid DSL' at https://www.mindspore.cn."


class _Checker(ast.NodeVisitor):
    """Checks one function; raises the first error, as MindSpore does."""

    def __init__(self, function: Any, tree: ast.FunctionDef, indent: int) -> None:
        self.function, self.name, self.tree, self.indent = function, tree.name, tree, indent
        self.inputs = [a.arg for a in tree.args.posonlyargs + tree.args.args]
        self.tensors: dict[str, str] = dict.fromkeys(self.inputs, "input")
        self.scalars: set[str] = set()
        self.loops: list[str] = []
        self.headers: list[ast.expr] = []  # iterables of loops
        self.past_loops: set[str] = set()
        self.past_scopes: set[str] = set()  # names that only bodies of ended loops over extents assign
        self.returned: set[str] = set()
        self.assigned = {
            n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }

    def fail(self, kind: type[Exception], node: ast.AST, text: str) -> None:
        code = self.function.__code__
        line = code.co_firstlineno + getattr(node, "lineno", 1) - 1
        column = getattr(node, "col_offset", 0) + 1 + self.indent
        raise kind(f"{text}\n  --> {code.co_filename}:{line}:{column}")

    def where(self, text: str) -> str:
        return f"In the function {self.name} written in the Hybrid DSL, {text}"

    def run(self) -> None:
        for statement in self.tree.body:
            self.visit(statement)
        for name, kind in self.tensors.items():
            if kind == "output" and name not in self.returned and self.returned_anything():
                text = f"the tensor is allocated as an output tensor but not in the return value: {name}"
                self.fail(TypeError, self.tree, self.where(text))

    def returned_anything(self) -> bool:
        return any(isinstance(n, ast.Return) for n in ast.walk(self.tree))

    def is_known(self, name: str) -> bool:
        function = self.function
        return (
            name in self.tensors
            or name in self.scalars
            or name in self.loops
            or name in lang.words
            or name in function.__globals__
            or name in function.__code__.co_freevars
            or name in _builtin
        )

    def visit_comprehension_of(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> None:
        names = [n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
        self.fail(ValueError, node.elt, self.where(f"there is a undeclared variable: {names[0]}"))

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_comprehension_of

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Does nothing: the language refuses functions in kernels."""

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id in self.past_scopes:
            text = f"there is a variable used out of the scope it is defined: {node.id}"
            self.fail(ValueError, node, self.where(text))
        if isinstance(node.ctx, ast.Load) and not self.is_known(node.id):
            text = f"there is a undeclared variable: {node.id}"
            if node.id in self.past_loops or node.id not in self.assigned:
                self.fail(ValueError, node, self.where(text))

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        if isinstance(called, ast.Name):
            self.check_call(node, called.id)
        else:
            self.visit(called)
        for a in [*node.args, *(k.value for k in node.keywords)]:
            self.visit(a)

    def check_call(self, node: ast.Call, name: str) -> None:
        function = self.function
        own = name in function.__globals__ or name in function.__code__.co_freevars
        is_value = name in _loops and not any(node is loop for loop in self.headers)
        if is_value or (name not in lang.words and name not in _builtin and not own):
            text = f"In the function [{self.name}], function call id [{name}] not in intrinsics list of the"
            self.fail(ValueError, node, f"{text} Hybrid DSL. {_site}")
        count = len(node.args)
        if name in _declares and not own:
            count += len(node.keywords)
            expected = None if count in _declares[name] else 2
        else:
            expected = 1 if name in _one else 2 if name in _two else None
        if own or expected is None or count == expected:
            return
        words = "one input" if expected == 1 else "two inputs"
        text = f"In the function [{self.name}], function [{name}] expects {words}, but get {count}."
        self.fail(TypeError, node, text)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        base = node.value
        if not isinstance(base, ast.Name):
            if isinstance(base, ast.Attribute):
                self.visit(base)
                return
            text = "getattr is only supported for a tensor object, not for the object with type: "
            self.fail(ValueError, node, self.where(text + repr(type(base))))
        elif base.id in self.tensors:
            if node.attr not in ("shape", "dtype", "ndim"):
                text = f"a tensor object has no attribute called {node.attr}"
                self.fail(ValueError, node, self.where(text))
        elif base.id in self.assigned:
            text = "getattr is only supported for a tensor variable after its declaration, not for: "
            self.fail(ValueError, node, self.where(text + base.id))
        else:
            self.visit(base)

    def visit_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) > 1:
            text = "One statement with multiple assignments is not allowed in the function"
            self.fail(ValueError, node, f"{text} {self.name} written in the Hybrid DSL.")
        self.visit(node.value)
        self.store(node.targets[0], node.value)

    def store(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                self.store(item, None)
            return
        if not isinstance(target, ast.Name):
            self.visit(target)
            return
        name = target.id
        if name in self.loops:
            text = f"iter var cannot be overwritten: {name}"
            self.fail(ValueError, target, self.where(text))
        if self.tensors.get(name, "input") != "input":
            self.fail(ValueError, target, self.where(f"the tensor is redefined: {name}"))
        is_call = isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
        made = value.func.id if is_call else ""  # type: ignore[union-attr]
        kind = {"output_tensor": "output", "allocate": "temporary"}.get(made)
        if kind:
            self.tensors[name] = kind
        else:
            self.scalars.add(name)
            self.past_scopes.discard(name)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name) and node.target.id in self.loops:
            text = f"iter var cannot be overwritten: {node.target.id}"
            self.fail(ValueError, node.target, self.where(text))
        elif not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        self.headers.append(node.iter)
        self.visit(node.iter)
        names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
        self.loops += names
        before = set(self.scalars)
        for statement in node.body:
            self.visit(statement)
        if any(isinstance(n, ast.Attribute) and n.attr == "shape" for n in ast.walk(node.iter)):
            self.past_scopes |= self.scalars - before
        for name in names:
            self.loops.remove(name)
            self.past_loops.add(name)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                self.check_with(call, call.func.id)
        for statement in node.body:
            self.visit(statement)

    def check_with(self, call: ast.Call, name: str) -> None:
        if name == "attr":
            self.check_attr(call)
        elif name == "block_realize":
            if len(call.args) != 1:
                text = f"only one input is accepted by 'block_realize', but get {len(call.args)}"
                self.fail(ValueError, call, self.where(text))
            if not isinstance(call.args[0], ast.Name):
                text = f"the input of 'block_realize' should be a tensor name, but get {type(call.args[0])}"
                self.fail(ValueError, call, self.where(text))
        else:
            text = "Unsupported function in With scope in the function"
            self.fail(ValueError, call, f"{text} {self.name} written in the Hybrid DSL: {name}")

    def check_attr(self, call: ast.Call) -> None:
        if len(call.args) != 2:
            text = f"two inputs are expected by 'attr', but get {len(call.args)}"
            self.fail(ValueError, call, self.where(text))
        key, value = call.args
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            text = f"the first input of 'attr' should be a string, but get {type(key)}"
            self.fail(ValueError, call, self.where(text))
        if not (isinstance(value, ast.Constant) and isinstance(value.value, (str, int, float))):
            text = "the second input of 'attr' should be a string, number or bool value, but get "
            self.fail(ValueError, call, self.where(text + repr(type(value))))

    def visit_Return(self, node: ast.Return) -> None:
        value = node.value
        if not isinstance(value, (ast.Name, ast.Tuple)):
            text = "the return value should be either a single tensor or a tuple, but get a "
            self.fail(TypeError, node, self.where(f"{text}{type(value)}."))
            return
        for item in value.elts if isinstance(value, ast.Tuple) else [value]:
            if not isinstance(item, ast.Name):
                text = "the element in the return value should be the name of a tensor, but get a "
                self.fail(TypeError, node, self.where(f"{text}{type(item)}."))
                return
            if self.tensors.get(item.id) not in ("input", "output"):
                text = "the element in the return value should be either an input tensor or a tensor"
                text += f" allocated by output_tensor, but get name: {item.id}"
                self.fail(TypeError, node, self.where(text))
            self.returned.add(item.id)


def check(function: Callable[..., Any]) -> None:
    """Raises the errors of a `@kernel` function: MindSpore's exception and words, then the location. Other
    errors are the kernel language's own.
    """
    try:
        kw_kernel(with_akg_words(function)).check()
    except KernelError as error:
        try:
            _check_tree(function)
        except (TypeError, ValueError) as told:
            if isinstance(told, KernelError):
                raise
            raise type(told)(f"{told}\n{error}") from None
        raise
    _check_tree(function)


def _check_tree(function: Any) -> None:
    text = read(function, function.__code__)
    tree = ast.parse(textwrap.dedent(text)).body[0]
    if isinstance(tree, ast.FunctionDef):  # the language handles lambdas
        _Checker(function, tree, len(text) - len(text.lstrip(" \t"))).run()
