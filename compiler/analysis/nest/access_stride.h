// Classifies the stride of an access along one loop of a nest, for the steps that permute, tile and
// unroll-and-jam loops. Also answers queries about the loops of a nest. Ignores dependences.
#pragma once

#include "analysis/nest/nest.h"

namespace kw {

enum class StrideKind : uint8_t {
  invariant,  ///< the same element
  unit,       ///< the next element or the previous one
  same_line,  ///< mostly an element of the same cache line
  strided,    ///< another cache line
  irregular,  ///< not a multiple of the iterator
};
StrideKind stride_of(const Nest &nest, const NestAccess &access, uint32_t loop);

/// Returns the coefficient of a loop's iterator in a subscript.
int64_t factor_of(const Nest &nest, const LinearForm &form, uint32_t loop);
/// Returns the loops directly nested in a loop, in source order; NestLoop::no_loop asks for the outermost.
std::vector<uint32_t> loops_in(const Nest &nest, uint32_t loop);
/// Returns whether no loop stands in a loop.
bool is_innermost(const Nest &nest, uint32_t loop);
/// Returns the loop of a nest with this iterator.
std::optional<uint32_t> find_loop(const Nest &nest, const Sym &iter);
bool is_inside(const NestStatement &s, uint32_t loop);

}  // namespace kw
