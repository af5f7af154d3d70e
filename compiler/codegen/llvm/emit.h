// IR → an llvm::Module with one exported function, kw_entry. Emits code in source order; a loop of the kind
// vector runs several iterations at once, a parallel one on several threads, others run serially here.
// Decides nothing: checks, facts, fma and the order of sums are already in the IR.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "analysis/cost.h"
#include "analysis/interleaved_loads.h"
#include "analysis/register_transpose.h"
#include "analysis/vectorization.h"
#include "codegen/llvm/entry_of.h"
#include "ir/func.h"
#include "support/target.h"

namespace kw {

class FunctionEmitter {
 public:
  FunctionEmitter(llvm::Module &module, const Func &f, const Target &target);
  void run();

 private:
  using V = llvm::Value *;
  /// Iterations between two looks at the cancel flag in an innermost loop.
  static constexpr int64_t poll_interval = int64_t{1} << 20;
  static constexpr uint64_t line_bytes = 64;  ///< of the caches
  struct Memory {
    V base = nullptr;
    std::vector<V> strides;  // null: 1
  };

  // emit.cpp: the function, its parameters and statements
  void signature();
  void set_attributes();
  void parameters();
  void workspace();
  void declare(const Buf &b, V base);
  void statements(const Stmt &root);
  void statement(const Stmt &s);
  void store(const Store &n);
  void allocate(const Alloc &n);
  void zero_fill(const Buf &b);
  const Store *chosen_store(const If &n) const;
  llvm::MDNode *mostly();
  void branch(const If &n);
  void check(const Check &n);
  void loop(const For &n);
  void iterations(const For &n, V lo, V trips);
  void while_loop(const While &n);
  void jump(const Jump &n);
  void hoist_behind(llvm::BasicBlock *last, llvm::BasicBlock *before);
  void body_with_targets(const Stmt &body, llvm::BasicBlock *done);
  void unrolled_loop(const For &n, V lo, V trips);
  void plain_loop(const For &n, V lo, V trips, bool polls);
  static bool contains_loop(const Stmt &root);
  static bool is_row(const For &n);
  static bool fits_one_chunk(const For &n);
  bool is_short(const For &n, V trips) const;
  /// Whether a loop runs all iterations of its blocks, or of all rows, in place of those that it states.
  bool exceeds_plan(const For &n) const { return &n == collapsed_row_ || &n == whole_block_; }
  uint32_t copies_of(const Stmt &body) const;
  void short_loop(const For &n, V lo, V trips);
  void copied_iterations(const For &n, V lo, V from, V to, llvm::BasicBlock *done);
  void run_of_iterations(const For &n, V lo, V from, V to, uint32_t copies, llvm::BasicBlock *done);
  void inner_loop(const For &n, V lo, V trips);
  V trip_count(const For &n, V lo, V hi);
  V iteration(const For &n, V lo, V k);
  void poll(llvm::BasicBlock *on);
  llvm::BasicBlock *block(const char *name);
  llvm::Function *fault_function();

  // emit_expr.cpp: expressions
  V expr(const Expr &e);
  V expr_uncached(const Expr &e);
  V address(const Buf &b, const std::vector<Expr> &index);
  V load(const Load &n);
  using Counted = std::unordered_set<const ExprNode *>;
  int cost_within_budget(const Expr &e, int budget, Counted &counted) const;
  int cost_within_budget(const Expr &e, int budget) const;
  int cost_of_all_within_budget(const Stmt &s, int budget) const;
  bool is_eager(const Expr &e) const;
  bool is_known(const Expr &e) const;
  void evaluate_common(const Expr &yes, const Expr &no);
  V lazily(V cond, const Expr &yes, const Expr &no, V yes_value, V no_value);
  V select(const Select &n);
  V logic(const Logic &n);
  V literal(DType t, uint64_t bits);
  llvm::Type *type(DType t);
  llvm::Type *memory_type(DType t);
  V to_memory(V v, DType t);
  V from_memory(V v, DType t);

  // emit_recurrence.cpp: minima and maxima of integers from iteration to iteration
  bool is_chained(const Alloc &n) const;
  bool comes_from_chain(const Expr &e) const;
  V in_first_lane(V v);
  V chained(const Expr &e);
  void let_value(const Let &n);

