// Walks the statements of the host. Statements without a grid loop are collected into launches of one thread
// or one team, as few as possible: such a launch takes as long as one of thousands of threads.
#include "codegen/launch_program.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/bounds.h"
#include "analysis/cost.h"
#include "analysis/gpu/launch_form.h"
#include "codegen/cuda/prelude.h"
#include "codegen/stack_code.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/diagnostic.h"
#include "support/text.h"
#include "transform/copy.h"

namespace kw {

namespace {

/// The buffers that statements read and write, and whether they may end the call.
struct Effects {
  std::unordered_set<const BufNode *> read{}, written{};
  bool may_end = false;

  void add(const Stmt &s) {
    for_each_evaluated(
        s, [&](const Expr &e) { walk(e, [&](const Load &n, const Expr &) { read.insert(n.buf.get()); }); });
    walk(
        s, [&](const Store &n, const Stmt &) { written.insert(n.buf.get()); },
        [&](const Alloc &n, const Stmt &) { written.insert(n.buf.get()); },
        [&](const Check &, const Stmt &) { may_end = true; },
        [&](const While &, const Stmt &) { may_end = true; });
  }
};

/// Returns whether statements have to be executed in this order.
bool are_ordered(const std::vector<Stmt> &first, const Stmt &second) {
  Effects a, b;
  for (const Stmt &s : first) a.add(s);
  b.add(second);
  auto meet = [](const auto &x, const auto &y) {
    return std::any_of(x.begin(), x.end(), [&](const BufNode *buf) { return y.count(buf) != 0; });
  };
  return a.may_end || b.may_end || meet(a.written, b.written) || meet(a.written, b.read) ||
         meet(a.read, b.written);
}

/// Returns whether the items from one on are few statements for one thread.
bool is_short_tail(const std::vector<Stmt> &items, size_t from) {
  constexpr size_t most = 8;  // two branches have a copy. Chosen
  bool is_short = items.size() - from <= most;
  for (size_t i = from; i < items.size(); ++i)
    walk(
        items[i], [&](const For &, const Stmt &) { is_short = false; },
        [&](const While &, const Stmt &) { is_short = false; },
        [&](const Check &, const Stmt &) { is_short = false; });
  return is_short;
}

class LaunchProgramBuilder {
 public:
  LaunchProgramBuilder(const Func &f, const Target &target, const SourcePlaces *places)
      : f_(f), target_(target), places_(places), host_(f), code_(f), workspace_(plan_workspace(f)) {}

  EmittedCode run() {
    block(f_.body);
    flush();
    out_.launches.code = code_.take();
    out_.launches.arch = target_.arch;
    // What the kernels share comes first, so their places move.
    texts_.text.insert(0, texts_.team_functions);
    auto size = static_cast<uint32_t>(texts_.text.size());
    out_.bytes.insert(0, texts_.text);
    out_.launches.shared_bytes = size;
    for (LaunchKernel &k : out_.launches.kernels) k.begin += size, k.end += size;
    return std::move(out_);
  }

 private:
  /// Translates the rest of a block; launches what one thread executes at its end.
  void block(const Stmt &root) {
    for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
      if (!holds_grid(*s)) {  // and so the rest of the block
        pending_.push_back(*s);
        break;
      }
      if (const Seq *n = as<Seq>(*s)) {
        if (sequence(n->items)) break;
      } else {
        statement(*s);
      }
    }
  }

  /// Translates the statements of a sequence but for the last one. Returns whether that is done as well:
  /// what follows a condition then stands in both branches.
  bool sequence(const std::vector<Stmt> &items) {
    for (size_t i = 0; i + 1 < items.size(); ++i) {
      const Stmt *s = &items[i];
      for (; as<Let>(*s) && holds_grid(*s); s = &as<Let>(*s)->body) define(*as<Let>(*s));
      const If *n = as<If>(*s);
      if (n && holds_grid(*s) && is_short_tail(items, i + 1)) {
        branch(*n, {items.begin() + static_cast<std::ptrdiff_t>(i) + 1, items.end()});
        return true;
      }
      block(*s);
    }
    return false;
  }

  void statement(const Stmt &s) {
    if (const Let *n = as<Let>(s)) return define(*n);
    if (const Alloc *n = as<Alloc>(s)) return allocate(n->buf, n->fill);
    if (const If *n = as<If>(s)) return branch(*n, {});
    if (are_ordered(pending_, s)) flush();
    if (const While *n = as<While>(s)) return repeat_while(*n);
    const For &n = *as<For>(s);
    std::vector<Stmt> later = std::exchange(pending_, {});
    n.kind == ForKind::grid ? launch(s) : repeat(n);
    pending_ = std::move(later);
  }

  void define(const Let &n) {
    ensure(host_.holds(n.value), "a value of the device stands around a launch");
    host_.add(n.sym);
    values_.emplace_back(n.sym, n.value);
    code_.set_value(n.sym, n.value);
  }

  /// Reserves memory that several launches use.
  void allocate(const Buf &b, Fill fill) {
    if (b->space == Space::constant) return;
    auto planned = std::find_if(workspace_.begin(), workspace_.end(),
                                [&](const WorkspaceSlot &w) { return w.buf == b; });
    Expr bytes = const_int(item_size(b->dtype));
    if (planned != workspace_.end()) {
      bytes = planned->bytes;
    } else {
      for (const Expr &e : b->extents) bytes = mul(bytes, e);
    }
    push(bytes);
    code_.op(Op::slot), code_.operands().u32(static_cast<uint32_t>(shared_.size()));
    if (fill != Fill::none) {
      flush();
      code_.op(Op::fill), code_.operands().u32(static_cast<uint32_t>(shared_.size()));
    }
    shared_.push_back(b);
  }

