// Recognizes accumulations and the loops they run over.
#include "ir/accumulation.h"

#include <algorithm>
#include <limits>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/intrinsics.h"
#include "ir/walk.h"

namespace kw {

/// -2^63 has no positive counterpart in 64 bits: INT64_MAX stands for its magnitude.
int64_t step_size(const For &loop) {
  if (loop.step > 0) return loop.step;
  return loop.step == INT64_MIN ? INT64_MAX : -loop.step;
}

bool mentions(const Expr &e, const Sym &sym) {
  bool found = false;
  walk(e, [&](const Ref &n, const Expr &) { found |= n.sym == sym; });
  return found;
}

bool mentions(const std::vector<Expr> &list, const Sym &sym) {
  return std::any_of(list.begin(), list.end(), [&](const Expr &e) { return mentions(e, sym); });
}

bool has_load(const Expr &e) {
  bool found = false;
  walk(e, [&](const Load &, const Expr &) { found = true; });
  return found;
}

bool is_of_call(const Expr &e) {
  bool fine = true;
  walk(
      e, [&](const Load &, const Expr &) { fine = false; },
      [&](const Ref &n, const Expr &) {
        fine = fine && (n.sym->kind == SymKind::param || n.sym->kind == SymKind::extent);
      });
  return fine;
}

bool counts_lanes(const For &loop) {
  bool found = false;
  walk(loop.body,
       [&](const Store &s, const Stmt &) { found |= s.order == Order::lanes && s.order.names(loop.iter); });
  return found;
}

bool has_check(const Stmt &s) {
  bool found = false;
  walk(s, [&](const Check &, const Stmt &) { found = true; });
  return found;
}

bool reads_elements(const Expr &e) {
  bool found = false;
  walk(e, [&](const Load &n, const Expr &) { found |= !n.index.empty(); });
  return found;
}

bool same_place(const Load &a, const Store &s) {
  // one buffer has one rank, so that both subscript lists have the same length
  if (a.buf != s.buf) return false;
  for (size_t d = 0; d < a.index.size(); ++d)
    if (!equal(a.index[d], s.index[d])) return false;
  return true;
}

bool changes_nothing(const Store &s) {
  const Load *same = as<Load>(s.value);
  return same && same_place(*same, s);
}

/// Returns whether a store `s = s op term` accumulates. Division, remainders, shifts and comparisons do not.
static bool accumulates(BinOp op) {
  switch (op) {
    case BinOp::add:
    case BinOp::sub:
    case BinOp::mul:
    case BinOp::min:
    case BinOp::max:
    case BinOp::bit_and:
    case BinOp::bit_or:
    case BinOp::bit_xor: return true;
    default: return false;
  }
}

const Expr *fused_accumulator_of(const Store &s) {
  const Call *n = as<Call>(s.value);
  const Load *read = n && n->fn == Fn::fma ? as<Load>(n->args[2]) : nullptr;
  return read && same_place(*read, s) ? &n->args[2] : nullptr;
}

bool is_exact(BinOp op, DType t) {
  // integers wrap, which is associative; minima, maxima and bitwise operations never round
  bool rounds = op == BinOp::add || op == BinOp::sub || op == BinOp::mul;
  return !rounds || !is_float(t);
}

bool can_be_atomic(const Stmt &body, const Buf &b) {
  bool fits = b->dtype != DType::b1 && !is_half(b->dtype);
  walk(body, [&](const Store &s, const Stmt &) {
    if (s.buf != b) return;
    Accumulation a = accumulation_of(s);
    fits = fits && a.term && is_exact(a.op, b->dtype);
  });
  return fits;
}

Accumulation accumulation_of(const Store &s) {
  const Binary *n = as<Binary>(s.value);
  if (!n || !accumulates(n->op)) return {};
  auto is_accumulator = [&](const Expr &e) {
    const Load *l = as<Load>(e);
    return l && same_place(*l, s);
  };
  if (is_accumulator(n->a)) return {n->op, n->a, n->b};
  // `term - s` is excluded: each iteration would change the sign of the element
  if (n->op != BinOp::sub && is_accumulator(n->b)) return {n->op, n->b, n->a};
  return {};
}

std::vector<const For *> band_of(const Store &s, const std::vector<const For *> &loops) {
  std::vector<const For *> out;
  // from the inside out, until each name of the mark is found; a while has no name and is passed over
  for (auto loop = loops.rbegin(); loop != loops.rend() && out.size() < s.order.band.size(); ++loop)
    if (*loop && s.order.names((*loop)->iter)) out.push_back(*loop);
  return out;
}

namespace {

/// Visits the stores in source order and keeps the stack of loops around the current place.
struct StoreWalk {
  const std::function<void(const Stmt &, const Store &, const std::vector<const For *> &)> &visit;
  std::vector<const For *> loops;  ///< around the current place, outermost first

  void body(const For *loop, const Stmt &s) {
    loops.push_back(loop);
    statements(s);
    loops.pop_back();
  }
  void statements(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) {
      const For *loop = as<For>(s);
      // the branches of an If run at most once, so that only loops are pushed
      bool repeats = loop || as<While>(s);
      if (const Store *n = as<Store>(s)) visit(s, *n, loops);
      for_each_block(s, [&](const Stmt &block) { repeats ? body(loop, block) : statements(block); });
    });
  }
};

}  // namespace

void for_each_store(
    const Stmt &root,
    const std::function<void(const Stmt &, const Store &, const std::vector<const For *> &)> &visit) {
  StoreWalk{visit, {}}.statements(root);
}

bool is_min_or_max(const Expr &e) {
  const Binary *n = as<Binary>(e);
  return n && (n->op == BinOp::min || n->op == BinOp::max);
}

bool is_step_of_recurrence(const Expr &e) {
  const Binary *n = as<Binary>(e);
  return is_min_or_max(e) || (n && (n->op == BinOp::add || n->op == BinOp::sub));
}

Expr identity_of(BinOp op, DType t) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto all_bits = [&] {
    return constant({t, bit_width(t) == 64 ? ~uint64_t{0} : (uint64_t{1} << bit_width(t)) - 1});
  };
  uint64_t sign = uint64_t{1} << (bit_width(t) - 1);
  switch (op) {
    case BinOp::mul: return is_float(t) ? const_float(t, 1.0) : constant({t, 1});
    case BinOp::min:
      if (is_float(t)) return const_float(t, infinity);
      return is_signed_int(t) ? constant({t, sign - 1}) : all_bits();
    case BinOp::max:
      if (is_float(t)) return const_float(t, -infinity);
      return constant({t, is_signed_int(t) ? sign : 0});
    case BinOp::bit_and: return all_bits();
    case BinOp::bit_or:
    case BinOp::bit_xor: return constant({t, 0});
    default: return is_float(t) ? const_float(t, -0.0) : constant({t, 0});
  }
}

}  // namespace kw
