// The words of the language by their role (language.md 1), and the advice for words of Python and NumPy that
// the language lacks. Knows no syntax tree and no types.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/intrinsics.h"
#include "ir/signature.h"

namespace kw {

/// Returns whether a name is a loop, a scope, a dtype or a function of the language.
bool is_language_word(std::string_view name);
/// Returns whether a for loop can iterate over a call of this name.
bool is_loop_word(std::string_view name);
/// Returns the function of a call that rounds to a Python int: the builtin `round`, and floor, ceil and trunc
/// of the module math. Their words are "builtins.round", "math.floor" and so on.
std::optional<Fn> rounding_to_int(std::string_view word);
/// Returns the hint of a loop word; Hint::none for words without one, such as range.
Hint hint_of_word(std::string_view word);
/// Returns the scopes of AKG kernels, which occur in with statements.
std::span<const std::string_view> scope_words();
/// Returns the words that are neither loops nor scopes nor functions of one row in ir/intrinsics.
std::span<const std::string_view> other_words();
bool contains(std::span<const std::string_view> list, std::string_view word);

/// A constructor of NumPy: its elements, and whether it takes its shape from a tensor.
struct Constructor {
  std::string_view word;  ///< "np.zeros"
  enum class Content : uint8_t { zero, one, empty, given } content;
  bool is_like;  ///< np.zeros_like and its relatives: the first argument is a tensor
};
/// Returns the constructor of a word; null for other words.
const Constructor *constructor_of(std::string_view word);

/// The name under which capture (kernelwright.capture) marks functions that know AKG's words. There `round`
/// keeps the dtype, and an output without a dtype is float32.
inline constexpr std::string_view akg_words = "words of akg";

/// A builtin that is not part of the language, and what to write instead.
struct RefusedWord {
  std::string_view name, help;
};
/// Returns the row of a refused builtin; null for other words.
const RefusedWord *refused_word(std::string_view word);
/// Returns what to write instead of a function of NumPy, or of Numba's prange; empty if there is no advice.
std::string help_for_numpy(std::string_view word);
inline constexpr std::string_view functions_help =
    "`help(kernelwright.lang)` lists the functions that there are";

}  // namespace kw
