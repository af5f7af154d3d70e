"""Manifests (recording.py) → compiled kernels, without the program that was recorded."""

from __future__ import annotations

import json
from typing import Any

from .. import _core
from ..argument_types import signature
from ..capture import identity_of
from ..cuda import find_nvrtc
from ..source import code_of_text
from .recording import FORMAT, ManifestError, bytecode, options_of
from .warmup import BODIES, WarmedVersion


def load(path: str) -> list[dict[str, Any]]:
    """Returns the versions of a manifest, each once. Raises ManifestError and OSError."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        found = json.loads(data)
        versions = found["versions"]
        known = found["format"] == FORMAT and all(
            isinstance(v["kernel"], str) and all(isinstance(t, str) for t in v["types"]) for v in versions
        )
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise ManifestError(f"'{path}' is no manifest of this version of kernelwright")
    return list({json.dumps(v, sort_keys=True): v for v in versions}.values())


def _identity(entry: dict[str, Any]) -> str:
    """Returns the identity of the code of a version under the present Python, made from the text: a manifest
    must not put the code of one text under the key of another. Raises ManifestError if the text does not
    compile, or not to the code that was recorded.
    """
    python, source = entry.get("python"), entry["source"]
    if python is None:  # a kernel that C++ gives as text
        made = _core.hash_text(f"text {source['text']}".encode())
        return _checked(made, entry)
    codes = []
    for of_code, text in zip(python["functions"], [source, *source.get("callees", [])], strict=True):
        code = code_of_text(
            text["text"],
            of_code.get("free", []),
            of_code.get("owner", ""),
            of_code["flags"],
            of_code.get("modules", []),
        )
        if code is None:
            raise ManifestError(f"this Python makes no function of the text at {text['path']}:{text['line']}")
        codes.append(code)
    made = _core.hash_text(identity_of(codes))
    return _checked(made, entry) if python["bytecode"] == bytecode() else made


def _checked(made: str, entry: dict[str, Any]) -> str:
    if made != entry["identity"]:
        source = entry["source"]
        raise ManifestError(f"the text at {source['path']}:{source['line']} is not that of the recorded code")
    return made


def compile_entry(entry: dict[str, Any]) -> list[WarmedVersion]:
    """Compiles one version of a manifest for the target that it names, or finds it in the cache; a `main`
    with its `plain`. Raises ManifestError for an entry that no recorder made, and the errors of the kernel.
    """
    made = []
    try:
        if entry["body"] not in BODIES:
            raise ManifestError(f"'{entry['body']}' is no body of a kernel")
        body = BODIES.index(entry["body"])
        is_device = str(entry["target"]).startswith("sm_")
        if is_device:
            find_nvrtc()
        request = {
            "name": entry["kernel"],
            "identity": _identity(entry),
            "captures": entry.get("captures", {}),
            "args": signature(entry["types"]),
            "outs": entry.get("outs", []),
            "out_aliases": entry.get("out_aliases", []),
            "target": entry["target"],
            "backend": "cuda" if is_device else "llvm",
            **({"grain": entry["grain"]} if "grain" in entry else {}),
        }
        for number in (0, 1) if body == 0 and not is_device else (body,):
            request["options"] = options_of(entry, number)
            row = _core.compile_recorded(request, entry["source"])
            made.append(WarmedVersion(entry["kernel"], entry["target"], BODIES[number], *row))
    except (KeyError, TypeError, AttributeError) as error:
        raise ManifestError(f"an entry is damaged: {type(error).__name__}: {error}") from error
    return made
