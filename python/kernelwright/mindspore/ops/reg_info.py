"""Registration information of custom operators: CustomRegOp, DataType, custom_info_register."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

Info = dict[str, Any]


class RegOp:
    """Builds the registration information of an operator; every method but the last returns the builder."""

    def __init__(self, op_name: str = "Custom") -> None:
        if not isinstance(op_name, str):
            raise ValueError("op name value must be string")
        if not op_name.strip():
            raise ValueError("op name is empty")
        self.op_name = op_name
        self.inputs: list[Info] = []
        self.outputs: list[Info] = []
        self.attr_: list[Info] = []
        self.fusion_type_ = ""
        self.dtype_format_: list[tuple[Any, ...]] = []

    @staticmethod
    def _check(value: Any, kind: type) -> Any:
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool) != (kind is bool)):
            raise TypeError(f"{value} value must be {kind.__name__}")
        return value

    def _item(self, keys: dict[str, Any], others: Info) -> Info:
        item = {k: v for k, v in keys.items() if v is not None}
        for key, value in others.items():
            item[key] = value
        return item

    def input(self, index: Any = None, name: Any = None, param_type: Any = "required", **others: Any) -> Any:
        """Describes the next input. Raises TypeError for values of other types."""
        keys = {
            "index": self._check(index, int),
            "name": self._check(name, str),
            "paramType": self._check(param_type, str),
        }
        self.inputs.append(self._item(keys, others))
        return self

    def output(self, index: Any = None, name: Any = None, param_type: Any = "required", **others: Any) -> Any:
        """Describes the next output. Raises TypeError for values of other types."""
        keys = {
            "index": self._check(index, int),
            "name": self._check(name, str),
            "paramType": self._check(param_type, str),
        }
        self.outputs.append(self._item(keys, others))
        return self

    def attr(
        self,
        name: Any = None,
        param_type: Any = None,
        value_type: Any = None,
        default_value: Any = None,
        **others: Any,
    ) -> Any:
        """Describes the next attribute; `value=` gives it a value that calls do not pass."""
        keys = {
            "name": self._check(name, str),
            "paramType": self._check(param_type, str),
            "type": self._check(value_type, str),
            "defaultValue": self._check(default_value, str),
        }
        self.attr_.append(self._item(keys, others))
        return self

    def dtype_format(self, *args: Any) -> Any:
        """Adds a supported row: a DataType per input and output."""
        count = len(self.inputs) + len(self.outputs)
        if len(args) != count:
            raise ValueError(
                "The size of 'args' must be equal to the sum of input tensors and output tensors, but got"
                f" {len(args)} vs {count}"
            )
        for a in args:
            if not isinstance(a, tuple) or len(a) not in (2, 3):
                raise ValueError("dtype and format value must be tuple of two or three elements")
            for part in a:
                self._check(part, str)
        self.dtype_format_.append(args)
        return self

    def fusion_type(self, fusion_type: Any) -> Any:
        """Stores the value for the operator's description."""
        self.fusion_type_ = self._check(fusion_type, str)
        return self

    def get_op_info(self) -> Info:
        """Returns the information as a dict."""
        return {
            "op_name": self.op_name,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "attr": self.attr_,
            "fusion_type": self.fusion_type_,
            "dtype_format": self.dtype_format_,
        }


class CustomRegOp(RegOp):
    """Registration information for `ops.Custom`."""

    def __init__(self, op_name: str = "Custom") -> None:
        super().__init__(op_name)
        self.target_ = "UnKnown"

    def target(self, target: Any = None) -> CustomRegOp:
        """Sets the target: "Ascend", "GPU" or "CPU"."""
        self.target_ = self._check(target, str)
        return self

    def get_op_info(self) -> Info:
        return {**super().get_op_info(), "target": self.target_}


class TBERegOp(RegOp):
    """Registration information of TBE operators, which are not run here; options are accepted."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **others: self

    def input(self, index: Any = None, name: Any = None, *flags: Any, **others: Any) -> Any:
        return super().input(index, name, self._param_type(flags), **others)

    def output(self, index: Any = None, name: Any = None, *flags: Any, **others: Any) -> Any:
        return super().output(index, name, self._param_type(flags), **others)

    @staticmethod
    def _param_type(flags: Any) -> str:
        """Returns the kind of parameter. need_compile, this kind and the shape follow the name."""
        return next((f for f in flags if f in ("required", "optional", "dynamic")), "required")


AkgGpuRegOp = AkgAscendRegOp = AkgCpuRegOp = AiCPURegOp = CpuRegOp = RegOp


def op_info_register(op_info: Any) -> Callable[[Any], Any]:
    """Accepts registration information of the framework's own operators; nothing is registered."""
    return lambda function: function


def custom_info_register(*reg_info: Any) -> Callable[[Any], Any]:
    """Binds registration information to a function for `ops.Custom`."""

    def decorator(function: Any) -> Any:
        function.reg_info = reg_info

        @functools.wraps(function)
        def wrapper(*args: Any, **keywords: Any) -> Any:
            return function(*args, **keywords)

        return wrapper

    return decorator


def flatten(reg_info: Any) -> Iterator[Info]:
    """Yields the dicts in a dict, its JSON text, or nested lists and tuples of them; skips other objects.

    Raises ValueError for other texts.
    """
    if isinstance(reg_info, dict):
        yield reg_info
    elif isinstance(reg_info, str):
        try:
            read = json.loads(reg_info)
        except ValueError as error:
            raise ValueError(f"{reg_info!r} is no JSON text: {error}") from None
        yield from flatten(read)
    elif isinstance(reg_info, (list, tuple)):
        for item in reg_info:
            yield from flatten(item)


