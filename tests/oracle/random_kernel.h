#pragma once

// Random kernels as IR text for the directive fuzz: siblings, imperfect nests, triangular and stepping loops,
// guards, definitions, temporaries, jumps, checks, sums of integers and floats. Runs nothing.

#include <string>

#include "tests/oracle/random_nest.h"

namespace kw::oracle {

struct RandomKernel {
  std::string text;
  int depth = 1;  ///< of its loops
};

/// Over a: i64[n, m] with a row stride, b: i64[n], c: f64[n], idx: i64[5] with values 0 to 4, and integers p
/// and q. Subscripts stay within `reach` of the first element, in each dimension.
RandomKernel random_kernel(Random &random);
/// With no size above `most`.
int64_t reach(int64_t most);

}  // namespace kw::oracle
