// The directives of a schedule as data, one line of text each. directives/legal decides whether a directive
// keeps the meaning of the kernel. directives/apply rewrites the tree.
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

// `name` is the verb of a directive. `loop` is the number of a loop in the nest. A size of 0 means that no
// size is given.

/// parallel LOOP [block N] [chunk N]: runs iterations, or blocks of N iterations, on threads. The loop may be
/// a vector loop. If such a loop does nothing but sums, threads share the blocks of the sums.
struct Parallel {
  static constexpr std::string_view name = "parallel";
  uint32_t loop = 0;
  int64_t block = 0;  ///< iterations in a block
  int64_t chunk = 0;  ///< iterations that a thread claims at once
};
/// vectorize LOOP by N: runs N iterations at once.
struct Vectorize {
  static constexpr std::string_view name = "vectorize";
  uint32_t loop = 0;
  int64_t width = 0;
};
/// split LOOP by N: makes a loop over whole blocks of N iterations, and a loop over the remainder.
struct Split {
  static constexpr std::string_view name = "split";
  uint32_t loop = 0;
  int64_t size = 0;
};
/// reorder L1 L2 ...: permutes the loops of a perfect nest to this order.
struct Reorder {
  static constexpr std::string_view name = "reorder";
  std::vector<uint32_t> loops{};
};
/// tile A by N, B by M: tiles a perfect nest; the last tiles are cut short.
struct Tile {
  static constexpr std::string_view name = "tile";
  std::vector<uint32_t> loops{};
  std::vector<int64_t> sizes{};
};
/// unroll_and_jam LOOP by N: executes N iterations as one, with their inner loops merged.
struct UnrollAndJam {
  static constexpr std::string_view name = "unroll_and_jam";
  uint32_t loop = 0;
  int64_t count = 0;
};
/// unroll LOOP [by N]: replaces a loop by all its iterations. With N, makes a loop of the kind unroll, whose
/// body code generation emits N times.
struct Unroll {
  static constexpr std::string_view name = "unroll";
  uint32_t loop = 0;
  int64_t count = 0;
};
/// fuse A B: merges two adjacent loops into one.
struct Fuse {
  static constexpr std::string_view name = "fuse";
  uint32_t loop = 0, next = 0;
};
/// distribute LOOP after INDEX: gives the body's statements 0 to INDEX a loop of their own.
struct Distribute {
  static constexpr std::string_view name = "distribute";
  uint32_t loop = 0;
  int64_t after = 0;
};
/// peel LOOP first|last N: gives the N iterations at one end a loop of their own.
struct Peel {
  static constexpr std::string_view name = "peel";
  uint32_t loop = 0;
  int64_t count = 0;
  bool last = false;
};
/// split_index_set LOOP at EXPR: makes three loops: the iterations before EXPR, at EXPR, and after it.
struct SplitIndexSet {
  static constexpr std::string_view name = "split_index_set";
  uint32_t loop = 0;
  Expr at{};
};
/// privatize BUF at LOOP: gives each iteration a buffer of its own.
struct Privatize {
  static constexpr std::string_view name = "privatize";
  Buf buf{};
  uint32_t loop = 0;
};
/// contract BUF at LOOP: replaces an array by a scalar for the one element that an iteration uses.
struct Contract {
  static constexpr std::string_view name = "contract";
  Buf buf{};
  uint32_t loop = 0;
};
/// expand BUF at LOOP: replaces a scalar by an array with an element for each iteration.
struct Expand {
  static constexpr std::string_view name = "expand";
  Buf buf{};
  uint32_t loop = 0;
};

/// replace_with_scalar BUF at LOOP: keeps the element that one iteration stores and the next one loads in a
/// scalar.
struct ReplaceWithScalar {
  static constexpr std::string_view name = "replace_with_scalar";
  Buf buf{};
  uint32_t loop = 0;
};

/// cache BUF at LOOP: keeps the row of a buffer that block loops of a grid loop write and read again in
/// memory that a team shares, in calls with rows that fit.
struct CacheRow {
  static constexpr std::string_view name = "cache";
  Buf buf{};
  uint32_t loop = 0;
};

// The directives below set a field of a loop's plan (LoopPlan in ir/node.h).

