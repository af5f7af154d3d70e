// Verdicts against executions in another order: what is called legal changes no element, and a witness is a
// pair of iterations that really meet. How often a harmless claim is refused is printed.
#include "schedule/directives/legal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support/text.h"
#include "tests/oracle/claims.h"
#include "tests/unit/helpers.h"

namespace kw::oracle {
namespace {

using Memory = std::map<std::vector<int64_t>, uint64_t>;

/// One run of a store: its reads and its write.
struct Instance {
  std::vector<const Touch *> touches;

  const Touch &write() const { return *touches.back(); }
};

std::vector<Instance> instances_of(const std::vector<Touch> &touches) {
  std::vector<Instance> out(1);
  for (const Touch &t : touches) {
    out.back().touches.push_back(&t);
    if (t.what->is_write) out.emplace_back();
  }
  out.pop_back();
  return out;
}

uint64_t read(const Memory &memory, const std::vector<int64_t> &place) {
  auto found = memory.find(place);
  uint64_t start = 17;
  for (int64_t p : place) start = start * 31 + static_cast<uint64_t>(p);
  return found == memory.end() ? start : found->second;
}

/// The read that a sum adds to; -1 for another store.
int summed(const Instance &instance, const std::vector<StoreSite> &sites) {
  const Item &item = *sites[static_cast<size_t>(instance.write().store)].item;
  return item.accumulates ? item.summed : -1;
}

bool is_sum(const Instance &instance, const std::vector<StoreSite> &sites) {
  return sites[static_cast<size_t>(instance.write().store)].item->accumulates;
}

/// What a store computes of the elements that it reads, its own accumulator aside.
uint64_t term_of(const Instance &instance, const Memory &memory, const std::vector<StoreSite> &sites) {
  const Touch &write = instance.write();
  uint64_t term = 7 + static_cast<uint64_t>(write.store);
  for (const Touch *t : instance.touches)
    if (t != &write && t->access != summed(instance, sites)) term = term * 1000003 + read(memory, t->place);
  return term;
}

/// Stores a term, or adds it: the terms of a sum may come in any order, also within one vector.
void put(const Instance &instance, uint64_t term, Memory &memory, const std::vector<StoreSite> &sites) {
  const std::vector<int64_t> &place = instance.write().place;
  memory[place] = is_sum(instance, sites) ? read(memory, place) + term : term;
}

size_t level_of(const Touch &t, int root) {
  auto at = std::find(t.loops.begin(), t.loops.end(), root);
  return static_cast<size_t>(at - t.loops.begin());
}

/// The runs of one execution of the root loop, which stand together.
bool same_block(const Instance &a, const Instance &b, int root) {
  const Touch &x = a.write(), &y = b.write();
  size_t l = level_of(x, root), k = level_of(y, root);
  if (l == x.loops.size() || l != k || k == y.loops.size()) return false;
  auto length = static_cast<std::ptrdiff_t>(l);
  return std::equal(x.iteration.begin(), x.iteration.begin() + length, y.iteration.begin());
}

/// Four iterations of the root at a time, statement by statement; inner loops advance together.
struct Lockstep {
  const std::vector<StoreSite> &sites;
  int root;
  std::map<int64_t, int64_t> number;  ///< of each iteration of the root, in its order

  int64_t chunk(const Instance &i) const {
    return number.at(i.write().iteration[level_of(i.write(), root)]) / 4;
  }

