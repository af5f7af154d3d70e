// An access covers the box of its subscripts if these are sums of iterators without gaps. Of branches that
// depend on the data only what both access is sure.
#include "analysis/work/access_boxes.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/walk.h"

namespace kw {

namespace {

using Box = std::vector<CallRange>;

double elements_of(const Box &box) {
  double n = 1;
  for (const CallRange &r : box)
    n *= std::max(0.0, static_cast<double>(r.high) - static_cast<double>(r.low) + 1);
  return n;
}

Box hull(const Box &a, const Box &b) {
  Box out = a;
  for (size_t d = 0; d < b.size(); ++d)
    out[d] = {std::min(a[d].low, b[d].low), std::max(a[d].high, b[d].high)};
  return out;
}

Box common(const Box &a, const Box &b) {
  Box out;
  for (size_t d = 0; d < a.size() && d < b.size(); ++d) {
    CallRange r{std::max(a[d].low, b[d].low), std::min(a[d].high, b[d].high)};
    if (r.low > r.high) return {};
    out.push_back(r);
  }
  return out;
}

/// Returns the box of all elements of two boxes if it has hardly more than they have, else the larger one.
Box joined(const Box &a, const Box &b) {
  Box both = hull(a, b);
  size_t differing = 0;
  bool touch = true;
  for (size_t d = 0; d < a.size(); ++d) {
    differing += !(a[d] == b[d]);
    touch &= a[d].low <= b[d].high + 1 && b[d].low <= a[d].high + 1;
  }
  const Box &larger = elements_of(a) < elements_of(b) ? b : a;
  constexpr double corners = 1.05;  // chosen: the corners that a stencil leaves out
  return (touch && differing <= 1) || elements_of(both) <= corners * elements_of(larger) ? both : larger;
}

}  // namespace

/// The terms of a subscript, and the iterators in them.
struct AccessBoxes::Terms {
  /// `count` values, `scale` apart.
  struct Term {
    int64_t scale, count;
  };
  std::vector<Term> terms;
  std::set<const SymNode *> iterators;

