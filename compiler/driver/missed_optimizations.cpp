// The questions of schedule/cpu, asked once more of the loops as they were before; the first that is answered
// with no is the reason.
#include "driver/missed_optimizations.h"

#include <algorithm>

#include "analysis/bounds.h"
#include "analysis/cost.h"
#include "analysis/nest/privatize.h"
#include "analysis/nest/trip_counts.h"
#include "analysis/vectorization.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/cpu/register_model.h"
#include "schedule/cpu/vectorize_and_parallelize.h"
#include "schedule/hints.h"
#include "support/text.h"

namespace kw {

namespace {

class MissedOptimizations {
 public:
  MissedOptimizations(const Func &safe, const Schedule &schedule, const CompileInput &input)
      : safe_(safe), schedule_(schedule), in_(input) {
    walk(schedule.main(), [&](const For &n, const Stmt &) {
      if (n.kind == ForKind::parallel) on_threads_.push_back(n.id);
      if (n.how.vector_width >= 2) in_lanes_.push_back(n.id);
      left_.push_back(n.id);
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
  bool has(const std::vector<LoopId> &list, const For &n) const {
    return std::find(list.begin(), list.end(), schedule_.executor_of(n.id)) != list.end();
  }

  void loop(const Stmt &s, const For &n) {
    bool is_outermost =
        std::none_of(scope_->begin(), scope_->end(), [](const ScopeItem &i) { return !i.sym && !i.expr; });
    bool threads = has(on_threads_, n), lanes = has(in_lanes_, n), is_innermost = true;
    for (const ScopeItem &i : *scope_)
      if (i.loop) lanes |= has(in_lanes_, *i.loop);
    walk(n.body, [&](const For &inner, const Stmt &) {
      threads |= has(on_threads_, inner);
      is_innermost = false;
    });
    std::string no_threads, no_lanes;
    if (is_outermost && !threads) no_threads = why_no_threads(s, n);
    if (is_innermost && !lanes && has(left_, n)) no_lanes = why_no_lanes(s, n);
    if (!no_threads.empty() && no_threads == no_lanes)
      return add(s, cat("threads and lanes for ", n.iter->name), std::move(no_lanes));
    if (!no_threads.empty()) add(s, cat("threads for ", n.iter->name), std::move(no_threads));
    if (!no_lanes.empty()) add(s, cat("lanes for ", n.iter->name), std::move(no_lanes));
  }

  std::string why_no_threads(const Stmt &s, const For &n) {
    if (n.hint == Hint::serial) return "`serial` keeps it in order";
    auto trips = most_trips(n);
    if ((trips && *trips < 2) || is_surely_short(n, in_.target)) return "its work is worth one thread only";
    if (has_check(n.body)) return "subscripts are checked in it, and the first bad one is told";
    if (std::string why = refused(s, Claim::parallel); !why.empty()) return why;
    if (jumps_of(n.body).any()) return "`continue` ends some of its iterations early";
    if (writes_outer_scalar(n.body)) return "it writes a scalar that is made outside it";
    if (has(in_lanes_, n)) return "it runs in lanes, and its range does not follow from shapes alone";
    return "no gain was found";
  }

  std::string why_no_lanes(const Stmt &s, const For &n) {
    if (n.hint == Hint::serial) return "`serial` keeps it in order";
    if (has_check(n.body)) return "subscripts are checked in it, one after the other";
    if (std::string why = refused(s, Claim::vectorize); !why.empty()) return why;
    VectorizationAnalysis view(n);
    if (!view.is_vectorizable()) return without_lanes(view.blocker());
    auto trips = most_trips(n);
    if (trips && *trips < 4) return cat("it runs ", counted(*trips, "time"), " at most");
    const VectorizationAnalysis::Work &work = view.work();
    if (work.gathers + work.scatters > 0 && lanes_of_loop(in_.target, n, view) == 0)
      return cat("elements lie apart in memory: ", work.gathers + work.scatters, " access",
                 work.gathers + work.scatters == 1 ? "" : "es", " one by one for ",
                 counted(work.operations, "operation"), " in lanes");
    return "no gain was found";
  }

  std::string without_lanes(Loc at) const {
    std::string text = at.known() ? excerpt(in_.sources, at) : "";
    if (text.empty()) return "it holds a statement that has no form in lanes";
    return cat("`", text, "` at line ", line(at), " has no form in lanes");
  }

  /// Why the loop's iterations need their order, or "".
  std::string refused(const Stmt &s, Claim claim) const {
    Nest nest = extract_nest(s, *scope_);
    Verdict v = legal(safe_, nest, claim, 0);
    if (!v.ok()) return refusal_text(safe_, in_.sources, nest, claim, v);
    std::vector<std::string> shared;
    for (const SharedReduction &r : v.shared) shared.emplace_back(reduction_noun(r.kind));
    return claim == Claim::vectorize || shared.empty()
               ? std::string()
               : cat("its iterations share ", join_text(shared, " and "));
  }

  /// Directives that would have gained, but for those that another one of the same kind stood in for.
  void refused() {
    for (const Rejection &r : schedule_.rejected) {
      std::string_view verb = r.verb;
      bool is_told =
          verb == Fuse::name || verb == UnrollAndJam::name || verb == Tile::name || verb == Reorder::name;
      bool in_place = std::any_of(schedule_.steps.begin(), schedule_.steps.end(),
                                  [&](const std::string &d) { return d.starts_with(verb); });
      if (!is_told || (in_place && verb != Fuse::name) || !r.loc.known()) continue;
      std::string why = r.why.empty() ? "the order of iterations would change" : r.why;
      if (!r.buffer.empty() && r.why.empty())
        why = cat("lines ", line(r.from.loc), " and ", line(r.to.loc), " would meet in '", r.buffer,
                  "' in another order");
      std::string subject = r.line.substr(0, r.line.find("  #"));
      if (verb == Fuse::name) subject = "W407", why = why_apart(r);
      out_.push_back({"missed", r.loc, std::move(subject), -1, "refused", std::move(why)});
    }
    for (const Diagnostic &d : schedule_.func.warnings)
      out_.push_back({"missed", d.loc, std::string(row_of(d.code).name), -1, "refused", d.message});
  }

  std::string line(Loc at) const { return line_mark(in_.sources, at); }

  /// "a[i]" of the text of an assignment, "a[i] += b[i]"; "" where that has several targets.
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

  /// Of two loops that share memory: what the second would do too early.
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
  const NestScope *scope_ = nullptr;                  ///< of the loop that is looked at
  std::vector<LoopId> on_threads_, in_lanes_, left_;  ///< of scheduled loops
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> describe_missed(const Func &safe, const Schedule &schedule, const CompileInput &input) {
  return MissedOptimizations(safe, schedule, input).run();
}

}  // namespace kw
