// The IR: nine kinds of expression, nine of statement, immutable and shared. This header is the only
// definition of the nodes; it builds nothing (ir/build), checks nothing (ir/verify) and knows no target.
//
// Semantics
// - Every expression has one dtype; operands of Binary have equal dtypes; casts are explicit. Integers
//   wrap. The meaning of every scalar operation is `apply` in ir/scalar_ops. Expressions have no side
//   effects; a Load must be in bounds when it is evaluated.
// - Logic and Select are lazy: `b` is evaluated only when `a` does not decide, and only the chosen
//   side of a Select is evaluated.
// - Statements run in order. Let binds a value once for its body. Alloc makes a buffer that lives as
//   long as its body runs; its elements are unspecified unless fill is zero. A mutable scalar is an
//   Alloc of rank 0 in Space::registers. Back ends make buffers of rank 1 there, of a constant size, whose
//   elements are lanes: a vector loop of that width has iteration l in lane l.
// - For runs iter = lo, lo + step, … while iter < hi (step > 0) or iter > hi (step < 0). lo and hi are
//   evaluated once, and the body writes nothing that they read. `kind` is a fact that code generation acts
//   on, `how` the plan for it, `hint` a claim of the user that only the scheduler reads. vector promises that
//   groups of `how.vector_width` iterations, one group after the other, may run statement by statement: all
//   reads of a statement precede its writes, and inner loops run in lockstep. All other kinds except serial
//   promise that the iterations may run in any order, and those of parallel, grid and block at the same time.
// - A grid loop is a launch on a GPU, where a block of threads executes `how.per_block` iterations. Up to
// three
//   may stand directly in one another, and only serial loops around them. The iterations of a block loop are
//   shared by `how.threads` threads, which execute all around it together, and wait for one another at its
//   end. Around it stand grid loops and serial loops. Iterations of both may accumulate in one cell made
//   outside them if the mark of the sum names the loop, or in a block loop if any order gives the same bits.
// - Check evaluates cond and ends the kernel with a fault when it is false. When cond is a comparison,
//   the fault carries its operands as value and bound; an index check is `lt` of two u64 casts, so
//   that negative indices fail too.
// - Store{order}: the permitted order of the sum or product that this store accumulates, and its reduction
//   loops: the band. The order decides results, whatever the kinds of the enclosing loops. A pass that
//   renames a loop renames it here; a pass that removes the mark must give the same bits without it. The
//   store accumulates the same element in all iterations of the band.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "support/loc.h"

namespace kw {

/// The kind of thing that a symbol names.
enum class SymKind : uint8_t { extent, stride, iter, local, param, buffer };

struct SymNode {
  SymKind kind;
  DType dtype;
  std::string name;
  Loc loc;
};

/// A name of a scalar value or a buffer. Its identity is the pointer; the printer chooses the printed name at
/// first use.
using Sym = std::shared_ptr<const SymNode>;

inline Sym make_sym(SymKind kind, DType dtype, std::string name, Loc loc = {}) {
  return std::make_shared<const SymNode>(SymNode{kind, dtype, std::move(name), loc});
}

struct ExprNode;
struct StmtNode;

/// Handle of an immutable expression; null only as "absent".
struct Expr {
  std::shared_ptr<const ExprNode> p;
  explicit operator bool() const { return p != nullptr; }
  const ExprNode *operator->() const { return p.get(); }
  DType dtype() const;
  Loc loc() const;
};

/// Handle of an immutable statement; null only as "absent" (an empty else).
struct Stmt {
  std::shared_ptr<const StmtNode> p;
  explicit operator bool() const { return p != nullptr; }
  const StmtNode *operator->() const { return p.get(); }
  Loc loc() const;
};

/// Where a buffer lies. `shared`: one array for all threads of a team, which a rewrite made around its block
/// loops; a small array of the kernel in `stack` is one too if it stands there.
enum class Space : uint8_t { param, heap, stack, registers, shared, constant };

struct BufNode {
  Sym sym;
  DType dtype;
  std::vector<Expr> extents;
  std::vector<Expr> strides;  ///< in elements; empty means row-major
  Space space;
  std::vector<uint8_t> data;  ///< Space::constant only

