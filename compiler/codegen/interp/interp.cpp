// Walks the tree and executes it.
#include "codegen/interp/interp.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>

#include "codegen/interp/lanes.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "support/diagnostic.h"
#include "transform/math/expand.h"

namespace kw {

namespace {

struct Memory {
  char *base = nullptr;
  std::vector<int64_t> strides;  // in elements
};

/// A store in the order `lanes`, and the loops of its band, innermost first.
struct LaneStore {
  const StmtNode *store;
  std::vector<const For *> band;
};

/// Returns whether a buffer is a mutable scalar.
bool is_cell(const Buf &b) { return b->space == Space::registers && b->rank() == 0; }

/// The way a statement ends: normally, by a jump, or, as `stop`, by a fault or a cancellation.
enum class Flow : uint8_t { next, break_loop, continue_loop, stop };

/// Executes one function for one set of arguments. Symbols, buffers and open sums live in maps keyed by their
/// nodes. A binding overwrites the value of its previous execution.
class Interpreter {
 public:
  Interpreter(const Func &f, const InterpArgs &args) : f_(f), args_(args) {}

  InterpResult run() {
    // Extents and scalars come first: the extents and strides of a buffer read them.
    for (size_t i = 0; i < f_.extents.size(); ++i) set(f_.extents[i], from_int(DType::i64, args_.dims[i]));
    if (f_.misaligned) {
      auto buffers =
          std::count_if(f_.params.begin(), f_.params.end(), [](const Param &p) { return !!p.buf; });
      std::span<void *const> arrays(args_.data, static_cast<size_t>(buffers));
      set(f_.misaligned, from_int(DType::i64, misalignment_of(arrays)));
    }
    size_t data = 0, scalar = 0;
    for (const Param &p : f_.params)
      if (p.sym) set(p.sym, {p.sym->dtype, args_.scalars[scalar++]});
    for (const Param &p : f_.params)
      if (p.buf) declare(p.buf, static_cast<char *>(args_.data[data++]));
    find_lanes();
    statements(f_.body);
    return result_;
  }

  /// Evaluates a whole expression in the current state.
  Value expr(const Expr &e) {
    seen_.clear();
    return part(e);
  }

 private:
  Value part(const Expr &e);
  Value evaluated(const Expr &e);
  Value call(const Call &n, DType result);
  void set(const Sym &s, Value v) { values_[s.get()] = v; }
  int64_t integer(const Expr &e) { return to_int(part(e)); }

  /// Declares a buffer and evaluates its strides. Without strides of its own, a buffer is row-major.
  void declare(const Buf &b, char *base) {
    Memory m{base, std::vector<int64_t>(b->rank())};
    int64_t size = 1;
    seen_.clear();
    for (size_t d = b->rank(); d-- > 0; size *= integer(b->extents[d]))
      m.strides[d] = b->strides.empty() ? size : integer(b->strides[d]);
    buffers_[b.get()] = std::move(m);
  }

  /// Returns the address of an element. No subscript is tested here: a Check before the access does that.
  char *address(const Buf &b, const std::vector<Expr> &index) {
    const Memory &m = buffers_.at(b.get());
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += integer(index[d]) * m.strides[d];
    return m.base + offset * static_cast<int64_t>(item_size(b->dtype));
  }
  /// Reads one element. A byte other than 0 and 1 in a bool array of the caller counts as True.
  static Value read(const char *at, DType t) {
    Value v{t, 0};
    std::memcpy(&v.bits, at, item_size(t));
    if (t == DType::b1) v.bits = v.bits != 0;
    return v;
  }
  static void write(char *at, const Value &v) { std::memcpy(at, &v.bits, item_size(v.dtype)); }

  Flow statements(const Stmt &root);
  Flow statement(const Stmt &s);
  bool cancelled() const { return args_.cancel && __atomic_load_n(args_.cancel, __ATOMIC_RELAXED); }
  Flow loop(const Stmt &s, const For &n);
  Flow iterate(const For &n);
  Flow store(const Stmt &s, const Store &n);
  Flow check(const Check &n);
  Flow allocate(const Alloc &n);
  Value binary(const Binary &n);
  Value load(const Load &n);

