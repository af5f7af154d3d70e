"""Registration information that persists: the first information given for a function or library and a target
holds for the life of the process, as in MindSpore.
"""

from __future__ import annotations

import copy
import inspect
import json
import warnings
import weakref
from dataclasses import dataclass, field
from typing import Any

from .reg_info import Info, default_of, is_plain, kind_of_input, names_of

_Kept = dict[tuple[str, str], Info]  # keyed by the operator's name (for libraries only) and the target

_of_functions: weakref.WeakKeyDictionary[Any, _Kept] = weakref.WeakKeyDictionary()
_of_libraries: dict[str, _Kept] = {}  # keyed by "file:function"


def _kept_for(func: Any, func_type: str) -> _Kept:
    """Returns the kept information of a function: of the undecorated one, except for types that call it as
    given.
    """
    if isinstance(func, str):
        return _of_libraries.setdefault(func, {})
    own = func if func_type in ("hybrid", "pyfunc") else inspect.unwrap(func)
    try:
        return _of_functions.setdefault(getattr(own, "__func__", own), {})
    except TypeError:
        return {}  # nothing is kept for objects without weak references


def passed_attrs(info: Info) -> list[Info]:
    """Returns the attributes that calls pass."""
    return [a for a in info["attr"] if a.get("value") is None]


@dataclass
class Declared:
    """The registration information about an operator's inputs, outputs and attributes."""

    attr_names: list[str] = field(default_factory=list)  # names of the attributes that calls pass
    defaults: list[Any] = field(default_factory=list)  # their defaults; None if a call must give the value
    fixed_attrs: dict[str, Any] = field(default_factory=dict)
    all_attrs: list[tuple[str, Any]] = field(default_factory=list)  # None for an attribute that calls pass
    input_kinds: list[str] = field(default_factory=list)  # "required", "optional" or "dynamic"
    rows: list[list[str]] = field(default_factory=list)  # rows of dtypes: for the CPU, or the first target
    shown_rows: list[list[str]] = field(default_factory=list)  # with layouts that tensors do not have here
    is_for_cpu: bool = False
    inputs: int | None = None
    outputs: int | None = None

    @classmethod
    def of(cls, target: str, info: Info) -> Declared:
        passed = passed_attrs(info)
        every = [(a["name"], a.get("value")) for a in info["attr"]]
        return cls(
            attr_names=[a["name"] for a in passed],
            defaults=[default_of(info, a) for a in passed],
            fixed_attrs={name: value for name, value in every if value is not None},
            all_attrs=every,
            input_kinds=[kind_of_input(i) for i in info["inputs"]],
            rows=[names_of(row) for row in info["dtype_format"] if is_plain(row)],
            shown_rows=[*map(names_of, info["dtype_format"])],
            is_for_cpu=target == "CPU",
            inputs=len(info["inputs"]) or None,
            outputs=len(info["outputs"]) or None,
        )


def _names(info: Info) -> list[str]:
    return [a["name"] for a in passed_attrs(info)]


class Registered:
    """The information that holds for one operator: the information kept earlier, and its own.

    `keep` makes its own information persist, once the operator is known to be valid.
    """

    def __init__(self, func: Any, func_type: str, prefix: str) -> None:
        self._kept: _Kept = _kept_for(func, func_type)
        self._own: _Kept = {}
        self._is_library, self._prefix = isinstance(func, str), prefix

    def take(self, target: str, info: Info) -> Info:
        """Returns the information that holds for the target: this one, or the kept one, and then warns.

        Raises ValueError if other targets have other names of attributes.
        """
        key = (str(info.get("op_name", "")) if self._is_library else "", target)
        first = self._kept.get(key) or self._own.get(key)
        if first is None:
            self._check_names(info)
            first = self._own[key] = info
        elif _text(first) != _text(info):
            warnings.warn(
                f"{self._prefix}, the registration information for {target} is left out, since another one"
                " was registered for it before: one function has one per target",
                stacklevel=3,
            )
        return first

    def _check_names(self, info: Info) -> None:
        names = _names(info)
        for other in (*self._kept.values(), *self._own.values()):
            if _names(other) != names:
                raise ValueError(
                    f"{self._prefix}, attr names set in registration information must be the same as previous"
                    f" saved one, but got {names} vs {_names(other)}"
                )

    def keep(self) -> None:
        for key, info in self._own.items():
            self._kept.setdefault(key, copy.deepcopy(info))


def _text(info: Info) -> str:
    return json.dumps(info, default=str, sort_keys=True)
