#!/usr/bin/env python3
"""A stand-in for nvcc, for the emulated GPU: the host's part of a CUDA source becomes a library with
runtime.inc, which compiles its kernels at their first launch.

It knows what tests compile: kernels that are no templates, launched by `name<<<blocks, threads, …>>>(…)`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
KERNEL = re.compile(r"__global__\s+void\s+(\w+)\s*\(([^)]*)\)\s*\{")
LAUNCH = re.compile(r"(\w+)\s*<<<(.*?)>>>\s*\(", re.DOTALL)


def body_end(text: str, begin: int) -> int:
    """The place behind the brace that closes the one before `begin`."""
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[begin], 0)
        begin += 1
    return begin


def with_headers(source: Path, folders: list[Path]) -> str:
    """The source with the headers of these folders in their places."""

    def header(found: re.Match[str]) -> str:
        paths = [folder / found[1] for folder in (source.parent, *folders)]
        path = next((p for p in paths if p.exists()), None)
        return with_headers(path, folders) if path else found[0]

    return re.sub(r'^#include "([^"]+)"$', header, source.read_text(encoding="utf-8"), flags=re.MULTILINE)


def host_part(text: str) -> str:
    """The source with kernels declared and launches called."""
    constants = "".join(re.findall(r"^#define [^\n]*\n", text, re.MULTILINE))
    out, at = "", 0
    while found := KERNEL.search(text, at):
        end = body_end(text, found.end())
        name, parameters = found[1], found[2]
        out += f"{text[at : found.start()]}void {name}({parameters});\n"
        kernel = f"{name}({parameters}) {{{text[found.end() : end]}\n"
        out += f'static const char kw_{name}[2][4000] = {{R"kw({constants})kw", R"kw({kernel})kw"}};\n'
        at = end
    out += text[at:]
    launch = r'kw_launch<decltype(&\1)>("\1", kw_\1, {\2}, '
    return '#include "runtime.inc"\n' + LAUNCH.sub(launch, out)


def main(arguments: list[str]) -> int:
    if "--version" in arguments:
        print("the stand-in for nvcc")
        return 0
    output, sources, folders = "a.so", [], []
    for argument, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument == "-o":
            output = value
        elif argument.startswith("-I"):
            folders.append(Path(argument.removeprefix("-I") or value))
        elif argument.endswith(".cu"):
            sources.append(Path(argument))
    texts = [with_headers(source, folders) for source in sources]
    if "-E" in arguments:
        print(*texts)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for number, text in enumerate(texts):
            part = Path(folder, f"{number}.cpp")
            part.write_text(host_part(text), encoding="utf-8")
            parts.append(str(part))
        command = ["g++", "-shared", "-fPIC", "-w", "-O1", "-std=c++17", f"-I{HERE}"]
        command += [f"-I{folder}" for folder in folders]
        return subprocess.run([*command, "-o", output, *parts, "-ldl"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
