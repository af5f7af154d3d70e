// Walks the loop in source order: the divergence of a value is known before its uses.
#include "analysis/vector/vectorization.h"

#include <algorithm>
#include <utility>

#include "analysis/access.h"
#include "analysis/cost_model.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/loops.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Returns whether the buffer is a mutable scalar.
bool is_cell(const Buf &b) { return b->space == Space::registers && b->rank() == 0; }

}  // namespace

/// Counts how often a loop's body reads and writes each buffer. The body must outlive it.
class VectorizationAnalysis::Uses {
 public:
  explicit Uses(const Stmt &body) : body_(body) {
    walk(body, [&](const Store &n, const Stmt &) { ++stores_[n.buf.get()]; });
  }
  int stores(const Buf &b) const { return count(stores_, b); }
  int reads(const Buf &b) {
    if (!reads_) count_reads();
    return count(*reads_, b);
  }
  /// Returns whether memory that the body writes is read in it.
  bool reads_what_it_writes() {
    if (!reads_) count_reads();
    return std::any_of(stores_.begin(), stores_.end(), [&](const auto &stored) {
      return stored.first->space != Space::registers && reads_->count(stored.first);
    });
  }

 private:
  using Counts = std::unordered_map<const BufNode *, int>;
  static int count(const Counts &uses, const Buf &buf) {
    auto found = uses.find(buf.get());
    return found == uses.end() ? 0 : found->second;
  }
  /// Looks at every expression, which loops without reductions need not.
  void count_reads() {
    reads_.emplace();
    for_each_evaluated(body_, [&](const Expr &e) {
      walk(e, [&](const Load &n, const Expr &) { ++(*reads_)[n.buf.get()]; });
    });
  }

  const Stmt &body_;
  Counts stores_;
  std::optional<Counts> reads_;
};

VectorizationAnalysis::VectorizationAnalysis(const For &loop) {
  // the iterator grows by the step from lane to lane
  lets_[loop.iter.get()] = loop.step;
  walk(loop.body, [&](const Alloc &n, const Stmt &) { own_cells_.insert(n.buf.get()); });
  // in this order: cells of arg-reductions are no reductions, and the walk needs both
  Uses uses(loop.body);
  guess_rows(loop.body);
  find_arg_reductions(loop.body, uses);
  find_reductions(loop.body, uses);
  statements(loop.body);
  if (has_lane_sums() && !arg_reductions_.empty()) refuse();
}

void VectorizationAnalysis::guess_rows(const Stmt &body) {
  std::unordered_map<const BufNode *, int64_t> columns;  // one more than the greatest; 0: others, too
  std::vector<Buf> order;
  auto note = [&](const Buf &b, const std::vector<Expr> &index) {
    if (b->rank() < 2 || !b->strides.empty() || b->space == Space::registers || as_int(b->extents.back()))
      return;
    auto [known, is_new] = columns.try_emplace(b.get(), 1);
    if (is_new) order.push_back(b);
    auto column = as_int(index.back());
    // a column that is no small constant rules the buffer out for the rest of the walk
    bool few = column && *column >= 0 && *column < 4 && known->second > 0;
    known->second = few ? std::max(known->second, *column + 1) : 0;
  };
  walk(body, [&](const Load &n, const Expr &) { note(n.buf, n.index); });
  walk(body, [&](const Store &n, const Stmt &) { note(n.buf, n.index); });
  for (const Buf &b : order)
    if (int64_t length = columns.at(b.get()); length >= 2) assumed_row_lengths_.emplace_back(b, length);
}

const Reduction *VectorizationAnalysis::reduction_of(const Buf &cell) const {
  auto found = std::find_if(reductions_.begin(), reductions_.end(),
                            [&](const Reduction &s) { return s.cell == cell; });
  return found == reductions_.end() ? nullptr : &*found;
}

bool ArgReduction::keeps(const Buf &cell) const {
  return std::find(selection.kept.begin(), selection.kept.end(), cell) != selection.kept.end();
}

const ArgReduction *VectorizationAnalysis::arg_reduction_at(const If &n) const {
  auto found = std::find_if(arg_reductions_.begin(), arg_reductions_.end(),
                            [&](const ArgReduction &s) { return s.at == &n; });
  return found == arg_reductions_.end() ? nullptr : &*found;
}

