// A region of a kernel under directives: what heuristics, replayed schedules and tests all go through. Each
// directive is asked for and applied here, and the nest is taken anew from the tree. Chooses nothing.
#pragma once

#include <functional>

#include "schedule/directives/directives.h"
#include "schedule/directives/legal.h"

namespace kw {

/// One of the two accesses in the way of a directive.
struct RefusedAccess {
  Loc loc{};
  bool is_write = false;
  std::string iteration{};  ///< "i = 1, j = 0" where a witness is known
};

/// A directive that was wanted, and why it was not followed.
struct RefusedDirective {
  std::string line;
  Loc loop;  ///< the statement
  Reason reason = Reason::legal;
  std::string why{};     ///< of an inapplicable directive
  std::string buffer{};  ///< of a dependence, with its two accesses
  RefusedAccess from{}, to{};
  Loc other{};  ///< of a fusion: the second loop
  /// Of a witness: what its iterations need to meet, and whether nothing else is needed.
  std::vector<std::pair<Expr, int64_t>> sizes{};
  bool is_certain = false;
};

/// Thrown by LoopNest::require.
struct RefusedStep {
  RefusedDirective step;
};

/// A loop that became one with another, by the places of their iterators.
struct FusedLoop {
  Loc iter, into;
};

class LoopNest {
 public:
  /// The whole body of a function.
  explicit LoopNest(Func f);
  /// A statement of it, and what stands around that.
  LoopNest(Func f, Stmt region, NestScope scope);

  /// The function as it is now.
  const Func &func() const { return f_; }
  const Stmt &region() const { return region_; }
  const Nest &nest() const;

  /// Whether a directive keeps the meaning of the kernel. With `shown` a refusal has a witness where one is
  /// found.
  Verdict legal(const Directive &d, bool shown = false) const;
  /// Rewrites the tree by a legal directive.
  void apply(const Directive &d);
  /// From here on directives that are applied are noted in lines(), and those that try_apply refuses in
  /// `refused`, also by copies of this nest.
  void record(std::vector<RefusedDirective> *refused) { refused_ = refused; }
  /// The recorded directives as text, in their order: of a copy those of the original as well.
  const std::vector<std::string> &lines() const { return lines_; }
  const std::vector<FusedLoop> &fused() const { return fused_; }
  /// Applies a directive when it is legal.
  Verdict try_apply(const Directive &d);
  /// Applies a directive that was proved of a smaller form of the nest, when the same is proved of this
  /// one; false where no proof is found. Throws RefusedStep when two iterations or the tree show it wrong.
  bool require(const Directive &d);

  /// Notes in `refused` what was wanted and not done, for another reason than legality.
  void note_refusal(const Directive &d, std::string why);
  /// Adds to the warnings of the function.
  void warn(Diagnostic d);

  /// Lines of text, each applied when it is legal; the first that is not ends it. Malformed text throws
  /// CompileError with E401.
  struct Refused {
    Loc line;
    Verdict verdict;
  };
  std::optional<Refused> replay(const SourceMap &sources, uint32_t source);

 private:
  Func f_;
  Stmt region_;
  NestScope scope_;
  std::vector<std::string> lines_;
  std::vector<FusedLoop> fused_;
  std::vector<RefusedDirective> *refused_ = nullptr;  ///< null: nothing is recorded
  mutable std::optional<Nest> nest_;                  ///< of the present region, once it is asked for
};

}  // namespace kw