def checked(info: Info) -> Info:
    """Returns the information with all its lists; raises ValueError for other parts than the builder's."""
    made = dict(info)
    for key in ("inputs", "outputs", "attr", "dtype_format"):
        made[key] = items = info.get(key) or []
        kind = (list, tuple) if key == "dtype_format" else dict
        if not isinstance(items, (list, tuple)) or not all(isinstance(i, kind) for i in items):
            raise ValueError(f"{key} is {items!r}, but must be a list of {_kinds[kind]}")
    for attr in made["attr"]:
        if not isinstance(attr.get("name"), str):
            raise ValueError(f"the attribute {attr!r} has no name")
        default_of(made, attr)
    for row in made["dtype_format"]:
        parts = [p for p in row if isinstance(p, (list, tuple)) and p and isinstance(p[0], str)]
        if len(parts) != len(row) or len(row) != len(made["inputs"]) + len(made["outputs"]):
            raise ValueError(
                f"the row {row!r} of dtype_format does not hold a (dtype, format) per input and output"
            )
    return made


_kinds: dict[Any, str] = {dict: "dicts", (list, tuple): "rows"}


def _bool(text: str) -> bool:
    return {"true": True, "false": False, "True": True, "False": False}[text]


_readers: dict[str, Callable[[str], Any]] = {
    "int": int,
    "str": str,
    "bool": _bool,
    "float": float,
    "all": str,
}
_attr_types = (*_readers, *("listInt", "listStr", "listBool", "listFloat"))


def default_of(info: Info, attr: Info) -> Any:
    """Returns the default value of an operator's attribute, read as its type says; None if there is none.
    Raises ValueError for other types and for texts that are not such values.
    """
    kind = attr.get("type", attr.get("value_type")) or "all"
    if kind not in _attr_types:
        raise ValueError(f"Unsupported attr type: {kind}")
    text = attr.get("defaultValue", attr.get("default_value"))
    if text is None:
        return None
    try:
        if kind.startswith("list"):
            return [_readers[kind[4:].lower()](part.strip()) for part in text.split(",")]
        return _readers[kind](text)
    except (ValueError, KeyError):
        raise ValueError(
            f"Parse attr [{attr['name']}] of op [{info.get('op_name', 'Custom')}] failed! {text!r} is no"
            f" value of the type {kind}"
        ) from None


def kind_of_input(item: Info) -> str:
    """Returns "required", "optional" (None may be passed) or "dynamic" (a tuple of tensors)."""
    return str(item.get("paramType", item.get("param_type", "required")))


def names_of(row: Any) -> list[str]:
    """Returns the dtypes of a row."""
    return [part[0] for part in row]


def is_plain(row: Any) -> bool:
    """Returns whether a row is for contiguous tensors, the only ones in this layer."""
    return all(len(part) < 2 or part[1] in _plain_formats for part in row)


_plain_formats = {"", "DefaultFormat", "ND", "NCHW", "NHWC", "HWCN", "NCDHW", "NDHWC", "DHWCN", "ChannelLast"}


class DataType:
    """(dtype, format) pairs by name: `DataType.F32_Default`."""


def _fill_data_type() -> None:
    dtypes = {
        "BOOL": "bool",
        **{f"I{n}": f"int{n}" for n in (8, 16, 32, 64)},
        **{f"U{n}": f"uint{n}" for n in (8, 16, 32, 64)},
        **{f"F{n}": f"float{n}" for n in (16, 32, 64)},
        "BF16": "bfloat16",
    }
    formats: dict[str, tuple[str, ...]] = {
        "None": ("",),
        "Default": ("DefaultFormat",),
        "5HD": ("NC1HWC0",),
        "FracZ": ("FRACTAL_Z",),
        "FracNZ": ("FRACTAL_NZ",),
        **{f: (f,) for f in ("C1HWNCoC0", "NCHW", "NHWC", "HWCN", "NDHWC", "ChannelLast")},
        "Default_Tuple": ("DefaultFormat", "tuple"),
        "Default_List": ("DefaultFormat", "list"),
    }
    floats = {
        **{f: (f,) for f in ("NCDHW", "DHWCN", "NDC1HWC0", "FRACTAL_Z_3D")},
        "FracZNLSTM": ("FRACTAL_ZN_LSTM",),
        "FracZNRNN": ("FRACTAL_ZN_RNN",),
        "ND_RNNBIAS": ("ND_RNN_BIAS",),
    }
    more = {name: floats for name in ("F16", "F32", "BF16")}
    more |= {name: {f: (f,) for f in ("NDC1HWC0", "NCDHW", "NC1HWC0")} for name in ("I8", "U8")}
    more["I32"] = {f: (f,) for f in ("NDC1HWC0", "NCDHW")}
    for name, dtype in dtypes.items():
        for shown, form in {**formats, **more.get(name, {})}.items():
            setattr(DataType, f"{name}_{shown}", (dtype, *form))
    for name, dtype in (("C64", "complex64"), ("C128", "complex128")):
        for shown in ("None", "Default"):
            setattr(DataType, f"{name}_{shown}", (dtype, *formats[shown]))
    for shown in ("None", "Default"):
        setattr(DataType, f"None_{shown}", ("", *formats[shown]))


_fill_data_type()
