// What is not in the language: the code, place and words of each refusal, through the whole front end.
#include <gtest/gtest.h>

#include "frontend/lower/lower.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// "E101 2:5 message" for each error.
std::vector<std::string> all_errors(std::string_view text, const Signature &signature) {
  std::vector<std::string> out;
  for (const Resolved &e : unit::lower_text(text, signature).errors)
    out.push_back(cat(row_of(e.code).name, " ", e.line, ":", e.column, " ", e.message));
  return out;
}

/// The errors of a kernel over a: f32[n, m] and w: int64[n] with an output c: f32[n] and these lines, which
/// begin in line 3.
std::string errors_of(std::string_view lines) {
  std::string text = "def f(a, w):\n    c = output_tensor((a.shape[0],), a.dtype)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("    ", line, "\n");
  text += "    return c\n";
  std::vector<std::string> found =
      all_errors(text, unit::signature({unit::tensor(2), unit::tensor(1, DType::i64)}));
  return found.empty() ? "none" : join_text(found, " | ");
}

struct Row {
  std::string_view lines, error;
};

void check_rows(std::span<const Row> rows) {
  for (const Row &row : rows) EXPECT_EQ(errors_of(row.lines), row.error) << row.lines;
}

TEST(Refusals, a_kernel_without_faults_has_none) {
  EXPECT_EQ(errors_of("for i in range(a.shape[0]):\n    c[i] = a[i, 0] + w[i]"), "none");
}

TEST(Refusals, statements_outside_the_language) {
  constexpr Row rows[] = {
      {"try:\n    pass\nexcept E:\n    pass", "E101 3:5 a try statement is not part of the kernel language"},
      {"raise E", "E101 3:5 a raise statement is not part of the kernel language"},
      {"class A:\n    pass", "E101 3:5 a class is not part of the kernel language"},
      {"def g():\n    pass", "E101 3:5 a nested function is not part of the kernel language"},
      {"@d\ndef g():\n    pass", "E101 3:5 a nested function is not part of the kernel language"},
      {"async def g():\n    pass", "E101 3:5 an async statement is not part of the kernel language"},
      {"import os", "E101 3:5 an import is not part of the kernel language"},
      {"from os import path", "E101 3:5 an import is not part of the kernel language"},
      {"del a", "E101 3:5 a del statement is not part of the kernel language"},
      {"global g", "E101 3:5 a global statement is not part of the kernel language"},
      {"nonlocal g", "E101 3:5 a nonlocal statement is not part of the kernel language"},
      {"match a:\n    case 1:\n        pass",
       "E101 3:5 a match statement is not part of the kernel language"},
      {"x = y = 1", "E101 3:5 a statement with multiple assignments is not part of the kernel language"},
      {"a.shape", "E101 3:5 an expression alone has no effect in a kernel"},
      {"print(a[0, 0])", "E101 3:5 print is not part of the kernel language"},
      {"with f(a) as x:\n    pass", "E101 3:15 `with ... as` is not part of the kernel language"},
  };
  for (const Row &row : rows) {
    std::string found = errors_of(row.lines);
    EXPECT_EQ(found.substr(0, row.error.size()), row.error) << row.lines;
  }
}

TEST(Refusals, loop_else) {
  EXPECT_EQ(errors_of("for i in range(3):\n    pass\nelse:\n    pass"),
            "E101 5:5 `else` of a for loop is not part of the kernel language");
  EXPECT_EQ(errors_of("while True:\n    pass\nelse:\n    pass"),
            "E101 5:5 `else` of a while loop is not part of the kernel language");
}

TEST(Refusals, expressions_outside_the_language) {
  constexpr Row rows[] = {
      {"x = lambda: 1", "E101 3:9 a lambda is not part of the kernel language"},
      {"x = (yield)", "E101 3:10 'yield' is not part of the kernel language"},
      {"x = await a", "E101 3:9 'await' is not part of the kernel language"},
      {"x = [i for i in a]", "E101 3:12 a comprehension is not part of the kernel language"},
      {"x = sum(i for i in a)", "E101 3:15 a comprehension is not part of the kernel language"},
      {"x = {1: 2}", "E101 3:9 a dict or set is not part of the kernel language"},
      {"x = {1}", "E101 3:9 a dict or set is not part of the kernel language"},
      {"x = f'{a}'", "E101 3:9 an f-string is not part of the kernel language"},
      {"x = b'a'", "E101 3:9 a bytes literal is not part of the kernel language"},
      {"x = 1j", "E101 3:9 complex numbers are not part of the kernel language"},
      {"x = ...", "E101 3:9 '...' is not part of the kernel language"},
      {"x = *a, 1", "E101 3:9 unpacking with '*' is not part of the kernel language"},
      {"x = max(*a)", "E101 3:13 unpacking with '*' is not part of the kernel language"},
      {"x = (y := 1)", "E101 3:12 ':=' is not part of the kernel language"},
      {"x = None", "E101 3:9 None is not part of the kernel language"},
      {"x = a[0, 0] is 1", "E101 3:9 `is` is not part of the kernel language"},
      {"x = w[0] in (1, 2)", "E101 3:9 `in` is not part of the kernel language"},
      {"x = w[0] @ w[1]", "E101 3:9 `@` is not part of the kernel language"},
      {"x = round(a[0, 0], 2)", "E101 3:9 round with a number of digits is not part of the kernel language"},
      {"x = zip(a, w)", "E101 3:9 zip is not part of the kernel language"},
  };
  check_rows(rows);
}

