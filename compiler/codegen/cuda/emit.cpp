// The head of a kernel, its grid loops and its statements.
#include "codegen/cuda/emit.h"

#include <algorithm>

#include "analysis/cost.h"
#include "codegen/cuda/expressions.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/diagnostic.h"

namespace kw {

namespace {

/// Most blocks of a grid in the dimensions y and z; a loop in the kernel runs the other iterations.
constexpr int64_t most_blocks_yz = 65'535, most_blocks_x = INT32_MAX;
/// Threads of a launch that have temporaries in memory. Chosen: they fill a GPU of 128 multiprocessors with
/// four warps each, and their memory stays small.
constexpr int64_t most_private_threads = 1 << 14;

class KernelEmitter {
 public:
  KernelEmitter(const CudaSource &s, CudaShared &shared)
      : s_(s),
        shared_(shared),
        expressions_(s.target, names_, text_, shared),
        workspace_(plan_workspace(s.f)) {
    out_.name = names_.fresh(s.name);
    names_.fresh("call");
    out_.blocks = {const_int(1), const_int(1), const_int(1)};
    for (const Buf &b : s.shared)
      if (b->space == Space::registers) expressions_.put_in_memory(b);
  }

  CudaKernel run() {
    find_grid();
    find_uses();
    text_.open(head());
    if (s_.may_follow_fault) text_.line("if (kw_has_failed(call)) return;");
    host_values();
    grid();
    text_.close();
    out_.text = text_.take();
    return std::move(out_);
  }

 private:
  /// One loop of the grid, and its trip count in the text.
  struct GridLoop {
    const For *loop;
    Expr trips;
  };

  /// Finds the loops of the grid. The innermost one is x.
  void find_grid() {
    for (const For *n = as<For>(s_.body); n && n->kind == ForKind::grid; n = only_loop(n->body))
      grid_.push_back({n, trips_of(*n)}), atomics_.insert(n->atomics.begin(), n->atomics.end());
    ensure(grid_.size() <= 3, "a launch has more than three grid loops");
    for (size_t d = 0; d < grid_.size(); ++d) {
      const For &loop = *grid_[grid_.size() - 1 - d].loop;
      int64_t per_block = std::max<int64_t>(1, loop.how.per_block);
      ensure(d == 0 || per_block == 1, "a grid loop over rows has blocks of several");
      if (d == 0) out_.threads = static_cast<uint32_t>(per_block);
      Expr whole = binary(BinOp::floor_div, sub(trips_of(loop), const_int(1)), const_int(per_block));
      int64_t most = d == 0 ? most_blocks_x : most_blocks_yz;
      out_.blocks[d] = binary(BinOp::min, add(whole, const_int(1)), const_int(most));
    }
  }

  /// Notes the symbols and buffers of the launch.
  void find_uses() {
    for_each_evaluated(s_.body, [&](const Expr &e) { use(e); });
    walk(
        s_.body, [&](const Store &n, const Stmt &) { use(n.buf), stored_.insert(n.buf.get()); },
        [&](const Alloc &n, const Stmt &) {
          for (const Expr &e : n.buf->extents) use(e);
        },
        [&](const Check &, const Stmt &) { uses_call_ = true; },
        [&](const While &, const Stmt &) { uses_call_ = true; });
    uses_call_ = uses_call_ || s_.may_follow_fault;
    for (const GridLoop &g : grid_) use(g.trips);
    for (size_t i = s_.values.size(); i-- > 0;)
      if (used_.count(s_.values[i].first.get())) use(s_.values[i].second);
  }
  void use(const Expr &e) {
    walk(
        e, [&](const Ref &n, const Expr &) { used_.insert(n.sym.get()); },
        [&](const Load &n, const Expr &) { use(n.buf); });
  }
  void use(const Buf &b) {
    if (!buffers_.insert(b.get()).second) return;
    // The number of rows is not needed to find an element.
    for (size_t d = b->strides.empty() ? 1 : 0; d < b->rank(); ++d)
      use(b->strides.empty() ? b->extents[d] : b->strides[d]);
    if (b->space == Space::constant) use_constant(b);
  }

  void parameter(CudaParam::Kind kind, size_t index, std::string text) {
    out_.params.push_back({kind, static_cast<uint16_t>(index)});
    parameters_.push_back(std::move(text));
  }
  std::string pointer(const Buf &b) {
    bool is_read = !stored_.count(b.get());
    return cat(is_read ? "const " : "", cuda_memory_type(b->dtype), " *__restrict__ ", names_.of(b->sym));
  }

