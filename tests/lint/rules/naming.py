"""C++ names and words: files, types, functions, macros, opening comments, forbidden calls and types.
Heuristics over stripped text; names that a foreign interface fixes are listed here, nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from ..cpp_functions import functions
from ..cpp_text import is_cpp, line_of, strip

FILE_NAME = re.compile(r"[a-z][a-z0-9_]*\.(?:h|cpp)")
OTHER_SUFFIXES = (".hpp", ".hh", ".cc", ".cxx", ".inl", ".cu", ".cuh")
PRODUCT = ("compiler/", "frontend/", "runtime/", "python/")

_ATTRIBUTES = r"(?:alignas\([^)]*\)\s*|\[\[[^\]]*\]\]\s*|__attribute__\(\(.*?\)\)\s*|KW_EXPORT\s+)*"
_KEYWORD = r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+"
_TYPE = re.compile(_KEYWORD + _ATTRIBUTES + r"(\w+)\s*(?=[{]|:(?!:)|final\b)")
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=|\btypedef\b[^;{}()]*?\b(\w+)\s*;")
CAMEL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")
# ELF, Python, CUDA driver and GDB fix these; the second line is what std templates look for.
FOREIGN_TYPES = re.compile(
    r"(?:Elf|Py|CU|nvrtc|jit_)\w*"
    r"|(?:value|element|size|difference|result|key|mapped|promise)_type"
    r"|(?:const_)?(?:iterator|pointer|reference)|iterator_(?:category|concept)|is_transparent|type"
)
SNAKE_CASE = re.compile(r"_{0,2}[a-z][a-z0-9_]*")
# C ABIs, Google Test hooks and the libFuzzer entry; code that overrides a foreign virtual is listed by name.
FOREIGN_FUNCTIONS = re.compile(
    r"Py\w+|cu[A-Z]\w*|nvrtc[A-Z]\w*|SetUp(?:TestSuite)?|TearDown(?:TestSuite)?|PrintTo|LLVM\w+"
    r"|handleDiagnostics|runOnFunction|getPassName"
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
MACROS = re.compile(r"KW_EXPORT|KW_\w+_H_?")
# headers that users include: their names are those of the interface that they take over
INTERFACES = ("python/kernelwright/include/",)
FOREIGN_SWITCHES = re.compile(r"NPY_\w+|PY_ARRAY_UNIQUE_SYMBOL|NO_IMPORT_ARRAY|PY_SSIZE_T_CLEAN")
_ENDS_PROCESS = re.compile(
    r"(?<![\w.>:])(?:(?:std)?::\s*)?(?:abort|_?exit|_Exit|quick_exit)\s*\(|\bstd::terminate\b"
)
_LONG = re.compile(r"\b(?:(?:signed|unsigned)\s+)?long\b(?:\s+(?:long|double|int|unsigned)\b)*")


def _cpp(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((path, text) for path, text in files.items() if is_cpp(path))


def check_file_names(files: Mapping[str, str]) -> list[str]:
    found = [
        f"{path}:1: C++ file names are snake_case"
        for path, _ in _cpp(files)
        if not FILE_NAME.fullmatch(PurePosixPath(path).name)
    ]
    return found + [
        f"{path}:1: C++ files end in .h or .cpp"
        for path in files
        if path.startswith(PRODUCT) and path.endswith(OTHER_SUFFIXES)
    ]


def check_types(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, text in _cpp(files):
        clean = strip(text)
        for match in [*_TYPE.finditer(clean), *_ALIAS.finditer(clean)]:
            name = next(group for group in match.groups() if group)
            if not CAMEL_CASE.fullmatch(name) and not FOREIGN_TYPES.fullmatch(name):
                found.append(f"{path}:{line_of(clean, match.start())}: type {name} is not CamelCase")
    return found


def check_functions(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, text in _cpp(files):
        if path.startswith(INTERFACES):
            continue
        for function in functions(text):
            if function.special or FOREIGN_FUNCTIONS.fullmatch(function.name):
                continue
            if function.name.startswith("get_"):
                found.append(f"{path}:{function.line}: function {function.name}: say the thing, without get_")
            elif not SNAKE_CASE.fullmatch(function.name):
                found.append(f"{path}:{function.line}: function {function.name} is not snake_case")
    return found


def check_macros(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, text in _cpp(files):
        clean = strip(text)
        for match in _DEFINE.finditer(clean):
            name, line = match[1], line_of(clean, match.start(1))
            is_switch = path.startswith("python/bind/") and FOREIGN_SWITCHES.fullmatch(name)
            if not MACROS.fullmatch(name) and not is_switch:
                found.append(f"{path}:{line}: macro {name}: only visibility may be one")
    return found


def opening_lines(text: str) -> int:
    """Lines of the comment paragraph that opens the file (after `#pragma once` if that comes first).
    A blank line, also one inside the comment, ends the paragraph.
    """
    lines = [line.strip() for line in text.removeprefix("#pragma once").lstrip("\n").splitlines()]
    if not lines or not lines[0].startswith(("//", "/*")):
        return 0
    count = 0
    in_block = lines[0].startswith("/*")
    for line in lines:
        if not in_block and not line.startswith("//"):
            break
        if not line.strip("/* "):
            if count:
                break
            continue
        count += 1
        if in_block and line.endswith("*/"):
            break
    return count


def check_openings(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, text in _cpp(files):
        least = 2 if path.endswith(".h") else 1
        if not least <= opening_lines(text) <= 6:
            found.append(f"{path}:1: opens with {opening_lines(text)} comment lines, not {least} to 6")
        if path.endswith(".h") and not strip(text).lstrip().startswith("#pragma once"):
            found.append(f"{path}:1: #pragma once is not its first line of code")
    return found


def check_process_ends(files: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for path, text in _cpp(files):
        if path.startswith(PRODUCT):
            clean = strip(text)
            for match in _ENDS_PROCESS.finditer(clean):
                line = line_of(clean, match.start())
                found.append(f"{path}:{line}: {match[0]} ends the process under Python")
    return found


def check_long(files: Mapping[str, str]) -> list[str]:
    """No `long`: its size differs between systems. `long long` and `long double` do not."""
    found: list[str] = []
    for path, text in _cpp(files):
        clean = strip(text)
        for match in _LONG.finditer(clean):
            words = match[0].split()
            if words.count("long") == 1 and "double" not in words:
                found.append(f"{path}:{line_of(clean, match.start())}: type {match[0]}: use a fixed width")
    return found


_NAMESPACE = re.compile(r"^namespace (\S+) \{", re.MULTILINE)
_OUTERMOST = re.compile(r"^(?:struct|class|union|enum class) (\w+)[^;\n]*\{", re.MULTILINE)


def check_types_are_one(files: Mapping[str, str]) -> list[str]:
    """Types of headers have names of their own in their namespace: the linker makes two of one name one."""
    places: dict[tuple[str, str], str] = {}
    found = []
    for path, text in _cpp(files):
        if not path.startswith(PRODUCT) or not path.endswith(".h"):
            continue
        spaces = [(m.start(), m[1]) for m in _NAMESPACE.finditer(text)]
        for m in _OUTERMOST.finditer(text):
            space = [name for at, name in spaces if at < m.start()][-1:]
            key = (space[0] if space else "", m[1])
            if key in places:
                found.append(f"{path}:{line_of(text, m.start())}: {m[1]} is also a type of {places[key]}")
            places.setdefault(key, path)
    return found