  /// Returns whether the sums of the terms have no gaps wider than `gap`.
  bool are_dense(int64_t gap) {
    std::ranges::sort(terms, {}, &Term::scale);
    int64_t reach = gap;
    for (const Term &t : terms) {
      if (t.scale > reach) return false;
      if (__builtin_mul_overflow(t.scale, t.count - 1, &reach) || __builtin_add_overflow(reach, gap, &reach))
        return true;
    }
    return true;
  }
};

/// Splits an index into terms of iterators; returns false if it has another form.
bool AccessBoxes::split_into_terms(const Expr &e, int64_t scale, Terms &out) const {
  auto range = range_of(e, known_);
  if (!range) return false;
  if (range->is_one()) return true;
  if (const auto *n = as<Ref>(e)) {
    if (auto value = values_.find(n->sym.get()); value != values_.end())
      return split_into_terms(value->second, scale, out);
    auto step = steps_.find(n->sym.get());
    if (step == steps_.end() || step->second == 0) return false;
    out.iterators.insert(n->sym.get());
    out.terms.push_back({std::abs(scale * step->second), (range->high - range->low) / step->second + 1});
    return true;
  }
  if (const auto *n = as<Cast>(e)) return split_into_terms(n->a, scale, out);
  const auto *n = as<Binary>(e);
  if (!n) return false;
  auto a = range_of(n->a, known_), b = range_of(n->b, known_);
  if (n->op == BinOp::add || n->op == BinOp::sub)
    return split_into_terms(n->a, scale, out) && split_into_terms(n->b, scale, out);
  if (n->op == BinOp::mul && a && b && (a->is_one() || b->is_one())) {
    int64_t by = a->is_one() ? a->low : b->low;
    return !__builtin_mul_overflow(scale, by, &scale) &&
           split_into_terms(a->is_one() ? n->b : n->a, scale, out);
  }
  if ((n->op == BinOp::floor_div || n->op == BinOp::floor_mod) && b && b->is_one()) {
    Terms inner;
    if (!split_into_terms(n->a, 1, inner) || !inner.are_dense(1)) return false;
    out.iterators.merge(inner.iterators);
    out.terms.push_back({std::abs(scale), range->high - range->low + 1});
    return true;
  }
  return false;
}

/// Returns whether an access reaches all elements of its box.
bool AccessBoxes::covers(const std::vector<Expr> &index, const Buf &buf) const {
  std::set<const SymNode *> used;
  for (size_t d = 0; d < index.size(); ++d) {
    Terms terms;
    bool is_last = d + 1 == index.size();
    // gaps of less than a cache line do not count: memory moves whole lines
    int64_t gap = is_last ? static_cast<int64_t>(cache_line / item_size(buf->dtype)) : 1;
    if (!split_into_terms(index[d], 1, terms) || !terms.are_dense(gap)) return false;
    for (const SymNode *iterator : terms.iterators)
      if (!used.insert(iterator).second) return false;  // x[i, i] is a diagonal
  }
  return true;
}

void AccessBoxes::visit(const Stmt &block) {
  for_each_in_block(block, [&](const Stmt &s) {
    for_each_expression(s, [&](const Expr &e) { visit(e); });
    if (const auto *store = as<Store>(s)) add(store->buf, store->index, written_);
    if (const auto *let = as<Let>(s)) {
      bind(let->sym, range_of(let->value, known_));
      values_[let->sym.get()] = let->value;
    }
    if (const auto *loop = as<For>(s)) {
      visit_loop(*loop);
    } else if (const auto *branch = as<If>(s)) {
      visit_choice(branch->cond, branch->yes, branch->no);
    } else {
      bool outer = std::exchange(is_sure_, is_sure_ && !as<While>(s));
      for_each_block(s, [&](const Stmt &inner) { visit(inner); });
      is_sure_ = outer;
    }
  });
}

/// Visits what runs of two sides. Where the data decide, the larger of both boxes is counted.
template <class Side>
void AccessBoxes::visit_choice(const Expr &cond, const Side &yes, const Side &no) {
  auto range = range_of(cond, known_);
  if (range && range->is_one()) return visit(range->low ? yes : no);
  AccessBoxes first = *this, second = *this;
  for (AccessBoxes *side : {&first, &second}) side->read_.clear(), side->written_.clear();
  first.visit(yes), second.visit(no);
  for (Boxes AccessBoxes::*which : {&AccessBoxes::read_, &AccessBoxes::written_}) {
    Boxes &one = first.*which, &other = second.*which;
    for (auto &[buf, access] : one) {
      auto there = other.find(buf);
      access.sure = there == other.end() ? Box() : common(access.sure, there->second.sure);
    }
    for (auto &[buf, access] : other) access.sure.clear();
    unite(this->*which, one), unite(this->*which, other);
  }
}

/// Adds boxes of a later place.
void AccessBoxes::unite(Boxes &into, const Boxes &from) {
  for (const auto &[buf, access] : from) {
    auto [place, is_new] = into.emplace(buf, access);
    if (is_new) continue;
    AccessBox &all = place->second;
    all.most = hull(all.most, access.most);
    if (all.sure.empty())
      all.sure = access.sure;
    else if (!access.sure.empty())
      all.sure = joined(all.sure, access.sure);
  }
}

void AccessBoxes::add(const Buf &buf, const std::vector<Expr> &index, Boxes &boxes) {
  if (buf->space != Space::param) return;
  Box box;
  bool is_known = true;
  for (size_t d = 0; d < index.size(); ++d) {
    auto extent = range_of(buf->extents[d], known_), at = range_of(index[d], known_);
    CallRange whole{0, extent ? extent->high - 1 : 0};
    is_known &= at.has_value();
    box.push_back(at ? CallRange{std::max(at->low, whole.low), std::min(at->high, whole.high)} : whole);
  }
  bool is_sure = is_sure_ && is_known && covers(index, buf);
  unite(boxes, {{buf.get(), {box, is_sure ? box : Box()}}});
}

AccessBoxes::Bytes AccessBoxes::bytes(const Boxes &boxes, const Buf &buf) {
  auto found = boxes.find(buf.get());
  if (found == boxes.end()) return {};
  const AccessBox &box = found->second;
  return {elements_of(box.most) * static_cast<double>(item_size(buf->dtype)), box.sure == box.most};
}

void AccessBoxes::bind(const Sym &sym, std::optional<CallRange> range) {
  if (range)
    known_[sym.get()] = *range;
  else
    known_.erase(sym.get());
}

void AccessBoxes::visit_loop(const For &loop) {
  auto lo = range_of(loop.lo, known_), hi = range_of(loop.hi, known_);
  std::optional<CallRange> range;
  int64_t step = 0;
  if (lo && hi) {
    range = loop.step > 0 ? CallRange{lo->low, hi->high - 1} : CallRange{hi->low + 1, lo->high};
    if (lo->is_one() && hi->is_one()) {
      int64_t trips = trips_between(lo->low, hi->low, loop.step);
      if (trips == 0) return;
      int64_t last = lo->low + (trips - 1) * loop.step;
      range = CallRange{std::min(lo->low, last), std::max(lo->low, last)};
      step = std::abs(loop.step);
    }
    if (range->low > range->high) return;
  }
  bind(loop.iter, range);
  steps_[loop.iter.get()] = step;
  bool outer = std::exchange(is_sure_, is_sure_ && step != 0 && !jumps_of(loop.body).any());
  visit(loop.body);
  is_sure_ = outer;
  known_.erase(loop.iter.get());
}

void AccessBoxes::visit(const Expr &e) {
  if (const auto *n = as<Select>(e)) {
    visit(n->cond);
    return visit_choice(n->cond, n->yes, n->no);
  }
  if (const auto *n = as<Load>(e)) add(n->buf, n->index, read_);
  for_each_operand(e, [&](const Expr &operand) { visit(operand); });
}

}  // namespace kw
