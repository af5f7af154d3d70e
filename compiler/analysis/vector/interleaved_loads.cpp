// Statements of one list execute together; the body of a condition or loop is a list of its own.
#include "analysis/vector/interleaved_loads.h"

#include <algorithm>

#include "analysis/access.h"
#include "analysis/affine.h"
#include "analysis/certain_loads.h"
#include "ir/build.h"
#include "ir/walk.h"

namespace kw {

/// Returns the distance in elements between two places of a buffer, if it is constant.
static std::optional<int64_t> distance(const Buf &b, const std::vector<Expr> &to,
                                       const std::vector<Expr> &from) {
  std::vector<std::optional<int64_t>> apart;
  for (size_t d = 0; d < to.size(); ++d) {
    auto form = affine_of(sub(to[d], from[d]));
    apart.push_back(form && form->is_constant() ? std::optional(form->constant) : std::nullopt);
  }
  return elements_of(*b, apart);
}

InterleavedLoads::InterleavedLoads(const For &loop, VectorizationAnalysis &view) : view_(view) {
  if (view.work().strided == 0) return;
  bool jumps = false;
  walk(loop.body, [&](const Jump &, const Stmt &) { jumps = true; });
  // a jump could end an iteration between two loads of one group
  if (!jumps) chain(loop.body);
  for (const auto &[load, home] : certain_)
    if (homes_.at(load)) join(*load, home);
}

void InterleavedLoads::chain(const Stmt &root) {
  uint32_t here = chains_++;
  for_each_in_block(root, [&](const Stmt &s) { statement(s, here); });
}

void InterleavedLoads::statement(const Stmt &s, uint32_t here) {
  const If *conditional = as<If>(s);
  if (conditional && view_.arg_reduction_at(*conditional)) return mentions(conditional->cond, chains_++);
  const Store *n = as<Store>(s);
  bool repeats = as<While>(s);
  for_each_expression(s, [&](const Expr &e) {
    // loads in the subscripts of a store, in loop bounds and in checks are noted, but form no group
    bool is_certain = n ? e.p == n->value.p : as<Let>(s) || conditional;
    if (is_certain)
      certain(e, here);
    else
      mentions(e, repeats ? chains_++ : here);
  });
  for_each_block(s, [&](const Stmt &block) { chain(block); });
}

void InterleavedLoads::certain(const Expr &e, uint32_t here) {
  mentions(e, here);
  for_each_certain_load(e, [&](const Load &n) {
    if (is_short_stride(view_.element_stride(n.buf, n.index))) certain_.emplace_back(&n, here);
  });
}

/// Records the statement list of all loads of an expression.
void InterleavedLoads::mentions(const Expr &e, uint32_t here) {
  walk(e, [&](const Load &n, const Expr &) {
    auto [at, is_new] = homes_.try_emplace(&n, here);
    // a load in several statement lists has no place where it always executes
    if (!is_new && at->second != here) at->second.reset();
  });
}

/// Returns whether the subscripts surely keep their values: they contain no load.
static bool is_lasting(const std::vector<Expr> &index) {
  bool out = true;
  for (const Expr &i : index) walk(i, [&](const Load &, const Expr &) { out = false; });
  return out;
}

/// Adds a load to the first group of its statement list that has room for it, or to a new one.
void InterleavedLoads::join(const Load &n, uint32_t home) {
  int64_t step = *view_.element_stride(n.buf, n.index);
  if (found_.count(&n) || n.buf->space == Space::registers || !is_lasting(n.index)) return;
  for (auto &[chain, window] : windows_) {
    if (chain != home || window.buf != n.buf || window.step != step) continue;
    auto element = distance(n.buf, n.index, window.index);
    if (!element) continue;
    int64_t first = std::min(window.first, *element), last = std::max(window.last, *element);
    // a group spans less than a stride: else neighbouring lanes would overlap
    if (last - first >= std::abs(step)) continue;
    window.first = first, window.last = last;
    found_.insert({&n, {&window, *element}});
    return;
  }
  windows_.push_back({home, {n.buf, n.index, step}});
  found_.insert({&n, {&windows_.back().second, 0}});
}

std::optional<InterleavedLoad> InterleavedLoads::find(const Load &n) const {
  auto found = found_.find(&n);
  return found == found_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace kw
