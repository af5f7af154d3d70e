// Looks up the reasons for source loops, by LoopId, among the rejections of the scheduler.
#include "driver/missed_optimizations.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/bounds.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/hints.h"
#include "support/text.h"

namespace kw {

namespace {

/// Visits the loops of the function before scheduling, and looks up how the scheduled function runs each of
/// them.
class MissedOptimizations {
 public:
  MissedOptimizations(const Func &safe, const Schedule &schedule, const CompileInput &input)
      : safe_(safe), schedule_(schedule), in_(input) {
    walk(schedule.main(), [&](const For &n, const Stmt &) {
      if (n.kind == ForKind::parallel) on_threads_.push_back(n.id);
      if (n.how.vector_width >= 2) vectorized_.push_back(n.id);
      left_.push_back(n.id);
    });
    walk(safe.body, [&](const For &n, const Stmt &) {
      if (n.hint == Hint::unroll) unroll_hints_.insert(n.id);
    });
  }

  std::vector<Finding> run() {
    for_each_loop(safe_.body, [&](const Stmt &s, const For &n, const NestScope &scope) {
      scope_ = &scope;
      if (s.loc().known()) loop(s, n);  // else the compiler's own, as for checks
    });
    refused();
    return std::move(out_);
  }

 private:
  /// Returns whether the loop that executes `n` is in the list.
  bool has(const std::vector<LoopId> &list, const For &n) const {
    return std::find(list.begin(), list.end(), schedule_.executor_of(n.id)) != list.end();
  }

  /// Reports an outermost loop without threads, and an innermost one without vectors. Threads of an inner
  /// loop count, and so do vectors of an enclosing loop.
  void loop(const Stmt &s, const For &n) {
    bool is_outermost =
        std::none_of(scope_->begin(), scope_->end(), [](const ScopeItem &i) { return i.is_loop(); });
    bool threads = has(on_threads_, n), vector = has(vectorized_, n), is_innermost = true;
    for (const ScopeItem &i : *scope_)
      if (i.loop) vector |= has(vectorized_, *i.loop);
    walk(n.body, [&](const For &inner, const Stmt &) {
      threads |= has(on_threads_, inner);
      is_innermost = false;
    });
    std::string no_threads, no_vector;
    if (is_outermost && !threads) no_threads = why_not(n, Claim::parallel);
    // A loop that no longer exists, as after unrolling, has no iterations to vectorize.
    if (is_innermost && !vector && has(left_, n)) no_vector = why_not(n, Claim::vectorize);
    if (!no_threads.empty() && no_threads == no_vector)
      return add(s, cat("not parallelized or vectorized: ", n.iter->name), std::move(no_vector));
    if (!no_threads.empty()) add(s, cat("not parallelized: ", n.iter->name), std::move(no_threads));
    if (!no_vector.empty()) add(s, cat("not vectorized: ", n.iter->name), std::move(no_vector));
  }

  /// Returns what the scheduler recorded of the loop that executes this one; if it was divided, of the
  /// longest part.
  std::string why_not(const For &n, Claim claim) const {
    LoopId executor = schedule_.executor_of(n.id);
    const Rejection *found = nullptr;
    for (const Rejection &r : schedule_.rejections) {
      bool is_kind = r.directive && (claim == Claim::parallel ? r.directive->as<Parallel>() != nullptr
                                                              : r.directive->as<Vectorize>() != nullptr);
      constexpr uint64_t unknown = UINT64_MAX;
      bool is_longer = !found || r.most_trips.value_or(unknown) > found->most_trips.value_or(unknown);
      if (r.loop == executor && is_kind && is_longer) found = &r;
    }
    if (!found) return "no gain was found";
    if (found->proof)
      return refusal_text(schedule_.func, in_.sources, found->proof->nest, claim, found->proof->verdict);
    std::string text = found->blocker.known() ? excerpt(in_.sources, found->blocker) : "";
    return text.empty() ? found->why
                        : cat("`", text, "` at line ", line(found->blocker), " cannot be vectorized");
  }

