"""Sizes of classes; the samples also pin down what counts as a method and as a field."""

from __future__ import annotations

from . import tree
from .cpp_classes import classes
from .rules.classes import FIELDS, METHODS, check_classes, python_classes


def test_class_sizes() -> None:
    tree.expect_clean(check_classes(tree.files()))


def test_members_of_every_shape_are_counted() -> None:
    text = """\
    struct Plain {
      int a = 1, b{2};
      std::map<int, std::vector<int>> c{};  // one field; with a comma
      std::function<void(int, int)> hook;
    };
    template <class T>
    class Whole final : public Base<T> {
     public:
      explicit Whole(int a) : a_(a), b_{a} {}
      Whole(const Whole &) = delete;
      ~Whole() {}
      Whole &operator=(const Whole &) = delete;
      explicit operator bool() const { return true; }
      int size() const { return f({1, 2}); }
      static bool is_good(int a, int b = 1);
      template <class F>
      void each(F &&f) {}
      using T = int;
      enum class Kind { one, two };
      struct Inner {
        int x, y;
      };

     private:
      static constexpr int most = 3;
      int a_ = 0;
      Inner inner_;
    };
    enum class No { a, b };
    struct Declared;
    """
    assert [(c.name, c.line, c.methods, c.fields) for c in classes(text)] == [
        ("Plain", 1, 0, 4),
        ("Whole", 7, 3, 2),
        ("Inner", 20, 0, 2),
    ]


def test_python_classes_are_counted() -> None:
    text = """\
class A:
    told: int

    def __init__(self):
        self.x, self.y = 1, 2
        self.x += 1
        other.z = 3

    async def run(self):
        self.deep[0] = 1
"""
    assert [(c.name, c.methods, c.fields) for c in python_classes(text)] == [("A", 2, 3)]


def test_reports_large_classes() -> None:
    methods = "".join(f"void f{i}();\n" for i in range(METHODS + 1))
    fields = "".join(f"int f{i};\n" for i in range(FIELDS + 1))
    sample = {
        "compiler/ir/a.h": f"class A {{\n{methods}}};\n",
        "runtime/b.h": f"\nclass B {{\nvoid f();\n{fields}}};\n",
        "runtime/plain.h": f"struct P {{\n{fields}}};\n",
        "tests/c.h": f"class A {{\n{methods}}};\n",
        "python/kernelwright/d.py": "class D:\n"
        + "".join(f"    def f{i}(self): ...\n" for i in range(METHODS + 1)),
    }
    tree.expect_reported(
        check_classes(sample), "compiler/ir/a.h:1: A", "runtime/b.h:2: B", "python/kernelwright/d.py:1: D"
    )