/// tail LOOP WORD: sets how a vector loop executes the iterations after its whole vectors.
struct SetTail {
  static constexpr std::string_view name = "tail";
  uint32_t loop = 0;
  Tail tail = Tail::scalar;
};
/// stream LOOP: lets stores to write-only outputs bypass the caches in large calls.
struct Stream {
  static constexpr std::string_view name = "stream";
  uint32_t loop = 0;
};
/// prefetch LOOP: lets a vector loop prefetch the page after the one that it reads.
struct Prefetch {
  static constexpr std::string_view name = "prefetch";
  uint32_t loop = 0;
};
/// transpose LOOP: lets a loop inside a vector loop access memory in rows, which are transposed in registers.
struct Transpose {
  static constexpr std::string_view name = "transpose";
  uint32_t loop = 0;
};
/// assume_rows BUF at LOOP by N: adds a version of a vector loop for rows of N elements.
struct AssumeRows {
  static constexpr std::string_view name = "assume_rows";
  Buf buf{};
  uint32_t loop = 0;
  int64_t length = 0;
};
/// flatten LOOP: runs a loop over rows as one row if the rows lie end to end.
struct Flatten {
  static constexpr std::string_view name = "flatten";
  uint32_t loop = 0;
};
/// collapse LOOP: lets threads share the iterations of a parallel loop and of the loop inside it.
struct Collapse {
  static constexpr std::string_view name = "collapse";
  uint32_t loop = 0;
};
/// grid LOOP by N [vector V | unroll U]: launches the iterations on a GPU, N in a block. A thread executes
/// one of them, V side by side, or U between which lie those of the other threads of its block.
struct Grid {
  static constexpr std::string_view name = "grid";
  uint32_t loop = 0;
  int64_t per_block = 0;
  int64_t vector = 0, unroll = 0;
};
/// team LOOP by N [vector V] [unroll U]: lets N threads of a grid loop's block share the iterations of a loop
/// in it. Code generation writes out U for each thread; each executes V side by side where memory allows it.
struct Team {
  static constexpr std::string_view name = "team";
  uint32_t loop = 0;
  int64_t threads = 0, vector = 0, unroll = 0;
};

/// stage LOOP: launches a loop and the one in it on a GPU as square tiles, each for a block; first copies
/// tiles of what the inner loop reads with a stride to memory that its threads share.
struct Stage {
  static constexpr std::string_view name = "stage";
  uint32_t loop = 0;
};
/// stage_rows LOOP: launches a loop over rows on a GPU, 32 for each team, whose threads each go through a row
/// in its order; copies tiles of the rows to and from memory that the team shares.
struct StageRows {
  static constexpr std::string_view name = "stage_rows";
  uint32_t loop = 0;
};
/// stage_columns LOOP [by 8]: launches a loop over columns, 32 or 8 for each team, whose threads each go down
/// a column in its order; copies tiles of what they load, ahead of them, to memory that the team shares.
struct StageColumns {
  static constexpr std::string_view name = "stage_columns";
  uint32_t loop = 0;
  int64_t width = 0;  ///< columns of a team; 0: 32
};
/// stage_chain LOOP: lets one team on a GPU copy parts of what a loop goes through, in its order, to and from
/// memory that the team shares.
struct StageChain {
  static constexpr std::string_view name = "stage_chain";
  uint32_t loop = 0;
};
/// private_bins LOOP: launches a loop, and gives each block a copy of what its threads accumulate in, if that
/// fits the memory that they share.
struct PrivateBins {
  static constexpr std::string_view name = "private_bins";
  uint32_t loop = 0;
};
/// specialize LOOP [below N] [or INNER from M]: gives calls in which a loop has fewer than N iterations, or
/// one in it has M or more, a copy of it.
struct Specialize {
  static constexpr std::string_view name = "specialize";
  uint32_t loop = 0;
  int64_t below = 0;
  uint32_t inner = 0;  ///< meant if `from` is given
  int64_t from = 0;
};
/// short_rows LOOP INNER: gives calls in which a loop in it has fewer than 64 iterations a copy of it, with
/// sums over such loops in source order.
struct ShortRows {
  static constexpr std::string_view name = "short_rows";
  uint32_t loop = 0, inner = 0;
};
/// linearize LOOP [below M] by N [vector V | unroll U]: executes launched loops that stand in one another as
/// one, launched like `grid`: in calls in which the innermost one has fewer than M iterations; without M in
/// calls in which all arrays have an element for each iteration, in the order of memory.
struct Linearize {
  static constexpr std::string_view name = "linearize";
  uint32_t loop = 0;
  int64_t below = 0, per_block = 0;
  int64_t vector = 0, unroll = 0;
};
/// fold_fill LOOP: lets the loops of a nest run over all elements of the output of which they write a part,
/// and write zeros elsewhere; the output then needs no fill.
struct FoldFill {
  static constexpr std::string_view name = "fold_fill";
  uint32_t loop = 0;
};
/// unswitch LOOP: executes an unrolled loop without the condition around its body where that holds in all of
/// its iterations.
struct Unswitch {
  static constexpr std::string_view name = "unswitch";
  uint32_t loop = 0;
};
/// scan LOOP: accumulates in parts what a loop uses as it accumulates, and executes the iterations when all
/// parts are known.
struct ScanLoop {
  static constexpr std::string_view name = "scan";
  uint32_t loop = 0;
};
/// rfactor LOOP: computes a reduction that nothing runs beside in parts, each by a team, and combines them in
/// launches.
struct Rfactor {
  static constexpr std::string_view name = "rfactor";
  uint32_t loop = 0;
};

