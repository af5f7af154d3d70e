// The table of diagnostic codes: one row each, with the exception class it raises and the test that pins its
// text. It holds no message texts: these are where the error is found.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace kw {

/// Python exception (or warning) class of a code; names as in language.md 8, then builtins for the arguments
/// of a call.
enum class ErrorClass : uint8_t {
  syntax,
  type,
  index,
  schedule,
  unsupported,
  device,
  internal,
  value,
  overflow,
  assertion,
  zero_division,
  warning,
  uninitialized,
  hint,
};

enum class Code : uint8_t {
  E100,
  E101,
  E102,
  E103,
  E104,
  E105,
  E106,
  E107,
  E108,
  E109,
  E110,
  E111,
  E112,
  E113,
  E115,
  E116,
  E117,
  E118,
  E120,
  E121,
  E122,
  W101,
  W102,
  E200,
  E201,
  E202,
  E203,
  E204,
  E205,
  E206,
  E207,
  E208,
  E209,
  E210,
  E211,
  E212,
  E213,
  E214,
  E215,
  E216,
  E221,
  E222,
  E223,
  E224,
  E301,
  E302,
  E303,
  E304,
  E305,
  E306,
  E307,
  E308,
  E309,
  E310,
  E311,
  E312,
  W301,
  E401,
  W401,
  W402,
  W403,
  W404,
  W405,
  W406,
  W407,
  W408,
  W409,
  W410,
  E501,
  E502,
  E503,
  E504,
  E505,
  E506,
  E507,
  E508,
  E509,
  W501,
  W502,
  W503,
  W504,
  W505,
  W506,
};

struct CodeRow {
  Code code;
  std::string_view name;  ///< "E301"
  ErrorClass error_class;
  std::string_view title;  ///< a few words on what the code stands for
  std::string_view test;   ///< the test function that checks its exact text
};

std::span<const CodeRow> code_table();
const CodeRow &row_of(Code code);
/// Returns the name of the Python class: "KernelSyntaxError", "UninitializedReadWarning", "ValueError", …
std::string_view class_name(ErrorClass c);

}  // namespace kw
