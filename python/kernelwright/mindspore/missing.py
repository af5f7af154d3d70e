"""What a program asks for and the layer does not have: an error that lists what exists nearby."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any


def missing(module: str, name: str, names: Mapping[str, Any]) -> AttributeError:
    """The error for an attribute of a module that is not there."""
    text = f"{module}.{name} is not part of kernelwright's MindSpore layer"
    public = [n for n in names if not n.startswith("_")]
    near = difflib.get_close_matches(name, public, 3, 0.6)
    lower = [n for n in public if n.lower() == name.lower() and n not in near]
    if near or lower:
        text += f"; nearby: {', '.join([*lower, *near])}"
    return AttributeError(text)
