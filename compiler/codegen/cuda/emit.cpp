// The head of a kernel and its grid loops.
#include "codegen/cuda/emit.h"

#include <algorithm>

#include "analysis/cost.h"
#include "analysis/gpu/combined_values.h"
#include "analysis/gpu/pipeline.h"
#include "codegen/cuda/barriers.h"
#include "codegen/cuda/expressions.h"
#include "codegen/cuda/statements.h"
#include "codegen/cuda/team_functions.h"
#include "codegen/cuda/vectors.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/diagnostic.h"

namespace kw {

namespace {

/// Most blocks of a grid in the dimension x. In each dimension, a loop in the kernel runs the other
/// iterations.
constexpr int64_t most_blocks_x = INT32_MAX;
/// Where z is free, more blocks than these go on in the next z: 2^30 by 65,535 are as many as there can be.
constexpr int64_t blocks_of_row = int64_t{1} << 30;
/// Threads of a launch that have temporaries in memory. Chosen: they fill a GPU of 128 multiprocessors with
/// four warps each, and their memory stays small.
constexpr int64_t most_private_threads = 1 << 14;
constexpr int64_t alignment = widest_access;

/// Returns how many groups of so many there are, the last one perhaps smaller.
Expr groups_of(const Expr &count, int64_t each) {
  return add(binary(BinOp::floor_div, sub(count, const_int(1)), const_int(each)), const_int(1));
}

class KernelEmitter {
 public:
  KernelEmitter(const CudaSource &s, CudaShared &shared)
      : s_(s),
        shared_(shared),
        expressions_(s.target, names_, text_, shared),
        statements_(s, names_, text_, expressions_),
        workspace_(plan_workspace(s.f)) {
    out_.name = names_.fresh(s.name);
    names_.fresh("call");
    out_.blocks = {const_int(1), const_int(1), const_int(1)};
    for (const Buf &b : s.shared)
      if (b->space == Space::registers) expressions_.put_in_memory(b);
  }