  /// Reports refused directives that would have gained, except kinds of which another directive was applied.
  void refused() {
    for (const Rejection &r : schedule_.rejections) {
      if (!r.directive) {
        out_.push_back({"missed", r.loc, r.line, -1, "refused", r.why});
        continue;
      }
      const Directive &d = *r.directive;
      bool is_fusion = d.as<Fuse>() != nullptr;
      bool is_wish = d.as<Unroll>() && unroll_hints_.count(r.loop) > 0;
      bool is_told = is_wish || is_fusion || d.as<UnrollAndJam>() || d.as<Tile>() || d.as<Reorder>();
      auto is_alike = [&](const AppliedDirective &step) {
        return step.directive.what.index() == d.what.index();
      };
      bool in_place = std::any_of(schedule_.steps.begin(), schedule_.steps.end(), is_alike);
      if (!is_told || (in_place && !is_fusion && !is_wish) || !r.loc.known()) continue;
      std::string why = r.why.empty() ? "the order of iterations would change" : r.why;
      if (!r.buffer.empty() && r.why.empty())
        why = cat("lines ", line(r.from.loc), " and ", line(r.to.loc), " would meet in '", r.buffer,
                  "' in another order");
      std::string subject = r.line.substr(0, r.line.find("  #"));
      if (is_fusion) subject = "W407", why = why_apart(r);
      out_.push_back({"missed", r.loc, std::move(subject), -1, "refused", std::move(why)});
    }
    for (const Diagnostic &d : schedule_.func.warnings)
      out_.push_back({"missed", d.loc, std::string(row_of(d.code).name), -1, "refused", d.message});
  }

  std::string line(Loc at) const { return line_mark(in_.sources, at); }

  /// Returns the target of an assignment: "a[i]" for "a[i] += b[i]"; "" if there are several targets.
  static std::string target_of(const std::string &assignment) {
    size_t end = 0;
    for (int depth = 0; end < assignment.size() && (depth > 0 || assignment[end] != '='); ++end) {
      char c = assignment[end];
      depth += (c == '[' || c == '(') - (c == ']' || c == ')');
      if (c == ',' && depth == 0) return "";
    }
    std::string out = assignment.substr(0, end);
    out.erase(out.find_last_not_of(" +-*/%&|^<>@") + 1);
    return out;
  }

  /// Returns why two loops that share memory were not fused: the access of the second that would come too
  /// early.
  std::string why_apart(const Rejection &r) const {
    std::string out =
        cat("fusion of the loops at lines ", line(r.loc), " and ", line(r.other), " was not applied: ");
    if (r.buffer.empty()) return cat(out, r.why.empty() ? "it is too large for a proof" : r.why);
    std::string element = excerpt(in_.sources, r.to.loc);
    if (r.to.is_write) element = target_of(element);
    bool sure = r.reason == Reason::conflict && r.is_certain;
    out += cat("line ", line(r.to.loc), sure ? " " : " may ", r.to.is_write ? "write" : "read",
               sure ? "s " : " ", element.empty() ? cat("'", r.buffer, "'") : element, " before line ",
               line(r.from.loc), " has ", r.from.is_write ? "written" : "read", " it");
    return r.to.iteration.empty() ? out : cat(out, " (", pair_text(r, sure), ")");
  }

  /// Returns the conflict: "with n = 8: iteration i = 0 reads what iteration i = 1 writes".
  std::string pair_text(const Rejection &r, bool sure) const {
    std::vector<std::string> sizes;
    for (const auto &[size, value] : r.sizes) sizes.push_back(cat(bound_text(safe_, size), " = ", value));
    std::string_view way = r.to.is_write ? (sure ? "overwrites" : "may overwrite")
                           : sure        ? "reads"
                                         : "may read";
    return cat(sizes.empty() ? "" : cat("with ", join_text(sizes, ", "), ": "), "iteration ", r.to.iteration,
               " ", way, " what iteration ", r.from.iteration, r.from.is_write ? " writes" : " reads");
  }

  void add(const Stmt &s, std::string subject, std::string why) {
    out_.push_back({"missed", s.loc(), std::move(subject), -1, "not done", std::move(why)});
  }

  const Func &safe_;
  const Schedule &schedule_;
  const CompileInput &in_;
  const NestScope *scope_ = nullptr;                    ///< of the visited loop
  std::vector<LoopId> on_threads_, vectorized_, left_;  ///< LoopIds of scheduled loops
  std::unordered_set<LoopId> unroll_hints_;             ///< LoopIds of loops that the user wants unrolled
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> describe_missed(const Func &safe, const Schedule &schedule, const CompileInput &input) {
  return MissedOptimizations(safe, schedule, input).run();
}

}  // namespace kw