  // emit_vector.cpp: loops of the kind vector
  /// The blocks of the iterations that run now, which are as many as lanes.
  struct OpenBlocks {
    const TransposedBlocks *view;
    uint32_t iteration = 0;
    std::vector<std::vector<V>> values{};  ///< of each block: per iteration the value in each lane
  };
  /// What the lanes gather for scalars from outside: of sums a term in each lane, of selections the best of
  /// each lane and the number of its iteration.
  struct BestCells {
    const ArgReduction *selection;
    V best, number;
  };
  struct OuterCells {
    std::vector<std::pair<Reduction, V>> sums{};
    std::vector<BestCells> bests{};
  };
  /// The iterations that run at once: lane l is the iteration first + l · step.
  struct Lanes {
    VectorizationAnalysis *view;
    int64_t step;
    uint32_t count;
    V first;
    V number;           ///< of lane 0, from 0
    V mask = nullptr;   ///< of the lanes that run; null: all
    V begun = nullptr;  ///< of those that began the iteration
    V rest = nullptr;   ///< how many they are, where they are the first ones
    /// Whether the lanes that run are the first ones, as many as `rest`.
    bool runs_first_ones() const { return rest && mask == begun; }
    std::unordered_map<const SymNode *, V> values{};
    std::unordered_map<const BufNode *, V> cells{};
    std::unordered_map<const BufNode *, V> counts{};  ///< inside a `while`: what is the same in all lanes
    std::unordered_map<const ExprNode *, V> memo{};   ///< within one statement
    OpenBlocks *blocks = nullptr;                     ///< inside a loop whose memory goes through them
    const OuterCells *outer = nullptr;
    /// Of each `while` around the place: the lanes that go on, and those of them that go on in this
    /// iteration.
    struct Turns {
      V alive, running;
    };
    std::vector<Turns> turns{};
  };
  bool runs_in_vectors(const For &n) const;
  void vector_loop(const For &n, VectorizationAnalysis &view, V lo, V trips);
  void row(const For &n, VectorizationAnalysis &view, V lo, V trips);
  void numbered_loop(const For &n, VectorizationAnalysis &view, V lo, V trips);
  void lanes(const For &n, VectorizationAnalysis &view, V lo, V trips);
  template <class F>
  void in_one_chunk(V from, V to, F &&body);
  template <class F>
  void in_few_chunks(V from, V to, uint32_t size, F &&body);
  void in_chunks(V from, V to, uint32_t size, bool polls, llvm::function_ref<void(V)> body);
  void lane_body(const For &n, VectorizationAnalysis &view, V lo, V k, uint32_t count,
                 const OuterCells &outer, V mask = nullptr, V rest = nullptr);
  uint32_t rest_lanes(const VectorizationAnalysis &view, uint32_t width) const;
  bool may_run_again(const For &n, const VectorizationAnalysis &view) const;
  void rest_of_lanes(const For &n, VectorizationAnalysis &view, V lo, V trips, OuterCells &outer);
  V rest_mask(V rest, uint32_t count);
  V row_mask(V lo, V hi, uint32_t count);
  V identity_of(const Reduction &sum, uint32_t count);
  OuterCells open_cells(const VectorizationAnalysis &view, uint32_t count);
  std::pair<V, V> halves(V lanes, uint32_t half);
  V folded(const Reduction &sum, V lanes, uint32_t from, uint32_t to);
  void narrow_cells(OuterCells &outer, uint32_t from, uint32_t to);
  void close_cells(const OuterCells &outer, const For &n, const VectorizationAnalysis &view, V lo,
                   uint32_t count);

  // emit_arg_reduction.cpp: selections among lanes
  V cell_of_lanes(llvm::Type *element, uint32_t count, const std::string &name);
  static constexpr uint32_t most_numbers = uint32_t{1} << 30;
  llvm::IntegerType *number_type(const ArgReduction &s);
  V no_number(const ArgReduction &s);
  BestCells open_best(const ArgReduction &s, uint32_t count);
  V load_numbers(const BestCells &cells, uint32_t count);
  void store_numbers(const BestCells &cells, V numbers, uint32_t count);
  std::pair<V, V> folded(const BestCells &cells, uint32_t from, uint32_t to);
  void narrow_best(BestCells &cells, uint32_t from, uint32_t to);
  void close_best(const BestCells &cells, const For &n, const VectorizationAnalysis &view, V lo,
                  uint32_t count);
  bool is_left_out(const Store &n) const;
  bool is_left_out(const If &n) const;
  void vector_arg_reduction(const ArgReduction &s);

  // emit_nontemporal.cpp: stores past the caches
  void find_streams();
  bool may_stream(const For &n, const VectorizationAnalysis &view) const;
  V streams_from(const For &n, V lo);
  void stream_store(V value, V at, uint64_t alignment = line_bytes);
  void read_ahead(V at, uint64_t distance, uint64_t bytes);
  void read_page_ahead(V at, uint64_t bytes);
  void end_streams();