  CudaKernel run() {
    find_grid();
    find_team();
    find_uses();
    for_each_statement(s_.body, [&](const Stmt &s) {
      if (as<For>(s) || as<While>(s)) out_.loops.push_back(s.loc());
      return true;
    });
    if (s_.places) text_.comes_from(line_directive(first_place(), *s_.places));
    text_.open(head());
    if (s_.may_follow_fault) {
      std::string failed = "kw_has_failed(call)";
      text_.line(cat("if (", team_.threads ? team_.any(failed) : failed, ") return;"));
    }
    for (const std::string &array : shared_arrays_) text_.line(array);
    host_values();
    count_rows();
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

  /// Returns where the first statement that has a place stands.
  Loc first_place() const {
    Loc out = s_.body.loc();
    for_each_statement(s_.body, [&](const Stmt &s) {
      if (!out.known()) out = s.loc();
      return !out.known();
    });
    return out;
  }

  /// Finds the loops of the grid. The innermost one is x.
  void find_grid() {
    std::unordered_set<Buf> atomics;
    for (const For *n = as<For>(s_.body); n && n->kind == ForKind::grid; n = only_loop(n->body))
      grid_.push_back({n, trips_of(*n)}), atomics.insert(n->atomics.begin(), n->atomics.end());
    statements_.set_atomics(std::move(atomics));
    ensure(grid_.size() <= 3, "a launch has more than three grid loops");
    for (size_t d = 0; d < grid_.size(); ++d) {
      const For &loop = *grid_[grid_.size() - 1 - d].loop;
      int64_t per_block = std::max<int64_t>(1, loop.how.per_block);
      ensure(d == 0 || per_block == 1, "a grid loop over rows has blocks of several");
      if (d == 0) {
        several_ = {std::max<int64_t>(1, loop.how.vector_width), std::max<int64_t>(1, loop.how.unroll)};
        per_block_ = per_block / several_.all(), out_.threads = static_cast<uint32_t>(per_block_);
      }
      int64_t most = d == 0 ? most_blocks_x : most_blocks_yz;
      out_.blocks[d] = binary(BinOp::min, groups_of(trips_of(loop), per_block), const_int(most));
    }
  }

  /// Finds the block loops, whose iterations the threads of a team share.
  void find_team() {
    bool combines = false;
    walk(s_.body, [&](const For &n, const Stmt &) {
      if (n.kind != ForKind::block) return;
      team_.threads = std::max<int64_t>(team_.threads, n.how.threads);
      CombinedValues values(n);
      combines = combines || !values.accumulators.empty() || !values.selections.empty();
    });
    if (!team_.threads) return;
    // kw_fold_block and its kin exchange values of exactly eight warps
    if (combines && team_.is_block()) team_.threads = block_team_threads;
    out_.threads = per_block_ * team_.threads;
    ensure(team_.threads == warp_threads || per_block_ == 1,
           "a team of several warps has no block of its own");
    team_.waits = team_barriers(body_of_team(), [&](const Buf &b) {
      return b->space != Space::constant && !expressions_.is_variable(b);
    });
    if (shared_.team_functions.empty()) shared_.team_functions = cuda_team_functions();
    if (team_.is_block()) shared_arrays_.emplace_back(cuda_slots()), out_.block_bytes += exchanged_bytes;
    if (team_.is_block() && !std::exchange(shared_.has_block_teams, true))
      shared_.team_functions += cuda_block_functions();
    statements_.set_team(team_);
  }
  /// Returns the statements of one iteration of the grid, or all if there is none.
  const Stmt &body_of_team() const { return grid_.empty() ? s_.body : grid_.back().loop->body; }
  /// Returns the buffers that the threads of a team make together: those outside block loops.
  std::vector<Buf> arrays_of_team() const {
    std::vector<Buf> out;
    if (!team_.threads) return out;
    for_each_statement(body_of_team(), [&](const Stmt &s) {
      const Alloc *n = as<Alloc>(s);
      if (n && n->buf->rank() && n->buf->space != Space::constant) out.push_back(n->buf);
      const For *loop = as<For>(s);
      return !loop || loop->kind != ForKind::block;
    });
    return out;
  }

  /// Notes the symbols and buffers of the launch.
  void find_uses() {
    for_each_evaluated(s_.body, [&](const Expr &e) { use(e); });
    walk(
        s_.body, [&](const Store &n, const Stmt &) { use(n.buf), uses_.stored.insert(n.buf.get()); },
        [&](const Alloc &n, const Stmt &) {
          for (const Expr &e : n.buf->extents) use(e);
        },
        [&](const Check &, const Stmt &) { uses_.call = true; },
        [&](const While &, const Stmt &) { uses_.call = true; });
    uses_.call = uses_.call || s_.may_follow_fault;
    for (const GridLoop &g : grid_) use(g.trips);
    for (size_t i = s_.values.size(); i-- > 0;)
      if (uses_.symbols.count(s_.values[i].first.get())) use(s_.values[i].second);
  }
  void use(const Expr &e) {
    walk(
        e, [&](const Ref &n, const Expr &) { uses_.symbols.insert(n.sym.get()); },
        [&](const Load &n, const Expr &) { use(n.buf); });
  }
  void use(const Buf &b) {
    if (!uses_.buffers.insert(b.get()).second) return;
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
    bool is_stored = uses_.stored.count(b.get()) != 0;
    if (is_stored) out_.stores.push_back(b->sym->name);
    return cat(is_stored ? "" : "const ", cuda_memory_type(b->dtype), " *__restrict__ ", names_.of(b->sym));
  }

  std::string head() {
    size_t data = 0, scalar = 0;
    for (const Param &p : s_.f.params)
      if (p.buf) {
        if (uses_.buffers.count(p.buf.get())) parameter(CudaParam::Kind::data, data, pointer(p.buf));
        ++data;
      }
    for (size_t k = 0; k < s_.shared.size(); ++k)
      if (uses_.buffers.count(s_.shared[k].get())) parameter(CudaParam::Kind::slot, k, pointer(s_.shared[k]));
    private_memory();
    for (size_t i = 0; i < s_.f.extents.size(); ++i) number(CudaParam::Kind::dim, i, s_.f.extents[i]);
    ensure(!uses_.symbols.count(s_.f.misaligned.get()), "a kernel asks for what only the host knows");
    for (const Param &p : s_.f.params)
      if (p.sym) number(CudaParam::Kind::scalar, scalar++, p.sym);
    for (size_t i = 0; i < s_.iterators.size(); ++i) number(CudaParam::Kind::iterator, i, s_.iterators[i]);
    if (uses_.call) parameter(CudaParam::Kind::call, 0, "KW_CALL call");
    return cat(team_.threads ? "KW_TEAM_KERNEL(" : "KW_KERNEL(", out_.threads, ") ", out_.name, "(",
               join_text(parameters_, ", "), ")");
  }
  void number(CudaParam::Kind kind, size_t index, const Sym &sym) {
    if (uses_.symbols.count(sym.get()))
      parameter(kind, index, cat(cuda_type(sym->dtype), " ", names_.of(sym)));
  }

  /// Gives each thread, or each team, its part of the temporaries that a launch makes in memory. Small ones
  /// of teams lie in the memory that a block shares.
  void private_memory() {
    std::vector<Buf> of_team = arrays_of_team();
    std::unordered_map<const BufNode *, uint32_t> stages = stages_of(s_.body);
    if (team_.threads) team_.thread = names_.fresh("t"), number_of_team_ = names_.fresh("team");
    walk(s_.body, [&](const Alloc &n, const Stmt &) {
      bool is_of_team = std::find(of_team.begin(), of_team.end(), n.buf) != of_team.end();
      ensure(is_of_team || n.buf->space != Space::shared, "an array that a team shares stands in no team");
      std::string type(cuda_memory_type(n.buf->dtype));
      if (n.buf->space != Space::heap && !is_of_team) return;
      std::string all = names_.fresh(cat(n.buf->sym->name, "_all"));
      if (n.buf->space != Space::heap) {
        auto of_stages = stages.find(n.buf.get());
        int64_t count = of_stages == stages.end() ? 1 : of_stages->second;
        for (const Expr &e : n.buf->extents) count *= *as_int(e);
        shared_arrays_.push_back(cat("KW_SHARED(", type, ", ", all, ", ", per_block_ * count, ");"));
        int64_t size = count * static_cast<int64_t>(item_size(n.buf->dtype));
        out_.block_bytes += static_cast<uint32_t>(per_block_ * size);
        Expr bytes = const_int(size);
        return statements_.put_in_workspace(n.buf, all, per_block_ > 1 ? number_of_team_ : "0", bytes);
      }
      auto slot = std::find_if(workspace_.begin(), workspace_.end(),
                               [&](const WorkspaceSlot &w) { return w.buf == n.buf; });
      ensure(slot != workspace_.end(), "a temporary without a size");
      Expr bytes = slot->bytes;
      std::string number = "kw_number_of_thread()";
      if (is_of_team) {  // the parts of its threads, each a multiple of 16 bytes
        Expr part = binary(BinOp::floor_div, bytes, const_int(alignment * team_.threads));
        bytes = mul(add(part, const_int(1)), const_int(alignment));
        number = cat("(", number, " / ", team_.threads, ")");
      }
      parameter(CudaParam::Kind::temporary, out_.temporaries.size(), cat(type, " *__restrict__ ", all));
      out_.temporaries.push_back(bytes);
      use(bytes);
      if (is_of_team) bytes = mul(bytes, const_int(team_.threads));
      statements_.put_in_workspace(n.buf, all, number, bytes);
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
      if (!uses_.symbols.count(sym.get())) continue;
      statements_.define(sym, value);
    }
  }

  /// Returns whether the launch has a block for all iterations in x, in rows of z, so that the kernel needs
  /// no loop over blocks: without it, it has fewer registers (an addition with four vectors: 32 and not 48,
  /// NVRTC 13.0 for sm_90).
  bool has_all_blocks() const {
    constexpr uint32_t some_threads = 128;  // with fewer, registers are no limit
    bool is_z_free = !grid_.empty() && grid_.size() < 3;
    return is_z_free && out_.threads >= some_threads && needs_no_loop();
  }
  /// Returns whether the loops over blocks are of no use where there are blocks for all iterations. A jump to
  /// the next iteration needs them, and launches with temporaries have fewer blocks.
  bool needs_no_loop() const { return out_.temporaries.empty() && !jumps_of(grid_.back().loop->body).any(); }
  /// Launches more blocks of x than a row has in further rows.
  void count_rows() {
    if (!has_all_blocks()) return;
    const For &n = *grid_.back().loop;
    Expr all = groups_of(trips_of(n), std::max<int64_t>(1, n.how.per_block));
    out_.blocks[0] = binary(BinOp::min, all, const_int(blocks_of_row));
    out_.blocks[2] = groups_of(all, blocks_of_row);
  }

  /// Emits the loops of the grid: in each dimension, a thread runs the iterations of its number and those a
  /// whole grid later.
  void grid() {
    if (team_.threads) {
      text_.line(cat("const i64 ", team_.thread, " = kw_thread % ", team_.threads, ";"));
      if (per_block_ > 1)
        text_.line(cat("const i64 ", number_of_team_, " = kw_thread / ", team_.threads, ";"));
    }
    std::string aligned;
    VectorLoop vectors;
    if (several_.side_by_side > 1) {
      const For &n = *grid_.back().loop;
      aligned = names_.fresh("aligned"), vectors = vector_loop(n, n.how.vector_width);
      text_.line(cat("const bool ", aligned, " = ", vectors_are_aligned(n, vectors, statements_), ";"));
    }
    if (grid_.size() == 1 && grid_[0].loop->how.flatten) expressions_.set_flat(grid_[0].loop->iter);
    Stmt body = s_.body;
    for (size_t d = 0; d < grid_.size(); ++d) {
      grid_loop(grid_[d], "zyx"[3 - grid_.size() + d]);
      body = grid_[d].loop->body;
      if (d + 1 == grid_.size()) break;
      for (const Stmt *s = &body; !as<For>(*s); s = next_in_block(*s->p))
        statements_.define(as<Let>(*s)->sym, as<Let>(*s)->value);
    }
    if (!team_.threads)
      statements_.number_iterations(number_);
    else if (!number_.empty())
      team_.number = number_;
    if (several_.side_by_side > 1)
      emit_vector(*grid_.back().loop, vectors, mine_, aligned, statements_);
    else if (several_.apart > 1)
      emit_unrolled(*grid_.back().loop, mine_, statements_);
    else
      statements_.block(body);
    for (size_t d = 0; d < grid_.size(); ++d) text_.close();
  }
  void grid_loop(const GridLoop &g, char dimension) {
    const For &n = *g.loop;
    bool has_several = dimension == 'x' && several_.all() > 1;
    bool is_one = dimension != 'x' || per_block_ == 1;
    std::string per_block = is_one ? "" : cat(" * ", per_block_ * several_.all());
    std::string mine = is_one ? "" : cat(" + ", team_.threads ? number_of_team_ : "kw_thread");
    if (has_several && several_.side_by_side > 1) mine += cat(" * ", several_.side_by_side);
    bool has_all = dimension == 'x' && has_all_blocks();
    std::string block = has_all ? "kw_block_number" : cat("kw_block(", dimension, ")");
    std::string first = cat(block, per_block, mine), step = cat("kw_blocks(", dimension, ")", per_block);
    expressions_.begin({n.lo, n.hi, g.trips});
    bool counts_itself = n.step == 1 && as_int(n.lo) == 0;
    std::string end = counts_itself ? statements_.stable(n.hi, "end") : statements_.stable(g.trips, "trips");
    std::string k =
        counts_itself && !has_several ? names_.of(n.iter) : names_.fresh(has_several ? "first" : "k");
    std::string lo = counts_itself ? "" : statements_.stable(n.lo, "lo");
    // A thread whose own vector lies behind the end may have others to execute of its block.
    bool is_vector = has_several && several_.side_by_side > 1;
    std::string is_there = cat(k, is_vector ? cat(" - kw_thread * ", several_.side_by_side) : "", " < ", end);
    int64_t most = dimension == 'x' ? most_blocks_x : most_blocks_yz;
    bool is_bounded = is_one && !has_all && n.how.max_trips && n.how.max_trips <= most;
    if (is_bounded && needs_no_loop()) {
      text_.open("");
      text_.line(cat("const i64 ", k, " = ", first, ";"));
    } else if (has_all) {
      text_.line(cat("const i64 ", k, " = ", first, ";"));
      text_.open(cat("if (", is_there, ")"));
    } else {
      // Most threads execute one iteration; NVRTC would unroll the loop.
      text_.line("#pragma unroll 1");
      text_.open(cat("for (i64 ", k, " = ", first, "; ", is_there, "; ", k, " += ", step, ")"));
    }
    number_ = number_.empty() ? k : cat("(", number_, " * ", end, " + ", k, ")");
    if (has_several)
      mine_ = {k, end, lo, per_block_};
    else if (!counts_itself)
      statements_.define(n.iter, n.step == 1 ? cat(lo, " + ", k) : cat(lo, " + ", k, " * ", n.step));
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
  CudaStatements statements_;
  std::vector<WorkspaceSlot> workspace_;
  CudaTeam team_{};  ///< of no threads: each thread is for itself
  /// How many iterations of the innermost grid loop a thread executes side by side, or apart.
  struct OfThread {
    int64_t side_by_side = 1, apart = 1;
    int64_t all() const { return side_by_side * apart; }
  } several_;
  ThreadIterations mine_{};     ///< where these lie
  int64_t per_block_ = 1;       ///< iterations of the innermost grid loop that a block executes at a time
  std::string number_of_team_;  ///< in its block
  std::vector<std::string> shared_arrays_;
  std::vector<GridLoop> grid_;  ///< outermost first
  std::string number_;          ///< of the present iteration among those of the grid loops so far
  std::vector<std::string> parameters_;
  /// What the kernel mentions, and whether it may write a fault or end early.
  struct Uses {
    std::unordered_set<const SymNode *> symbols{};
    std::unordered_set<const BufNode *> buffers{}, stored{};
    bool call = false;
  } uses_;
};

}  // namespace

CudaKernel emit_cuda(const CudaSource &source, CudaShared &shared) {
  return KernelEmitter(source, shared).run();
}

}  // namespace kw