  // lanes
  void find_lanes();
  static uint64_t trips(int64_t lo, int64_t hi, int64_t step);
  void open_lanes(const std::vector<LaneStore> &stores);
  void close_lanes(const std::vector<LaneStore> &stores);
  int64_t element_number(const LaneStore &s);

  const Func &f_;
  const InterpArgs &args_;
  InterpResult result_;
  std::unordered_map<const SymNode *, Value> values_;
  std::unordered_map<const BufNode *, Memory> buffers_;
  std::unordered_map<const BufNode *, Value> cells_;
  std::map<const For *, std::vector<LaneStore>> lanes_at_;
  std::unordered_map<const StmtNode *, RunningLanes> open_;
  std::unordered_map<const StmtNode *, const LaneStore *> lane_store_;
  std::unordered_map<const For *, int64_t> counters_, trip_counts_;
  /// The expansion of an elementary function over symbols for its arguments.
  struct Expansion {
    std::vector<Sym> parameters;
    Expr body;
  };
  std::map<std::pair<Fn, DType>, Expansion> expansions_;
  std::unordered_map<const ExprNode *, Value> seen_;  ///< values of shared nodes of the present expression
  const Store *redirected_ = nullptr;                 // the store whose accumulator reads the lane
  Value lane_value_;
};

/// Reads an element. In a store to lanes, the accumulator of that store is the value of the present lane.
Value Interpreter::load(const Load &n) {
  if (redirected_ && same_place(n, *redirected_)) return lane_value_;
  return read(address(n.buf, n.index), n.buf->dtype);
}

/// Evaluates the left operand first.
Value Interpreter::binary(const Binary &n) {
  Value a = part(n.a), b = part(n.b);
  return apply(n.op, a, b);
}

/// Evaluates shared nodes once: else a chain of squares would take exponential time.
Value Interpreter::part(const Expr &e) {
  bool shared = e.p.use_count() > 1 && !as<Const>(e) && !as<Ref>(e);
  if (!shared) return evaluated(e);
  if (auto found = seen_.find(e.p.get()); found != seen_.end()) return found->second;
  Value v = evaluated(e);
  seen_[e.p.get()] = v;
  return v;
}

/// Applies a function. An elementary function evaluates its expansion, which is made once per function and
/// type over symbols for the arguments.
Value Interpreter::call(const Call &n, DType result) {
  std::vector<Value> values;
  for (const Expr &a : n.args) values.push_back(part(a));
  if (row_of(n.fn).folds) return apply(n.fn, std::span<const Value>(values));
  Expansion &x = expansions_[{n.fn, result}];
  if (!x.body) {
    std::vector<Expr> args;
    for (const Value &v : values) {
      x.parameters.push_back(make_sym(SymKind::local, v.dtype, "x"));
      args.push_back(kw::ref(x.parameters.back()));
    }
    x.body = expand_call(n.fn, args, {}, args_.target ? *args_.target : kernel_target().target);
    ensure(!as<Call>(x.body) || as<Call>(x.body)->fn != n.fn, "a function without an expansion");
  }
  for (size_t i = 0; i < values.size(); ++i) set(x.parameters[i], values[i]);
  // All calls share the nodes of the expansion, so values of an earlier call must not be found.
  auto outside = std::exchange(seen_, {});
  Value v = part(x.body);
  seen_ = std::move(outside);
  return v;
}

/// Evaluates a node. Logic and Select evaluate only the operand that decides, like the source language.
Value Interpreter::evaluated(const Expr &e) {
  return match(
      e, [&](const Const &n) { return Value{e.dtype(), n.bits}; },
      [&](const Ref &n) { return values_.at(n.sym.get()); }, [&](const Load &n) { return load(n); },
      [&](const Unary &n) { return apply(n.op, part(n.a)); }, [&](const Binary &n) { return binary(n); },
      [&](const Logic &n) {
        bool a = part(n.a).bits != 0;
        return a == n.is_and ? part(n.b) : Value{DType::b1, a};
      },
      [&](const Select &n) { return part(n.cond).bits ? part(n.yes) : part(n.no); },
      [&](const Cast &n) { return convert(e.dtype(), part(n.a)); },
      [&](const Call &n) { return call(n, e.dtype()); });
}

/// Executes a block. An Alloc with memory executes the rest of its block itself, so that its memory ends with
/// the block.
Flow Interpreter::statements(const Stmt &root) {
  for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
    if (const Alloc *n = as<Alloc>(*s); n && !is_cell(n->buf)) return allocate(*n);
    if (Flow flow = statement(*s); flow != Flow::next) return flow;
  }
  return Flow::next;
}

Flow Interpreter::statement(const Stmt &s) {
  return match(
      s, [&](const Store &n) { return store(s, n); },
      [&](const Let &n) {
        set(n.sym, expr(n.value));
        return Flow::next;
      },
      [&](const Alloc &n) {  // a mutable scalar: its cell outlives the scope, which nothing can observe
        Value &cell = cells_[n.buf.get()] = {
            // Unspecified contents are made conspicuous.
            n.buf->dtype, n.fill != Fill::none || n.buf->dtype == DType::b1 ? 0 : 0xCBCBCBCBu};
        declare(n.buf, reinterpret_cast<char *>(&cell.bits));
        return Flow::next;
      },
      [&](const For &n) { return loop(s, n); },
      [&](const While &n) {
        while (expr(n.cond).bits) {
          Flow flow = statements(n.body);
          if (flow == Flow::break_loop) break;
          if (flow == Flow::stop) return flow;
          if (cancelled()) return result_.status = 2, Flow::stop;
        }
        return Flow::next;
      },
      [](const Jump &n) { return n.kind == JumpKind::break_loop ? Flow::break_loop : Flow::continue_loop; },
      [&](const If &n) { return expr(n.cond).bits ? statements(n.yes) : statements(n.no); },
      [&](const Check &n) { return check(n); },
      [&](const Seq &n) {
        for (size_t i = 0; i + 1 < n.items.size(); ++i)
          if (Flow flow = statements(n.items[i]); flow != Flow::next) return flow;
        return Flow::next;
      });
}

/// Runs the body with fresh memory.
Flow Interpreter::allocate(const Alloc &n) {
  seen_.clear();
  int64_t count = 1;
  for (const Expr &e : n.buf->extents) count *= std::max<int64_t>(0, integer(e));
  auto bytes = static_cast<size_t>(count) * item_size(n.buf->dtype);
  auto memory = std::make_unique<char[]>(bytes + 1);
  // Unspecified contents are made conspicuous, so that a missing fill shows.
  std::memset(memory.get(), n.fill != Fill::none ? 0 : 0xCB, bytes);
  if (n.buf->dtype == DType::b1 && n.fill == Fill::none) std::memset(memory.get(), 1, bytes);
  declare(n.buf, memory.get());
  Flow flow = statements(n.body);
  buffers_.erase(n.buf.get());
  return flow;
}

/// Tests a condition. A failed comparison reports both operands as the value and the bound of the fault.
Flow Interpreter::check(const Check &n) {
  if (expr(n.cond).bits) return Flow::next;
  result_.status = 1;
  result_.site = n.site;
  if (const Binary *b = as<Binary>(n.cond)) {
    result_.value = static_cast<int64_t>(expr(b->a).bits);
    result_.bound = static_cast<int64_t>(expr(b->b).bits);
  }
  return Flow::stop;
}

/// Stores a value. While the band of the store is open, the value goes to the lane of the present element.
/// Memory keeps its old value until the band closes.
Flow Interpreter::store(const Stmt &s, const Store &n) {
  auto open = open_.find(s.p.get());
  if (open == open_.end()) {
    Value v = expr(n.value);
    write(address(n.buf, n.index), v);
    return Flow::next;
  }
  Value &lane = open->second.lane(element_number(*lane_store_.at(s.p.get())));
  lane_value_ = lane;
  redirected_ = &n;
  lane = expr(n.value);
  redirected_ = nullptr;
  return Flow::next;
}

/// Returns the trip count. The span is unsigned, since `hi - lo` can exceed the range of i64.
uint64_t Interpreter::trips(int64_t lo, int64_t hi, int64_t step) {
  if (step > 0 ? lo >= hi : lo <= hi) return 0;
  uint64_t span = step > 0 ? static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo)
                           : static_cast<uint64_t>(lo) - static_cast<uint64_t>(hi);
  uint64_t size = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  return (span - 1) / size + 1;
}

