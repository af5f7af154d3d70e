// Derives strides from the subscripts.
#include "analysis/nest/access_stride.h"

#include <algorithm>
#include <cstdlib>

#include "ir/build.h"
#include "ir/limits.h"

namespace kw {

int64_t factor_of(const Nest &nest, const LinearForm &form, uint32_t loop) {
  for (auto [v, c] : form.terms)
    if (v == nest.loops[loop].variable) return c;
  return 0;
}

/// Returns whether a subscript changes along the loop by more than a multiple of its iterator.
static bool is_irregular(const Nest &nest, const LinearForm &form, uint32_t loop) {
  return std::any_of(form.terms.begin(), form.terms.end(), [&](const auto &term) {
    const NestVariable &v = nest.variables[term.first];
    return v.kind != NestVariable::Kind::iterator &&
           (v.reads_data || std::find(v.loops.begin(), v.loops.end(), loop) != v.loops.end());
  });
}

StrideKind stride_of(const Nest &nest, const NestAccess &access, uint32_t loop) {
  constexpr int64_t line = cache_line;
  StrideKind out = StrideKind::invariant;
  for (size_t d = 0; d < access.subscripts.size(); ++d) {
    const LinearForm &form = access.subscripts[d];
    if (is_irregular(nest, form, loop)) return StrideKind::irregular;
    int64_t c = factor_of(nest, form, loop);
    if (c == 0) continue;
    // only a single step along a contiguous last dimension stays near; two moving subscripts are strided
    bool is_last = d + 1 == access.subscripts.size();
    bool dense = access.buf->strides.empty() || as_int(access.buf->strides.back()) == 1;
    if (!is_last || !dense || out == StrideKind::strided)
      out = StrideKind::strided;
    else if (c == 1 || c == -1)
      out = StrideKind::unit;
    else
      out = c > -line && c < line && std::abs(c) * item_size(access.buf->dtype) < line ? StrideKind::same_line
                                                                                       : StrideKind::strided;
  }
  return out;
}

std::vector<uint32_t> loops_in(const Nest &nest, uint32_t loop) {
  std::vector<uint32_t> out;
  for (uint32_t l = 0; l < nest.loops.size(); ++l)
    if (nest.loops[l].parent == loop) out.push_back(l);
  return out;
}

bool is_innermost(const Nest &nest, uint32_t loop) {
  // loops are numbered in source order: the next one is the first in this one, if there is any
  return loop + 1 == nest.loops.size() || nest.loops[loop + 1].parent != loop;
}

std::optional<uint32_t> find_loop(const Nest &nest, const Sym &iter) {
  for (uint32_t l = 0; l < nest.loops.size(); ++l)
    if (nest.loops[l].loop && nest.loops[l].loop->iter == iter) return l;
  return std::nullopt;
}

bool is_inside(const NestStatement &s, uint32_t loop) {
  return std::find(s.loops.begin(), s.loops.end(), loop) != s.loops.end();
}

}  // namespace kw