/// Finds arg-reductions outside inner loops whose scalars nothing else in the loop uses. The selected
/// iteration runs once more at the end, so the loop must not write memory that it reads.
void VectorizationAnalysis::find_arg_reductions(const Stmt &body, Uses &uses) {
  for_each_in_block(body, [&](const Stmt &s) {
    const If *n = as<If>(s);
    if (!n) return;
    ArgReduction found{n, match_arg_reduction(*n)};
    auto is_kept = [&](const Buf &b) {
      auto stores = std::count(found.selection.kept.begin(), found.selection.kept.end(), b);
      return is_cell(b) && !is_own(b) && uses.stores(b) == stores &&
             uses.reads(b) == (b == found.selection.best ? 1 : 0);
    };
    const auto &kept = found.selection.kept;
    if (found.selection && std::all_of(kept.begin(), kept.end(), is_kept))
      arg_reductions_.push_back(std::move(found));
    else
      find_arg_reductions(n->yes, uses), find_arg_reductions(n->no, uses);
  });
  if (!arg_reductions_.empty() && uses.reads_what_it_writes()) refuse();
}

/// Finds reductions. Any other scalar from outside that the loop writes must be one, or the loop cannot be
/// vectorized.
void VectorizationAnalysis::find_reductions(const Stmt &body, Uses &uses) {
  walk(body, [&](const Store &n, const Stmt &at) {
    if (!is_cell(n.buf) || is_own(n.buf) || n.order == Order::lanes) return;
    if (std::any_of(arg_reductions_.begin(), arg_reductions_.end(),
                    [&](const auto &s) { return s.keeps(n.buf); }))
      return;
    Accumulation a = accumulation_of(n);
    const Reduction *known = reduction_of(n.buf);
    if (!a.term || a.op == BinOp::sub || !is_exact(a.op, n.buf->dtype) || (known && known->op != a.op))
      return refuse(at.loc());
    if (!known) reductions_.push_back({n.buf, a.op});
  });
  // a read outside its own accumulation would see a partial result
  for (const Reduction &s : reductions_)
    if (uses.reads(s.cell) != uses.stores(s.cell)) refuse();
}

/// Counts an arg-reduction. Its companions are computed once, in the selected iteration.
void VectorizationAnalysis::select(const ArgReduction &s) {
  look(s.selection.value);
  ++work_.operations;
  widths_.widest_value = std::max<uint32_t>(widths_.widest_value, bit_width(s.selection.best->dtype));
}

void VectorizationAnalysis::repeat(const While &n) {
  has_while_ = true;
  look(n.cond);
  // if the node occurs twice, other constants may precede it
  if (auto [known, is_new] = uniform_inductions_.try_emplace(&n, find_uniform_inductions(n)); !is_new)
    known->second.clear();
  loop_body(n.body, true);
}

/// Visits a loop body. Values of scalars are unknown in later iterations and after the loop.
void VectorizationAnalysis::loop_body(const Stmt &body, bool may_jump) {
  bool outside = std::exchange(jumps_here_, may_jump);
  constants_.clear();
  statements(body);
  constants_.clear();
  jumps_here_ = outside;
}

namespace {

/// The stores of a body: their number per buffer, and the stores that every iteration executes.
struct StoresOf {
  std::unordered_map<const BufNode *, int> count;
  std::vector<const Store *> always;

  void look(const Stmt &root, bool is_always) {
    for_each_in_block(root, [&](const Stmt &s) {
      if (const Store *n = as<Store>(s)) note(*n, is_always);
      for_each_block(s, [&](const Stmt &block) { look(block, false); });
    });
  }
  void note(const Store &n, bool is_always) {
    ++count[n.buf.get()];
    if (is_always) always.push_back(&n);
  }
};

}  // namespace

std::vector<UniformInduction> VectorizationAnalysis::find_uniform_inductions(const While &n) const {
  std::vector<UniformInduction> out;
  // after a jump some lanes could miss the increment
  if (jumps_of(n.body).any()) return out;
  StoresOf stores;
  stores.look(n.body, true);
  for (const Store *s : stores.always) {
    // one store per iteration, from a constant on: the value is the same in all active lanes
    auto first = constants_.find(s->buf.get());
    Accumulation a = accumulation_of(*s);
    bool counts = a.term && as<Const>(a.term) && (a.op == BinOp::add || a.op == BinOp::sub);
    if (counts && first != constants_.end() && stores.count.at(s->buf.get()) == 1 &&
        is_exact(a.op, s->buf->dtype))
      out.push_back({s->buf, first->second});
  }
  return out;
}

