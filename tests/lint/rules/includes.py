"""Who may include whom: module order, isolated back ends, cycles, dangling names, foreign headers.
Include lines only; that CMake links a module to nothing else is CMake's own matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from ..cpp_text import Include, includes, is_cpp, line_of, resolve, strip

COMPILER = ["support", "ir", "analysis", "transform", "autodiff", "schedule", "codegen", "driver"]
ORDER = [*COMPILER, "frontend", "runtime", "python"]
FRONTEND_USES = {"support", "ir"}
ONLY_FROM_JIT = {"frontend", "driver"}
BACKENDS = ("interp", "llvm", "cuda")

# The folders of a back end, each seeing only those before it, then the back end's own.
BACKEND_FOLDERS: dict[str, tuple[str, ...]] = {"llvm": ("values", "emit")}

# The folders inside a module, each seeing only those before it; the module's name is its root (design.md 3).
FOLDERS: dict[str, tuple[str, ...]] = {
    "analysis": ("analysis", "gpu", "nest", "vector", "work"),
    "transform": ("transform", "math", "lowering"),
    "schedule": ("tree", "launches", "directives", "steps", "cpu", "gpu", "schedule"),
    "codegen": ("interp", *BACKEND_FOLDERS["llvm"], "llvm", "cuda", "codegen"),
    "frontend": ("frontend", "sema", "lower"),
    "runtime": (
        *("memory", "cpu", "runtime", "versions", "cuda", "calls", "aot", "exported", "standalone", "ops"),
    ),
    "python": ("dispatch", "ops", "testing", "bind"),
}

CUDA_HEADER = re.compile(
    r"(?:cuda|nvrtc|nvml|nvtx|nvToolsExt|nvJitLink|nvPTXCompiler|cublas|cudnn|curand|cufft|cusparse|cusolver"
    r"|cooperative_groups|cutlass|cute/|vector_types|device_launch_parameters|mma\.h)"
)
# (header, folders that may include it, what to say elsewhere)
FOREIGN: list[tuple[str, tuple[str, ...], str]] = [
    (r"llvm(?:-c)?/", ("compiler/codegen/llvm/",), "LLVM headers only in compiler/codegen/llvm"),
    (r"isl/", ("tests/",), "isl only in tests"),
    (r"pybind11/", ("python/bind/",), "pybind11 only in python/bind"),
    (r"numpy/", ("python/bind/dispatch/",), "NumPy headers only in python/bind/dispatch"),
    (r"Python\.h$", ("python/bind/",), "Python.h only in python/bind"),
    (r"(?:format|expected)$", (), "g++ 12 has no such header"),
]


def module_of(path: str) -> str | None:
    """The module of a product file; None for tests, benchmarks and files outside every module."""
    parts = PurePosixPath(path).parts
    if parts[0] == "compiler":
        return parts[1] if len(parts) > 2 and parts[1] in COMPILER else None
    return parts[0] if parts[0] in ORDER else None


def backend_of(path: str) -> str | None:
    parts = PurePosixPath(path).parts
    return parts[2] if parts[:2] == ("compiler", "codegen") and parts[2] in BACKENDS else None


def refusal(source: str, target: str) -> str | None:
    """Why product file `source` may not include `target`, or None."""
    user, used = module_of(source), module_of(target)
    if user is None:
        return None if not source.startswith("compiler/") else "the including file lies in no module"
    if used is None:
        return "product code includes only product code"
    if user == used:
        mine, other = backend_of(source), backend_of(target)
        return "back ends never see each other" if mine and other and mine != other else None
    if ORDER.index(used) > ORDER.index(user):
        return f"{used} is to the right of {user} in the module order"
    if user == "frontend" and used not in FRONTEND_USES:
        return "frontend uses only support and ir"
    if used in ONLY_FROM_JIT and PurePosixPath(source).with_suffix("") != PurePosixPath("runtime/jit"):
        return f"only runtime/jit calls {used}"
    return None


def folder_of(path: str) -> str | None:
    """The folder of a file inside its module, as FOLDERS names it; None outside the modules there."""
    module = module_of(path)
    if module not in FOLDERS:
        return None
    parts = PurePosixPath(path).parts[:-1]
    below = parts[2:] if parts[0] == "compiler" else parts[1:]
    return below[-1] if below else module


def folder_refusal(source: str, target: str) -> str | None:
    """Why a file may not include one of another folder of its module, or None."""
    user, used = folder_of(source), folder_of(target)
    if module_of(source) != module_of(target) or user is None or used is None:
        return None
    order = FOLDERS[module_of(source) or ""]
    for folder in (user, used):
        if folder not in order:
            return f"folder {folder} has no place in FOLDERS (tests/lint/rules/includes.py)"
    is_later = order.index(used) > order.index(user)
    return f"{used} is to the right of {user} in the order of folders" if is_later else None


def _all_includes(files: Mapping[str, str]) -> Iterator[tuple[str, Include, str | None]]:
    """(file, include, file of the tree that it names or None) for every C++ file."""
    for path in files:
        if is_cpp(path):
            for include in includes(files[path]):
                yield path, include, resolve(path, include.path, files)


def check_order(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, include, target in _all_includes(files):
        if target is not None and (why := refusal(path, target)):
            found.append(f'{path}:{include.line}: includes "{include.path}": {why}')
    return found


def check_folders(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, include, target in _all_includes(files):
        if target is not None and (why := folder_refusal(path, target)):
            found.append(f'{path}:{include.line}: includes "{include.path}": {why}')
    return found


def check_resolved(files: Mapping[str, str]) -> list[str]:
    """Quotes are for our files and name one that exists; angle brackets are for foreign headers."""
    found: list[str] = []
    for path, include, target in _all_includes(files):
        if include.quoted and target is None:
            found.append(
                f'{path}:{include.line}: "{include.path}" names no file; write a neighbour\'s name '
                "or the path from the folder that holds the module"
            )
        elif not include.quoted and target is not None and "/" in include.path:
            found.append(f"{path}:{include.line}: <{include.path}> is ours: use quotes")
    return found


def check_cycles(files: Mapping[str, str]) -> list[str]:
    """One report for each include that closes a circle of files."""
    edges: dict[str, list[tuple[str, int]]] = {}
    for path, include, target in _all_includes(files):
        if target is not None:
            edges.setdefault(path, []).append((target, include.line))
    found: list[str] = []
    done: set[str] = set()

    def visit(path: str, trail: list[str]) -> None:
        trail.append(path)
        for target, line in edges.get(path, []):
            if target in trail:
                circle = " -> ".join([*trail[trail.index(target) :], target])
                found.append(f"{path}:{line}: include cycle {circle}")
            elif target not in done:
                visit(target, trail)
        trail.pop()
        done.add(path)

    for path in edges:
        if path not in done:
            visit(path, [])
    return found


def foreign_refusal(path: str, header: str, target: str | None) -> str | None:
    """Why `path` may not include the foreign `header`, or None; `target` is our own file of that name."""
    if target is None:
        for pattern, homes, why in FOREIGN:
            if re.match(pattern, header) and not path.startswith(homes):
                return why
    if CUDA_HEADER.match(PurePosixPath(header).name) or CUDA_HEADER.match(header):
        is_ours = target is not None and ("/cuda/" in target or target.startswith("tests/"))
        return None if is_ours else "CUDA only as our own prototypes below a cuda/ folder"
    return None


def check_foreign(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, include, target in _all_includes(files):
        if why := foreign_refusal(path, include.path, target):
            found.append(f"{path}:{include.line}: includes {include.path}: {why}")
    return found


# what needs which header of the standard library; the headers that the build reads once for all files
# (KW_COMMON_HEADERS in CMakeLists.txt) would hide that a file forgets one
STANDARD: dict[str, str] = {
    "array": r"std::array\b",
    "functional": r"std::(?:function|hash|ref|invoke)\b",
    "map": r"std::(?:multi)?map\b",
    "memory": r"std::(?:make_)?(?:unique|shared)(?:_ptr)?\b",
    "optional": r"std::(?:optional|nullopt)\b",
    "span": r"std::span\b",
    "string": r"std::(?:string|to_string)\b",
    "tuple": r"std::(?:tuple|make_tuple|tie)\b",
    "unordered_map": r"std::unordered_map\b",
    "unordered_set": r"std::unordered_set\b",
    "variant": r"std::(?:variant|visit|get_if|holds_alternative)\b",
    "vector": r"std::vector\b",
}


def reached_headers(path: str, files: Mapping[str, str], known: dict[str, set[str]]) -> set[str]:
    """Headers in angle brackets that a file includes, also by headers of ours; `known` is filled."""
    if path not in known:
        known[path] = set()
        for include in includes(files[path]):
            target = resolve(path, include.path, files)
            known[path] |= {include.path} if target is None else reached_headers(target, files, known)
    return known[path]


def check_standard(files: Mapping[str, str]) -> list[str]:
    """Every name of the standard library stands beside its header, in the file or in one of ours."""
    found: list[str] = []
    known: dict[str, set[str]] = {}
    for path, text in files.items():
        if not is_cpp(path) or module_of(path) is None:
            continue
        code, reached = strip(text), reached_headers(path, files, known)
        for header, pattern in STANDARD.items():
            if header not in reached and (use := re.search(pattern, code)):
                found.append(f"{path}:{line_of(code, use.start())}: {use[0]} without <{header}>")
    return found
