// Writes C++ text: lines with indentation, and names for the symbols of a kernel. Knows no IR but symbols,
// and no word of CUDA.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/node.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

/// Gives every symbol a name that C++ accepts and that no other symbol of the kernel has.
class CudaNames {
 public:
  /// Returns the name of a symbol: its own with a suffix if that is taken.
  const std::string &of(const Sym &s);
  /// Gives a symbol a name that nothing else in the kernel has.
  void set(const Sym &s, const std::string &name) { names_[s.get()] = name, taken_.insert(name); }
  /// Returns a new name.
  std::string fresh(std::string_view like);

 private:
  std::unordered_map<const SymNode *, std::string> names_;
  std::unordered_set<std::string> taken_;
};

/// Returns "#line 12 "train.py"", which says where the next line of a text comes from; "" without a place
/// that a directive can name.
std::string line_directive(const Loc &loc, const SourcePlaces &places);

class CudaText {
 public:
  void line(std::string_view text) {
    if (!directive_.empty()) out_ += cat(directive_, "\n");
    out_ += cat(std::string(2 * depth_, ' '), text, "\n");
  }
  /// Writes a directive before each line from now on; "" ends that. Returns the one before.
  std::string comes_from(std::string directive) { return std::exchange(directive_, std::move(directive)); }
  /// Writes "head {" and indents what follows.
  void open(std::string_view head) { line(cat(head, head.empty() ? "{" : " {")), ++depth_; }
  /// Writes "} else {".
  void otherwise() { --depth_, line("} else {"), ++depth_; }
  /// Writes "}" and what follows it.
  void close(std::string_view after = "") { --depth_, line(cat("}", after)); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_, directive_;
  size_t depth_ = 0;
};

}  // namespace kw