/// Keeps only the first place: the walk ends there.
void VectorizationAnalysis::refuse(Loc at) {
  if (std::exchange(is_vectorizable_, false)) blocker_ = at;
}

void VectorizationAnalysis::statements(const Stmt &root) {
  for_each_in_block(root, [&](const Stmt &s) {
    if (is_vectorizable_) statement(s);
  });
}

void VectorizationAnalysis::statement(const Stmt &s) {
  if (const Store *n = as<Store>(s)) return store(*n, s.loc());
  if (const Let *n = as<Let>(s)) return define(*n);
  if (const While *n = as<While>(s)) return repeat(*n);
  if (const If *n = as<If>(s)) return conditional(*n);
  if (const For *n = as<For>(s)) {
    // the lanes run an inner loop in lockstep, so its bounds must be uniform
    look(n->lo), look(n->hi);
    if (is_divergent(n->lo) || is_divergent(n->hi)) refuse((is_divergent(n->hi) ? n->hi : n->lo).loc());
    return loop_body(n->body, false);
  }
  if (const Alloc *n = as<Alloc>(s)) {
    if (!is_cell(n->buf) || n->fill != Fill::none) refuse(n->buf->sym->loc);
    return;
  }
  if (!as<Jump>(s) || !jumps_here_) refuse(s.loc());
}

void VectorizationAnalysis::conditional(const If &n) {
  if (const ArgReduction *chosen = arg_reduction_at(n)) return select(*chosen);
  look(n.cond);
  // both sides begin with the constants before the condition; after it no constant is certain
  auto before = constants_;
  statements(n.yes);
  constants_ = std::move(before);
  if (n.no) statements(n.no);
  constants_.clear();
}

void VectorizationAnalysis::store(const Store &n, Loc at) {
  for (const Expr &i : n.index) look(i);
  look(n.value);
  bool moves = std::any_of(n.index.begin(), n.index.end(), [&](const Expr &i) { return is_divergent(i); });
  bool own = own_cells_.count(n.buf.get()) > 0;
  if (n.order == Order::lanes) {
    widths_.lane_sums += bit_width(n.buf->dtype);
    if (moves || own || reduction_of(n.buf)) refuse(at);
    return;
  }
  if (is_cell(n.buf)) {
    constants_.erase(n.buf.get());
    // a `while` may count from this constant
    if (own && as<Const>(n.value)) constants_.emplace(n.buf.get(), n.value);
    return;
  }
  // several lanes that write one element would have to do so in order
  if (!moves) refuse(at);
  note_access(n.buf, n.index, true);
}

void VectorizationAnalysis::define(const Let &n) {
  look(n.value);
  if (!is_divergent(n.value)) return;
  lets_[n.sym.get()] = n.value.dtype() == DType::i64 ? lane_stride(n.value) : std::nullopt;
}

/// Counts an access. A row is a step to the next or the previous element along the last dimension.
void VectorizationAnalysis::note_access(const Buf &b, const std::vector<Expr> &index, bool is_store) {
  // a bool has one bit and takes a byte
  uint32_t bits = std::max<uint32_t>(bit_width(b->dtype), 8);
  widths_.widest_element = std::max(widths_.widest_element, bits);
  widths_.narrowest_element = widths_.narrowest_element ? std::min(widths_.narrowest_element, bits) : bits;
  size_t varying = 0;
  for (const Expr &i : index) varying += is_divergent(i) ? 1 : 0;
  if (varying == 0) return;
  auto last = lane_stride(index.back());
  bool unit = b->strides.empty() || as_int(b->strides.back()) == 1;
  bool row = varying == 1 && unit && (last == 1 || last == -1);
  bool strided = !row && !is_store && is_short_stride(element_stride(b, index));
  ++(row ? work_.rows : strided ? work_.strided : is_store ? work_.scatters : work_.gathers);
}

/// Checks that every part of an expression has a vector form, and counts the part as an access or an
/// operation.
void VectorizationAnalysis::look(const Expr &e) {
  if (!is_vectorizable_ || !memo_.visited.insert(e.p.get())) return;
  for_each_operand(e, [&](const Expr &operand) { look(operand); });
  if (const Load *n = as<Load>(e); n && !is_cell(n->buf)) note_access(n->buf, n->index, false);
  if (!is_divergent(e)) return;
  if (!is_simple(e)) refuse(e.loc());
  bool addresses = e.dtype() == DType::i64 && lane_stride(e);  // computed as a scalar
  if (addresses || as<Ref>(e) || as<Load>(e)) return;
  const Call *function = as<Call>(e);
  bool is_long = function && row_of(function->fn).cost == Cost::function;
  work_.operations += is_long ? static_cast<uint32_t>(cost_of(function->fn).code) : 1;
  widths_.widest_value = std::max<uint32_t>(widths_.widest_value, bit_width(e.dtype()));
}

