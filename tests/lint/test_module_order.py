"""Module order: who may include whom, isolated back ends, no circles, no dangling includes.
Design rule: support < ir < ... < driver < frontend < runtime < python.
"""

from __future__ import annotations

import pytest

from . import tree
from .rules import includes


def test_order() -> None:
    tree.expect_clean(includes.check_order(tree.files()))


def test_folders() -> None:
    tree.expect_clean(includes.check_folders(tree.files()))


FOLDER_EDGES = [
    ("compiler/schedule/tree/a.h", "compiler/schedule/steps/b.h", "steps is to the right of tree"),
    ("compiler/schedule/cpu/a.h", "compiler/schedule/choose.h", "schedule is to the right of cpu"),
    ("runtime/calls/a.cpp", "runtime/ops/b.h", "ops is to the right of calls"),
    ("runtime/jit.h", "runtime/versions/b.h", "versions is to the right of runtime"),
    ("compiler/analysis/a.h", "compiler/analysis/nest/b.h", "nest is to the right of analysis"),
    ("runtime/new/a.h", "runtime/jit.h", "folder new has no place in FOLDERS"),
    ("compiler/schedule/choose.cpp", "compiler/schedule/cpu/b.h", None),
    ("runtime/ops/a.cpp", "runtime/calls/b.h", None),
    ("compiler/schedule/tree/a.h", "compiler/schedule/tree/b.h", None),
    ("runtime/jit.cpp", "frontend/sema/b.h", None),
]


@pytest.mark.parametrize(("source", "target", "why"), FOLDER_EDGES)
def test_reports_folders(source: str, target: str, why: str | None) -> None:
    found = includes.folder_refusal(source, target)
    assert found is None if why is None else why in (found or "")


def test_every_include_resolves() -> None:
    tree.expect_clean(includes.check_resolved(tree.files()))


def test_no_cycles() -> None:
    tree.expect_clean(includes.check_cycles(tree.files()))


def test_standard_headers() -> None:
    tree.expect_clean(includes.check_standard(tree.files()))


def test_reports_standard_headers() -> None:
    sample = {
        "compiler/ir/node.h": "#include <vector>\n",
        "compiler/ir/node.cpp": '#include "ir/node.h"\nstd::vector<int> v;\nstd::map<int, int> m;\n',
    }
    found = includes.check_standard(sample)
    assert found == ["compiler/ir/node.cpp:3: std::map without <map>"]


REFUSED = [
    ("compiler/support/loc.cpp", "compiler/ir/node.h", "right of support"),
    ("compiler/ir/node.h", "runtime/abi.h", "right of ir"),
    ("compiler/transform/unroll.cpp", "compiler/autodiff/reverse.h", "right of transform"),
    ("compiler/codegen/backend.h", "compiler/driver/compile.h", "right of codegen"),
    ("runtime/cpu/pool.cpp", "python/bind/dispatch/dispatch.h", "right of runtime"),
    ("frontend/lower.cpp", "compiler/transform/simplify.h", "only support and ir"),
    ("runtime/calls/call.cpp", "frontend/parser.h", "only runtime/jit"),
    ("runtime/cpu/jit.cpp", "compiler/driver/compile.h", "only runtime/jit"),
    ("python/bind/module.cpp", "compiler/driver/compile.h", "only runtime/jit"),
    ("compiler/codegen/llvm/emit.cpp", "compiler/codegen/interp/run.h", "never see each other"),
    ("compiler/codegen/interp/run.cpp", "compiler/codegen/cuda/text.h", "never see each other"),
    ("runtime/calls/call.cpp", "tests/support/sample.h", "only product code"),
    ("compiler/loose.h", "compiler/ir/node.h", "lies in no module"),
]
ALLOWED = [
    ("compiler/driver/compile.cpp", "compiler/codegen/backend.h"),
    ("compiler/codegen/backend.cpp", "compiler/codegen/interp/run.h"),
    ("compiler/codegen/llvm/emit.cpp", "compiler/codegen/llvm/types.h"),
    ("compiler/codegen/llvm/emit.cpp", "compiler/codegen/artifact.h"),
    ("frontend/lower.cpp", "compiler/ir/build.h"),
    ("frontend/lower.cpp", "frontend/ast.h"),
    ("runtime/jit.cpp", "frontend/parser.h"),
    ("runtime/jit.h", "compiler/driver/compile.h"),
    ("python/bind/dispatch/dispatch.cpp", "runtime/calls/call.h"),
    ("tests/ir/node_test.cpp", "python/bind/dispatch/dispatch.h"),
]


@pytest.mark.parametrize(("source", "target", "why"), REFUSED)
def test_reports_order(source: str, target: str, why: str) -> None:
    written = target.removeprefix("compiler/")
    sample = {source: f'// "{target}"\n#include "{written}"\n', target: ""}
    tree.expect_reported(includes.check_order(sample), f"{source}:2: ")
    tree.expect_reported(includes.check_order(sample), why)


@pytest.mark.parametrize(("source", "target"), ALLOWED)
def test_accepts_order(source: str, target: str) -> None:
    sample = {source: f'#include "{target.removeprefix("compiler/")}"\n', target: ""}
    tree.expect_clean(includes.check_order(sample))
    tree.expect_clean(includes.check_resolved(sample))


def test_reports_neighbour_in_a_wrong_place() -> None:
    """A plain name is a neighbour, so it can never leave the module."""
    sample = {
        "compiler/ir/node.cpp": '#include "node.h"\n#include "loc.h"\n#include "../support/loc.h"\n',
        "compiler/ir/node.h": "",
        "compiler/support/loc.h": "",
        "compiler/ir/walk.h": "#include <ir/node.h>\n#include <vector>\n",
    }
    tree.expect_reported(includes.check_resolved(sample), "cpp:2", "cpp:3", "walk.h:1: <ir/node.h> is ours")


def test_ignores_comments_and_strings() -> None:
    text = '// #include "gone.h"\n/*\n#include "gone.h"\n*/\nauto s = R"(\n#include "gone.h"\n)";\n'
    tree.expect_clean(includes.check_resolved({"compiler/ir/node.h": text}))


def test_reports_cycles() -> None:
    sample = {
        "compiler/ir/a.h": '#include "ir/b.h"\n',
        "compiler/ir/b.h": '#pragma once\n#include "c.h"\n',
        "compiler/ir/c.h": '#include "a.h"\n',
        "compiler/ir/d.h": '#include "d.h"\n#include "a.h"\n',
    }
    circles = ("a.h -> compiler/ir/b.h -> compiler/ir/c.h -> compiler/ir/a.h", "d.h -> compiler/ir/d.h")
    tree.expect_reported(includes.check_cycles(sample), *circles)
