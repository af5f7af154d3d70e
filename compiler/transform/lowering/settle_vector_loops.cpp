// Tests vector loops that are in no other vector loop by the condition of code generation.
#include "transform/lowering/passes.h"

#include <bit>
#include <unordered_set>

#include "analysis/vector/vectorization.h"
#include "ir/limits.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "support/diagnostic.h"
#include "support/options.h"
#include "support/text.h"

namespace kw {

/// Returns whether code generation can vectorize a loop. It takes powers of two up to max_vector_width lanes.
static bool can_be_vectorized(const For &n) {
  uint32_t width = n.how.vector_width;
  return width >= 2 && width <= max_vector_width && std::has_single_bit(width) &&
         VectorizationAnalysis(n).is_vectorizable();
}

/// Makes the warning W410. It blames the compiler, since no source program is at fault.
static Diagnostic not_vectorized(const Func &f, const For &n, Loc loc) {
  Diagnostic d{Code::W410, loc, {}, {}, {}};
  d.message =
      cat("the vector loop over '", n.iter->name, "' of '", f.name, "' has no vector form and runs serially");
  d.help.emplace_back("results are right, but not fast; this is a fault of kernelwright, please report it");
  return d;
}

Func settle_vector_loops(const Func &f, const Target &) {
  // A vector loop inside another one is emitted as a part of that one, so its own form does not matter.
  std::unordered_set<const SymNode *> inner;  // iterators of loops in vector loops
  walk(f.body, [&](const For &n, const Stmt &) {
    if (n.kind != ForKind::vector) return;
    walk(n.body, [&](const For &in, const Stmt &) { inner.insert(in.iter.get()); });
  });
  Func out = f;
  out.body = rewrite(f.body, [&](const For &n, const Stmt &s) {
    if (n.kind != ForKind::vector || inner.count(n.iter.get()) || can_be_vectorized(n)) return s;
    Diagnostic d = not_vectorized(f, n, s.loc());
    ensure(!debug_options().verify_each, d.message);
    // one warning tells the user enough, however many loops are concerned
    bool is_new = std::none_of(out.warnings.begin(), out.warnings.end(),
                               [&](const Diagnostic &known) { return known.code == Code::W410; });
    if (is_new) out.warnings.push_back(std::move(d));
    For loop = n;
    // a serial loop keeps nothing of the vector plan
    loop.kind = ForKind::serial, loop.row_lengths.clear();
    loop.how.vector_width = loop.how.prefetch = loop.how.stream = 0, loop.how.tail = Tail::scalar;
    return for_loop(std::move(loop), s.loc());
  });
  return out;
}

}  // namespace kw
