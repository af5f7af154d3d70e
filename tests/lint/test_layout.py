"""Layout: allowed folders, READMEs where they are due, header twins, folder size.
The tree reader itself is tested here too.
"""

from __future__ import annotations

from pathlib import Path

from . import tree
from .rules import layout


def test_top_level() -> None:
    tree.expect_clean(layout.check_top_level(tree.files()))


def test_subfolders() -> None:
    tree.expect_clean(layout.check_subfolders(tree.files()))


def test_readmes() -> None:
    tree.expect_clean(layout.check_readmes(tree.files()))


def test_header_twins() -> None:
    tree.expect_clean(layout.check_twins(tree.files()))


def test_folder_sizes() -> None:
    tree.expect_clean(layout.check_folder_sizes(tree.files()))


def test_reports_top_level() -> None:
    sample = {"doc/a.md": "", "setup.py": "", ".ci/run": "", "tests/x.py": "", "Makefile": ""}
    tree.expect_reported(layout.check_top_level(sample), "doc:1", "setup.py:1")


def test_reports_subfolders() -> None:
    sample = {
        "compiler/utils/a.h": "",
        "compiler/ir/deep/a.h": "",
        "compiler/codegen/metal/a.h": "",
        "compiler/codegen/llvm/emit.h": "",
        "compiler/transform/math/exp.h": "",
        "frontend/ast/a.h": "",
        "runtime/cpu/pool.h": "",
        "runtime/rocm/a.h": "",
        "python/bind/sub/a.h": "",
        "python/kernelwright/sub/a.py": "",
        "tests/any/deep/a.py": "",
    }
    wrong = ("compiler/utils", "ir/deep", "codegen/metal", "frontend/ast", "runtime/rocm", "bind/sub")
    tree.expect_reported(layout.check_subfolders(sample), *wrong)


def test_reports_readmes() -> None:
    sample = {"README.md": "line\n" * 151, "compiler/ir/node.h": "", "bench/README.md": "", "bench/a.py": ""}
    tree.expect_reported(layout.check_readmes(sample), "README.md:151", "compiler/README.md")


def test_reports_twins() -> None:
    sample = {
        "compiler/ir/node.h": "",
        "compiler/ir/node.cpp": "",
        "compiler/ir/lost.cpp": "",
        "compiler/ir/one.cpp": '// Text.\n#include "ir/passes.h"\n\n#include "ir/node.h"\n',
        "compiler/ir/part.cpp": '#include "ir/node.h"\n',
        "compiler/ir/other.cpp": '#include "transform/passes.h"\n',
        "runtime/free.cpp": "",
    }
    expected = ("compiler/ir/lost.cpp", "compiler/ir/part.cpp", "compiler/ir/other.cpp")
    tree.expect_reported(layout.check_twins(sample), *expected)


def test_reports_folder_size() -> None:
    folders = ("runtime", "tests/unit", "bench/results")
    crowded = {f"{folder}/f{n}.h": "" for folder in folders for n in range(31)}
    tree.expect_reported(layout.check_folder_sizes(crowded), "runtime:1: 31 files")


def test_tree_reader(tmp_path: Path) -> None:
    for path in ("compiler/ir/build.h", "build-debug/x.o", ".venv/a.py", "tests/__pycache__/a", "Makefile"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x\n")
    assert sorted(tree.walked_files(tmp_path)) == tree.list_files(tmp_path)
    assert tree.list_files(tmp_path) == ["Makefile", "compiler/ir/build.h"]
    assert "tests/lint/tree.py" in tree.files()
    assert tree.decode(b"\0ELF") == ""
    assert tree.decode(b"\xff\xfe") == ""
