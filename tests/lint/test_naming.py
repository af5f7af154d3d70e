"""Naming and wording of C++: names, macros, opening comments, calls and types that are forbidden.
One sample with every violation, one with everything that is allowed.
"""

from __future__ import annotations

import pytest

from . import tree
from .rules import naming


def test_file_names() -> None:
    tree.expect_clean(naming.check_file_names(tree.files()))


def test_types() -> None:
    tree.expect_clean(naming.check_types(tree.files()))


def test_types_are_one() -> None:
    tree.expect_clean(naming.check_types_are_one(tree.files()))


def test_reports_two_types_of_one_name() -> None:
    sample = {
        "compiler/a/x.h": "namespace kw {\nclass Sum;\nclass Sum {\n};\n}\n",
        "compiler/b/y.h": "namespace kw {\nstruct Sum {\n};\n}\n",
        "frontend/z.h": "namespace kw::ast {\nstruct Sum {\n};\n}\n",
    }
    tree.expect_reported(naming.check_types_are_one(sample), "compiler/b/y.h:2: Sum is also a type of")


def test_functions() -> None:
    tree.expect_clean(naming.check_functions(tree.files()))


def test_macros() -> None:
    tree.expect_clean(naming.check_macros(tree.files()))


def test_openings() -> None:
    tree.expect_clean(naming.check_openings(tree.files()))


def test_process_ends() -> None:
    tree.expect_clean(naming.check_process_ends(tree.files()))


def test_long() -> None:
    tree.expect_clean(naming.check_long(tree.files()))


def test_reports_file_names() -> None:
    sample = dict.fromkeys(("compiler/ir/NodeList.h", "tests/ir/a-b.cpp", "runtime/a.cc", "runtime/a.h"), "")
    wrong = ("NodeList.h", "a-b.cpp", "a.cc:1: C++ files end in")
    tree.expect_reported(naming.check_file_names(sample), *wrong)


def test_reports_types() -> None:
    text = """\
struct loc_range { int a; };
enum class loop_kind : uint8_t { serial };
class alignas(64) node final : public Base {};
using exprs = std::vector<Expr>;
typedef struct { int x; } Fine;
typedef unsigned char byte_t;
struct Snake_Camel {};
struct stat info;
struct Elf64_Ehdr { int x; };
template <> struct std::hash<Loc> { using value_type = int; };
template <class T, class... Ts> void f();
// struct in_comment {};
"""
    wrong = ("h:1: type loc_range", "h:2: type loop_kind", "h:3: type node", "h:4: type exprs", "h:6", "h:7")
    tree.expect_reported(naming.check_types({"runtime/a.h": text}), *wrong)


def test_reports_functions() -> None:
    text = """\
namespace kw {
void doThing(int a);
int Camel() { return 1; }
class Foo {
  explicit Foo(int a);
  ~Foo() = default;
  Foo &operator=(const Foo &) = delete;
  virtual int getSize() const = 0;
  int get_size() const;
  void (*callback)(int);
  static constexpr Kind kind = make(1);
};
Foo::Foo(int a) : a_(a) { call(Other(1)); }
extern "C" CUresult cuInit(unsigned flags);
PyObject *PyInit__native(void);
PYBIND11_MODULE(_native, m) { bindAll(m); }
static_assert(sizeof(Foo) == 8);
decltype(auto) lastOne(int n);
std::unique_ptr<Foo> make(int n);
const Table &rows();
}
"""
    wrong = (
        "2: function doThing",
        "3: function Camel",
        "8: function getSize",
        "9: function get_size",
        "18: function lastOne",
    )
    tree.expect_reported(naming.check_functions({"runtime/a.h": text}), *wrong)


def test_reports_macros() -> None:
    text = """\
#define KW_EXPORT
#define MAX(a, b) 1
#  define KW_CHECK(x) x
#define NPY_API 1
auto s = R"(
#define IN_TEXT
)";
"""
    wrong = ("h:2: macro MAX", "h:3: macro KW_CHECK")
    tree.expect_reported(naming.check_macros({"python/bind/a.h": text}), *wrong)
    tree.expect_reported(naming.check_macros({"runtime/a.h": text}), "h:2", "h:3", "h:4: macro NPY_API")


@pytest.mark.parametrize(
    ("path", "text", "lines"),
    [
        ("a/a.h", "// One.\n// Two.\n#pragma once\n", 2),
        ("a/a.h", "#pragma once\n\n// One.\n// Two.\n\n// A page follows.\n", 2),
        ("a/a.h", "/* One.\n   Two. */\n#pragma once\n", 2),
        ("a/a.h", "/**\n * One.\n * Two.\n *\n * A page.\n */\n#pragma once\n", 2),
        ("a/a.cpp", "// One.\n#include <vector>\n", 1),
        ("a/a.cpp", "/* One. */\n// no part of it\n", 1),
    ],
)
def test_accepts_openings(path: str, text: str, lines: int) -> None:
    assert naming.opening_lines(text) == lines
    tree.expect_clean(naming.check_openings({path: text}))


def test_reports_openings() -> None:
    sample = {
        "a/one.h": "// One.\n#pragma once\n",
        "a/none.cpp": "\n#include <vector>\n",
        "a/wall.cpp": "// Word.\n" * 7,
        "a/guard.h": "// One.\n// Two.\n#ifndef A\n#endif\n",
    }
    wrong = ("one.h:1: opens with 1", "none.cpp:1: opens with 0", "wall.cpp:1: opens with 7", "guard.h:1: #p")
    tree.expect_reported(naming.check_openings(sample), *wrong)


def test_reports_process_ends() -> None:
    text = """\
void f() {
  abort();
  std::exit(1);
  ::_exit (1);
  std::set_terminate(std::terminate);
}  // abort()
void g(Scope &s) { s.exit(1); s.p->abort(); on_exit(2); say("exit(1)"); Scope::exit(3); }
"""
    wrong = ("cpp:2: abort", "cpp:3: std::exit", "cpp:4: ::_exit", "cpp:5: std::terminate")
    tree.expect_reported(naming.check_process_ends({"runtime/a.cpp": text, "tests/a.cpp": text}), *wrong)


def test_reports_long() -> None:
    text = """\
long a;
unsigned long b;
long int c;
long long d; unsigned long long e; long double f;  // long
auto s = "long"; int long_name; PyLong_AsLong(x);
"""
    tree.expect_reported(naming.check_long({"runtime/a.cpp": text}), "cpp:1", "cpp:2", "cpp:3")
