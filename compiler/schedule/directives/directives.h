// The directives of a schedule as data, one line of text each. directives/legal decides whether a directive
// keeps the meaning of the kernel, directives/apply rewrites the tree. Hints of the user are directives too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/nest/nest.h"
#include "support/source_map.h"

namespace kw {

struct Directive {
  enum class Verb : uint8_t {
    parallel,        ///< parallel LOOP [grain N]
    vectorize,       ///< vectorize LOOP [by LANES]
    reduce,          ///< reduce LOOP: a hint only
    split,           ///< split LOOP by N: a loop over whole blocks of N, and one over the rest
    reorder,         ///< reorder L1 L2 ...: the loops of a perfect nest in this order
    tile,            ///< tile A by N, B by M: blocks of a perfect nest, the last ones cut short
    unroll_and_jam,  ///< unroll_and_jam LOOP by N: N iterations as one, inner loops merged
    unroll,          ///< unroll LOOP [by N]
    fuse,            ///< fuse A B: two neighbours in one loop
    distribute,      ///< distribute LOOP after INDEX: the body's statements 0 to INDEX in a loop of their own
    peel,            ///< peel LOOP first|last N
    split_index_set,  ///< split_index_set LOOP at EXPR: the iterations before, at and behind it
    privatize,        ///< privatize BUF at LOOP: a buffer of its own for each iteration
    contract,         ///< contract BUF at LOOP: a scalar for the one element that an iteration uses
    expand,  ///< expand BUF at LOOP: an array with an element for each iteration in place of a scalar
  };
  Verb verb = Verb::parallel;
  uint32_t loop = 0;               ///< of the nest
  std::vector<uint32_t> others{};  ///< of reorder: those that follow; of tile and fuse: the others
  std::vector<int64_t> sizes{};    ///< the numbers, in the order of the text; empty: not given
  bool last = false;               ///< of peel
  Expr at{};                       ///< of split_index_set
  Buf buf{};                       ///< of privatize, contract and expand
  std::string reason{};            ///< why it was chosen; means nothing

  std::vector<uint32_t> loops() const;
};

std::string_view verb_name(Directive::Verb verb);
/// Returns the directive that a hint claims to be legal; nothing for hints that claim nothing.
std::optional<Directive::Verb> claim_of(Hint hint);

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
