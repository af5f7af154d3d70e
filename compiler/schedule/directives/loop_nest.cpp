// Judges directives on a tree and rewrites the tree, one directive after the other.
#include "schedule/directives/loop_nest.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/directives/apply.h"
#include "schedule/directives/legal_order.h"
#include "schedule/directives/preconditions.h"
#include "schedule/launches/folded_fill.h"
#include "support/text.h"

namespace kw {

/// Returns the iteration of a witness in which a statement executes: "i = 1, j = 0".
static std::string iteration_of(const Nest &nest, uint32_t statement, const std::vector<int64_t> &values) {
  std::vector<std::string> out;
  const std::vector<uint32_t> &loops = nest.statements[statement].loops;
  for (size_t l = 0; l < loops.size(); ++l)
    if (const For *loop = nest.loops[loops[l]].loop) out.push_back(cat(loop->iter->name, " = ", values[l]));
  return join_text(out, ", ");
}

/// Describes a refused directive by names and places, which stay valid when the nest changes. The verdict
/// names loops, statements and accesses by their numbers in this nest.
static Rejection refusal_of(const Nest &nest, const Directive &d, const Verdict &v) {
  const NestLoop &loop = nest.loops[d.loop()];
  Rejection out{print_directive(nest, d), d, loop.loop ? loop.loop->id : 0, loop.loc, v.reason};
  out.why = v.why;
  if (loop.loop) out.most_trips = most_trips(*loop.loop);
  if (const Fuse *pair = d.as<Fuse>()) out.other = nest.loops[pair->next].loc;
  if (const auto &at = v.dependence) {
    const NestAccess &from = nest.statements[at->source].accesses[at->from],
                     &to = nest.statements[at->sink].accesses[at->to];
    out.buffer = from.buf->sym->name;
    out.from = {from.loc, from.is_write}, out.to = {to.loc, to.is_write};
    if (v.witness) {
      out.is_certain = v.witness->certain;
      out.sizes = v.witness->sizes;
      out.from.iteration = iteration_of(nest, at->source, v.witness->source);
      out.to.iteration = iteration_of(nest, at->sink, v.witness->sink);
    }
  }
  return out;
}

LoopNest::LoopNest(Func f) : original_(std::make_shared<const Func>(f)), f_(std::move(f)), region_(f_.body) {}

LoopNest::LoopNest(Func f, Stmt region, NestScope scope)
    : original_(std::make_shared<const Func>(f)),
      f_(std::move(f)),
      region_(std::move(region)),
      scope_(std::move(scope)) {}

const Nest &LoopNest::nest() const {
  // The extraction reads the whole region, so its result is kept until the region changes.
  if (!nest_) nest_ = std::make_shared<const Nest>(extract_region(region_, scope_));
  return *nest_;
}

Verdict LoopNest::legal(const Directive &d, bool shown) const {
  // The tree is checked first: the rules on dependences assume a directive that fits the tree.
  if (Inapplicable found = why_inapplicable(f_, region_, nest(), d)) {
    Verdict out{Reason::inapplicable};
    out.why = found.why, out.jump = found.at;
    return out;
  }
  if (const Parallel *p = d.as<Parallel>()) return legal_parallel(f_, nest(), *p, place_of(p->loop), shown);
  if (const Grid *g = d.as<Grid>()) return legal_grid(f_, nest(), *g, place_of(g->loop), shown);
  if (const Team *t = d.as<Team>()) return legal_team(f_, nest(), *t, place_of(t->loop), shown);
  if (const Stage *t = d.as<Stage>()) return legal_stage(f_, nest(), *t, place_of(t->loop), shown);
  if (const Rfactor *r = d.as<Rfactor>()) return legal_rfactor(f_, nest(), *r, place_of(r->loop), shown);
  if (const StageRows *t = d.as<StageRows>())
    return legal_stage_rows(f_, nest(), t->loop, place_of(t->loop), shown);
  if (const StageColumns *t = d.as<StageColumns>())
    return legal_stage_rows(f_, nest(), t->loop, place_of(t->loop), shown);
  if (const ScanLoop *t = d.as<ScanLoop>()) return legal_scan(f_, *t, place_of(t->loop), shown);
  if (d.as<StageChain>() || d.as<FoldFill>() || d.as<Unswitch>() || d.as<CacheRow>())
    return {};  // all stays in its order: preconditions hold what else they need
  if (const PrivateBins *p = d.as<PrivateBins>())
    return legal_private_bins(f_, nest(), *p, place_of(p->loop), shown);
  if (const Vectorize *v = d.as<Vectorize>())
    return legal_vectorize(f_, nest(), *v, place_of(v->loop), shown);
  return legal_order(f_, nest(), d, shown);
}

LoopPlace LoopNest::place_of(uint32_t loop) const {
  const For *wanted = nest().loops[loop].loop;
  LoopPlace out{{}, scope_};
  for_each_loop(region_, [&](const Stmt &s, const For &n, const NestScope &scope) {
    if (&n != wanted) return;
    out.at = s;
    out.scope.insert(out.scope.end(), scope.begin(), scope.end());
  });
  return out;
}

void LoopNest::apply(const Directive &d) {
  bool accumulates = d.as<Grid>() || d.as<PrivateBins>();
  apply(d, accumulates ? legal(d).accumulators : std::vector<Buf>());
}

void LoopNest::apply(const Directive &d, const std::vector<Buf> &accumulators) {
  if (is_recording_) {
    // The line names loops as they are before the rewrite, which is also where replay reads it.
    steps_.push_back({d, print_directive(nest(), d)});
    auto id = [&](uint32_t loop) { return nest().loops[loop].loop->id; };
    if (const Fuse *pair = d.as<Fuse>()) fused_.push_back({id(pair->next), id(pair->loop)});
  }
  const FoldFill *fold = d.as<FoldFill>();
  Buf filled = fold ? foldable_output(f_, place_of(fold->loop).at) : Buf();
  // one symbol for all functions, because loops that were rewritten alone are put together
  static const Sym misaligned = make_sym(SymKind::param, DType::i64, "misaligned");
  const Sym before = f_.misaligned;
  if (d.as<Stage>() && !before) f_.misaligned = misaligned;
  replace_region(apply_directive(f_, region_, nest(), d, accumulators));
  bool is_asked = false;
  if (f_.misaligned != before)
    walk(region_, [&](const Ref &r, const Expr &) { is_asked = is_asked || r.sym == misaligned; });
  if (!is_asked) f_.misaligned = before;
  for (Param &p : f_.params)
    if (filled && p.buf == filled) p.fill = Fill::none;
}

void LoopNest::replace_region(Stmt by) {
  if (by.p == region_.p) return;
  // From here on the numbers of loops and statements in `nest_` are wrong.
  f_.body = region_.p == f_.body.p ? by : replace_statement(f_.body, region_, by);
  region_ = std::move(by);
  nest_.reset();
}

/// Returns the directive with another loop.
static Directive of_loop(Directive d, uint32_t loop) {
  std::visit(
      [&](auto &one) {
        if constexpr (requires { one.loop; }) one.loop = loop;
      },
      d.what);
  return d;
}

void LoopNest::apply_marks(const std::vector<Directive> &marks) {
  if (!is_recording_) {  // nothing asks for their text
    replace_region(kw::apply_marks(f_, region_, nest(), marks));
    return;
  }
  std::vector<Sym> iters;  // numbers of loops change with each block, their iterators do not
  for (const Directive &d : marks) iters.push_back(nest().loops[d.loop()].loop->iter);
  for (size_t i = 0; i < marks.size(); ++i) {
    Directive d = marks[i];
    uint32_t loop = *find_loop(nest(), iters[i]);
    apply(of_loop(std::move(d), loop));
  }
}

void LoopNest::set_plans(const std::vector<LoopMark> &marks) {
  if (marks.empty()) return;
  if (is_recording_ && !nest().complete) return set_plans_alone(marks);
  if (is_recording_) {
    for (const LoopMark &m : marks) {
      uint32_t loop = *find_loop(nest(), m.iter);
      apply(of_loop(m.directive, loop));
    }
    return;
  }
  // Plans move no loop, so that the iterators suffice to find the loops.
  replace_region(rewrite(region_, [&](const For &n, const Stmt &s) {
    Stmt out = s;
    for (const LoopMark &m : marks)
      if (m.iter == n.iter) out = with_plan(out, m.directive);
    return out;
  }));
}

/// Sets the plans in the nest of each loop alone: the nest of the whole region misses most loops.
void LoopNest::set_plans_alone(const std::vector<LoopMark> &marks) {
  std::vector<LoopAlone> parts = loops_alone();
  std::unordered_map<const SymNode *, size_t> part_of;
  for (size_t i = 0; i < parts.size(); ++i)
    walk(parts[i].before, [&](const For &n, const Stmt &) { part_of.emplace(n.iter.get(), i); });
  std::vector<std::vector<LoopMark>> of_parts(parts.size());
  for (const LoopMark &m : marks)
    if (auto found = part_of.find(m.iter.get()); found != part_of.end())
      of_parts[found->second].push_back(m);
    else
      // This mark is for the loop around all parts, which the nest of the region holds.
      apply(of_loop(m.directive, *find_loop(nest(), m.iter)));
  for (size_t i = 0; i < parts.size(); ++i) parts[i].nest.set_plans(of_parts[i]);
  take_parts(parts);
}

Verdict LoopNest::try_apply(const Directive &d) {
  Verdict v = legal(d, is_recording_ && d.as<Fuse>());  // of which a witness is told
  if (v.ok())
    apply(d, v.accumulators);
  else if (is_recording_)
    rejections_.push_back(refusal_of(nest(), d, v));
  return v;
}

bool LoopNest::require(const Directive &d) {
  if (legal(d).ok()) return apply(d), true;
  // A witness or a wrong tree shows a fault in the step that planned the directive. A missing proof does not.
  Verdict v = legal(d, true);
  if (v.witness || v.reason == Reason::inapplicable || v.reason == Reason::jump)
    throw RefusedStep{refusal_of(nest(), d, v)};
  return false;
}

void LoopNest::reject(std::string what, std::string why) {
  if (!is_recording_) return;
  // A sequence of statements has no place of its own.
  Loc first = nest().loops.empty() ? region_.loc() : nest().loops[0].loc;
  rejections_.push_back({std::move(what), {}, 0, first, Reason::inapplicable});
  rejections_.back().why = std::move(why);
}

void LoopNest::reject(const Directive &d, std::string why, Loc blocker) {
  if (!is_recording_) return;
  rejections_.push_back(refusal_of(nest(), d, Verdict{Reason::inapplicable}));
  rejections_.back().why = std::move(why), rejections_.back().blocker = blocker;
}

void LoopNest::reject(const Directive &d, Rejection::Proof proof) {
  if (!is_recording_) return;
  rejections_.push_back(refusal_of(nest(), d, Verdict{proof.verdict.reason}));
  rejections_.back().proof = std::make_shared<const Rejection::Proof>(std::move(proof));
}

Rejection::Proof LoopNest::prove_alone(uint32_t loop, Claim claim) const {
  LoopPlace place = place_of(loop);
  Rejection::Proof out{extract_nest(place.at, place.scope), {}, f_.body, original_};
  // The loop has number 0 in the nest of its own.
  out.verdict = kw::legal(f_, out.nest, claim, 0);
  return out;
}

void LoopNest::warn(Diagnostic d) { f_.warnings.push_back(std::move(d)); }

std::vector<LoopAlone> LoopNest::loops_alone(std::optional<uint32_t> number) const {
  std::ptrdiff_t depth = as<For>(region_) ? 1 : 0;
  std::vector<LoopAlone> out;
  uint32_t next = 0;
  for_each_loop(region_, [&](const Stmt &s, const For &, const NestScope &inner) {
    auto is_loop = [](const ScopeItem &i) { return i.is_loop(); };
    // Loops further inside belong to the part of the loop around them.
    if (std::count_if(inner.begin(), inner.end(), is_loop) != depth) return;
    uint32_t own = next++;
    if (number && *number != own) return;
    NestScope scope = scope_;
    scope.insert(scope.end(), inner.begin(), inner.end());
    out.push_back({own, s, LoopNest(f_, s, std::move(scope))});
    out.back().nest.is_recording_ = is_recording_;
  });
  return out;
}

void LoopNest::take_parts(const std::vector<LoopAlone> &parts) {
  std::unordered_map<const StmtNode *, const Stmt *> changed;
  for (const LoopAlone &part : parts) changed[part.before.p.get()] = &part.nest.region();
  replace_region(rewrite(region_, [&](const For &, const Stmt &s, const Stmt &original) {
    auto found = changed.find(original.p.get());
    return found == changed.end() ? s : *found->second;
  }));
  for (const LoopAlone &part : parts) {
    if (!f_.misaligned) f_.misaligned = part.nest.f_.misaligned;
    for (AppliedDirective step : part.nest.steps_) {
      step.alone.insert(step.alone.begin(), part.number);
      steps_.push_back(std::move(step));
    }
    const std::vector<Rejection> &more = part.nest.rejections_;
    rejections_.insert(rejections_.end(), more.begin(), more.end());
  }
}

void LoopNest::add_version(Func both, std::vector<AppliedDirective> steps) {
  // The region contains both versions, so that later directives can rewrite either.
  f_ = std::move(both), region_ = f_.body;
  has_versions_ = true;
  nest_.reset();
  for (AppliedDirective &step : steps) {
    step.in_short_sums = true;
    steps_.push_back(std::move(step));
  }
}

}  // namespace kw
