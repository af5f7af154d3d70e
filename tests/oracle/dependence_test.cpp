// The dependence engine against executions and against isl: what either of them shows, the engine reports.
// How often it reports more is printed.
#include "analysis/nest/dependence.h"

#include <gtest/gtest.h>

#include "ir/verify.h"
#include "support/text.h"
#include "tests/oracle/claims.h"
#include "tests/oracle/isl_text.h"
#include "tests/unit/helpers.h"

namespace kw::oracle {
namespace {

std::string text_of(const Claim &c) {
  auto [s, x, t, y, level] = c;
  return cat("store ", s, " access ", x, " -> store ", t, " access ", y, " at level ", level);
}

/// True when isl finds no iterations of any size for a dependence.
bool isl_denies(const std::vector<StoreSite> &sites, const Claim &claim, int root,
                const IslContext &context) {
  auto [s, x, t, y, level] = claim;
  const StoreSite &source = sites[static_cast<size_t>(s)], &sink = sites[static_cast<size_t>(t)];
  const Access &from = source.item->accesses[static_cast<size_t>(x)];
  const Access &to = sink.item->accesses[static_cast<size_t>(y)];
  IslSet pairs;
  pairs.add_domain(source, from, "s");
  pairs.add_domain(sink, to, "t");
  for (size_t d = 0; d < from.index.size(); ++d)
    pairs.add(cat(from.index[d].isl_text("s"), " = ", to.index[d].isl_text("t")));
  size_t common = 0, at_root = 0;
  while (common < source.loops.size() && common < sink.loops.size() &&
         source.loops[common] == sink.loops[common]) {
    if (source.loops[common] == root) at_root = common;
    ++common;
  }
  size_t carried = at_root + static_cast<size_t>(level);
  for (size_t l = 0; l < std::min(carried + 1, common); ++l) {
    std::string i = cat("i", source.loops[l]);
    bool up = source.loop_items[l]->step > 0;
    pairs.add(cat(i, "t ", l < carried ? "=" : up ? ">" : "<", " ", i, "s"));
  }
  return pairs.empty(context);
}

struct Rates {
  int64_t pairs = 0, shown = 0, reported = 0, more = 0, isl_more = 0, isl_asked = 0;
};

/// Every pair and level that the engine decides about: those of its claims and their absence.
std::set<Claim> all_claims(const Nest &nest, const Numbers &numbers) {
  std::set<Claim> out;
  for (uint32_t s = 0; s < nest.statements.size(); ++s)
    for (uint32_t t = 0; t < nest.statements.size(); ++t)
      for (uint32_t x = 0; x < nest.statements[s].accesses.size(); ++x)
        for (uint32_t y = 0; y < nest.statements[t].accesses.size(); ++y) {
          const NestAccess &a = nest.statements[s].accesses[x], &b = nest.statements[t].accesses[y];
          if (a.buf != b.buf || (!a.is_write && !b.is_write)) continue;
          const auto &f = nest.statements[s].loops, &g = nest.statements[t].loops;
          uint32_t common = 0;
          while (common < f.size() && common < g.size() && f[common] == g[common]) ++common;
          for (uint32_t level = static_cast<uint32_t>(a.home); level <= common; ++level) {
            bool before = s < t || (s == t && x < y);
            if (level < common || before) out.insert(numbers.claim({s, t, x, y, level, common}));
          }
        }
  return out;
}

void compare(const Program &program, int root, const IslContext *context, Rates &rates) {
  Func f = unit::ir(program.text());
  ASSERT_EQ(verify(f), "");
  unit::FoundLoop found = unit::find_loop(f, cat("i", root));
  Nest nest = extract_nest(found.loop, found.scope);
  Numbers numbers(nest, first_store_of(program, root));
  std::vector<StoreSite> sites = stores_of(program);
  std::set<Claim> claims, shown;
  for (const Dependence &d : find_dependences(nest).found) claims.insert(numbers.claim(d));
  for (int64_t n = 1; n <= 4; ++n)
    for (int64_t m : {1, 2, 4})
      for (int64_t p : {-1, 0, 2}) add_shown(run(program, n, m, p), root, shown);
  for (const Claim &c : shown) EXPECT_TRUE(claims.count(c)) << "missed by execution: " << text_of(c);
  rates.shown += static_cast<int64_t>(shown.size());
  rates.reported += static_cast<int64_t>(claims.size());
  for (const Claim &c : claims) rates.more += !shown.count(c);
  for (const Claim &c : all_claims(nest, numbers)) {
    ++rates.pairs;
    if (!context || program.gathers || shown.count(c)) continue;
    ++rates.isl_asked;
    bool empty = isl_denies(sites, c, root, *context);
    EXPECT_TRUE(empty || claims.count(c)) << "missed, says isl: " << text_of(c);
    rates.isl_more += empty && claims.count(c);
  }
}

void try_programs(int count, bool with_isl, const char *name) {
  IslContext context;
  uint64_t seed = unit::seed();
  Rates rates;
  for (int k = 0; k < count && !testing::Test::HasFailure(); ++k) {
    Random random(seed + static_cast<uint64_t>(k));
    Program program = random_program(random, k % 2 == 0);
    int root = static_cast<int>(random() % static_cast<uint64_t>(program.loops));
    SCOPED_TRACE(
        cat("KW_TEST_SEED=", seed + static_cast<uint64_t>(k), ", loop ", root, "\n", program.text()));
    compare(program, root, with_isl ? &context : nullptr, rates);
  }
  auto percent = [](int64_t part, int64_t whole) {
    return whole ? cat(part * 1000 / whole, " per mille") : "none";
  };
  record(cat(name, ": seed ", seed, ", ", count, " nests, ", rates.pairs, " pairs at a level, ",
             rates.reported, " reported, ", rates.shown,
             " of them shown; maybe although execution shows none: ", percent(rates.more, rates.reported)));
  if (with_isl)
    record(cat(name, ": isl asked for ", rates.isl_asked,
               " pairs; maybe although isl proves none: ", percent(rates.isl_more, rates.reported)));
}

TEST(DependenceOracle, nothing_that_executions_show_is_missed) {
  try_programs(count_of_programs(3000), false, "dependences by execution");
}

TEST(DependenceOracle, nothing_that_isl_shows_is_missed) {
  try_programs(count_of_programs(300), true, "dependences by isl");
}

}  // namespace
}  // namespace kw::oracle
