// The directives of a schedule as data, one line of text each. directives/legal decides whether a directive
// keeps the meaning of the kernel, directives/apply rewrites the tree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "analysis/nest/nest.h"
#include "support/source_map.h"

namespace kw {

// Every directive has a `name`, its verb. `loop` is the number of a loop in the nest; a size of 0 is not
// given.

/// parallel LOOP [block N] [chunk N]: iterations, or with `block` blocks of them, run on threads. The loop
/// may be a vector loop: of one whose sums are all it does, threads share the blocks of the sums.
struct Parallel {
  static constexpr std::string_view name = "parallel";
  uint32_t loop = 0;
  int64_t block = 0;  ///< iterations in a block
  int64_t chunk = 0;  ///< iterations that a thread claims at once
};
/// vectorize LOOP by N: N iterations at once.
struct Vectorize {
  static constexpr std::string_view name = "vectorize";
  uint32_t loop = 0;
  int64_t width = 0;
};
/// split LOOP by N: a loop over whole blocks of N, and one over the rest.
struct Split {
  static constexpr std::string_view name = "split";
  uint32_t loop = 0;
  int64_t size = 0;
};
/// reorder L1 L2 ...: the loops of a perfect nest in this order.
struct Reorder {
  static constexpr std::string_view name = "reorder";
  std::vector<uint32_t> loops{};
};
/// tile A by N, B by M: blocks of a perfect nest, the last ones cut short.
struct Tile {
  static constexpr std::string_view name = "tile";
  std::vector<uint32_t> loops{};
  std::vector<int64_t> sizes{};
};
/// unroll_and_jam LOOP by N: N iterations as one, inner loops merged.
struct UnrollAndJam {
  static constexpr std::string_view name = "unroll_and_jam";
  uint32_t loop = 0;
  int64_t count = 0;
};
/// unroll LOOP [by N]: all iterations one after another in place of the loop, or a loop whose body code
/// generation writes out N times.
struct Unroll {
  static constexpr std::string_view name = "unroll";
  uint32_t loop = 0;
  int64_t count = 0;
};
/// fuse A B: two neighbours in one loop.
struct Fuse {
  static constexpr std::string_view name = "fuse";
  uint32_t loop = 0, next = 0;
};
/// distribute LOOP after INDEX: the body's statements 0 to INDEX in a loop of their own.
struct Distribute {
  static constexpr std::string_view name = "distribute";
  uint32_t loop = 0;
  int64_t after = 0;
};
/// peel LOOP first|last N: the N iterations at one end in a loop of their own.
struct Peel {
  static constexpr std::string_view name = "peel";
  uint32_t loop = 0;
  int64_t count = 0;
  bool last = false;
};
/// split_index_set LOOP at EXPR: the iterations before, at and behind it.
struct SplitIndexSet {
  static constexpr std::string_view name = "split_index_set";
  uint32_t loop = 0;
  Expr at{};
};
/// privatize BUF at LOOP: a buffer of its own for each iteration.
struct Privatize {
  static constexpr std::string_view name = "privatize";
  Buf buf{};
  uint32_t loop = 0;
};
/// contract BUF at LOOP: a scalar for the one element that an iteration uses.
struct Contract {
  static constexpr std::string_view name = "contract";
  Buf buf{};
  uint32_t loop = 0;
};
/// expand BUF at LOOP: an array with an element for each iteration in place of a scalar.
struct Expand {
  static constexpr std::string_view name = "expand";
  Buf buf{};
  uint32_t loop = 0;
};

/// replace_with_scalar BUF at LOOP: a scalar for the element that one iteration stores and the next one
/// loads.
struct ReplaceWithScalar {
  static constexpr std::string_view name = "replace_with_scalar";
  Buf buf{};
  uint32_t loop = 0;
};

// The directives behind these set a field of the plan of a loop (ir/node.h says what it means).

/// tail LOOP WORD: how a vector loop executes the iterations behind its whole vectors.
struct SetTail {
  static constexpr std::string_view name = "tail";
  uint32_t loop = 0;
  Tail tail = Tail::scalar;
};
/// stream LOOP: its stores to outputs that are only written bypass the caches in large calls.
struct Stream {
  static constexpr std::string_view name = "stream";
  uint32_t loop = 0;
};
/// prefetch LOOP: a vector loop asks for the page behind the one that it reads.
struct Prefetch {
  static constexpr std::string_view name = "prefetch";
  uint32_t loop = 0;
};
/// transpose LOOP: an inner loop of a vector loop accesses memory in rows that are transposed in registers.
struct Transpose {
  static constexpr std::string_view name = "transpose";
  uint32_t loop = 0;
};
/// assume_rows BUF at LOOP by N: a version of a vector loop for rows of N elements.
struct AssumeRows {
  static constexpr std::string_view name = "assume_rows";
  Buf buf{};
  uint32_t loop = 0;
  int64_t length = 0;
};
/// flatten LOOP: the rows that a loop runs over are one row where they lie end to end.
struct Flatten {
  static constexpr std::string_view name = "flatten";
  uint32_t loop = 0;
};
/// collapse LOOP: threads share the iterations of a parallel loop and of the one in it.
struct Collapse {
  static constexpr std::string_view name = "collapse";
  uint32_t loop = 0;
};

using AnyDirective =
    std::variant<Parallel, Vectorize, Split, Reorder, Tile, UnrollAndJam, Unroll, Fuse, Distribute, Peel,
                 SplitIndexSet, Privatize, Contract, Expand, ReplaceWithScalar, SetTail, Stream, Prefetch,
                 Transpose, AssumeRows, Flatten, Collapse>;

/// Whether a directive names one loop and nothing else.
template <class D>
inline constexpr bool names_loop_only =
    std::is_same_v<D, Stream> || std::is_same_v<D, Prefetch> || std::is_same_v<D, Transpose> ||
    std::is_same_v<D, Flatten> || std::is_same_v<D, Collapse>;

/// Whether a directive sets fields of the plan of a loop and changes nothing else.
template <class D>
inline constexpr bool sets_plan =
    std::is_same_v<D, SetTail> || std::is_same_v<D, Stream> || std::is_same_v<D, Prefetch> ||
    std::is_same_v<D, Transpose> || std::is_same_v<D, AssumeRows> || std::is_same_v<D, Flatten> ||
    std::is_same_v<D, Collapse>;

/// One step of a schedule.
struct Directive {
  AnyDirective what;
  std::string reason{};  ///< why it was chosen; means nothing