/// Runs the iterations one by one, whatever the kind of the loop, and polls the cancel flag after each.
Flow Interpreter::iterate(const For &n) {
  seen_.clear();
  int64_t lo = integer(n.lo), hi = integer(n.hi);
  uint64_t count = trips(lo, hi, n.step), again = 0;
  // An overlapped tail executes iterations twice. How many depends on the target; here as many as possible.
  if (n.how.tail == Tail::overlapped || n.how.tail == Tail::overlapped_or_masked)
    again = std::min<uint64_t>(count, n.how.vector_width);
  for (uint64_t step = 0; step < count + again; ++step) {
    uint64_t k = step < count ? step : step - again;
    set(n.iter, {DType::i64, static_cast<uint64_t>(lo) + k * static_cast<uint64_t>(n.step)});
    counters_[&n] = static_cast<int64_t>(k);
    Flow flow = statements(n.body);
    if (flow == Flow::break_loop) break;
    if (flow == Flow::stop) return flow;
    if (cancelled()) return result_.status = 2, Flow::stop;
  }
  return Flow::next;
}

/// Runs a loop. The outermost loop of a band opens the lanes of its sums and folds them after the last
/// iteration.
Flow Interpreter::loop(const Stmt &, const For &n) {
  auto found = lanes_at_.find(&n);
  if (found == lanes_at_.end()) return iterate(n);
  open_lanes(found->second);
  Flow flow = iterate(n);
  if (flow == Flow::next) close_lanes(found->second);
  return flow;
}

