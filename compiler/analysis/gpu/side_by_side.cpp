// Follows names to their values.
#include "analysis/gpu/side_by_side.h"

#include <algorithm>
#include <limits>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

/// Returns the divisor of a remainder, which may be a mask; nothing for other operations.
static std::optional<int64_t> remainder_by(const Binary &n) {
  auto by = as_int(n.b);
  if (by && n.op == BinOp::floor_mod && *by > 0) return by;
  bool is_mask = by && n.op == BinOp::bit_and && *by > 0 && *by < std::numeric_limits<int64_t>::max();
  return is_mask && (*by & (*by + 1)) == 0 ? std::optional(*by + 1) : std::nullopt;
}

/// Returns the divisor of a quotient, which may be a shift; nothing for other operations.
static std::optional<int64_t> quotient_by(const Binary &n) {
  auto by = as_int(n.b);
  if (by && n.op == BinOp::floor_div && *by > 0) return by;
  bool is_shift = by && n.op == BinOp::shr && *by >= 0 && *by < std::numeric_limits<int64_t>::digits;
  return is_shift ? std::optional(int64_t{1} << *by) : std::nullopt;
}

GuardedBody vector_body(const For &loop) {
  GuardedBody out;
  Stmt at = loop.body;
  if (loop.kind != ForKind::block) return {{}, {}, at};
  for (const Let *n = as<Let>(at); n && !has_load(n->value); n = as<Let>(at)) {
    out.names.push_back(at);
    at = n->body;
  }
  const If *n = as<If>(at);
  bool is_guarded = n && !n->no && !has_load(n->cond);
  out.inner = is_guarded ? n->yes : at;
  if (is_guarded) out.guard = n->cond;
  return out;
}

Stmt with_names(const GuardedBody &parts, const Stmt &inner) {
  Stmt out = inner;
  for (auto s = parts.names.rbegin(); s != parts.names.rend(); ++s) {
    const Let &n = *as<Let>(*s);
    out = let(n.sym, n.value, std::move(out), s->loc());
  }
  return out;
}

SideBySide::SideBySide(const For &loop, int64_t width, const std::vector<Stmt> &names)
    : iter_(loop.iter), lo_(loop.lo), trips_(trips_of(loop)), width_(width) {
  for (const Stmt &s : names) names_.emplace_back(as<Let>(s)->sym, as<Let>(s)->value);
}

const Expr *SideBySide::named(const Expr &e) const {
  const Ref *r = as<Ref>(e);
  for (const auto &[sym, value] : names_)
    if (r && r->sym == sym) return &value;
  return nullptr;
}

bool SideBySide::is_quotient(const Binary &n) const {
  auto by = quotient_by(n);
  return by && *by % width_ == 0;
}
bool SideBySide::is_remainder(const Binary &n) const {
  auto by = remainder_by(n);
  return by && *by % width_ == 0;
}

bool SideBySide::moves(const Expr &e) const {
  if (const Expr *value = named(e)) return moves(*value);
  if (const Ref *r = as<Ref>(e)) return r->sym == iter_;
  if (as<Load>(e)) return false;
  bool found = false;
  for_each_operand(e, [&](const Expr &operand) { found = found || (operand && moves(operand)); });
  return found;
}
bool SideBySide::moves(const std::vector<Expr> &list) const {
  return std::any_of(list.begin(), list.end(), [&](const Expr &e) { return moves(e); });
}

bool SideBySide::is_fixed(const Expr &e) const {
  if (const Expr *value = named(e)) return is_fixed(*value);
  if (const Ref *r = as<Ref>(e)) return r->sym != iter_;
  if (as<Load>(e)) return false;
  // The quotients of 4k, …, 4k + 3 by a multiple of 4 are the same.
  const Binary *n = as<Binary>(e);
  if (n && is_quotient(*n))
    if (auto base = base_of(n->a); base && as_int(*base) == 0) return true;
  bool fixed = true;
  for_each_operand(e, [&](const Expr &operand) { fixed = fixed && (!operand || is_fixed(operand)); });
  return fixed;
}

bool SideBySide::is_outer(const Expr &e) const {
  bool out = !has_load(e);
  walk(e, [&](const Ref &r, const Expr &x) { out = out && r.sym != iter_ && !named(x); });
  return out;
}

std::optional<Expr> SideBySide::base_of(const Expr &e) const {
  if (const Expr *value = named(e)) return base_of(*value);
  if (const Ref *r = as<Ref>(e)) return r->sym == iter_ ? std::optional(const_int(0)) : std::nullopt;
  const Binary *n = as<Binary>(e);
  if (!n) return {};
  auto base = base_of(n->a);
  if (base && as_int(*base) == 0 && is_remainder(*n)) return base;
  if (n->op != BinOp::add) return {};
  const Expr &rest = base ? n->b : n->a;
  if (!base) base = base_of(n->b);
  if (base && is_fixed_multiple(rest)) return base;
  return base && is_outer(rest) ? std::optional(add(*base, rest)) : std::nullopt;
}

bool SideBySide::is_fixed_multiple(const Expr &e) const {
  const Binary *n = as<Binary>(e);
  auto by = n && n->op == BinOp::mul ? as_int(n->b) : std::nullopt;
  return by && *by % width_ == 0 && is_fixed(n->a);
}

bool SideBySide::is_decided_by_last(const Expr &cond) const {
  if (!cond) return true;
  if (const Logic *n = as<Logic>(cond))
    return n->is_and && is_decided_by_last(n->a) && is_decided_by_last(n->b);
  const Binary *n = as<Binary>(cond);
  return n && (n->op == BinOp::lt || n->op == BinOp::le) && is_outer(n->b) && is_greatest_at_last(n->a);
}

std::vector<Expr> SideBySide::increasing_values(const Expr &cond) const {
  if (!cond) return {};
  if (const Logic *n = as<Logic>(cond)) {
    std::vector<Expr> out = increasing_values(n->a), more = increasing_values(n->b);
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  const Expr &value = as<Binary>(cond)->a;
  return is_outer(value) ? std::vector<Expr>() : std::vector{value};
}

/// 31 and 1023 give the greatest remainder by 32; 36, the last one from 5 on, does not.
bool SideBySide::is_greatest_digit(const Expr &e, int64_t times) const {
  const Binary *n = as<Binary>(e);
  auto by = n ? remainder_by(*n) : std::nullopt;
  const Expr &whole = by ? n->a : e;
  const Binary *part = as<Binary>(whole);
  auto size = part ? quotient_by(*part) : std::nullopt;
  const Ref *r = as<Ref>(size ? part->a : whole);
  if (!r || r->sym != iter_) return false;
  int64_t below = size.value_or(1);
  if (!by) return times <= below;                      // the product is at most the iterator
  int64_t most = std::numeric_limits<int32_t>::max();  // sums of such products do not wrap
  auto count = as_int(trips_), first = as_int(lo_);
  if (!count || !first || below > most || *by > most / times) return false;
  return *count % (below * *by) == 0 && *first % (below * *by) == 0;
}

bool SideBySide::is_greatest_at_last(const Expr &e) const {
  if (const Expr *value = named(e)) return is_greatest_at_last(*value);
  if (is_outer(e)) return true;
  if (is_greatest_digit(e, 1)) return true;
  const Binary *n = as<Binary>(e);
  if (!n) return false;
  auto times = n->op == BinOp::mul ? as_int(n->b) : std::nullopt;
  if (times) return *times > 0 && is_greatest_digit(n->a, *times);
  return n->op == BinOp::add && is_greatest_at_last(n->a) && is_greatest_at_last(n->b);
}

}  // namespace kw