  Directive() = default;
  template <class D, class = std::enable_if_t<std::is_constructible_v<AnyDirective, const D &>>>
  // NOLINTNEXTLINE(google-explicit-constructor): a directive without a reason
  Directive(D what_, std::string reason_ = {}) : what(std::move(what_)), reason(std::move(reason_)) {}

  template <class D>
  const D *as() const {
    return std::get_if<D>(&what);
  }
  std::string_view verb() const;
  /// Returns the loops that it names, in the order of the text.
  std::vector<uint32_t> loops() const;
  /// Returns the first of them.
  uint32_t loop() const { return loops().front(); }
  /// Returns the buffer that it names, or null.
  Buf buf() const;
};

/// The verbs, in the order of the directives.
const std::vector<std::string_view> &directive_verbs();

/// Returns the name of each loop of a nest: its iterator, with "#2" for the second loop of that name, and so
/// on.
std::vector<std::string> loop_names(const Nest &nest);

/// Returns one line, which `parse_directive` turns into the same directive.
std::string print_directive(const Nest &nest, const Directive &d);

/// Parses one line of a schedule for this nest of `f`. Throws CompileError with E401 at the wrong word.
/// `line` is its place in a text of `sources`.
Directive parse_directive(const Func &f, const Nest &nest, const SourceMap &sources, Loc line);
/// Returns the lines of a schedule that hold a directive: those that are neither empty nor a comment.
std::vector<Loc> directive_lines(const SourceMap &sources, uint32_t source);

}  // namespace kw