  std::string head() {
    size_t data = 0, scalar = 0;
    for (const Param &p : s_.f.params)
      if (p.buf) {
        if (buffers_.count(p.buf.get())) parameter(CudaParam::Kind::data, data, pointer(p.buf));
        ++data;
      }
    for (size_t k = 0; k < s_.shared.size(); ++k)
      if (buffers_.count(s_.shared[k].get())) parameter(CudaParam::Kind::slot, k, pointer(s_.shared[k]));
    private_memory();
    for (size_t i = 0; i < s_.f.extents.size(); ++i) number(CudaParam::Kind::dim, i, s_.f.extents[i]);
    for (const Param &p : s_.f.params)
      if (p.sym) number(CudaParam::Kind::scalar, scalar++, p.sym);
    for (size_t i = 0; i < s_.iterators.size(); ++i) number(CudaParam::Kind::iterator, i, s_.iterators[i]);
    if (uses_call_) parameter(CudaParam::Kind::call, 0, "kw_call call");
    return cat("KW_KERNEL(", out_.threads, ") ", out_.name, "(", join_text(parameters_, ", "), ")");
  }
  void number(CudaParam::Kind kind, size_t index, const Sym &sym) {
    if (used_.count(sym.get())) parameter(kind, index, cat(cuda_type(sym->dtype), " ", names_.of(sym)));
  }

  /// Gives each thread its part of the temporaries that a launch makes in memory.
  void private_memory() {
    walk(s_.body, [&](const Alloc &n, const Stmt &) {
      if (n.buf->space != Space::heap) return;
      auto slot = std::find_if(workspace_.begin(), workspace_.end(),
                               [&](const WorkspaceSlot &w) { return w.buf == n.buf; });
      ensure(slot != workspace_.end(), "a temporary without a size");
      std::string all = names_.fresh(cat(n.buf->sym->name, "_all"));
      parameter(CudaParam::Kind::temporary, out_.temporaries.size(),
                cat(cuda_memory_type(n.buf->dtype), " *__restrict__ ", all));
      out_.temporaries.push_back(slot->bytes);
      all_[n.buf.get()] = {all, slot->bytes};
      use(slot->bytes);
    });
    if (out_.temporaries.empty() || grid_.empty()) return;
    // Fewer blocks run more iterations each.
    int64_t most = most_private_threads / out_.threads;
    for (Expr &blocks : out_.blocks) {
      blocks = binary(BinOp::min, blocks, const_int(most));
      most = 1;
    }
  }

  /// Defines what the host computed before the launch once more.
  void host_values() {
    for (const auto &[sym, value] : s_.values) {
      if (!used_.count(sym.get())) continue;
      expressions_.begin({value});
      define(sym, expressions_.bare(value));
    }
  }
  void define(const Sym &sym, const std::string &text) {
    text_.line(cat("const ", cuda_type(sym->dtype), " ", names_.of(sym), " = ", text, ";"));
  }

  /// Emits the loops of the grid: in each dimension, a thread runs the iterations of its number and those a
  /// whole grid later.
  void grid() {
    Stmt body = s_.body;
    for (size_t d = 0; d < grid_.size(); ++d) {
      grid_loop(grid_[d], "zyx"[3 - grid_.size() + d]);
      body = grid_[d].loop->body;
      if (d + 1 == grid_.size()) break;
      for (const Stmt *s = &body; !as<For>(*s); s = next_in_block(*s->p)) define_let(*as<Let>(*s));
    }
    block(body);
    for (size_t d = 0; d < grid_.size(); ++d) text_.close();
  }
  void grid_loop(const GridLoop &g, char dimension) {
    const For &n = *g.loop;
    std::string per_block = dimension == 'x' ? cat(" * ", out_.threads) : "";
    bool is_one = per_block.empty() || out_.threads == 1;
    if (is_one) per_block.clear();
    std::string first = cat("kw_block(", dimension, ")", per_block, is_one ? "" : " + kw_thread"),
                step = cat("kw_blocks(", dimension, ")", per_block);
    expressions_.begin({n.lo, n.hi, g.trips});
    bool counts_itself = n.step == 1 && as_int(n.lo) == 0;
    std::string end = counts_itself ? stable(n.hi, "end") : stable(g.trips, "trips");
    std::string k = counts_itself ? names_.of(n.iter) : names_.fresh("k");
    std::string lo = counts_itself ? "" : stable(n.lo, "lo");
    text_.open(cat("for (i64 ", k, " = ", first, "; ", k, " < ", end, "; ", k, " += ", step, ")"));
    number_ = number_.empty() ? k : cat("(", number_, " * ", end, " + ", k, ")");
    if (!counts_itself) define(n.iter, n.step == 1 ? cat(lo, " + ", k) : cat(lo, " + ", k, " * ", n.step));
  }
  /// Returns the text of an i64 that a loop reads in each iteration: a name or a number.
  std::string stable(const Expr &e, std::string_view like) {
    std::string text = expressions_.subscript(e);
    if (as<Ref>(e) || as<Const>(e)) return text;
    std::string name = names_.fresh(like);
    text_.line(cat("const i64 ", name, " = ", text, ";"));
    return name;
  }

