"""Errors for names that a program uses and the layer lacks; they list similar names that exist."""

from __future__ import annotations

import difflib
import dis
import sys
from collections.abc import Mapping
from typing import Any


def text_of(module: str, name: str, names: Mapping[str, Any]) -> str:
    """Returns the message about a name that a module does not have."""
    text = f"{module}.{name} is not part of kernelwright's MindSpore layer"
    public = [n for n in names if not n.startswith("_")]
    near = difflib.get_close_matches(name, public, 3, 0.6)
    lower = [n for n in public if n.lower() == name.lower() and n not in near]
    if near or lower:
        text += f"; nearby: {', '.join([*lower, *near])}"
    return text


def missing(module: str, name: str, names: Mapping[str, Any]) -> Exception:
    """Returns the error for a missing attribute of a module, which the module's `__getattr__` raises.

    It is an ImportError in `from module import name`, whose own words would hide the text.
    """
    if name.startswith("__"):
        return AttributeError(name)  # Python itself reads this attribute
    frame = sys._getframe(2)
    is_import = frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]
    return (ImportError if is_import else AttributeError)(text_of(module, name, names))