TEST(Refusals, names_and_calls) {
  constexpr Row rows[] = {
      {"x = sqr(a[0, 0])", "E103 3:9 name 'sqr' is not defined"},
      {"x = nothing", "E103 3:9 undeclared variable: name 'nothing' is not defined"},
      {"x = sqrt", "E104 3:9 'sqrt' is a function of the language and must be called"},
      {"x = sqrt(1.0, 2.0)", "E104 3:9 sqrt takes 1 argument, 2 given"},
      {"x = a.sum()", "E104 3:9 methods cannot be called in a kernel ('sum')"},
      {"x = 1\nx(2)", "E101 4:5 an expression alone has no effect in a kernel"},
      {"x = 1\ny = x(2)", "E104 4:9 'x' is a variable, not a function"},
      {"x = sqrt(x=1.0)", "E104 3:14 sqrt takes no keyword arguments in a kernel"},
      {"x = range(3)", "E111 3:9 range stands outside of a for loop"},
      {"x = a.size", "E202 3:9 a tensor object has no attribute called 'size' in a kernel"},
  };
  check_rows(rows);
}

TEST(Refusals, loops) {
  constexpr Row rows[] = {
      {"for x in a.shape:\n    pass", "E111 3:14 a kernel loops over ranges"},
      {"for i in enumerate(a):\n    pass", "E111 3:14 a kernel loops over ranges"},
      {"for i in range(0, 3, 0):\n    pass", "E116 3:26 the step of a loop is 0"},
      {"for i in range(0, 3, w[0]):\n    pass",
       "E116 3:26 the step of a loop is not a compile-time constant integer"},
      {"for i in range(1.5):\n    pass", "E213 3:20 the bound of a loop is a Python float, not an integer"},
      {"for i in range(3):\n    i = 2",
       "E106 4:9 'i' is the variable of a loop and cannot be overwritten in it"},
      {"for i in range(3):\n    pass\nc[0] = i", "E107 5:12 the loop variable 'i' is read after its loop"},
      {"for i, j in range(3):\n    pass", "E113 3:9 a range has one loop variable"},
      {"for i, j in grid((2, 3, 4)):\n    pass", "E206 3:9 grid has 3 dimensions but 2 variables"},
      {"for a in range(3):\n    pass", "E212 3:9 'a' names a tensor and cannot be a loop variable"},
  };
  check_rows(rows);
}

TEST(Refusals, tensors_and_indices) {
  constexpr Row rows[] = {
      {"x = a[0]", "E201 3:9 'a' has 2 dimensions but 1 index is given"},
      {"x = a[0][0]", "E201 3:9 'a' is indexed twice"},
      {"x = w[0, 0]", "E201 3:9 'w' has 1 dimension but 2 indices are given"},
      {"x = w[1:]", "E109 3:11 the tensor 'w' cannot be sliced"},
      {"x = w[0.5]", "E213 3:11 an index is a Python float, not an integer"},
      {"x = a + 1", "E202 3:9 the tensor 'a' is used as a number"},
      {"w[0] = 1", "E207 3:5 'w' is an input that is written but not returned"},
      {"a = 1", "E212 3:5 'a' names a tensor and cannot be rebound"},
      {"b = a", "E212 3:5 'b' would be a second name of the tensor 'a'"},
      {"f(a) = 1", "E113 3:5 this cannot be assigned"},
      {"d = output_tensor((2,), float32)", "E208 3:5 output 'd' is not in the return value"},
      {"for i in range(2):\n    d = output_tensor((2,), float32)",
       "E110 4:9 output_tensor stands inside a loop or branch"},
      {"x = 1 + allocate((2,))", "E110 3:13 allocate stands inside an expression"},
      {"allocate((2,))", "E110 3:5 the buffer of allocate gets no name"},
      {"t = allocate((2,), 'float31')", "E216 3:24 'float31' is no dtype"},
      {"t = allocate((2, -1))", "E206 3:22 an extent is negative: -1"},
  };
  check_rows(rows);
}