  // ---- statements
  void block(const Stmt &root) {
    for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) statement(*s);
  }
  void in_braces(const Stmt &body) { block(body), text_.close(); }

  void statement(const Stmt &s) {
    match(
        s, [&](const Store &n) { store(n); }, [&](const Let &n) { define_let(n); },
        [&](const Alloc &n) { allocate(n); }, [&](const For &n) { loop(n); },
        [&](const While &n) { repeat(n); },
        [&](const Jump &n) { text_.line(n.kind == JumpKind::break_loop ? "break;" : "continue;"); },
        [&](const If &n) { branch(n); }, [&](const Check &n) { check(n); },
        [&](const Seq &n) {
          for (size_t i = 0; i + 1 < n.items.size(); ++i) block(n.items[i]);
        });
  }

  void store(const Store &n) {
    if (atomics_.count(n.buf)) return accumulate(n);
    std::vector<Expr> roots = n.index;
    roots.push_back(n.value);
    expressions_.begin(roots);
    std::string value = expressions_.bare(n.value);
    text_.line(cat(expressions_.place(n.buf, n.index), " = ", value, ";"));
  }
  /// Emits an accumulation that other threads may make into the same element.
  void accumulate(const Store &n) {
    Accumulation a = accumulation_of(n);
    ensure(static_cast<bool>(a.term), "an atomic operation without a term");
    std::vector<Expr> roots = n.index;
    roots.push_back(a.term);
    expressions_.begin(roots);
    std::string term = expressions_.bare(a.term);
    text_.line(
        cat("kw_atomic_", cuda_atomic(a.op), "(&", expressions_.place(n.buf, n.index), ", ", term, ");"));
  }
  void define_let(const Let &n) {
    expressions_.begin({n.value});
    define(n.sym, expressions_.bare(n.value));
  }

  void allocate(const Alloc &n) {
    const Buf &b = n.buf;
    if (b->space == Space::constant) return;
    std::string type(cuda_memory_type(b->dtype));
    if (b->space == Space::registers && b->rank() == 0)
      return text_.line(
          cat(cuda_type(b->dtype), " ", names_.of(b->sym), n.fill == Fill::none ? ";" : " = 0;"));
    Expr count = const_int(1);
    for (const Expr &e : b->extents) count = mul(count, e);
    expressions_.begin({count});
    std::string size = expressions_.subscript(count);
    if (auto own = all_.find(b.get()); own != all_.end()) {
      expressions_.begin({own->second.second});
      std::string bytes = expressions_.subscript(own->second.second);
      text_.line(cat(type, " *", names_.of(b->sym), " = ", own->second.first, " + kw_number_of_thread() * (",
                     bytes, " / ", item_size(b->dtype), ");"));
    } else {
      ensure(as_int(count).has_value(), "an array of a thread without a constant size");
      text_.line(cat(type, " ", names_.of(b->sym), "[", size, "];"));
    }
    if (n.fill == Fill::none) return;
    std::string k = names_.fresh("k");
    text_.line(
        cat("for (i64 ", k, " = 0; ", k, " < ", size, "; ", k, "++) ", names_.of(b->sym), "[", k, "] = 0;"));
  }

  void loop(const For &n) {
    expressions_.begin({n.lo, n.hi});
    std::string i = names_.of(n.iter), lo = expressions_.subscript(n.lo), hi = stable(n.hi, "end");
    // NVRTC unrolls by itself, which doubles its time.
    uint32_t copies = n.kind == ForKind::unroll ? n.how.unroll : 1;
    if (n.step == 1 || n.step == -1) {
      text_.line(cat("#pragma unroll ", copies));
      text_.open(cat("for (i64 ", i, " = ", lo, "; ", i, n.step > 0 ? " < " : " > ", hi, "; ", i,
                     n.step > 0 ? "++)" : "--)"));
      return in_braces(n.body);
    }
    std::string left = names_.fresh("left");
    text_.line(cat("i64 ", i, " = ", lo, ";"));
    text_.line(cat("#pragma unroll ", copies));
    text_.open(cat("for (u64 ", left, " = kw_trips(", i, ", ", hi, ", ", n.step, "); ", left, "; ", left,
                   "--, ", i, " = (i64)((u64)", i, " + (u64)",
                   cuda_literal(DType::i64, static_cast<uint64_t>(n.step)), "))"));
    in_braces(n.body);
  }