  size_t rank() const { return extents.size(); }
};
using Buf = std::shared_ptr<const BufNode>;

enum class UnOp : uint8_t { neg, bit_not, logical_not };
enum class BinOp : uint8_t {
  add,
  sub,
  mul,
  true_div,
  floor_div,
  floor_mod,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  lt,
  le,
  eq,
  ne,
};
enum class Fn : uint8_t;  // rows in ir/intrinsics
enum class ForKind : uint8_t { serial, parallel, vector, unroll, grid, block };
enum class Hint : uint8_t { none, serial, parallel, vectorize, unroll, reduce };
enum class Order : uint8_t { source, lanes, any };
/// The contents of a buffer before the first store: anything, or zero. The kinds of zero record the source.
/// `meant` is np.zeros, where reading an unwritten element is intended. `empty` is np.empty, where debug=True
/// refuses such a read. `zero` is output_tensor and allocate. Code generation fills all three alike.
enum class Fill : uint8_t { none, zero, meant, empty };
enum class JumpKind : uint8_t { break_loop, continue_loop };

struct Const {
  uint64_t bits;
};  // value bits, upper bits zero
struct Ref {
  Sym sym;
};
struct Load {
  Buf buf;
  std::vector<Expr> index;
};
struct Unary {
  UnOp op;
  Expr a;
};
struct Binary {
  BinOp op;
  Expr a, b;
};
struct Logic {
  bool is_and;
  Expr a, b;
};
struct Select {
  Expr cond, yes, no;
  /// The side is evaluated in any case. This is safe: it loads nothing that the statement does not load in
  /// any case (transform/lowering/if_convert).
  bool eager_yes = false, eager_no = false;
};
struct Cast {
  Expr a;
  bool in_range = false;  ///< from a float to an integer: the type holds the whole part of the value
};  // to the dtype of the node
struct Call {
  Fn fn;
  std::vector<Expr> args;
};

/// The order of a sum or product, and its reduction loops.
struct OrderMark {
  Order order = Order::source;
  std::vector<Sym> band{};  ///< the iterators of the loops, outermost first; empty in source order

  // NOLINTNEXTLINE(google-explicit-constructor): source order needs no band
  OrderMark(Order order_ = Order::source, std::vector<Sym> band_ = {})
      : order(order_), band(std::move(band_)) {}
  bool names(const Sym &loop) const { return std::find(band.begin(), band.end(), loop) != band.end(); }
  friend bool operator==(const OrderMark &a, Order b) { return a.order == b; }
};

struct Store {
  Buf buf;
  std::vector<Expr> index;
  Expr value;
  OrderMark order;
};
struct Let {
  Sym sym;
  Expr value;
  Stmt body;
};
struct Alloc {
  Buf buf;
  Fill fill;
  Stmt body;
  bool in_vector = false;  ///< a mutable scalar that is kept in lane 0 of a vector register
};

/// How a vector loop executes the iterations that remain after its full vectors.
enum class Tail : uint8_t {
  scalar,      ///< one by one
  masked,      ///< as vectors of one register, under a mask; all iterations if the loop fills a register
  overlapped,  ///< as vectors that end with the last iteration, so that some run twice; if the loop
               ///< is shorter than a register, one by one
  overlapped_or_masked,  ///< likewise, but under a mask if it is shorter
};
/// The plan for a loop of its kind. A field that is 0 is not set.
struct LoopPlan {
  /// Iterations that run at once. Set for vector loops, and for parallel loops whose sums in the order
  /// `lanes` are to be vectorized (transform/lowering/lower_reductions). For grid and block loops: iterations
  /// side by side that one thread executes.
  uint32_t vector_width = 0;
  /// Copies of the body that are written out, in a loop that is not vectorized. For grid loops: iterations
  /// that one thread executes, a block's threads apart.
  uint32_t unroll = 0;
  uint32_t jam = 0;    ///< after unroll_and_jam: source iterations that one iteration executes
  uint32_t chunk = 0;  ///< parallel loops: iterations that a thread claims at once
  /// For a parallel loop over blocks of another loop: iterations of that loop in a block. The body is exactly
  /// that loop:
  ///     for b in parallel(lo, hi, size, block_of=size): for i in vector(b, min(hi, b + size))
  int64_t block_of = 0;
  int64_t max_trips = 0;  ///< upper bound of the trip count
  Tail tail = Tail::scalar;
  /// For a parallel loop that holds only another parallel loop and does not change its bounds. If this loop
  /// has fewer iterations than there are threads, threads share the iterations of both.
  uint32_t collapse = 0;
  /// For a loop over rows that holds only a vector loop over the elements of a row. If the rows are
  /// contiguous, all are executed as one row. For a grid loop: its iterations are the elements of the arrays
  /// that it moves through, in the order of memory.
  uint32_t flatten = 0;
  /// For a loop in a parallel region: its stores to write-only outputs are non-temporal in large calls, if
  /// their rows begin at cache lines.
  uint32_t stream = 0;
  uint32_t prefetch = 0;  ///< vector loops: contiguous loads prefetch the page after them, too
  uint32_t transpose =
      0;  ///< for a loop inside a vector loop: memory is accessed in rows, transposed in registers
  uint32_t chunks_per_thread = 0;  ///< parallel loops without a chunk: 0 is one
  uint32_t per_block = 0;          ///< grid loops: iterations that one block of threads executes; 0 is one
  uint32_t threads = 0;            ///< block loops: threads that share the iterations
  /// For a serial loop of a team that begins with copies to shared memory (analysis/gpu/pipeline): iterations
  /// whose copies are there at once; those of later iterations are under way while one executes. 0 is one.
  uint32_t stages = 0;

