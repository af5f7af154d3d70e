"""`kw doctor`: what kernelwright finds on this machine, what is missing, and what to do about it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__, _core, cuda
from ..errors import DeviceError
from ..warm.cache_entries import entries

_optional = {  # packages: what needs them, and how to get them
    "rich": ("progress bars of `kw`", "pip install kernelwright[cli]"),
    "zstandard": ("bundles .tar.zst of `kw cache export`", "pip install kernelwright[cli]"),
    "matplotlib": ("plots of `kw bench`", "pip install kernelwright[plots]"),
    "ml_dtypes": ("bfloat16 arrays", "pip install ml_dtypes"),
}
_tools = {
    ("ld.lld", "ld"): ("`kw export`", "install binutils or lld"),
    ("g++",): ("custom operators from C++ sources (aot)", "install g++"),
    ("gcc", "clang"): ("`kw bench --c`", "install gcc or clang"),
    ("perf",): ("profiles of compiled kernels", "install linux-perf"),
    ("gdb",): ("symbols of compiled kernels", "install gdb"),
}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    """Returns the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _gpus() -> tuple[str, str]:
    """Returns what GPUs there are, or why there is none, and what is wrong with them, or ""."""
    why = cuda.why()
    if why and not cuda.device_count():
        return f"none: {why}", ""
    told, driver = [], ""
    for index in range(cuda.device_count()):
        try:
            device = cuda.device(index)
        except DeviceError as error:
            told.append(str(error).splitlines()[0].partition("no CUDA device: ")[2] or str(error))
            continue
        told.append(f"{device.name} ({device.arch})")
        driver = "; CUDA {}.{}".format(*device.driver)
    return ", ".join(told) + driver, why or _computes("cuda")


def _computes(device: str) -> str:
    """Compiles, runs and checks a small kernel without the cache; returns the problem, or ""."""
    import numpy as np

    from .. import debug
    from ..kernel import kernel
    from ..tensor import Tensor

    text = "def probe(x):\n    for i in range(x.shape[0]):\n        x[i] = x[i] + 1\n    return x\n"
    try:
        with debug("cache=off"):
            found = kernel(text)(Tensor(np.arange(5.0), device=device)).numpy().tolist()
    except Exception as error:
        said = str(error)
        said = said[max(said.find("error["), 0) :]  # without the place of this kernel, which no reader knows
        return f"{type(error).__name__}: {said}"
    return "" if found == [1, 2, 3, 4, 5] else f"a kernel computed {found}"


def report() -> dict[str, Any]:
    """Returns what there is, as values of JSON, with a list of problems: each says what to do."""
    cached = entries()
    problems = []
    if problem := _core.cache_problem():
        problems.append(f"the disk cache is not used: {problem}; set KW_CACHE_DIR to a directory of your own")
    if problem := _core.cache_size_problem():
        problems.append(f"{problem}; give bytes, or a number with K, M or G")
    for directory, problem in _core.shared_caches():
        if problem:
            problems.append(f"the shared cache {directory} is not used: {problem}; mend KW_CACHE_SHARED")
    if os.environ.get("KW_FROZEN") != "1" and (problem := _computes("cpu")):
        problems.append(f"kernels cannot be compiled: {problem}")
    gpus, gpu_problem = _gpus()
    if os.environ.get("KW_FROZEN") != "1" and gpu_problem:
        problems.append(f"kernels do not run on the GPU: {gpu_problem}")
    packages = {name: _version(name) for name in ("numpy", *_optional)}
    tools = {name: shutil.which(name) for names in _tools for name in names}
    missing = [
        f"{name}, for {use}: {what}" for name, (use, what) in _optional.items() if packages[name] is None
    ]
    missing += [
        f"{' or '.join(names)}, for {use}: {what}"
        for names, (use, what) in _tools.items()
        if not any(tools[name] for name in names)
    ]
    return {
        "kernelwright": __version__,
        "build": _core.build_id,
        "where": str(Path(_core.__file__).parent),
        "python": f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        "cpu": _cpu(),
        "target": _core.target_class(),
        "threads": _core.threads(),
        "gpu": gpus,
        "cache": {
            "directory": _core.cache_directory(),
            "entries": len(cached),
            "bytes": sum(e.bytes for e in cached),
            "of_this_build": sum(e.is_of_this_build for e in cached),
            "shared": [directory for directory, _ in _core.shared_caches()],
        },
        "packages": packages,
        "tools": tools,
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith("KW_")},
        "missing": missing,
        "problems": problems,
    }


def doctor(as_json: bool) -> int:
    """Runs the command; returns 1 if something is wrong, not merely missing."""
    found = report()
    if as_json:
        print(json.dumps(found, indent=1))
        return 1 if found["problems"] else 0
    cache = found["cache"]
    told = {
        **{k: found[k] for k in ("kernelwright", "build", "where", "python", "system", "cpu", "target")},
        "threads": found["threads"],
        "gpu": found["gpu"],
        "cache": f"{cache['directory']}: {cache['entries']} entries, {cache['of_this_build']} of this build, "
        f"{cache['bytes']} bytes",
        "packages": ", ".join(f"{k} {v}" for k, v in found["packages"].items() if v),
        "environment": " ".join(f"{k}={v}" for k, v in found["environment"].items()) or "no variable KW_…",
    }
    for name, value in told.items():
        print(f"{name:<13} {value}")
    for lack in found["missing"]:
        print(f"{'missing':<13} {lack}")
    for problem in found["problems"]:
        print(f"{'problem':<13} {problem}")
    if not found["problems"]:
        print(
            "a kernel was compiled and ran: all is well" if "KW_FROZEN" not in os.environ else "all is well"
        )
    return 1 if found["problems"] else 0