  // emit_while.cpp: `while` over lanes
  llvm::Type *words_type();
  V words_of(V mask);
  V mask_of(V words);
  void mask_out_exited_lanes();
  void wide_while(const While &n);
  void open_count(const UniformInduction &c);
  V active_lanes(const Expr &cond, V lanes, llvm::BasicBlock *none);
  void count_on(const While &n, V alive, V cell, llvm::BasicBlock *body, llvm::BasicBlock *done);
  void wide_jump(const Jump &n);

  // emit_vector_expr.cpp: statements and expressions over lanes
  /// Where the lanes of an access lie: `at` in lane 0, then `step` or `by` elements apart, or `offsets` from
  /// `at`.
  struct WidePlace {
    V at;
    V offsets = nullptr;
    std::optional<int64_t> step{};
    V by = nullptr;  ///< elements from lane to lane, where that is no constant and the offsets are all even
  };
  bool wide_statement(const Stmt &s);
  void wide_store(const Store &n);
  void wide_allocate(const Alloc &n);
  void wide_branch(const If &n);
  void where(V mask, const std::function<void(llvm::BasicBlock *)> &body);
  V both(V mask, V cond);
  V widen(const Expr &e);
  V widen_uncached(const Expr &e);
  V splat(V v);
  V widen_ref(const Ref &n);
  V widen_load(const Load &n);
  V lanes_of(const Load &n, V cell);
  void store_lanes(const Store &n, V cell, V value);
  V widen_side(const Expr &e, V mask);
  V widen_select(const Select &n);
  V widen_logic(const Logic &n);
  WidePlace wide_place(const Buf &b, const std::vector<Expr> &index);
  V wide_pointers(const WidePlace &place, llvm::Type *element);
  V reversed(V v);
  V any_lane(V mask);

  // emit_transpose.cpp: loops inside lanes whose memory is read and written in rows
  std::optional<TransposedBlocks> blocks_in(const For &n);
  void block_loop(const For &n, const TransposedBlocks &view, V lo, V trips);
  V row_of_block(const WidePlace &place, llvm::Type *element, uint32_t lane);
  V interleaved(V a, V b, uint32_t period, uint32_t unit, bool rest);
  V every_second(V a, V b, uint32_t unit, bool odd);
  std::vector<V> transposed(std::vector<V> rows);
  void blocks(const For &n, const TransposedBlocks &view, V first, uint32_t beside);
  void read_blocks(const TransposedBlocks::Block &block, std::vector<V> &values);
  void write_blocks(const TransposedBlocks::Block &block, std::vector<V> values);
  void write_rows(const TransposedBlocks::Block &block, const WidePlace &place, const std::vector<V> &values,
                  bool past);

  // emit_collapse.cpp: rows that lie end to end
  struct RowToCollapse {
    const For *row = nullptr;
    std::vector<Buf> buffers{};  ///< none: it cannot
  };
  RowToCollapse row_to_collapse(const For &rows) const;
  void rows_loop(const For &rows, const RowToCollapse &joint, V lo, V trips);

  // emit_interleaved.cpp: loads whose lanes lie a few elements apart
  /// Windows of `size` elements, one for each lane and `step` elements apart, cut into rows of `row`
  /// elements.
  struct InterleavedRows {
    V first;  ///< the element lowest in memory
    llvm::Type *element;
    int64_t step;
    uint32_t size, row;
    std::unordered_map<uint32_t, V> loaded{};
  };
  V interleaved_load(const Load &n, const WidePlace &own);
  uint32_t extent_of(const InterleavedRows &rows) const;
  uint32_t begin_of_row(const InterleavedRows &rows, uint32_t number) const;
  V row_in_memory(InterleavedRows &rows, uint32_t number);
  V mask_of_strided(const InterleavedRows &rows, uint32_t number);
  V lanes_from(InterleavedRows &rows, uint32_t element, uint32_t from);
  V signed_word(int64_t value) { return llvm::ConstantInt::getSigned(b_.getInt64Ty(), value); }