  bool before(const Instance &a, const Instance &b) const {
    if (chunk(a) != chunk(b)) return chunk(a) < chunk(b);
    const Touch &x = a.write(), &y = b.write();
    for (size_t l = level_of(x, root) + 1; l < x.loops.size() && l < y.loops.size(); ++l) {
      if (x.loops[l] != y.loops[l]) break;
      bool up = sites[static_cast<size_t>(x.store)].loop_items[l]->step > 0;
      if (x.iteration[l] != y.iteration[l]) return (x.iteration[l] < y.iteration[l]) == up;
    }
    return x.store < y.store;
  }
};

/// Gives each iteration of the root a g of its own, as a register has lanes, if every one sets g before it
/// reads g.
std::vector<Touch> with_own_cells(std::vector<Touch> touches, int root) {
  std::map<std::vector<int64_t>, bool> sets_first;
  auto iteration = [&](const Touch &t) {
    auto length = static_cast<std::ptrdiff_t>(level_of(t, root));
    if (length == static_cast<std::ptrdiff_t>(t.loops.size())) return std::vector<int64_t>{};
    return std::vector<int64_t>(t.iteration.begin(), t.iteration.begin() + length + 1);
  };
  for (const Touch &t : touches)
    if (t.place[0] == 4) sets_first.emplace(iteration(t), t.what->is_write);
  bool own = std::all_of(sets_first.begin(), sets_first.end(),
                         [](const auto &entry) { return entry.second && !entry.first.empty(); });
  for (Touch &t : touches)
    if (std::vector<int64_t> at = iteration(t); own && t.place[0] == 4)
      t.place.insert(t.place.end(), at.begin(), at.end());
  return touches;
}

class Replay {
 public:
  Replay(const Program &program, int root, int64_t n, int64_t m, int64_t p)
      : sites_(stores_of(program)),
        touches_(with_own_cells(run(program, n, m, p), root)),
        instances_(instances_of(touches_)) {}

  Memory in_order() const {
    Memory memory;
    for (const Instance &i : instances_) store(i, memory);
    return memory;
  }

  Memory shuffled(int root, Random &random) const {
    return by_blocks(root, [&](std::vector<Instance> block, Memory &memory) {
      std::map<int64_t, uint64_t> rank;
      auto key = [&](const Instance &i) { return rank[i.write().iteration[level_of(i.write(), root)]]; };
      for (const Instance &i : block) rank[i.write().iteration[level_of(i.write(), root)]] = random();
      std::stable_sort(block.begin(), block.end(),
                       [&](const Instance &a, const Instance &b) { return key(a) < key(b); });
      for (const Instance &i : block) store(i, memory);
    });
  }

  Memory in_lockstep(int root) const {
    return by_blocks(root, [&](std::vector<Instance> block, Memory &memory) {
      Lockstep order{sites_, root, {}};
      for (const Instance &i : block)
        order.number.emplace(i.write().iteration[level_of(i.write(), root)],
                             static_cast<int64_t>(order.number.size()));
      auto before = [&](const Instance &a, const Instance &b) { return order.before(a, b); };
      std::stable_sort(block.begin(), block.end(), before);
      for (size_t begin = 0, end; begin < block.size(); begin = end) {
        for (end = begin; end < block.size() && !before(block[begin], block[end]);) ++end;
        std::vector<uint64_t> terms;
        for (size_t i = begin; i < end; ++i) terms.push_back(term_of(block[i], memory, sites_));
        for (size_t i = begin; i < end; ++i) put(block[i], terms[i - begin], memory, sites_);
      }
    });
  }

  const std::vector<Touch> &touches() const { return touches_; }

 private:
  void store(const Instance &i, Memory &memory) const { put(i, term_of(i, memory, sites_), memory, sites_); }

  Memory by_blocks(int root, const std::function<void(std::vector<Instance>, Memory &)> &run_block) const {
    Memory memory;
    for (size_t begin = 0, end; begin < instances_.size(); begin = end) {
      for (end = begin + 1; end < instances_.size() && same_block(instances_[begin], instances_[end], root);)
        ++end;
      bool inside = same_block(instances_[begin], instances_[begin], root);
      auto first = instances_.begin() + static_cast<std::ptrdiff_t>(begin);
      if (inside)
        run_block({first, instances_.begin() + static_cast<std::ptrdiff_t>(end)}, memory);
      else
        store(*first, memory);
    }
    return memory;
  }

