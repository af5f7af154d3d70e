// Verdicts on a tree and its rewriting, one directive after the other.
#include "schedule/directives/loop_nest.h"

#include "analysis/nest/privatize.h"
#include "schedule/directives/apply.h"
#include "schedule/directives/legal_order.h"
#include "schedule/directives/preconditions.h"
#include "support/text.h"

namespace kw {

using Verb = Directive::Verb;

/// "i = 1, j = 0": the iteration of a witness that a statement runs in.
static std::string iteration_of(const Nest &nest, uint32_t statement, const std::vector<int64_t> &values) {
  std::vector<std::string> out;
  const std::vector<uint32_t> &loops = nest.statements[statement].loops;
  for (size_t l = 0; l < loops.size(); ++l)
    if (const For *loop = nest.loops[loops[l]].loop) out.push_back(cat(loop->iter->name, " = ", values[l]));
  return join_text(out, ", ");
}

static RefusedDirective refusal_of(const Nest &nest, const Directive &d, const Verdict &v) {
  RefusedDirective out{print_directive(nest, d), nest.loops[d.loop].loc, v.reason};
  out.why = v.why;
  if (d.verb == Verb::fuse) out.other = nest.loops[d.others[0]].loc;
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

LoopNest::LoopNest(Func f) : f_(std::move(f)), region_(f_.body) {}

LoopNest::LoopNest(Func f, Stmt region, NestScope scope)
    : f_(std::move(f)), region_(std::move(region)), scope_(std::move(scope)) {}

const Nest &LoopNest::nest() const {
  if (!nest_) nest_ = extract_region(region_, scope_);
  return *nest_;
}

Verdict LoopNest::legal(const Directive &d, bool shown) const {
  if (Inapplicable found = why_inapplicable(f_, region_, nest(), d)) {
    Verdict out{Reason::inapplicable};
    out.why = found.why, out.jump = found.at;
    return out;
  }
  if (d.verb != Verb::parallel && d.verb != Verb::vectorize && d.verb != Verb::reduce)
    return legal_order(f_, nest(), d, shown);
  Verdict v = kw::legal(f_, nest(), d, shown);
  if (!v.ok() || d.verb == Verb::reduce) return v;
  if (!v.shared.empty()) {  // whoever runs the iterations must know how to put their results together
    Verdict out{Reason::ordered};
    out.shared = std::move(v.shared);
    return out;
  }
  bool shares = d.verb == Verb::parallel &&
                writes_outer_scalar(nest().loops[d.loop].loop->body, private_scalars(f_, nest(), d.loop));
  if (shares) {
    Verdict out{Reason::inapplicable};
    out.why = "it stores to a scalar that is made outside it";
    return out;
  }
  if (v.in_step) {  // a kind promises any order
    Verdict out{Reason::conflict};
    out.in_step = true;
    return out;
  }
  return v;
}

void LoopNest::apply(const Directive &d) {
  if (refused_) {
    lines_.push_back(print_directive(nest(), d));
    auto iterator = [&](uint32_t loop) { return nest().loops[loop].loop->iter->loc; };
    if (d.verb == Verb::fuse)
      for (uint32_t other : d.others) fused_.push_back({iterator(other), iterator(d.loop)});
  }
  Stmt before = region_;
  region_ = apply_directive(f_, before, nest(), d);
  if (before.p == region_.p) return;
  f_.body = before.p == f_.body.p ? region_ : replace_statement(f_.body, before, region_);
  nest_.reset();
}

Verdict LoopNest::try_apply(const Directive &d) {
  Verdict v = legal(d, refused_ && d.verb == Verb::fuse);  // of which a witness is told
  if (v.ok())
    apply(d);
  else if (refused_)
    refused_->push_back(refusal_of(nest(), d, v));
  return v;
}

bool LoopNest::require(const Directive &d) {
  if (legal(d).ok()) return apply(d), true;
  Verdict v = legal(d, true);
  if (v.witness || v.reason == Reason::inapplicable || v.reason == Reason::jump)
    throw RefusedStep{refusal_of(nest(), d, v)};
  return false;
}

void LoopNest::note_refusal(const Directive &d, std::string why) {
  if (!refused_) return;
  Verdict wanted{Reason::inapplicable};
  refused_->push_back(refusal_of(nest(), d, wanted));
  refused_->back().why = std::move(why);
}

void LoopNest::warn(Diagnostic d) { f_.warnings.push_back(std::move(d)); }

std::optional<LoopNest::Refused> LoopNest::replay(const SourceMap &sources, uint32_t source) {
  for (Loc line : directive_lines(sources, source)) {
    Directive d = parse_directive(f_, nest(), sources, line);
    Verdict v = legal(d, true);
    if (!v.ok()) return Refused{line, std::move(v)};
    apply(d);
  }
  return std::nullopt;
}

}  // namespace kw