/// Returns whether an operation has a short vector form: excludes operations that machines have for scalars
/// only.
bool VectorizationAnalysis::is_simple(const Expr &e) {
  if (const Call *n = as<Call>(e)) {
    if (n->fn == Fn::ceil_div) return !is_float(e.dtype()) && as<Const>(n->args[1]);
    return n->fn != Fn::fmod && (n->fn != Fn::power || is_float(e.dtype()));
  }
  const Binary *n = as<Binary>(e);
  if (!n || (n->op != BinOp::floor_div && n->op != BinOp::floor_mod)) return true;
  return !is_float(e.dtype()) && as<Const>(n->b);
}

bool VectorizationAnalysis::is_divergent(const Expr &e) {
  if (const bool *found = memo_.is_divergent.find(e.p.get())) return *found;
  bool out = false;
  if (const Ref *n = as<Ref>(e)) out = lets_.count(n->sym.get()) > 0;
  // each lane has its own copy of these cells
  if (const Load *n = as<Load>(e)) out = own_cells_.count(n->buf.get()) > 0 || reduction_of(n->buf);
  for_each_operand(e, [&](const Expr &operand) { out = out || is_divergent(operand); });
  memo_.is_divergent.insert(e.p.get(), out);
  return out;
}

/// Computes modulo 2^64, as the values themselves are computed.
std::optional<int64_t> VectorizationAnalysis::lane_stride(const Expr &e) {
  if (!is_divergent(e)) return 0;
  if (const auto *found = memo_.strides.find(e.p.get())) return *found;
  std::optional<int64_t> out;
  if (const Ref *n = as<Ref>(e)) out = lets_.at(n->sym.get());
  if (const Binary *n = as<Binary>(e); n && e.dtype() == DType::i64) out = lane_stride_of(*n);
  memo_.strides.insert(e.p.get(), out);
  return out;
}

std::optional<int64_t> VectorizationAnalysis::lane_stride_of(const Binary &n) {
  if (n.op != BinOp::add && n.op != BinOp::sub && n.op != BinOp::mul) return std::nullopt;
  auto a = lane_stride(n.a), b = lane_stride(n.b);
  if (!a || !b) return std::nullopt;
  auto wrapped = [](uint64_t x) { return static_cast<int64_t>(x); };
  auto x = static_cast<uint64_t>(*a), y = static_cast<uint64_t>(*b);
  if (n.op == BinOp::add) return wrapped(x + y);
  if (n.op == BinOp::sub) return wrapped(x - y);
  // a product of two divergent values does not grow by a constant
  auto left = as_int(n.a), right = as_int(n.b);
  if (left) return wrapped(static_cast<uint64_t>(*left) * y);
  if (right) return wrapped(x * static_cast<uint64_t>(*right));
  return std::nullopt;
}

std::optional<int64_t> VectorizationAnalysis::element_stride(const Buf &b, const std::vector<Expr> &index) {
  std::vector<std::optional<int64_t>> steps;
  for (const Expr &i : index) steps.push_back(lane_stride(i));
  auto likely = std::find_if(assumed_row_lengths_.begin(), assumed_row_lengths_.end(),
                             [&](const auto &rows) { return rows.first == b; });
  return elements_of(*b, steps,
                     likely == assumed_row_lengths_.end() ? std::nullopt : std::optional(likely->second));
}

bool can_mask(const VectorizationAnalysis &view, const Target &target) {
  // a loop without memory computes with values of 32 bits or more
  uint32_t narrowest = view.narrowest_element() ? view.narrowest_element() : 32;
  return target.has_masks(narrowest) && (!view.work().gathers || target.has_gather()) &&
         (!view.work().scatters || target.has_gather());
}

bool always_masked(const VectorizationAnalysis &view, const Target &target) {
  constexpr uint32_t many = 16;  // operations: an elementary function counts as more
  return target.has_mask_registers() && view.work().operations >= many && can_mask(view, target);
}

}  // namespace kw