  void repeat(const While &n) {
    std::string turns = names_.fresh("turns");
    text_.line(cat("u32 ", turns, " = 0;"));
    text_.open("while (true)");
    expressions_.begin({n.cond});
    std::string cond = expressions_.value(n.cond);
    text_.line(cat("if (!", cond, ") break;"));
    text_.line(cat("if (kw_is_cancelled(call, ", turns, "++)) return;"));
    in_braces(n.body);
  }

  void branch(const If &n) {
    expressions_.begin({n.cond});
    std::string cond = expressions_.bare(n.cond);
    text_.open(cat("if (", cond, ")"));
    block(n.yes);
    if (n.no) text_.otherwise(), block(n.no);
    text_.close();
  }

  /// Emits a check. The first fault in source order is kept, whichever thread finds it first.
  void check(const Check &n) {
    const Binary *compared = as<Binary>(n.cond);
    std::vector<Expr> roots{n.cond};
    if (compared) roots = {n.cond, compared->a, compared->b};
    expressions_.begin(roots);
    std::string number = number_.empty() ? "" : cat(number_, " * ", s_.f.sites.size(), " + ");
    std::string value = "0", bound = "0";
    if (compared) value = bits_of(compared->a), bound = bits_of(compared->b);
    std::string cond = expressions_.value(n.cond);
    text_.open(cat("if (!", cond, ")"));
    text_.line(cat("kw_fault(call, ", number, n.site, ", ", value, ", ", bound, ");"));
    text_.line("return;");
    text_.close();
  }
  /// Returns the bits of an operand of a failed comparison as an i64.
  std::string bits_of(const Expr &e) {
    DType t = e.dtype();
    std::string text = expressions_.value(e);
    if (is_float(t)) return cat("(i64)kw_bits(", text, ")");
    return is_signed_int(t) && bit_width(t) < 64 ? cat("(i64)(u", bit_width(t), ")", text)
                                                 : cat("(i64)", text);
  }

  /// Names a constant array as in the kernels before this one, or adds it to what they share.
  void use_constant(const Buf &b) {
    auto [known, is_new] = shared_.constants.try_emplace(b.get());
    if (is_new) known->second = cat("kw_", shared_.constants.size(), "_", names_.fresh(b->sym->name));
    names_.set(b->sym, known->second);
    if (!is_new) return;
    size_t size = item_size(b->dtype), count = b->data.size() / size;
    DType word = size == 8 ? DType::u64 : size == 4 ? DType::u32 : size == 2 ? DType::u16 : DType::u8;
    DType kept = is_float(b->dtype) || b->dtype == DType::b1 ? word : b->dtype;
    std::vector<std::string> items;
    for (size_t k = 0; k < count; ++k) {
      uint64_t bits = 0;
      for (size_t i = 0; i < size; ++i) bits |= uint64_t{b->data[k * size + i]} << (8 * i);
      items.push_back(cuda_literal(kept, bits));
    }
    shared_.text += cat("KW_CONSTANT ", cuda_type(kept), " ", known->second, "[", std::max<size_t>(count, 1),
                        "] = {", join_text(items, ", "), "};\n");
  }

  const CudaSource &s_;
  CudaKernel out_;
  CudaNames names_;
  CudaText text_;
  CudaShared &shared_;
  CudaExpressions expressions_;
  std::vector<WorkspaceSlot> workspace_;
  std::vector<GridLoop> grid_;  ///< outermost first
  std::string number_;          ///< of the present iteration among those of the grid loops so far
  std::vector<std::string> parameters_;
  std::unordered_set<const SymNode *> used_;
  std::unordered_set<const BufNode *> buffers_, stored_;
  std::unordered_set<Buf> atomics_;  ///< threads accumulate into their elements at the same time
  std::unordered_map<const BufNode *, std::pair<std::string, Expr>> all_;  ///< temporaries of all threads
  bool uses_call_ = false;
};

}  // namespace

CudaKernel emit_cuda(const CudaSource &source, CudaShared &shared) {
  return KernelEmitter(source, shared).run();
}

}  // namespace kw
