// Asks for the legality of a grid loop again, because the scheduler records no loop that it cannot launch.
#include "driver/missed_launches.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/nest/access_stride.h"
#include "ir/accumulation.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/directives/loop_nest.h"
#include "schedule/hints.h"
#include "support/text.h"
#include "transform/math/expand.h"

namespace kw {

namespace {

/// How many times as fast float32 is as float64 where both have units of their own (CUDA C++ Programming
/// Guide, throughput of arithmetic).
constexpr uint32_t usual_f32_per_f64 = 2;

const Load *as_load(const Expr &e) {
  const Cast *c = as<Cast>(e);
  return c ? as_load(c->a) : as<Load>(e);
}

/// Returns whether a store adds products of which one factor is the same along one of the loops, and the
/// other along another: c[i, j] += a[i, k] * b[k, j].
bool is_matrix_product(const Store &s, const std::vector<const For *> &loops) {
  Accumulation sum = accumulation_of(s);
  const Binary *product = sum.term ? as<Binary>(sum.term) : nullptr;
  const Load *a = nullptr, *b = nullptr;
  if (fused_accumulator_of(s)) {
    const Call &fma = *as<Call>(s.value);
    a = as_load(fma.args[0]), b = as_load(fma.args[1]);
  } else if (product && product->op == BinOp::mul) {
    a = as_load(product->a), b = as_load(product->b);
  }
  if (!a || !b) return false;
  bool over = false, along_a = false, along_b = false;
  for (const For *n : loops) {
    if (!n) continue;
    bool in_a = mentions(a->index, n->iter), in_b = mentions(b->index, n->iter);
    bool in_sum = mentions(s.index, n->iter);
    over = over || (in_a && in_b && !in_sum);
    along_a = along_a || (in_a && !in_b && in_sum);
    along_b = along_b || (in_b && !in_a && in_sum);
  }
  return over && along_a && along_b;
}

/// Returns whether an operation is one of float64, or a function of float32 that is computed by such.
bool computes_in_float64(const Expr &e, const Target &target) {
  if (e.dtype() == DType::f64) return true;
  const Call *call = as<Call>(e);
  bool found = false;
  if (call && e.dtype() == DType::f32)
    walk(expand_call(call->fn, call->args, e.loc(), target),
         [&](const Binary &, const Expr &x) { found |= x.dtype() == DType::f64; });
  return found;
}

/// Reports each line that computes in float64, if the GPU has few units for that.
void add_float64(const Func &safe, const CompileInput &input, std::vector<Finding> &out) {
  uint32_t factor = input.target.gpu().f32_per_f64;
  if (factor <= usual_f32_per_f64) return;
  std::unordered_set<std::string> told;
  auto note = [&](const Expr &e) {
    if (!computes_in_float64(e, input.target) || !e.loc().known()) return;
    if (!told.insert(line_mark(input.sources, e.loc())).second) return;
    out.push_back(
        {"missed", e.loc(), "float64", -1, "not done",
         cat(e.dtype() == DType::f64 ? "it" : "a function of float32", " computes in float64, in which ",
             input.target.arch, " is ", factor, " times slower than in float32")});
  };
  for_each_evaluated(safe.body, [&](const Expr &root) {
    walk(
        root, [&](const Binary &, const Expr &e) { note(e); }, [&](const Unary &, const Expr &e) { note(e); },
        [&](const Call &, const Expr &e) { note(e); });
  });
}

}  // namespace

std::vector<Finding> describe_missed_launches(const Func &safe, const Schedule &schedule,
                                              const CompileInput &input) {
  std::vector<Finding> out;
  std::vector<LoopId> shared;  // by threads
  walk(schedule.main(), [&](const For &n, const Stmt &) {
    if (n.kind == ForKind::grid || n.kind == ForKind::block) shared.push_back(n.id);
  });
  auto is_shared = [&](const For &n) {
    return std::find(shared.begin(), shared.end(), schedule.executor_of(n.id)) != shared.end();
  };
  LoopNest nest(safe);
  for_each_loop(safe.body, [&](const Stmt &s, const For &n, const NestScope &scope) {
    bool is_outermost =
        std::none_of(scope.begin(), scope.end(), [](const ScopeItem &i) { return i.is_loop(); });
    bool runs_on_threads = is_shared(n);
    walk(n.body,
         [&](const For &inner, const Stmt &) { runs_on_threads = runs_on_threads || is_shared(inner); });
    if (!is_outermost || runs_on_threads || !s.loc().known()) return;
    auto number = find_loop(nest.nest(), n.iter);
    if (!number) return;
    Verdict v = nest.legal(Grid{*number, 1}, true);
    std::string why =
        v.ok() ? "a thread executes it sooner than a launch begins, or the host does not know its bounds"
        : v.why.empty() ? refusal_text(safe, input.sources, nest.nest(), Claim::parallel, v)
                        : std::string(v.why);
    out.push_back({"missed", s.loc(), cat("not parallel: ", n.iter->name), -1, "not done", std::move(why)});
  });
  for_each_store(safe.body, [&](const Stmt &s, const Store &n, const std::vector<const For *> &loops) {
    if (s.loc().known() && is_matrix_product(n, loops))
      out.push_back({"missed", s.loc(), "matrix product", -1, "not done",
                     "it runs as any other sum, without tiles in shared memory and without matrix units"});
  });
  add_float64(safe, input, out);
  return out;
}

}  // namespace kw
