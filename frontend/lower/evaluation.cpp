// Moves reads of elements, as Lets, in front of the statements that were emitted later.
#include "frontend/lower/evaluation.h"

#include <algorithm>
#include <unordered_set>

#include "frontend/lower/expressions.h"
#include "ir/accumulation.h"
#include "ir/match.h"
#include "ir/rewrite.h"

namespace kw {

namespace {

/// Collects the parts of an operand that read elements of tensors. Each part is the largest that is always
/// evaluated as a whole.
class ElementReads {
 public:
  explicit ElementReads(const Expr &e) { visit(e); }
  std::vector<Expr> found;

 private:
  void keep(const Expr &e) {
    if (reads_elements(e)) found.push_back(e);
  }
  void visit(const Expr &e) {
    // shared nodes count once, or the walk would take exponential time
    if (!seen_.insert(e.p.get()).second) return;
    // Logic and Select evaluate operands conditionally, so they are read as a whole or not at all
    match(
        e, [](const Const &) {}, [](const Ref &) {}, [&](const Load &) { keep(e); },
        [&](const Unary &n) { visit(n.a); }, [&](const Binary &n) { visit(n.a), visit(n.b); },
        [&](const Logic &) { keep(e); }, [&](const Select &) { keep(e); }, [&](const Cast &n) { visit(n.a); },
        [&](const Call &n) {
          for (const Expr &a : n.args) visit(a);
        });
  }
  std::unordered_set<const ExprNode *> seen_;
};

}  // namespace

/// Fixes the items of a tuple to their values at this place, whatever is assigned later.
void EvaluationOrder::evaluate_items(Operand &tuple) {
  for (Operand &item : tuple.items) {
    evaluate_items(item);
    // iterators and call constants have the same value wherever the tuple is used in its scope
    if (item.kind != Operand::Kind::scalar || is_call_constant(item.expr, true)) continue;
    Sym temporary = make_sym(SymKind::local, item.expr.dtype(), "value", item.loc);
    cx_.builder->add_let(temporary, item.expr, item.loc);
    item.expr = ref(temporary, item.loc);
  }
}

/// Evaluates an earlier operand at `place`, if later statements use tensors. Its elements are read there for
/// their subscripts and, if tensors were written since, for their values.
void EvaluationOrder::evaluate_before(const Place &place, Expr &earlier) {
  bool written = cx_.wide.writing_calls != place.writes;
  if (!written && !cx_.builder->uses_elements_from(place.item)) return;
  std::vector<Expr> reads = ElementReads(earlier).found;
  // in source order: of several indices out of range Python reports the first
  auto by_place = [](const Expr &a, const Expr &b) { return a.loc().begin < b.loc().begin; };
  std::stable_sort(reads.begin(), reads.end(), by_place);
  size_t at = place.item;
  std::unordered_map<const ExprNode *, Expr> values;
  for (const Expr &e : reads) {
    // an element whose subscript was checked is read again only if its value is needed
    bool known = !cx_.evaluated.emplace(e.p.get(), e).second;
    if (known && !written) continue;
    Sym sym = make_sym(SymKind::local, e.dtype(), written ? "earlier" : "unread", e.loc());
    cx_.builder->insert_let(at++, sym, e, e.loc());
    values.emplace(e.p.get(), ref(sym, e.loc()));
  }
  if (!written) return;
  auto replaced = [&](const auto &, const Expr &now, const Expr &before) {
    auto value = values.find(before.p.get());
    return value == values.end() ? now : value->second;
  };
  earlier = rewrite(
      earlier, [&](const Load &n, const Expr &e, const Expr &o) { return replaced(n, e, o); },
      [&](const Logic &n, const Expr &e, const Expr &o) { return replaced(n, e, o); },
      [&](const Select &n, const Expr &e, const Expr &o) { return replaced(n, e, o); });
}

/// Evaluates a list of operands at `place`, in its order.
void EvaluationOrder::evaluate_before(const Place &place, std::vector<Operand> &earlier) {
  // each operand is inserted before those already inserted there
  for (auto o = earlier.rbegin(); o != earlier.rend(); ++o) evaluate_before(place, *o);
}

/// Evaluates a scalar, or the items of a tuple, at `place`.
void EvaluationOrder::evaluate_before(const Place &place, Operand &earlier) {
  if (earlier.kind == Operand::Kind::scalar) evaluate_before(place, earlier.expr);
  evaluate_before(place, earlier.items);
}

/// Returns the operands from left to right; `numbers` refuses faulty ones.
std::vector<Operand> EvaluationOrder::operands(const std::vector<ast::ExprPtr> &list, bool numbers) {
  std::vector<Operand> out;
  for (const ast::ExprPtr &e : list) {
    // this operand emits its statements here, so the earlier operands must be evaluated before them
    Place place = here();
    Operand o = numbers ? expressions().scalar(e) : expressions().expression(e);
    evaluate_before(place, out);
    out.push_back(std::move(o));
  }
  return out;
}

}  // namespace kw
