#pragma once

// Random loop nests for the oracles: made, written as IR and for isl, and run by brute force. This model
// knows nothing of the compiler, so what it finds can be held against what the compiler claims.

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace kw::oracle {

/// Values of the symbols of a nest.
struct Env {
  int64_t n = 1, m = 1, p = 0;
  std::vector<int64_t> iters;  ///< by number of the loop
  int64_t cell = 0;            ///< what g holds
};

/// Σ coefficient · iterator + n, m and p parts + constant, then perhaps // or % by a constant, then perhaps
/// an element of the array idx at that place. Or what the mutable scalar g holds.
struct Index {
  std::vector<std::pair<int, int64_t>> terms;
  int64_t n = 0, m = 0, p = 0, constant = 0;
  int64_t divide = 0, modulo = 0;
  bool gather = false;
  bool from_cell = false;
  int local = -1;  ///< the number of the definition that holds the value, which stands at the use; -1: none

  int64_t value(const Env &env) const;
  std::string text() const;
  /// The value of the definition.
  std::string definition() const;
  /// The same for isl, with iterators named by `suffix`; of no meaning for a gather and for g.
  std::string isl_text(const std::string &suffix) const;
};

/// a < b, a <= b or a == b.
struct Condition {
  Index a, b;
  std::string op;
  bool negated = false;

  bool holds(const Env &env) const;
  std::string text() const;
  std::string isl_text(const std::string &suffix) const;
};

struct Access {
  int array = 0;  ///< 0: a[n, m], 1: b[n], 2: t[4] made inside a loop, 3: a scalar, 4: g
  std::vector<Index> index;
  std::optional<Condition> condition;  ///< a read that happens only when it holds
  bool is_write = false;
  bool in_subscript = false;  ///< a read of g that gives a subscript of a later access

  std::string text() const;
};

/// A loop, a conditional or a store; the store's accesses are its reads and then its write.
struct Item {
  enum class Kind { loop, branch, store } kind = Kind::store;
  int number = 0;  ///< of the loop or of the store
  Index lo, hi;
  std::optional<Index> second;  ///< a second bound: the lesser of it and `hi` counts
  int64_t step = 1;
  bool makes_t = false;  ///< the array t is made in the body
  Condition condition;
  std::vector<Item> body, otherwise;
  std::vector<Access> accesses;
  bool accumulates = false;  ///< the read number `summed` and the write are one element, the value is a sum
  int summed = 0;
  std::vector<Index>
      locals;  ///< definitions before a store or a branch, or at the beginning of a loop's body
  std::optional<Index> moves;  ///< the store sets g to this or, if it accumulates, adds this
};

struct Program {
  Item root;
  int loops = 0, stores = 0;
  bool gathers = false;  ///< a subscript is read from idx or from g, which isl cannot express

  /// As IR; the hints stand at loops by number.
  std::string text(const std::vector<std::string> &hints = {}) const;
};

/// One touch of memory by an execution.
struct Touch {
  int store, access;
  std::vector<int> loops;          ///< around the store
  std::vector<int64_t> iteration;  ///< of these
  const Access *what;
  std::vector<int64_t> place;  ///< array, its instance and the subscripts
};

struct StoreSite {
  const Item *item;
  std::vector<int> loops;
  std::vector<const Item *> conditions;  ///< branches around it
  std::vector<bool> sides;               ///< the side of each
  std::vector<const Item *> loop_items;
};

using Random = std::mt19937_64;

/// In-bounds subscripts are likelier when `tame`.
Program random_program(Random &random, bool tame);
/// Every touch in the order of the program.
std::vector<Touch> run(const Program &nest, int64_t n, int64_t m, int64_t p);
/// The stores in the order of the text.
std::vector<StoreSite> stores_of(const Program &nest);
/// The contents of idx, also outside its bounds.
int64_t element_of_idx(int64_t at);

}  // namespace kw::oracle
