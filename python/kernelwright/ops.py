"""The registry: `kw.ops.list()`, `kw.ops.show(name)`, and every operator by its own name as `kw.ops.NAME`."""

from __future__ import annotations

import builtins
from typing import Any

from . import _core
from . import tensor as _results  # noqa: F401  results of operators are of its class

Row = dict[str, Any]


def list(namespace: str = "") -> builtins.list[str]:
    """Returns the names of the operators, sorted; only those of one namespace if it is given."""
    names: builtins.list[str] = _core.operator_names()
    return [n for n in names if not namespace or n.startswith(f"{namespace}::")]


def get(name: str) -> Any:
    """Returns the operator "namespace::name", or the built-in one of a bare name. Raises ValueError with the
    nearest name if there is none.
    """
    return _core.find_operator(name if "::" in name else f"kw::{name}")


def describe(name: str) -> Row:
    """Returns the registry's data of an operator."""
    found: Row = _core.describe_operator(get(name))
    return found


def _attr(name: str, kind: str, has_default: bool, default: Any) -> str:
    return f"{name}: {kind} = {default!r}" if has_default else f"{name}: {kind}"


def show(name: str) -> str:
    """Returns the same data as text, one line per input, attribute, kernel and gradient."""
    op = describe(name)
    inputs = [n + {"optional": "?", "dynamic": "..."}.get(arity, "") for n, arity, _ in op["inputs"]]
    parameters = ", ".join([*inputs, *(_attr(*a) for a in op["attrs"])])
    lines = [f"{op['name']}({parameters}) -> {', '.join(op['outputs'])}"]
    if op["source"]:
        lines.append(f"  defined at {op['source']}")
    for kind, device, rows, needs, priority, source in op["kernels"]:
        parts = [f"  kernel {kind} on {'any device' if device == 'any' else device}"]
        if rows:
            parts.append("for " + " or ".join(f"({', '.join(row)})" for row in rows))
        if needs:
            parts.append(f"needs {needs}")
        if priority:
            parts.append(f"priority {priority}")
        if source:
            parts.append(f"from {source}")
        lines.append(", ".join(parts))
    if op["gradient"] is None:
        lines.append("  no gradient")
    else:
        kind, source, why = op["gradient"]
        found = f"  gradient {kind}" if kind != "none" else f"  no gradient: {why}"
        lines.append(found + (f", from {source}" if source else ""))
    return "\n".join(lines)


def __getattr__(name: str) -> Any:
    """Returns a built-in operator by its name: `kw.ops.softmax(x)`."""
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return _core.find_operator(f"kw::{name}")
    except ValueError as e:
        raise AttributeError(str(e)) from None
