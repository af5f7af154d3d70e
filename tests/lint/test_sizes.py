"""Sizes: files, functions and lines stay short; the softer limits only warn.
The samples below also pin down what counts as a C++ function.
"""

from __future__ import annotations

import warnings

import pytest

from . import tree
from .cpp_functions import functions
from .rules import sizes


def test_file_lines() -> None:
    tree.expect_clean(sizes.check_file_lines(tree.files(), sizes.FILE_LINES))


def test_function_lines() -> None:
    tree.expect_clean(sizes.check_function_lines(tree.files(), sizes.FUNCTION_LINES))


def test_line_lengths() -> None:
    tree.expect_clean(sizes.check_line_lengths(tree.files()))


@pytest.mark.filterwarnings("default::UserWarning")
def test_warn_early() -> None:
    long_files = sizes.check_file_lines(tree.files(), sizes.FILE_WARN)
    long_functions = sizes.check_function_lines(tree.files(), sizes.FUNCTION_WARN)
    if long_files or long_functions:
        warnings.warn("growing long:\n" + "\n".join(long_files + long_functions), stacklevel=1)


def test_reports_file_lines() -> None:
    sample = {"a.h": "//\n" * 601, "b.cpp": "//\n" * 600, "a.py": "#\n" * 601, "a.md": "\n" * 900}
    tree.expect_reported(sizes.check_file_lines(sample, 600), "a.h:601", "a.py:601")


def test_reports_function_lines() -> None:
    newline = "\n"
    sample = {
        "a.cpp": f"namespace kw {{\nint f() {{{newline * 80}}}\nint g() {{{newline * 79}}}\n}}\n",
        "a.py": "def f():\n" + "    x = 1\n" * 80 + "def g():\n" + "    x = 1\n" * 79,
        "b.py": "def (\n",
    }
    expected = ("a.cpp:2: f: 81 lines", "a.py:1: f: 81 lines", "b.py:1: Python cannot parse")
    tree.expect_reported(sizes.check_function_lines(sample, 80), *expected)


def test_reports_line_lengths() -> None:
    long = "x" * 111 + "\n"
    paths = ("runtime/a.cpp", "tests/a.py", "CMakeLists.txt", "third_party/cmake/a.cmake", "README.md")
    sample = dict.fromkeys((*paths, "compiler/README.md"), "ok\n" + long)
    sample["runtime/exact.cpp"] = "é" * 110 + "\n"
    reported = [f"{path}:2: 111" for path in paths]
    tree.expect_reported(sizes.check_line_lengths(sample), *reported)


def names(text: str) -> list[str]:
    return [f"{f.name}:{f.line}-{f.end}" for f in functions(text) if f.defined]


def test_functions_of_every_shape_are_found() -> None:
    text = """\
    namespace kw {
    extern "C" {
    KW_EXPORT int32_t kw_entry(const KwEnv *, void (*body)(int)) noexcept { return 0; }
    }
    template <class T, class U = std::vector<int>>
      requires(sizeof(T) > 4)
    [[nodiscard]] auto twice(T x, Options o = {}) -> std::pair<T, U>
    {
      auto f = [&](int y) { return y; };
      if (x < 1) { return f(x); }
      return "}" + '}';  // }
    }
    struct Foo : Base<int> {
     public:
      explicit Foo(int a) : a_(a), b_{a, {1}} { if (a) {} }
      ~Foo() {}
      int size() const { return a_; }
      operator bool() const { return true; }
      bool operator()(int x) const { return x; }
      std::function<void(int)> hook{[](int) {}};
      int a_{0};
    };
    bool operator<(const Foo &a, const Foo &b) { return false; }
    std::vector<Foo> Foo::all(int n) const & { return {}; }
    decltype(auto) last(int n) { return n; }
    TEST(Suite, name) { EXPECT_EQ(1'000, 1); }
    }"""
    found = [name.split(":")[0] for name in names(text)]
    assert found == ["kw_entry", "twice", "Foo", "~Foo", "size", "", "", "", "all", "last", "TEST"]
    assert "twice:5-12" in names(text)


def test_tables_lambdas_and_enums_are_no_functions() -> None:
    text = """\
    enum class Kind : uint8_t { one, two };
    constexpr Row kRows[] = { {"a", f(1)}, {"b", g(2)} };
    const auto handler = [](int x) { return x; };
    static const bool ok = add("x", [](int) { return 1; });
    std::array<int, 2> pair{1, 2};
    union Bits { float f; uint32_t u; };
    template <class T> concept Small = requires(T t) { t.size(); };
    alignas(64) std::atomic<int> count{0};
    """
    assert names(text) == []


def test_both_branches_of_if_are_read() -> None:
    text = """\
#ifdef A
int f() {
#else
int g() {
#endif
  return 1;
}
#if B
int h() { return 1; }
#endif
int i() {}
"""
    assert [name.split(":")[0] for name in names(text)] == ["g", "h", "i"]
