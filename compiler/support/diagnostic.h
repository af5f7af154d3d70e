// Diagnostics as data: found anywhere, collected in a Sink, resolved against the sources once, rendered in
// one place. Nothing here prints or depends on Python.
#pragma once

#include <exception>
#include <span>
#include <string>
#include <vector>

#include "support/codes.h"
#include "support/loc.h"
#include "support/source_map.h"

namespace kw {

struct Diagnostic {
  Code code = Code::E503;
  Loc loc;
  std::string message;
  std::vector<std::string> notes;
  std::vector<std::string> help;

  bool is_warning() const { return row_of(code).name[0] == 'W'; }
};

/// A diagnostic without Locs, as artifacts store it. Lines are relative to the first line of the kernel (0 =
/// that line), so moving a function in its file changes nothing. `line` is negative if there is no place.
struct Resolved {
  Code code = Code::E503;
  int32_t line = -1;
  uint32_t column = 0, end_column = 0;  ///< 1-based code points; end exclusive
  std::string line_text;
  std::string message;
  std::vector<std::string> notes;
  std::vector<std::string> help;
  uint32_t text = 0;  ///< the text that the lines count in: 0 is the kernel's, others are inlined functions
};

/// The place where a text of a compilation begins.
struct TextPlace {
  std::string path;
  uint32_t first_line = 1;
};

/// The texts of a compilation, whose lines are relative, and where they begin in their files.
struct SourcePlaces {
  const SourceMap &sources;
  std::span<const TextPlace> texts;
};

/// Returns a mark for a line number inside a message; rendering makes it absolute.
std::string line_mark(const SourceMap &sources, Loc loc);
/// Replaces line marks by numbers counted from `first_line`.
std::string expand_marks(std::string_view text, uint32_t first_line);
/// Likewise for the places of all texts. A line in another file than that of text `of` is named with its
/// file.
std::string expand_marks(std::string_view text, std::span<const TextPlace> places, uint32_t of);

/// Resolves the places of a diagnostic. A compilation holds sources with first line 0, so lines are relative.
Resolved resolve(const Diagnostic &d, const SourceMap &sources);

/// Returns the text in the layout of language.md 8: position, code, message, source line with a caret span,
/// notes and help.
std::string render(const Resolved &d, std::string_view path, uint32_t first_line);
std::string render(const Resolved &d, std::span<const TextPlace> places);
/// Returns the note and help lines of that layout, which follow the source line.
std::string render_advice(const Resolved &d, std::span<const TextPlace> places);
/// Returns the place of a text; that of the kernel if the text is unknown.
const TextPlace &place_of(uint32_t text, std::span<const TextPlace> places);

/// Thrown if a compilation cannot continue. Carries everything that was collected; the first error is the
/// reason.
class CompileError : public std::exception {
 public:
  explicit CompileError(std::vector<Diagnostic> found) : found_(std::move(found)) {}
  explicit CompileError(Diagnostic d) { found_.push_back(std::move(d)); }
  const char *what() const noexcept override;
  std::span<const Diagnostic> found() const { return found_; }

 private:
  std::vector<Diagnostic> found_;
};

/// Collects up to 20 errors and any number of warnings.
class Sink {
 public:
  /// Records a diagnostic unless it is known; throws CompileError at the 20th error.
  void add(Diagnostic d);
  /// Throws CompileError with the errors, if there are any.
  void throw_if_errors() const;
  /// Returns whether 20 errors were collected: a handler that would continue after an error must then
  /// rethrow.
  bool full() const { return errors_ >= max_errors; }
  std::span<const Diagnostic> all() const { return found_; }
  std::vector<Diagnostic> warnings() const;

 private:
  static constexpr uint32_t max_errors = 20;
  std::vector<Diagnostic> found_;
  uint32_t errors_ = 0;
};

/// Throws an internal error: a fault of the compiler, not of the user's program. Names the C++ line.
[[noreturn]] void internal_error(const char *file, int line, std::string_view what);
/// Throws an internal error (E503) unless `ok`.
void ensure(bool ok, std::string_view what, const char *file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace kw