  void push(const Expr &e) { ensure(code_.expression(e), "the host cannot compute a value around a launch"); }

  /// Runs `part` with new code and returns that.
  template <class F>
  std::string separate(F &&part) {
    StackCode outside = std::exchange(code_, code_.inner());
    size_t values = values_.size();
    part();
    flush();
    values_.resize(values);
    return std::exchange(code_, std::move(outside)).take();
  }

  /// Each branch begins with what waits for a launch, and ends with `tail`.
  void branch(const If &n, const std::vector<Stmt> &tail) {
    std::vector<Stmt> before = std::exchange(pending_, {});
    push(n.cond);
    Expr around_it = condition_;
    auto side = [&](const Stmt &body, bool holds) {
      side_ = ++sides_;
      condition_ = both(around_it, n.cond, holds);
      pending_ = before;
      block(body);
      pending_.insert(pending_.end(), tail.begin(), tail.end());
    };
    bool was_first = is_first_;
    uint32_t around = side_;
    std::string yes = separate([&] { side(n.yes, true); });
    bool launches = !std::exchange(is_first_, was_first);
    std::string no = separate([&] { side(n.no, false); });
    is_first_ = is_first_ && !launches;
    side_ = around, condition_ = around_it;
    code_.op(Op::branch);
    code_.operands().text(yes), code_.operands().text(no);
  }

  /// Returns a condition, or its negation, in another one, with the sizes that its names stand for.
  Expr both(const Expr &around, const Expr &cond, bool holds) const {
    Substitution with;
    for (const auto &[sym, value] : values_) with.values[sym.get()] = substituted(value, with);
    Expr own = substituted(cond, with);
    if (!holds) own = unary(UnOp::logical_not, own);
    return around ? logic(true, around, own) : own;
  }

  void repeat(const For &n) {
    push(n.lo), push(n.hi);
    std::string body = separate([&] {
      host_.add(n.iter);
      code_.set_iterator(n.iter, static_cast<uint8_t>(iterators_.size()));
      iterators_.push_back(n.iter);
      // A launch of an earlier iteration may have found a fault.
      is_first_ = false;
      block(n.body);
      flush();
      iterators_.pop_back();
    });
    out_.launches.has_loops = true;
    code_.op(Op::repeat);
    code_.operands().u64(static_cast<uint64_t>(n.step)), code_.operands().text(body);
  }

  /// The host waits for the word that tells whether to go on.
  void repeat_while(const While &n) {
    Buf word = make_buf(make_sym(SymKind::buffer, DType::b1, "goes_on"), {}, Space::registers);
    auto slot = static_cast<uint32_t>(shared_.size());
    allocate(word, Fill::none);
    is_first_ = false;
    std::string cond = separate([&] { launch(store(word, {}, n.cond, n.cond.loc())); });
    std::string body = separate([&] { block(n.body); });
    code_.op(Op::loop), code_.operands().u32(slot);
    out_.launches.reads_device = out_.launches.has_loops = true;
    code_.operands().text(cond), code_.operands().text(body);
  }

  /// Launches the statements that one thread executes.
  void flush() {
    if (pending_.empty()) return;
    launch(seq(std::exchange(pending_, {})));
  }

  void launch(const Stmt &body) {
    std::string name = cat(f_.name, "_", out_.launches.kernels.size());
    CudaKernel kernel = emit_cuda(
        {f_, target_, name, body, values_, iterators_, shared_, !is_first_ && has_check(f_.body), places_},
        texts_);
    is_first_ = false;
    for (size_t d = 3; d-- > 0;) push(kernel.blocks[d]);
    for (size_t k = kernel.temporaries.size(); k-- > 0;) push(kernel.temporaries[k]);
    code_.op(Op::launch);
    code_.operands().u32(static_cast<uint32_t>(out_.launches.kernels.size()));
    auto begin = static_cast<uint32_t>(out_.bytes.size());
    out_.bytes += kernel.text;
    out_.launches.kernels.push_back({kernel.name,
                                     begin,
                                     static_cast<uint32_t>(out_.bytes.size()),
                                     kernel.threads,
                                     static_cast<uint32_t>(kernel.temporaries.size()),
                                     side_,
                                     std::move(kernel.params),
                                     kernel.block_bytes,
                                     {},
                                     condition_ ? condition_text(f_, condition_, true) : "",
                                     join_text(kernel.stores, ", ")});
    out_.loops.push_back(std::move(kernel.loops));
  }

  const Func &f_;
  const Target &target_;
  const SourcePlaces *places_;
  HostValues host_;
  StackCode code_;
  std::vector<WorkspaceSlot> workspace_;
  std::vector<std::pair<Sym, Expr>> values_;
  std::vector<Sym> iterators_;
  std::vector<Buf> shared_;
  std::vector<Stmt> pending_;
  bool is_first_ = true;
  Expr condition_;                 ///< the present one, or null
  uint32_t side_ = 0, sides_ = 0;  ///< of a condition: the present one, and how many there are
  CudaShared texts_;
  EmittedCode out_;
};

}  // namespace

EmittedCode emit_launches(const Func &f, const Target &target, const SourcePlaces *places) {
  return LaunchProgramBuilder(f, target, places).run();
}

std::string cuda_text(std::string_view code) { return cat(cuda_prelude(), "\n", code); }

}  // namespace kw