  // emit_parallel.cpp: loops of the kind parallel
  class Frame;
  struct Region;
  void find_phases();
  V worth_of(const For &n, const WorkEstimate &work);
  V wanted_chunks(const For &n, V threads);
  V cut_inner(const Region &r, V frame, V wanted);
  void loop_in_chunk(const For &n, V lo, V hi);
  void parallel_loop(const For &n, V lo, V trips);
  void leave_region(const Region &r, V frame);
  void capture(Region &r);
  llvm::Function *chunk_function(const Region &r);
  void emit_chunk(const Region &r, const FunctionEmitter &outside);
  void receive(const Region &r, V frame, const FunctionEmitter &outside);
  V load_env(llvm::Type *t, uint64_t offset);
  void end_with(uint32_t status);

  // emit_ops.cpp: scalar operations, by the rules of ir/scalar_ops
  V unary(UnOp op, DType t, V a);
  V binary(BinOp op, DType t, V a, V b);
  V without_branch(V cond, V yes, V no);
  V sum_of(V a, V b);
  V integer_binary(BinOp op, DType t, V a, V b);
  V float_binary(BinOp op, DType t, V a, V b);
  V floor_div(DType t, V a, V b);
  V floor_mod(DType t, V a, V b);
  V shift(BinOp op, DType t, V a, V b);
  V compare(BinOp op, DType t, V a, V b);
  V least(DType t, V a, V b);
  V largest(DType t, V a, V b);
  bool has_cheap_least(DType t, V a) const;
  V floor_value(DType t, V a);
  V float_divmod(DType t, V a, V b, bool quotient);
  V convert(DType from, DType to, V a);
  V lanes_to_int(DType from, DType to, V a);
  V call(Fn fn, DType from, DType t, const std::vector<V> &args);
  V constant_operand(V v);
  V scaled(V x, V n);
  static llvm::Type *shaped_as(V v, llvm::Type *element);
  llvm::Function *fmod_function(DType t);
  llvm::Function *math_function(Fn fn, DType from, DType to, size_t arity, uint32_t count);

  llvm::Module &module_;
  llvm::LLVMContext &context_;
  const Func &f_;
  const Target &target_;
  llvm::IRBuilder<> b_;
  llvm::Function *fn_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr;
  V env_ = nullptr, data_ = nullptr, dims_ = nullptr, scalars_ = nullptr, workspace_ = nullptr,
    fault_ = nullptr, cancel_ = nullptr;
  llvm::BasicBlock *cancelled_ = nullptr;
  V status_ = nullptr;                        ///< in a chunk of a region: where its fault is told
  const For *cut_ = nullptr;                  ///< in a chunk: an inner loop of which it runs one piece
  V piece_from_ = nullptr, piece_ = nullptr;  ///< the first iteration of the piece, and how many it has
  V whole_rows_ = nullptr;                    ///< whether that piece is all of them
  const For *whole_block_ = nullptr;          ///< in a chunk: a loop that stands as blocks, but runs whole
  const For *collapsed_row_ = nullptr;        ///< a loop over elements of a row, or of all rows
  V collapsed_length_ = nullptr;              ///< its iterations
  /// Where the jumps of each loop around the place go.
  struct JumpTargets {
    llvm::BasicBlock *next;  ///< made by the first `continue`
    llvm::BasicBlock *done;
  };
  std::vector<JumpTargets> targets_;
  std::unordered_map<const SymNode *, V> values_;
  std::unordered_map<const BufNode *, Memory> buffers_;
  std::unordered_map<const BufNode *, V> cells_;
  std::unordered_map<const BufNode *, V> lane_cells_;  ///< of rank 1
  std::unordered_set<const BufNode *> chained_;        ///< cells of which the first lane is the value
  std::unordered_map<const SymNode *, V> chained_values_;
  std::unordered_map<const BufNode *, V> slots_;
  std::unordered_map<const ExprNode *, V> memo_;      ///< within one statement
  std::unordered_set<const BufNode *> only_written_;  ///< results that the function never reads
  /// By parallel loop those that a serial loop runs in turn with it, itself among them; filled when
  /// one is first asked for.
  std::unordered_map<const For *, std::shared_ptr<const std::vector<const For *>>> phases_;
  bool knows_phases_ = false;
  V streams_ = nullptr;     ///< whether this call is large enough; null: nothing can
  bool streaming_ = false;  ///< rows of only_written_ are whole lines, to go past the caches
  Lanes *lanes_ = nullptr;  ///< set inside a vector loop
  std::optional<InterleavedLoads> strided_{};
  /// Set while an iteration runs once more for a selection: it stores to nothing else from outside.
  const ArgReduction *selected_ = nullptr;
  const VectorizationAnalysis *selected_view_ = nullptr;
  llvm::Function *raise_ = nullptr;
  std::unordered_map<int, llvm::Function *> fmods_;
};

}  // namespace kw
