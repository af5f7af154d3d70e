// A region of a kernel that directives rewrite. Scheduling steps, replayed schedules and tests all check and
// apply directives here; after each one the nest is extracted anew from the tree. Chooses nothing.
#pragma once

#include <functional>

#include "schedule/directives/applied.h"
#include "schedule/directives/legal_kinds.h"

namespace kw {

/// One of the two accesses that forbid a directive.
struct RefusedAccess {
  Loc loc{};
  bool is_write = false;
  std::string iteration{};  ///< "i = 1, j = 0" if a witness is known
};

/// A directive that a step wanted, and why it was not applied.
struct Rejection {
  std::string line;
  std::optional<Directive> directive;  ///< nothing: `line` says what was not done
  LoopId loop = 0;
  Loc loc;  ///< the place of the loop
  Reason reason = Reason::legal;
  std::string why{};     ///< the reason of an inapplicable directive
  std::string buffer{};  ///< the buffer of the dependence that forbids the directive
  RefusedAccess from{}, to{};
  Loc other{};  ///< the place of the second loop of a fusion
  /// The sizes of the witness for which the iterations conflict, and whether they conflict for certain.
  std::vector<std::pair<Expr, int64_t>> sizes{};
  bool is_certain = false;
  /// A verdict on the dependences of a loop, and the nest of this loop alone, which the verdict refers to.
  struct Proof {
    Nest nest;
    Verdict verdict;
    /// The nest points into the tree and the loops around it. Later directives replace both, so they are kept
    /// here.
    Stmt tree;
    std::shared_ptr<const Func> around;
  };
  std::shared_ptr<const Proof> proof{};  ///< for parallel and vectorize
  Loc blocker{};                         ///< the place that has no vector form, for vectorize
  /// The largest trip count of the loop, if it is constant. Of the pieces of a peeled loop, only the longest
  /// one is reported.
  std::optional<uint64_t> most_trips{};
};

/// Thrown by LoopNest::require.
struct RefusedStep {
  Rejection step;
};

/// A fused loop, and the loop that contains its iterations now.
struct FusedLoop {
  LoopId loop, into;
};

struct LoopAlone;

class LoopNest {
 public:
  /// The whole body of the function becomes the region.
  explicit LoopNest(Func f);
  /// One statement of the function, in its scope, becomes the region.
  LoopNest(Func f, Stmt region, NestScope scope);

  /// Returns the function as it was before all directives.
  const Func &original() const { return *original_; }
  /// Returns the function with all directives so far applied.
  const Func &func() const { return f_; }
  const Stmt &region() const { return region_; }
  const Nest &nest() const;

  /// Decides whether a directive keeps the meaning of the kernel. With `shown` a refusal has a witness if one
  /// is found.
  Verdict legal(const Directive &d, bool shown = false) const;
  /// Asks is_free of a loop (directives/legal_kinds).
  bool is_free(uint32_t loop, FreeFor use) const { return kw::is_free(f_, nest(), loop, use); }
  /// Rewrites the tree by a legal directive.
  void apply(const Directive &d);
  /// Applies several legal directives: parallel, vectorize, and directives that set plans. All name loops of
  /// the current nest.
  void apply_marks(const std::vector<Directive> &marks);
  /// A directive that sets the plan of the loop with this iterator.
  struct LoopMark {
    Sym iter;
    Directive directive;
  };
  /// Applies legal directives that set plans. Extracts the nest only if directives are recorded.
  void set_plans(const std::vector<LoopMark> &marks);
  /// Begins to note the directives that are applied, and those that are refused. A copy of this nest keeps
  /// what was noted and goes on for itself, so that an abandoned trial leaves no trace.
  void record(bool on = true) { is_recording_ = on; }
  bool is_recording() const { return is_recording_; }
  /// Returns the recorded directives, in order. Those of a copy include those of the original.
  const std::vector<AppliedDirective> &steps() const { return steps_; }
  const std::vector<FusedLoop> &fused() const { return fused_; }
  /// Returns the directives that were refused, in the order in which they were wanted.
  const std::vector<Rejection> &rejections() const { return rejections_; }
  /// Makes the region a branch between a version and what it was, once. `steps` are those of the version.
  void add_version(Func both, std::vector<AppliedDirective> steps);
  bool has_versions() const { return has_versions_; }
  /// Returns the outermost loops of a region that is too large for one nest, or the loops directly inside if
  /// the region is one loop. With `number`, returns only the loop with that number.
  std::vector<LoopAlone> loops_alone(std::optional<uint32_t> number = {}) const;
  /// Replaces the loops of loops_alone by their rewritten forms, and records their directives.
  void take_parts(const std::vector<LoopAlone> &parts);
  /// Applies a directive if it is legal.
  Verdict try_apply(const Directive &d);
  /// Applies a directive that was proved for a smaller form of the nest. Returns false if no proof is found
  /// for this form. Throws RefusedStep if a witness or the tree refutes the directive.
  bool require(const Directive &d);

  /// Records in words what was not done, and why.
  void reject(std::string what, std::string why);
  /// Records why a directive was not applied: a reason and the place in the way, or a proof that failed.
  void reject(const Directive &d, std::string why, Loc blocker = {});
  void reject(const Directive &d, Rejection::Proof proof);
  /// Checks a claim against the nest of one loop alone, and searches for a witness.
  Rejection::Proof prove_alone(uint32_t loop, Claim claim) const;
  /// Adds a warning to the function.
  void warn(Diagnostic d);

 private:
  /// Returns a loop of the nest with its scope in the function.
  LoopPlace place_of(uint32_t loop) const;
  /// Applies a directive with the accumulators of its verdict.
  void apply(const Directive &d, const std::vector<Buf> &accumulators);
  void replace_region(Stmt by);
  void set_plans_alone(const std::vector<LoopMark> &marks);

  std::shared_ptr<const Func> original_;
  Func f_;
  Stmt region_;
  bool has_versions_ = false;
  NestScope scope_;
  std::vector<AppliedDirective> steps_;
  std::vector<FusedLoop> fused_;
  std::vector<Rejection> rejections_;
  bool is_recording_ = false;
  mutable std::shared_ptr<const Nest> nest_;  ///< of the current region, extracted on demand
};

/// A loop of a nest that is too large, with a nest of its own.
struct LoopAlone {
  uint32_t number;
  Stmt before;  ///< the loop before its rewrites
  LoopNest nest;
};

}  // namespace kw
