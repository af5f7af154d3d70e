// The bounds engine against executions and isl: a subscript that is called proved, alone or under a fact on
// the sizes, stays within its extent, and E301 is reported only where every run leaves it.
#include "analysis/bounds.h"

#include <gtest/gtest.h>

#include <map>

#include "analysis/access.h"
#include "frontend/ir_mode.h"
#include "ir/match.h"
#include "support/text.h"
#include "tests/oracle/claims.h"
#include "tests/oracle/isl_text.h"
#include "tests/unit/helpers.h"

namespace kw::oracle {
namespace {

using Kind = Proof::Kind;

/// (store, access, dimension, whether above the extent)
using Edge = std::tuple<int, int, size_t, bool>;

int64_t extent(int array, size_t dim, int64_t n, int64_t m) { return array == 2 ? 4 : dim == 0 ? n : m; }

int64_t evaluate(const Expr &e, const std::map<std::string, int64_t> &sizes) {
  auto value = [&](const Expr &x) { return evaluate(x, sizes); };
  if (auto v = std::get_if<Const>(&e->v)) return static_cast<int64_t>(v->bits);
  if (auto v = std::get_if<Ref>(&e->v)) return sizes.at(v->sym->name);
  if (auto v = std::get_if<Logic>(&e->v))
    return v->is_and ? value(v->a) && value(v->b) : value(v->a) || value(v->b);
  if (auto v = std::get_if<Unary>(&e->v); v && v->op == UnOp::neg) return -value(v->a);
  const Binary &n = std::get<Binary>(e->v);
  int64_t a = value(n.a), b = value(n.b);
  switch (n.op) {
    case BinOp::add: return a + b;
    case BinOp::sub: return a - b;
    case BinOp::mul: return a * b;
    case BinOp::min: return std::min(a, b);
    case BinOp::max: return std::max(a, b);
    case BinOp::floor_div: return a / b - (a % b != 0 && (a < 0) != (b < 0));
    case BinOp::floor_mod: return a - b * (a / b - (a % b != 0 && (a < 0) != (b < 0)));
    case BinOp::le: return a <= b;
    default: throw std::runtime_error("a fact with an operation that is not expected");
  }
}

/// The engine's proofs by edge: accesses of the arrays come in the order of the text.
std::map<Edge, Proof> proofs_of(const Func &f, const Program &program) {
  std::vector<std::pair<int, int>> order;
  for (const StoreSite &s : stores_of(program))
    for (size_t k = 0; k < s.item->accesses.size(); ++k)
      if (s.item->accesses[k].array < 3) order.emplace_back(s.item->number, static_cast<int>(k));
  std::map<Edge, Proof> out;
  size_t at = 0;
  for_each_access(f, true, [&](const kw::Access &a, const BoundsContext &context) {
    if (a.buf->sym->name == "idx" || at >= order.size()) return;
    auto [store, access] = order[at++];
    for (size_t d = 0; d < a.index->size(); ++d) {
      IndexProof proof = prove_index(a, d, context);
      out[{store, access, d, false}] = proof.low;
      out[{store, access, d, true}] = proof.high;
    }
  });
  EXPECT_EQ(at, order.size());
  return out;
}

struct Rates {
  int64_t edges = 0, proved = 0, under_fact = 0, unknown = 0, isl_asked = 0, isl_proves = 0, errors = 0;
};

void hold_against_runs(const Program &program, const std::map<Edge, Proof> &proofs, bool is_error) {
  for (int64_t n = 1; n <= 5; ++n)
    for (int64_t m : {1, 2, 3, 5})
      for (int64_t p : {-2, 0, 1, 3}) {
        bool left = false;
        for (const Touch &t : run(program, n, m, p))
          for (size_t d = 0; d + 2 < t.place.size(); ++d) {
            int64_t at = t.place[d + 2], size = extent(t.what->array, d, n, m);
            if (at >= 0 && at < size) continue;
            left = true;
            const Proof &proof = proofs.at({t.store, t.access, d, at >= size});
            EXPECT_NE(proof.kind, Kind::proved)
                << "store " << t.store << " access " << t.access << " leaves dimension " << d << " at " << at;
            bool fact =
                proof.kind == Kind::under_fact && evaluate(proof.fact, {{"n", n}, {"m", m}, {"p", p}});
            EXPECT_FALSE(fact) << "under its fact store " << t.store << " access " << t.access
                               << " leaves dimension " << d;
          }
        EXPECT_TRUE(left || !is_error) << "E301, but all is in bounds for " << n << ", " << m << ", " << p;
      }
}

void hold_against_isl(const Program &program, const std::map<Edge, Proof> &proofs, const IslContext &context,
                      Rates &rates) {
  std::vector<StoreSite> sites = stores_of(program);
  for (const auto &[edge, proof] : proofs) {
    auto [store, access, dim, above] = edge;
    const StoreSite &site = sites[static_cast<size_t>(store)];
    const Access &a = site.item->accesses[static_cast<size_t>(access)];
    IslSet outside;
    outside.add_domain(site, a, "s");
    const char *size = a.array == 2 ? "4" : dim == 0 ? "n" : "m";
    outside.add(cat(a.index[dim].isl_text("s"), above ? cat(" >= ", size) : std::string(" < 0")));
    bool never = outside.empty(context);
    ++rates.isl_asked;
    rates.isl_proves += never && proof.kind != Kind::proved;
    EXPECT_TRUE(never || proof.kind != Kind::proved)
        << "proved, but isl has an iteration outside: store " << store << " access " << access;
  }
}

void try_programs(int count, bool with_isl, const char *name) {
  IslContext context;
  uint64_t seed = unit::seed();
  Rates rates;
  for (int k = 0; k < count && !testing::Test::HasFailure(); ++k) {
    Random random(seed + static_cast<uint64_t>(k));
    Program program = random_program(random, true);
    SCOPED_TRACE(cat("KW_TEST_SEED=", seed + static_cast<uint64_t>(k), "\n", program.text()));
    SourceMap sources;
    Func f = parse_ir(sources, sources.add_text("<oracle>", 1, "# kw-ir 2\n" + program.text()));
    std::map<Edge, Proof> proofs = proofs_of(f, program);
    bool is_error = !program.gathers && !find_bounds_errors(f, sources).empty();  // idx is not watched
    rates.errors += is_error;
    for (const auto &[edge, proof] : proofs) {
      ++rates.edges;
      rates.proved += proof.kind == Kind::proved;
      rates.under_fact += proof.kind == Kind::under_fact;
      rates.unknown += proof.kind == Kind::unknown;
    }
    hold_against_runs(program, proofs, is_error);
    if (with_isl && !program.gathers) hold_against_isl(program, proofs, context, rates);
  }
  record(cat(name, ": seed ", seed, ", ", count, " nests, ", rates.edges, " edges, ", rates.proved,
             " proved, ", rates.under_fact, " under a fact, ", rates.unknown, " checked at run time, ",
             rates.errors, " kernels with E301"));
  if (with_isl)
    record(cat(name, ": isl asked for ", rates.isl_asked, " edges; maybe although isl proves them: ",
               rates.isl_asked ? rates.isl_proves * 1000 / rates.isl_asked : 0, " per mille"));
}

TEST(BoundsOracle, what_is_proved_stays_in_bounds_in_executions) {
  try_programs(count_of_programs(5000), false, "bounds by execution");
}

TEST(BoundsOracle, what_is_proved_stays_in_bounds_for_isl) {
  try_programs(count_of_programs(500), true, "bounds by isl");
}

}  // namespace
}  // namespace kw::oracle
