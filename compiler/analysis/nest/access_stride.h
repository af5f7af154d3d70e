// How accesses move through memory when one loop of a nest goes on: what the steps that order, block and jam
// loops look at. Knows nothing of what may depend on what.
#pragma once

#include "analysis/nest/nest.h"

namespace kw {

enum class StrideKind : uint8_t {
  invariant,  ///< the same element
  unit,       ///< the next one or the one before
  same_line,  ///< one in the same line of the cache, mostly
  strided,    ///< another line
  irregular,  ///< by more than a multiple of the iterator
};
StrideKind stride_of(const Nest &nest, const NestAccess &access, uint32_t loop);

/// The iterator's factor in a subscript.
int64_t factor_of(const Nest &nest, const LinearForm &form, uint32_t loop);
/// The loops of a nest that stand directly in one, in the order of the text; NestLoop::no_loop asks for the
/// outermost ones.
std::vector<uint32_t> loops_in(const Nest &nest, uint32_t loop);
/// The loop of a nest with this iterator.
std::optional<uint32_t> find_loop(const Nest &nest, const Sym &iter);
bool is_inside(const NestStatement &s, uint32_t loop);

}  // namespace kw
