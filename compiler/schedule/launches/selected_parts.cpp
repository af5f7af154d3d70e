// Parts are compared in the order of their numbers.
#include "schedule/launches/selected_parts.h"

#include <algorithm>

#include "ir/build.h"
#include "schedule/launches/staging.h"

namespace kw {

SelectedParts::SelectedParts(const Selection &s, Expr blocks, const Expr &most_blocks, Loc loc)
    : form_(s.form), blocks_(std::move(blocks)), loc_(loc) {
  auto found = std::find(form_.kept.begin(), form_.kept.end(), form_.best);
  best_ = static_cast<size_t>(found - form_.kept.begin());
  auto add = [&](const std::string &name, DType t) {
    cells_.push_back(make_buf(make_sym(SymKind::buffer, t, name), {}, Space::registers));
    parts_.push_back(make_buf(make_sym(SymKind::buffer, t, name + "_parts"), {most_blocks}, Space::heap));
  };
  for (const Buf &b : form_.kept) add(b->sym->name, b->dtype);
  add("number", DType::i64);
}

Buf SelectedParts::cell_of(const Buf &kept) const {
  for (size_t i = 0; i < form_.kept.size(); ++i)
    if (form_.kept[i] == kept) return cells_[i];
  return {};
}

std::vector<Stmt> SelectedParts::initialize() const {
  std::vector<Stmt> out;
  for (size_t i = 0; i < form_.kept.size(); ++i)
    out.push_back(store(cells_[i], {}, load(form_.kept[i], {}), loc_));
  out.push_back(store(cells_.back(), {}, const_int(-1), loc_));
  return out;
}

Stmt SelectedParts::keep(const Store &n, const Expr &k) const {
  Stmt kept = store(cell_of(n.buf), {}, n.value, loc_, n.order);
  return n.buf == form_.best ? seq({kept, store(cells_.back(), {}, k, loc_)}, loc_) : kept;
}

std::vector<Stmt> SelectedParts::store_parts(const Expr &block) const {
  std::vector<Stmt> out;
  for (size_t i = 0; i < cells_.size(); ++i)
    out.push_back(store(parts_[i], {block}, load(cells_[i], {}), loc_));
  return out;
}

/// Executes `yes` if the part selected something, and no earlier part anything as good.
Stmt SelectedParts::if_better(const Expr &candidate, const Buf &best, const Buf &number, Stmt yes) const {
  Expr value = load(parts_[best_], {candidate}), old = load(best, {});
  Expr better = form_.best_is_left ? binary(form_.op, old, value) : binary(form_.op, value, old);
  Expr is_first = binary(BinOp::lt, load(number, {}), const_int(0));
  Stmt chosen = if_else(binary(BinOp::bit_or, is_first, better), std::move(yes), {}, loc_);
  return if_else(binary(BinOp::le, const_int(0), load(numbers(), {candidate})), chosen, {}, loc_);
}

Stmt SelectedParts::combine(const Expr &first, const Expr &apart, int64_t count) const {
  auto cell = [&](const Buf &parts, const std::string &name) {
    return make_buf(make_sym(SymKind::buffer, parts->dtype, name), {}, Space::registers);
  };
  Buf best = cell(parts_[best_], "best"), number = cell(numbers(), "number"),
      winner = cell(numbers(), "winner");
  Sym part = new_iterator("part"), at = new_local("at");
  Stmt take =
      seq({store(best, {}, load(parts_[best_], {kw::ref(at)}), loc_),
           store(number, {}, load(numbers(), {kw::ref(at)}), loc_), store(winner, {}, kw::ref(at), loc_)},
          loc_);
  Stmt body =
      if_else(binary(BinOp::lt, kw::ref(at), blocks_), if_better(kw::ref(at), best, number, take), {}, loc_);
  body = let(at, add(first, mul(apart, kw::ref(part))), body, loc_);
  For others{part, const_int(1), const_int(count), 1, ForKind::serial, Hint::none, {}, std::move(body)};
  std::vector<Stmt> statements{store(best, {}, load(parts_[best_], {first}), loc_),
                               store(number, {}, load(numbers(), {first}), loc_),
                               store(winner, {}, first, loc_), for_loop(std::move(others), loc_)};
  for (const Buf &parts : parts_)
    statements.push_back(store(parts, {first}, load(parts, {load(winner, {})}), loc_));
  Stmt out = seq(std::move(statements), loc_);
  for (const Buf &b : {winner, number, best}) out = alloc(b, Fill::none, out, loc_);
  return out;
}

Stmt SelectedParts::take_total() const {
  std::vector<Stmt> out;
  for (size_t i = 0; i < form_.kept.size(); ++i)
    out.push_back(store(form_.kept[i], {}, load(parts_[i], {const_int(0)}), loc_));
  Expr found = binary(BinOp::le, const_int(0), load(numbers(), {const_int(0)}));
  return if_else(found, seq(std::move(out), loc_), {}, loc_);
}

}  // namespace kw
