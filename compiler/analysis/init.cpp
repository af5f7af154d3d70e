// Definite-write analysis over structured control flow.
#include "analysis/init.h"

#include <algorithm>
#include <set>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/text.h"

namespace kw {

namespace {

/// A written part of a buffer: per dimension an index, or null for the whole extent.
struct Region {
  const BufNode *buf;
  std::vector<Expr> index;
};
using Regions = std::vector<Region>;

bool same(const Region &a, const Region &b) {
  if (a.buf != b.buf) return false;
  for (size_t d = 0; d < a.index.size(); ++d) {
    if (!a.index[d] != !b.index[d]) return false;
    if (a.index[d] && !equal(a.index[d], b.index[d])) return false;
  }
  return true;
}

class InitAnalysis {
 public:
  InitReport run(const Func &f) {
    for (const Param &p : f.params)
      if (p.buf && p.mode == ParamMode::out) tracked_.insert(p.buf.get());
    statements(f.body);
    for (const Param &p : f.params)
      if (p.buf && p.mode == ParamMode::out && !whole(p.buf)) need_zero(p.buf);
    return std::move(report_);
  }

 private:
  void statements(const Stmt &root) {
    for (const Stmt *s = &root; s && *s; s = chain_next(*s->p)) statement(*s);
  }

  void statement(const Stmt &s) {
    match(
        s,
        [&](const Store &n) {
          for (const Expr &e : n.index) reads(e);
          reads(n.value);
          if (!tracked_.count(n.buf.get())) return;
          bool by_data =
              std::any_of(n.index.begin(), n.index.end(), [](const Expr &e) { return has_load(e); });
          if (!by_data) written_.push_back({n.buf.get(), n.index});
        },
        [&](const Let &n) { reads(n.value); },
        [&](const Alloc &n) {
          if (n.buf->space != Space::registers) tracked_.insert(n.buf.get());
        },
        [&](const For &n) { loop(n); },
        [&](const While &n) {
          reads(n.cond);
          Regions before = written_;
          statements(n.body);
          written_ = std::move(before);
        },
        [](const Jump &) {},
        [&](const If &n) {
          reads(n.cond);
          Regions before = written_;
          statements(n.yes);
          Regions yes = std::exchange(written_, before);
          statements(n.no);
          intersect(yes);
        },
        [&](const Check &n) { reads(n.cond); },
        [&](const Seq &n) {
          for (size_t i = 0; i + 1 < n.items.size(); ++i) statements(n.items[i]);
        });
  }

  static bool has_load(const Expr &e) {
    bool found = false;
    walk(e, [&](const Load &, const Expr &) { found = true; });
    return found;
  }

  void intersect(const Regions &other) {
    std::erase_if(written_, [&](const Region &r) {
      return std::none_of(other.begin(), other.end(), [&](const Region &o) { return same(r, o); });
    });
  }

  /// After a loop over the whole of a dimension, a region indexed by its iterator covers that dimension.
  void loop(const For &n) {
    reads(n.lo);
    reads(n.hi);
    size_t before = written_.size();
    statements(n.body);
    Regions inside(written_.begin() + static_cast<std::ptrdiff_t>(before), written_.end());
    written_.resize(before);
    auto lo = as_int(n.lo), hi = as_int(n.hi);
    bool runs = lo && hi && (n.step > 0 ? *lo < *hi : *lo > *hi);
    for (Region &r : inside) {
      int uses = 0, whole_dimension = -1;
      for (size_t d = 0; d < r.index.size(); ++d) {
        if (!r.index[d] || !mentions(r.index[d], n.iter)) continue;
        ++uses;
        const Ref *ref = as<Ref>(r.index[d]);
        if (ref && covers(n, r.buf->extents[d])) whole_dimension = static_cast<int>(d);
      }
      if (uses == 0 && runs) written_.push_back(r);
      if (uses != 1 || whole_dimension < 0) continue;
      r.index[static_cast<size_t>(whole_dimension)] = {};
      written_.push_back(r);
    }
  }

  static bool covers(const For &n, const Expr &extent) {
    if (n.step == 1) return as_int(n.lo) == 0 && equal(n.hi, extent);
    return n.step == -1 && as_int(n.hi) == -1 && equal(n.lo, sub(extent, const_int(1)));
  }

  bool whole(const Buf &buf) const {
    return std::any_of(written_.begin(), written_.end(), [&](const Region &r) {
      return r.buf == buf.get() &&
             std::none_of(r.index.begin(), r.index.end(), [](const Expr &e) { return bool(e); });
    });
  }

  void need_zero(const Buf &buf) {
    if (std::find(report_.needs_zero.begin(), report_.needs_zero.end(), buf) == report_.needs_zero.end())
      report_.needs_zero.push_back(buf);
  }

  void reads(const Expr &e) {
    walk(e, [&](const Load &n, const Expr &at) {
      if (!tracked_.count(n.buf.get())) return;
      bool covered = std::any_of(written_.begin(), written_.end(), [&](const Region &r) {
        if (r.buf != n.buf.get()) return false;
        for (size_t d = 0; d < n.index.size(); ++d)
          if (r.index[d] && !equal(r.index[d], n.index[d])) return false;
        return true;
      });
      if (covered) return;
      need_zero(n.buf);
      report_.warnings.push_back(
          {Code::W301,
           at.loc(),
           cat("'", n.buf->sym->name, "' may be read here before it is written"),
           {"unwritten elements are zero"},
           {cat("write '", n.buf->sym->name, "' first, or read the input that was meant")}});
    });
  }

  std::set<const BufNode *> tracked_;
  Regions written_;
  InitReport report_;
};

}  // namespace

InitReport analyse_initialisation(const Func &f) { return InitAnalysis().run(f); }

}  // namespace kw
