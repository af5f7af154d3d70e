// Tables of the words of the language, and of the words with advice.
#include "frontend/words.h"

#include <algorithm>

#include "ir/print.h"
#include "support/text.h"

namespace kw {

namespace {

/// Calls that a for loop can iterate over. All but range, grid and const_range are hints.
constexpr std::string_view loop_words[] = {"range",     "grid",   "serial", "parallel",
                                           "vectorize", "unroll", "reduce", "const_range"};
constexpr std::string_view other_list[] = {"output_tensor", "allocate", "select", "min",    "max",     "len",
                                           "int",           "float",    "bool",   "likely", "sub_relu"};
constexpr std::string_view scope_list[] = {"attr", "block_realize"};

/// Builtins that are not part of the language, with what to write instead.
constexpr RefusedWord refused_words[] = {
    {"print", "debug with `kernel.py(...)`, which runs under CPython"},
    {"enumerate", "loop over a range"},
    {"zip", "loop over a range"},
    {"reversed", "loop over a range"},
    {"sum", "write a loop that adds: `for i in range(n): s += a[i]`"},
    {"any", "write a loop that keeps the answer in a local"},
    {"all", "write a loop that keeps the answer in a local"},
    {"pow", "write `x ** y`"},
    {"divmod", "write `x // y` and `x % y`"},
    {"sorted", "sort outside of the kernel and pass the result"},
    {"list", "use allocate for a temporary buffer"},
    {"isinstance", "compare `x.dtype` or `x.ndim`"},
};
constexpr std::string_view random_help = "draw the numbers before the call and pass them as an array";
/// Functions of NumPy, and Numba's prange, with the words that do the same to elements.
constexpr RefusedWord numpy_words[] = {
    {"maximum", "write `max(x, y)`"},
    {"minimum", "write `min(x, y)`"},
    {"amax", "write a loop that keeps the maximum in a local"},
    {"amin", "write a loop that keeps the minimum in a local"},
    {"where", "write `select(c, x, y)`, or `x if c else y`"},
    {"clip", "write `min(max(x, low), high)`"},
    {"absolute", "write `abs(x)`"},
    {"fabs", "write `abs(x)`"},
    {"square", "write `x * x`"},
    {"reciprocal", "write `1 / x`"},
    {"negative", "write `-x`"},
    {"add", "write `x + y`"},
    {"subtract", "write `x - y`"},
    {"multiply", "write `x * y`"},
    {"divide", "write `x / y`"},
    {"true_divide", "write `x / y`"},
    {"floor_divide", "write `x // y`"},
    {"mod", "write `x % y`"},
    {"remainder", "write `x % y`"},
    {"float_power", "write `x ** y`"},
    {"arcsin", "write `asin(x)`"},
    {"arccos", "write `acos(x)`"},
    {"arctan", "write `atan(x)`"},
    {"arctan2", "write `atan2(y, x)`"},
    {"rint", "write `round(x)`"},
    {"logical_and", "write `x and y`"},
    {"logical_or", "write `x or y`"},
    {"logical_not", "write `not x`"},
    {"arange", "loop over a range"},
    {"prange", "write `for i in parallel(n):`"},
    {"random", random_help},
    {"rand", random_help},
    {"randn", random_help},
    {"randint", random_help},
    {"uniform", random_help},
    {"normal", random_help},
};
/// Functions over whole arrays that NumPy has and the language lacks.
constexpr std::string_view whole_array_functions[] = {
    "sum", "prod", "mean", "std", "var", "dot", "matmul", "cumsum", "argmax", "argmin", "any", "all",
};

}  // namespace

const Constructor *constructor_of(std::string_view word) {
  using Content = Constructor::Content;
  static constexpr Constructor table[] = {
      {"np.zeros", Content::zero, false},      {"np.ones", Content::one, false},
      {"np.empty", Content::empty, false},     {"np.full", Content::given, false},
      {"np.zeros_like", Content::zero, true},  {"np.ones_like", Content::one, true},
      {"np.empty_like", Content::empty, true}, {"np.full_like", Content::given, true},
  };
  auto found =
      std::find_if(std::begin(table), std::end(table), [&](const Constructor &c) { return c.word == word; });
  return found == std::end(table) ? nullptr : found;
}

bool contains(std::span<const std::string_view> list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::span<const std::string_view> scope_words() { return scope_list; }
std::span<const std::string_view> other_words() { return other_list; }

const RefusedWord *refused_word(std::string_view word) {
  auto found = std::find_if(std::begin(refused_words), std::end(refused_words),
                            [&](const RefusedWord &r) { return r.name == word; });
  return found == std::end(refused_words) ? nullptr : found;
}

std::string help_for_numpy(std::string_view word) {
  if (contains(whole_array_functions, word)) return "write the loop over the elements";
  for (const RefusedWord &known : numpy_words)
    if (known.name == word) return std::string(known.help);
  if (word == "array") return "write `np.zeros(n)` and its elements, use a tuple, or pass it as an argument";
  // a constructor without its module
  return constructor_of(cat("np.", word)) ? cat("write `np.", word, "(...)`") : "";
}

bool is_loop_word(std::string_view name) { return contains(loop_words, name); }

bool is_language_word(std::string_view name) {
  if (is_loop_word(name) || contains(scope_list, name) || contains(other_list, name) ||
      dtype_from_numpy(name))
    return true;
  const IntrinsicRow *row = find_intrinsic(name);
  return row && row->in_language;
}

std::optional<Fn> rounding_to_int(std::string_view word) {
  // only these give a Python int: `floor` and np.floor keep the dtype of their operand
  constexpr std::pair<std::string_view, Fn> words[] = {{"builtins.round", Fn::round},
                                                       {"math.floor", Fn::floor},
                                                       {"math.ceil", Fn::ceil},
                                                       {"math.trunc", Fn::trunc}};
  for (const auto &[name, fn] : words)
    if (name == word) return fn;
  return std::nullopt;
}

Hint hint_of_word(std::string_view word) {
  for (Hint h : {Hint::serial, Hint::parallel, Hint::vectorize, Hint::unroll, Hint::reduce})
    if (hint_text(h) == word) return h;
  return Hint::none;
}

}  // namespace kw