TEST(Refusals, types) {
  constexpr Row rows[] = {
      {"x = a[0, 0] & 1", "E200 3:9 `&` needs integers or bools, not float32 and a Python int"},
      {"x = ~a[0, 0]", "E200 3:9 `~` needs an integer or bool, not float32"},
      {"x = (a[0, 0] < 1) - (w[0] < 1)", "E205 3:9 `-` is not defined for bool"},
      {"x = -(a[0, 0] < 1)", "E205 3:9 `-` is not defined for bool"},
      {"x = w[0] ** -1", "E204 3:9 an integer to a negative power is no integer"},
      {"x = int32(w[0]) + 3000000000", "E203 3:23 the constant 3000000000 does not fit into int32"},
      {"x = 99999999999999999999", "E215 3:9 the constant 99999999999999999999 does not fit into 64 bits"},
      {"x = (w[0] and w[1]) + 1",
       "E214 3:9 the result of `and`/`or` over numbers is used as a value; it is only a truth value here"},
      {"x = (1, 2) - 1", "E206 3:9 `-` is not defined for a tuple and a Python int"},
      {"x, y = (1, 2, 3)", "E206 3:5 3 values are unpacked into 2 names"},
  };
  check_rows(rows);
}

TEST(Refusals, returns) {
  Signature s = unit::signature({unit::tensor(1)});
  auto errors = [&](std::string_view text) { return join_text(all_errors(text, s), " | "); };
  EXPECT_EQ(errors("def f(a):\n  x = 1\n"), "E108 1:5 kernel 'f' returns nothing");
  EXPECT_EQ(errors("def f(a):\n  return\n"), "E108 2:3 `return` names nothing");
  EXPECT_EQ(errors("def f(a):\n  return 1\n"),
            "E115 2:10 the return value should be either a single tensor or a tuple of tensors, not scalars");
  EXPECT_EQ(errors("def f(a):\n  return a, a\n"), "E209 2:13 'a' is returned twice");
  EXPECT_EQ(errors("def f(a):\n  t = allocate((2,))\n  return t\n"),
            "E209 3:10 't' is a temporary and cannot be returned");
  EXPECT_EQ(errors("def f(a):\n  return a\n  x = 1\n"), "E108 3:3 a statement follows `return`");
  EXPECT_EQ(errors("def f(a):\n  if a[0] > 0:\n    return a\n  return a\n"),
            "E108 3:5 `return` stands inside a loop or branch");
}

TEST(Refusals, headers) {
  Signature s = unit::signature({unit::tensor(1)});
  auto errors = [&](std::string_view text) { return join_text(all_errors(text, s), " | "); };
  EXPECT_EQ(errors("def f(*a):\n  return a\n"),
            "E112 1:7 '*' parameters are not part of the kernel language");
  EXPECT_EQ(errors("def f(a, *, b):\n  return a\n"), "E112 1:10 a kernel has no '*' parameters");
  EXPECT_EQ(errors("def f(out):\n  return out\n"), "");
  EXPECT_EQ(errors("async def f(a):\n  return a\n"), "E101 1:1 an async function is no kernel");
  EXPECT_EQ(errors("f = lambda a: a\n"), "E101 1:1 a kernel is a function defined by `def`");
  EXPECT_EQ(errors("def f(a, b):\n  return a\n"), "E104 1:5 kernel 'f' takes 2 arguments, 1 given");
  EXPECT_EQ(errors("def f(a)\n  return a\n").substr(0, 8), "E100 1:9");
}

TEST(Refusals, what_will_come_later_is_e102) {
  for (std::string_view lines : {"t = allocate((2,), complex64)"})
    EXPECT_EQ(errors_of(lines).substr(0, 4), "E102") << lines;
}

TEST(Refusals, each_fault_is_told_once_and_all_of_them) {
  EXPECT_EQ(
      errors_of("x = sqr(a[0, 0])\ny = x + 1\nz = y * 2\nc[0] = z\nlambda: 0\nw[0] = 1"),
      "E101 7:5 a lambda is not part of the kernel language");  // the parser's errors end the compilation
  EXPECT_EQ(errors_of("x = sqr(a[0, 0])\ny = x + 1\nz = y * 2\nc[0] = z\nw[0] = 1"),
            "E103 3:9 name 'sqr' is not defined | E207 7:5 'w' is an input that is written but not returned");
}

TEST(Refusals, at_most_twenty_are_collected) {
  std::string lines;
  for (int i = 0; i < 30; ++i) lines += cat("x", i, " = nothing", i, "\n");
  std::string text = errors_of(lines);
  EXPECT_EQ(std::count(text.begin(), text.end(), '|'), 19);
}

}  // namespace
}  // namespace kw
