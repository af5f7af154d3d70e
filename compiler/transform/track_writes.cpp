// Makes the shadows, their stores and the checks that read them.
#include "transform/passes.h"

#include <algorithm>
#include <map>

#include "analysis/access.h"
#include "analysis/init.h"
#include "ir/rewrite.h"
#include "transform/place_checks.h"

namespace kw {

namespace {

/// Adds shadows and checks to one function. `before_` and `after_` collect what belongs around each
/// statement; one rewrite at the end inserts it.
class Tracking {
 public:
  explicit Tracking(const Func &f) : out_(f) {
    for (const Buf &b : analyse_initialisation(f).early_reads) {
      Space space = b->space == Space::stack ? Space::stack : Space::heap;
      shadows_[b.get()] =
          make_buf(make_sym(SymKind::buffer, DType::b1, b->sym->name, b->sym->loc), b->extents, space);
    }
  }

  Func run() {
    if (shadows_.empty()) return std::move(out_);
    for_each_access(out_, false, [&](const Access &a, const BoundsContext &) {
      auto found = shadows_.find(a.buf.get());
      if (found == shadows_.end()) return;
      // A read is checked before its statement, and a write is recorded after it: `a[i] += 1` reads first.
      if (a.is_store)
        after_[a.statement.p.get()].push_back(store(found->second, *a.index, const_bool(true), a.loc));
      else
        before_[a.statement.p.get()].push_back(under_path(a, first_read(a, found->second)));
    });
    Stmt body = place_checks(out_.body, before_, after_);
    body = rewrite(body, [&](const Alloc &n, const Stmt &s) {
      auto found = shadows_.find(n.buf.get());
      if (found == shadows_.end()) return s;
      return alloc(n.buf, n.fill, alloc(found->second, Fill::zero, n.body, s.loc()), s.loc());
    });
    // An output is allocated outside the function, so its shadow lives as long as the whole body.
    for (const Param &p : out_.params)
      if (p.buf)
        if (auto found = shadows_.find(p.buf.get()); found != shadows_.end())
          body = alloc(found->second, Fill::zero, body, p.buf->sym->loc);
    out_.body = body;
    return std::move(out_);
  }

 private:
  /// Returns the check of a first read. The fault carries the row-major number of the element. For two
  /// dimensions the bound is the last extent, which is also added to the number.
  Stmt first_read(const Access &a, const Buf &shadow) {
    const std::vector<Expr> &index = *a.index, &extents = a.buf->extents;
    Expr number = const_int(0), bound = index.size() == 2 ? extents[1] : const_int(0);
    for (size_t d = 0; d < index.size(); ++d) number = add(d ? mul(number, extents[d]) : number, index[d]);
    Expr written = load(shadow, index, a.loc);
    Expr fine = binary(BinOp::lt, select(written, const_int(-1), add(number, bound)), bound);
    return check(fine, site_of(a), a.loc);
  }

  /// Returns the number of the site of an access. Accesses to one buffer at one place in the source share it.
  uint32_t site_of(const Access &a) {
    auto same = [&](const Site &s) { return s.code == Code::E310 && s.loc == a.loc && s.buf == a.buf; };
    auto found = std::find_if(out_.sites.begin(), out_.sites.end(), same);
    auto number = static_cast<uint32_t>(found - out_.sites.begin());
    if (found == out_.sites.end())
      out_.sites.push_back(
          {Code::E310, a.loc, a.buf, 0, false, false, {}, static_cast<uint32_t>(a.index->size())});
    return number;
  }

  Func out_;
  std::map<const BufNode *, Buf> shadows_;
  Placed before_, after_;
};

}  // namespace

Func track_writes(const Func &f, const Target &) { return Tracking(f).run(); }

}  // namespace kw