using AnyDirective =
    std::variant<Parallel, Vectorize, Split, Reorder, Tile, UnrollAndJam, Unroll, Fuse, Distribute, Peel,
                 SplitIndexSet, Privatize, Contract, Expand, ReplaceWithScalar, SetTail, Stream, Prefetch,
                 Transpose, AssumeRows, Flatten, Collapse, Grid, Team, Stage, Rfactor, PrivateBins, StageRows,
                 StageColumns, StageChain, Specialize, Linearize, ScanLoop, FoldFill, Unswitch, CacheRow,
                 ShortRows>;

/// Whether a directive, by its loop alone, makes other loops of a loop for a GPU.
template <class D>
inline constexpr bool rewrites_for_gpu =
    std::is_same_v<D, Stage> || std::is_same_v<D, Rfactor> || std::is_same_v<D, PrivateBins> ||
    std::is_same_v<D, StageRows> || std::is_same_v<D, StageColumns> || std::is_same_v<D, StageChain> ||
    std::is_same_v<D, ScanLoop> || std::is_same_v<D, FoldFill> || std::is_same_v<D, Unswitch>;

/// Whether a directive names one loop and nothing else.
template <class D>
inline constexpr bool names_loop_only =
    (rewrites_for_gpu<D> && !std::is_same_v<D, StageColumns>) || std::is_same_v<D, Stream> ||
    std::is_same_v<D, Prefetch> || std::is_same_v<D, Transpose> || std::is_same_v<D, Flatten> ||
    std::is_same_v<D, Collapse>;

/// Whether a directive names a buffer and a loop.
template <class D>
inline constexpr bool names_buffer_at_loop =
    std::is_same_v<D, Privatize> || std::is_same_v<D, Contract> || std::is_same_v<D, Expand> ||
    std::is_same_v<D, ReplaceWithScalar> || std::is_same_v<D, CacheRow>;

/// Whether a directive sets fields of the plan of a loop and changes nothing else.
template <class D>
inline constexpr bool sets_plan = (names_loop_only<D> && !rewrites_for_gpu<D>) ||
                                  std::is_same_v<D, SetTail> || std::is_same_v<D, AssumeRows>;

/// One step of a schedule.
struct Directive {
  AnyDirective what;
  std::string reason{};  ///< why the directive was chosen; has no effect

  Directive() = default;
  template <class D, class = std::enable_if_t<std::is_constructible_v<AnyDirective, const D &>>>
  // NOLINTNEXTLINE(google-explicit-constructor): a directive without a reason
  Directive(D what_, std::string reason_ = {}) : what(std::move(what_)), reason(std::move(reason_)) {}

  template <class D>
  const D *as() const {
    return std::get_if<D>(&what);
  }
  std::string_view verb() const;
  /// Returns the loops that the directive names, in the order of its text.
  std::vector<uint32_t> loops() const;
  /// Returns the first of these loops.
  uint32_t loop() const { return loops().front(); }
  /// Returns the buffer that the directive names, or null.
  Buf buf() const;
};

/// Returns the verbs, in the order of AnyDirective.
const std::vector<std::string_view> &directive_verbs();

/// Returns the name of each loop of a nest: its iterator, with "#2" for the second loop of that name, and so
/// on.
std::vector<std::string> loop_names(const Nest &nest);

/// Returns one line of text, which `parse_directive` turns into the same directive.
std::string print_directive(const Nest &nest, const Directive &d);

/// Parses one line of a schedule for this nest of `f`. Throws CompileError with E401 at the wrong word.
/// `line` is the place of the line in a text of `sources`.
Directive parse_directive(const Func &f, const Nest &nest, const SourceMap &sources, Loc line);
/// Returns the lines of a schedule that are neither empty nor a comment.
std::vector<Loc> directive_lines(const SourceMap &sources, uint32_t source);

}  // namespace kw