/// Notes each sum in the order `lanes` at the outermost loop of its band.
void Interpreter::find_lanes() {
  for_each_store(f_.body, [&](const Stmt &s, const Store &n, const std::vector<const For *> &loops) {
    if (n.order != Order::lanes) return;
    LaneStore lane{s.p.get(), band_of(n, loops)};
    if (!lane.band.empty()) lanes_at_[lane.band.back()].push_back(std::move(lane));
  });
}

/// Opens the sums of a band. A band with fewer elements than lanes stays closed: its terms are added to
/// memory in source order.
void Interpreter::open_lanes(const std::vector<LaneStore> &stores) {
  seen_.clear();
  for (const LaneStore &s : stores) {
    int64_t elements = 1;
    for (const For *loop : s.band)
      elements *= trip_counts_[loop] =
          static_cast<int64_t>(trips(integer(loop->lo), integer(loop->hi), loop->step));
    if (elements < sum_lanes) continue;
    const auto &n = std::get<Store>(s.store->v);
    const Binary *b = as<Binary>(n.value);
    open_.emplace(s.store, RunningLanes(n.buf->dtype, b && b->op == BinOp::mul));
    lane_store_[s.store] = &s;
  }
}

/// Folds the lanes of each open sum and adds the total to its place in memory.
void Interpreter::close_lanes(const std::vector<LaneStore> &stores) {
  for (const LaneStore &s : stores) {
    auto open = open_.find(s.store);
    if (open == open_.end()) continue;
    const auto &n = std::get<Store>(s.store->v);
    seen_.clear();
    bool exists = n.index.empty();  // an element that no iteration reached may not exist
    if (exists || !open->second.empty()) {
      char *at = address(n.buf, n.index);
      write(at, open->second.finish(read(at, n.buf->dtype)));
    }
    open_.erase(open);
  }
}

/// Returns the number of the present iteration in its band. The innermost loop counts fastest.
int64_t Interpreter::element_number(const LaneStore &s) {
  int64_t number = 0;
  for (size_t d = s.band.size(); d-- > 0;) number = number * trip_counts_[s.band[d]] + counters_[s.band[d]];
  return number;
}

}  // namespace

InterpResult interpret(const Func &f, const InterpArgs &args) { return Interpreter(f, args).run(); }

Value evaluate(const Expr &e) {
  Func none;
  InterpArgs args;
  return Interpreter(none, args).expr(e);
}

}  // namespace kw
