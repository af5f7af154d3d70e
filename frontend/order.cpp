// The rule for the order of sums, applied to every accumulating store with the loops around it.
#include "frontend/order.h"

#include <algorithm>
#include <unordered_map>

#include "ir/accumulation.h"
#include "ir/jumps.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

std::vector<Expr> last_subscripts(const Expr &term, const Store &accumulator) {
  std::vector<Expr> out;
  walk(term, [&](const Load &n, const Expr &) {
    if (!n.index.empty() && !same_place(n, accumulator)) out.push_back(n.index.back());
  });
  return out;
}

/// True for subscripts with different constants in some dimension.
bool surely_apart(const std::vector<Expr> &a, const std::vector<Expr> &b) {
  for (size_t d = 0; d < a.size(); ++d) {
    auto x = as_int(a[d]), y = as_int(b[d]);
    if (x && y && *x != *y) return true;
  }
  return false;
}

using Loops = std::vector<const For *>;  // null: a while

class OrderMarker {
 public:
  explicit OrderMarker(FpMode fp) : fp_(fp) {}

  Func run(const Func &f) {
    for_each_store(f.body, [&](const Stmt &s, const Store &n, const Loops &loops) {
      if (Order o = order_of(n, loops); o != Order::source) orders_[s.p.get()] = o;
    });
    if (orders_.empty()) return f;
    Func out = f;
    out.body = rewrite(f.body, [&](const Store &n, const Stmt &s) {
      auto found = orders_.find(s.p.get());
      if (found == orders_.end()) return s;
      return store(n.buf, n.index, n.value, s.loc(), found->second);
    });
    return out;
  }

 private:
  bool read_elsewhere(const Store &s, const For *outermost) const {
    int reads = 0, writes = 0;
    auto may_meet = [&](const Buf &buf, const std::vector<Expr> &index) {
      return buf == s.buf && !surely_apart(index, s.index);
    };
    walk(
        outermost->body, [&](const Load &n, const Expr &) { reads += may_meet(n.buf, n.index); },
        [&](const Store &n, const Stmt &) { writes += may_meet(n.buf, n.index); });
    return reads > 1 || writes > 1;
  }

  Order order_of(const Store &s, const Loops &loops) const {
    Accumulation acc = accumulation_of(s);
    if (!acc.term || !is_float(s.buf->dtype) || fp_ == FpMode::strict) return Order::source;
    std::vector<const For *> reduced = reduced_band(s, loops);
    if (reduced.empty() || read_elsewhere(s, reduced.back())) return Order::source;
    auto early = [](const For *loop) { return jumps_of(loop->body).any(); };
    if (std::any_of(reduced.begin(), reduced.end(), early)) return Order::source;
    if (fp_ == FpMode::fast) return Order::any;
    std::vector<Expr> last = last_subscripts(acc.term, s);
    auto in_last = [&](const For *loop) { return mentions(last, loop->iter); };
    if (std::none_of(reduced.begin(), reduced.end(), in_last)) return Order::source;
    std::vector<const For *> others;
    for (const For *loop : loops)
      if (loop && std::find(reduced.begin(), reduced.end(), loop) == reduced.end()) others.push_back(loop);
    if (std::any_of(others.begin(), others.end(), in_last)) return Order::source;
    return is_matrix_product(acc.term, others) ? Order::source : Order::lanes;
  }

  static bool is_matrix_product(const Expr &term, const std::vector<const For *> &others) {
    const Binary *product = as<Binary>(term);
    if (!product || product->op != BinOp::mul) return false;
    auto only_in = [&](const Expr &with, const Expr &without) {
      return std::any_of(others.begin(), others.end(), [&](const For *loop) {
        return mentions(with, loop->iter) && !mentions(without, loop->iter);
      });
    };
    return only_in(product->a, product->b) && only_in(product->b, product->a);
  }

  FpMode fp_;
  std::unordered_map<const StmtNode *, Order> orders_;
};

}  // namespace

Func mark_orders(const Func &f) { return OrderMarker(f.fp).run(f); }

}  // namespace kw