  std::vector<StoreSite> sites_;
  std::vector<Touch> touches_;
  std::vector<Instance> instances_;
};

/// The elements of the arrays of the kernel; temporaries are left out.
Memory visible(Memory memory) {
  std::erase_if(memory, [](const auto &entry) { return entry.first[0] == 2 || entry.first[0] == 4; });
  return memory;
}

bool keeps_memory(const Program &program, int root, kw::Claim claim, Random &random) {
  for (auto [n, m, p] : {std::tuple{2, 3, 0}, {3, 2, -1}, {5, 4, 2}, {7, 5, 1}}) {
    Replay replay(program, root, n, m, p);
    Memory expected = visible(replay.in_order());
    if (claim == kw::Claim::vectorize && visible(replay.in_lockstep(root)) != expected) return false;
    for (int k = 0; claim != kw::Claim::vectorize && k < 3; ++k)
      if (visible(replay.shuffled(root, random)) != expected) return false;
  }
  return true;
}

/// True when the two iterations of a certain witness touch its element.
bool meets(const Program &program, const Numbers &numbers, const Verdict &v) {
  std::map<std::string, int64_t> symbols = {{"n", 1}, {"m", 1}, {"p", 0}};
  for (const auto &[size, value] : v.witness->sizes)
    if (const Ref *r = std::get_if<Ref>(&size->v)) symbols[r->sym->name] = value;
  auto [s, x, t, y, level] = numbers.claim(*v.dependence);
  bool found[2] = {false, false};
  for (const Touch &touch : run(program, symbols["n"], symbols["m"], symbols["p"])) {
    std::vector<int64_t> element(touch.place.begin() + 2, touch.place.end());
    for (int side : {0, 1}) {
      const std::vector<int64_t> &values = side ? v.witness->sink : v.witness->source;
      if (touch.store != (side ? t : s) || touch.access != (side ? y : x) || element != v.witness->element)
        continue;
      std::vector<int64_t> inner(touch.iteration.end() - static_cast<std::ptrdiff_t>(values.size()),
                                 touch.iteration.end());
      bool outer = true;
      for (size_t l = 0; l + values.size() < touch.loops.size(); ++l)
        if (auto given = symbols.find(cat("i", touch.loops[l])); given != symbols.end())
          outer = outer && given->second == touch.iteration[l];
      found[side] |= outer && inner == values;
    }
  }
  return found[0] && found[1];
}

/// True when the witness is one for a value of a definition, which no execution here need have.
bool assumes_definition(const Witness &w) {
  return std::any_of(w.sizes.begin(), w.sizes.end(), [](const auto &size) {
    const Ref *r = std::get_if<Ref>(&size.first->v);
    return r && r->sym->name[0] == 'u';
  });
}

TEST(LegalOracle, what_is_legal_changes_nothing_and_a_witness_meets) {
  uint64_t seed = unit::seed();
  int64_t legal_count = 0, refused = 0, harmless = 0, witnesses = 0;
  int count = count_of_programs(2000);
  for (int k = 0; k < count && !testing::Test::HasFailure(); ++k) {
    Random random(seed + static_cast<uint64_t>(k));
    Program program = random_program(random, true);
    int root = static_cast<int>(random() % static_cast<uint64_t>(program.loops));
    SCOPED_TRACE(
        cat("KW_TEST_SEED=", seed + static_cast<uint64_t>(k), ", loop ", root, "\n", program.text()));
    Func f = unit::ir(program.text());
    unit::FoundLoop found = unit::find_loop(f, cat("i", root));
    Nest nest = extract_nest(found.loop, found.scope);
    Numbers numbers(nest, first_store_of(program, root));
    for (kw::Claim claim : {kw::Claim::parallel, kw::Claim::vectorize, kw::Claim::reduce}) {
      Verdict v = legal(f, nest, claim, 0);
      bool same = keeps_memory(program, root, claim, random);
      EXPECT_TRUE(!v.ok() || same) << claim_name(claim) << " is called legal";
      (v.ok() ? legal_count : refused) += 1;
      harmless += !v.ok() && same;
      if (!v.witness || !v.witness->certain || v.reason == Reason::ordered) continue;
      if (assumes_definition(*v.witness)) continue;
      ++witnesses;
      EXPECT_TRUE(meets(program, numbers, v)) << claim_name(claim) << ": the witness does not meet";
    }
  }
  record(cat("verdicts by execution: seed ", seed, ", ", count, " nests, ", legal_count, " legal, ", refused,
             " refused, of which no execution shows harm: ", refused ? harmless * 1000 / refused : 0,
             " per mille; ", witnesses, " witnesses, all of which meet"));
}

}  // namespace
}  // namespace kw::oracle
