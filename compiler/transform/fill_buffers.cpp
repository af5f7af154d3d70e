// Sets the fill of outputs and Allocs from the initialisation analysis.
#include "transform/passes.h"

#include <algorithm>

#include "analysis/init.h"
#include "ir/rewrite.h"

namespace kw {

Func fill_buffers(const Func &f, const Target &) {
  // A buffer that is written before every read needs no fill. The others are zeroed, unless they are marked
  // as empty.
  InitReport report = analyse_initialisation(f);
  auto fill_of = [&](const Buf &buf, Fill said) {
    bool zero = std::find(report.needs_zero.begin(), report.needs_zero.end(), buf) != report.needs_zero.end();
    return !zero ? Fill::none : said == Fill::empty ? said : Fill::zero;  // debug mode needs `empty`
  };
  Func out = f;
  for (Param &p : out.params)
    if (p.buf && p.mode == ParamMode::out) p.fill = fill_of(p.buf, p.fill);
  out.body = rewrite(f.body, [&](const Alloc &n, const Stmt &s) {
    Fill fill = n.buf->space == Space::registers ? n.fill : fill_of(n.buf, n.fill);
    return fill == n.fill ? s : alloc(n.buf, fill, n.body, s.loc());
  });
  return out;
}

}  // namespace kw
