// Walks the statements in their order, with the accesses since the last barrier. A loop begins with all
// accesses of its body, which its iteration before may have made.
#include "codegen/cuda/barriers.h"

#include <algorithm>
#include <map>

#include "analysis/gpu/pipeline.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/diagnostic.h"

namespace kw {

namespace {

/// How threads have accessed a buffer since the last barrier.
struct Access {
  bool reads = false, writes = false;          ///< several threads
  bool one_reads = false, one_writes = false;  ///< the one thread that stores for the team

  bool is_by_one() const { return !reads && !writes; }
  bool has_write() const { return writes || one_writes; }
};
using Accesses = std::map<const BufNode *, Access>;

void join(Accesses &into, const Accesses &more) {
  for (const auto &[buf, a] : more) {
    Access &b = into[buf];
    b.reads |= a.reads, b.writes |= a.writes;
    b.one_reads |= a.one_reads, b.one_writes |= a.one_writes;
  }
}

bool conflict(const Access &a, const Access &b) {
  return !(a.is_by_one() && b.is_by_one()) && (a.has_write() || b.has_write());
}

class BarrierPlacement {
 public:
  explicit BarrierPlacement(const std::function<bool(const Buf &)> &is_memory) : is_memory_(is_memory) {}

  TeamBarriers run(const Stmt &body) {
    // The iteration of the grid before this one has accessed other elements, except of temporaries.
    Accesses all = accesses_of(body);
    walk(body, [&](const Alloc &n, const Stmt &) { own_.insert(n.buf.get()); });
    for (const auto &[buf, access] : all)
      if (own_.count(buf)) since_[buf] = access;
    block(body);
    return std::move(out_);
  }

 private:
  /// Notes what an expression loads, in one thread or in all.
  void reads(const Expr &e, Accesses &out, bool Access::*how = &Access::reads) const {
    walk(e, [&](const Load &n, const Expr &) {
      if (is_memory_(n.buf)) out[n.buf.get()].*how = true;
    });
  }

  /// Returns what a statement accesses by itself, without those in it, or all of a block loop.
  Accesses own_accesses(const Stmt &s) const {
    Accesses out;
    const Store *n = as<Store>(s);
    bool by_one = n && is_memory_(n->buf);
    for_each_expression(s,
                        [&](const Expr &e) { reads(e, out, by_one ? &Access::one_reads : &Access::reads); });
    if (by_one) out[n->buf.get()].one_writes = true;
    if (const Alloc *a = as<Alloc>(s); a && a->fill != Fill::none && is_memory_(a->buf))
      out[a->buf.get()].writes = true;
    if (const For *loop = as<For>(s); loop && loop->kind == ForKind::block) in_threads(loop->body, out);
    return out;
  }
  void in_threads(const Stmt &body, Accesses &out) const {
    std::unordered_set<const BufNode *> private_to_one;
    walk(body, [&](const Alloc &n, const Stmt &) { private_to_one.insert(n.buf.get()); });
    auto is_shared = [&](const Buf &b) { return is_memory_(b) && !private_to_one.count(b.get()); };
    for_each_evaluated(body, [&](const Expr &e) {
      walk(e, [&](const Load &n, const Expr &) {
        if (is_shared(n.buf)) out[n.buf.get()].reads = true;
      });
    });
    walk(body, [&](const Store &n, const Stmt &) {
      if (is_shared(n.buf)) out[n.buf.get()].writes = true;
    });
  }

  Accesses accesses_of(const Stmt &root) const {
    Accesses out;
    for_each_in_block(root, [&](const Stmt &s) {
      join(out, own_accesses(s));
      const For *n = as<For>(s);
      if (!n || n->kind != ForKind::block)
        for_each_block(s, [&](const Stmt &inner) { join(out, accesses_of(inner)); });
    });
    return out;
  }

  void block(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) { statement(s); });
  }

  void statement(const Stmt &s) {
    const While *turns = as<While>(s);
    if (turns && stores_what_it_tests(*turns)) {
      out_.turns.insert(s.p.get());
      since_.clear();
    }
    const For *n = as<For>(s);
    // Before a loop threads wait for all of it, rather than in each iteration.
    Accesses now = own_accesses(s);
    if (n && n->kind != ForKind::block) join(now, accesses_of(n->body));
    for (const auto &[buf, access] : now)
      if (auto before = since_.find(buf); before != since_.end() && conflict(before->second, access)) {
        out_.before.insert(s.p.get());
        since_.clear();
        break;
      }
    join(since_, now);
    if (const If *branches = as<If>(s)) return branch(*branches);
    if (n && n->how.stages > 1) return pipelined(*n);
    if (n && n->kind != ForKind::block) return loop(n->body);
    if (turns) loop(turns->body);
    // Threads have waited for the last turn, unless it ends the loop.
    if (out_.turns.count(s.p.get()) && !jumps_of(turns->body).breaks) since_ = own_accesses(s);
  }

  bool stores_what_it_tests(const While &n) const {
    Accesses tested, body = accesses_of(n.body);
    reads(n.cond, tested);
    return std::any_of(tested.begin(), tested.end(), [&](const auto &one) {
      auto found = body.find(one.first);
      return found != body.end() && conflict(found->second, one.second);
    });
  }

  void branch(const If &n) {
    Accesses before = since_;
    block(n.yes);
    Accesses after = std::exchange(since_, before);
    if (n.no) block(n.no);
    join(since_, after);
  }

  /// Threads wait for the copies of an iteration before it. Those of later ones are to other parts.
  void pipelined(const For &n) {
    Accesses before = std::exchange(since_, {});
    auto pipeline = pipeline_of(n);
    ensure(pipeline.has_value(), "a pipelined loop does not begin with copies");
    Stmt copies = pipeline->copies;
    for_each_in_block(n.body, [&](const Stmt &s) {
      if (s.p != copies.p) statement(s);
    });
    since_ = std::move(before);
  }

  void loop(const Stmt &body) {
    Accesses all = accesses_of(body);
    join(since_, all);
    Accesses before = since_;
    block(body);
    since_ = std::move(before);  // as after no iteration, or after any
  }

  const std::function<bool(const Buf &)> &is_memory_;
  std::unordered_set<const BufNode *> own_;
  TeamBarriers out_;
  Accesses since_;
};

}  // namespace

TeamBarriers team_barriers(const Stmt &body, const std::function<bool(const Buf &)> &is_memory) {
  return BarrierPlacement(is_memory).run(body);
}

}  // namespace kw
