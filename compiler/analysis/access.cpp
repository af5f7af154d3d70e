// Walks a function and tracks the enclosing loops and conditions.
#include "analysis/access.h"

#include <unordered_set>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Walks a function in order of evaluation. The context holds the loops and conditions around the current
/// place.
class AccessWalk {
 public:
  AccessWalk(bool extents_positive, const std::function<void(const Access &, const BoundsContext &)> &visit)
      : context_(extents_positive), visit_(visit) {}

  /// Visits a block. The facts that its jumping guards establish hold to its end.
  void statements(const Stmt &root) {
    size_t outside = std::exchange(behind_guards_, 0);
    for_each_in_block(root, [&](const Stmt &s) { statement(s); });
    context_.drop(std::exchange(behind_guards_, outside));
  }

 private:
  void statement(const Stmt &s) {
    current_ = s;
    seen_.clear();
    if (const Store *n = as<Store>(s)) {
      expression(n->value);  // as in CPython, before the subscript
      for (const Expr &e : n->index) expression(e);
      return report(s.loc(), n->buf, n->index, true);
    }
    for_each_expression(s, [&](const Expr &e) { expression(e); });
    if (const For *n = as<For>(s)) loop(*n);
    if (const While *n = as<While>(s)) branch(n->body, n->cond, true);
    if (const If *n = as<If>(s)) {
      branch(n->yes, n->cond, true), branch(n->no, n->cond, false);
      behind_guards_ += context_.assume_behind(*n);
    }
  }

  void loop(const For &n) {
    bool early = jumps_of(n.body).any();  // no iteration is certain to start or to reach its end
    context_.enter_loop(n);
    guards_ += early, varying_guards_ += early;
    statements(n.body);
    guards_ -= early, varying_guards_ -= early;
    context_.leave_loop();
  }

  /// Visits a block that runs only if `cond` has the value `holds`. A condition over sizes and scalar
  /// arguments does not vary in a call.
  void branch(const Stmt &body, const Expr &cond, bool holds) {
    if (!body) return;
    size_t assumed = context_.assume(cond, holds);
    bool here = !is_of_call(cond);
    ++guards_, varying_guards_ += here;
    statements(body);
    --guards_, varying_guards_ -= here;
    context_.drop(assumed);
  }

  void lazily(const Expr &e, const Expr &cond, bool holds) {
    size_t assumed = context_.assume(cond, holds);
    path_.emplace_back(cond, holds);
    bool here = !is_of_call(cond);
    varying_guards_ += here;
    // a shared node met here must be reported again where it is evaluated in any case
    auto before = seen_;
    expression(e);
    seen_ = std::move(before);
    varying_guards_ -= here;
    path_.pop_back();
    context_.drop(assumed);
  }

  static bool written_before(Loc a, Loc b) { return a.source == b.source && a.end <= b.begin && a.known(); }

  /// Visits a shared node once per lazy context: facts that hold outside the context also hold inside.
  void expression(const Expr &e) {
    if (e.p.use_count() > 1 && !seen_.insert(e.p.get()).second) return;
    const Binary *pair = as<Binary>(e);
    if (pair && written_before(pair->b.loc(), pair->a.loc())) {  // a > b is b < a
      expression(pair->b), expression(pair->a);
      return;
    }
    for_each_guarded_operand(e, [&](const Expr &operand, const OperandGuard &guard) {
      if (guard.cond)
        lazily(operand, *guard.cond, guard.holds);
      else
        expression(operand);
    });
    if (const Load *n = as<Load>(e)) report(e.loc(), n->buf, n->index, false);
  }

  void report(Loc loc, const Buf &buf, const std::vector<Expr> &index, bool is_store) {
    if (buf->space == Space::registers && index.empty()) return;
    bool guarded = guards_ > 0 || !path_.empty();
    visit_(Access{current_, loc, buf, &index, is_store, guarded, varying_guards_ > 0, path_}, context_);
  }

  BoundsContext context_;
  const std::function<void(const Access &, const BoundsContext &)> &visit_;
  Stmt current_;
  std::unordered_set<const ExprNode *> seen_;
  int guards_ = 0, varying_guards_ = 0;
  size_t behind_guards_ = 0;  ///< constraints of the current block that guards with jumps added
  std::vector<std::pair<Expr, bool>> path_;
};

}  // namespace

void for_each_access(const Func &f, bool extents_positive,
                     const std::function<void(const Access &, const BoundsContext &)> &visit) {
  AccessWalk(extents_positive, visit).statements(f.body);
}

IndexProof prove_index(const Access &a, size_t dim, const BoundsContext &context) {
  IndexProof out;
  auto index = affine_of((*a.index)[dim]), extent = affine_of(a.buf->extents[dim]);
  if (!index || !extent) return out;
  out.low = context.nonnegative(*index);
  // index < extent   →   extent - index - 1 >= 0
  auto room = add_scaled(*extent, *index, -1);
  if (!room) return out;
  room->constant -= 1;
  out.high = context.nonnegative(*room);
  return out;
}

std::vector<Expr> strides_of(const BufNode &b) {
  if (!b.strides.empty()) return b.strides;
  std::vector<Expr> out(b.extents.size());
  Expr size = const_int(1);
  for (size_t d = out.size(); d-- > 0;) {
    out[d] = size;
    if (d > 0) size = mul(size, b.extents[d]);
  }
  return out;
}

std::optional<int64_t> elements_of(const BufNode &b, const std::vector<std::optional<int64_t>> &growth,
                                   std::optional<int64_t> row) {
  int64_t out = 0;
  std::optional<int64_t> dense = 1;  // the stride of an array without gaps
  for (size_t d = growth.size(); d-- > 0;) {
    std::optional<int64_t> by = growth[d], stride = b.strides.empty() ? dense : as_int(b.strides[d]);
    int64_t moved = 0;
    if (!by || (*by != 0 && !stride)) return std::nullopt;
    if (*by != 0 &&
        (__builtin_mul_overflow(*by, *stride, &moved) || __builtin_add_overflow(out, moved, &out)))
      return std::nullopt;
    auto extent = as_int(b.extents[d]);
    if (!extent && d + 1 == growth.size()) extent = row;
    if (dense && extent && !__builtin_mul_overflow(*dense, *extent, &moved))
      dense = moved;
    else
      dense.reset();
  }
  return out;
}

}  // namespace kw