  friend bool operator==(const LoopPlan &, const LoopPlan &) = default;
};

/// Calls f(name, field) for each field, for printing and parsing.
template <class Plan, class F>
void for_each_field(Plan &plan, F &&f) {
  f("vector_width", plan.vector_width);
  f("unroll", plan.unroll);
  f("jam", plan.jam);
  f("chunk", plan.chunk);
  f("block_of", plan.block_of);
  f("max_trips", plan.max_trips);
  f("tail", plan.tail);
  f("collapse", plan.collapse);
  f("flatten", plan.flatten);
  f("stream", plan.stream);
  f("prefetch", plan.prefetch);
  f("transpose", plan.transpose);
  f("chunks_per_thread", plan.chunks_per_thread);
  f("per_block", plan.per_block);
  f("threads", plan.threads);
  f("stages", plan.stages);
}

/// The number of the source loop whose iterations a loop executes, counted from 1 in source order; 0 for a
/// loop that the compiler adds. Every rewrite keeps it, so several loops may share a number. Like a Loc it
/// has no meaning: it is neither printed nor compared.
using LoopId = uint32_t;

/// The row length of a buffer, in elements: its next to last stride.
struct RowLength {
  Buf buf;
  int64_t length;
};

struct For {
  Sym iter;
  Expr lo, hi;
  int64_t step;
  ForKind kind;
  Hint hint;
  LoopPlan how;
  Stmt body;
  LoopId id = 0;
  Expr most_threads{};  ///< parallel loops: number of threads that the work is worth, i64; null: all
  /// Assumed row lengths for which a vector loop has a version of its own.
  std::vector<RowLength> row_lengths{};
  /// Grid and block loops: into the elements of these buffers, several iterations may accumulate at the same
  /// time. Each such store is one atomic operation.
  std::vector<Buf> atomics{};
};

/// Returns the loop whose blocks this one runs over, or null.
const For *loop_in_blocks(const For &n);
struct While {
  Expr cond;
  Stmt body;
};
struct Jump {
  JumpKind kind;
};
struct If {
  Expr cond;
  Stmt yes, no;
  bool predicated = false;  ///< in a vector loop: both sides run under masks, without a branch
};
struct Check {
  Expr cond;
  uint32_t site;
};
struct Seq {
  std::vector<Stmt> items;
};

struct ExprNode {
  DType dtype;
  uint16_t depth;
  Loc loc;
  std::variant<Const, Ref, Load, Unary, Binary, Logic, Select, Cast, Call> v;
};

struct StmtNode {
  uint16_t depth;
  Loc loc;
  std::variant<Store, Let, Alloc, For, While, Jump, If, Check, Seq> v;

  StmtNode(uint16_t depth_, Loc loc_, decltype(v) v_) : depth(depth_), loc(loc_), v(std::move(v_)) {}
  StmtNode(const StmtNode &) = default;
  StmtNode &operator=(const StmtNode &) = delete;
  /// Releases chains of Let, Alloc and Seq iteratively, because their length is unbounded.
  ~StmtNode();
};

inline DType Expr::dtype() const { return p->dtype; }
inline Loc Expr::loc() const { return p->loc; }
inline Loc Stmt::loc() const { return p->loc; }

/// Returns the statement that continues the chain: the body of a Let or Alloc, or the last item of a Seq;
/// else null.
const Stmt *next_in_block(const StmtNode &s);

inline constexpr uint32_t max_depth = 1000;

}  // namespace kw
