#pragma once

// What the oracles share besides the programs: how many to try, where measured rates go, and what executions
// show of dependences. The engine's answers are brought into the same terms here.

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "schedule/directives/legal.h"
#include "tests/oracle/random_nest.h"

namespace kw::oracle {

/// The number in KW_ORACLE, or `usual`.
int count_of_programs(int usual);
/// Prints a line, and appends it to the file that KW_ORACLE_RESULTS names.
void record(const std::string &line);

/// (store of the source, its access, store of the sink, its access, level)
using Claim = std::tuple<int, int, int, int, int>;

/// Adds the dependences that an execution shows between iterations of the root that are in one iteration of
/// the loops around it. Levels count from the root.
void add_shown(const std::vector<Touch> &touches, int root, std::set<Claim> &out);

/// The model's numbers of what an engine's nest holds: of each statement, and of each of its accesses; -1 for
/// what the model does not have.
struct Numbers {
  std::vector<int> stores;
  std::vector<std::vector<int>> accesses;

  Numbers(const Nest &nest, int first_store);
  Claim claim(const Dependence &d) const;
};
/// The number of the first store in the loop.
int first_store_of(const Program &program, int root);

}  // namespace kw::oracle
