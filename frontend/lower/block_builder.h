// A list of statements under construction. Lets and Allocs scope over what follows them, and become nested
// statements when the list is finished.
#pragma once

#include <utility>
#include <vector>

#include "frontend/ast.h"
#include "ir/build.h"

namespace kw {

/// A statement list under construction; Lets and Allocs scope over what follows them.
class BlockBuilder {
 public:
  void add(Stmt s) {
    items_.push_back({std::move(s), {}, {}, {}, {}, {}});
    only_checks_ = false;
  }
  /// A statement that only checks: what stands beside it can remain an expression.
  void add_check(Stmt s) { items_.push_back({std::move(s), {}, {}, {}, {}, {}, true}); }
  /// Appends a Let, which scopes over all that follows it in the list.
  void add_let(Sym sym, Expr value, Loc loc) {
    insert_let(items_.size(), std::move(sym), std::move(value), loc);
  }
  /// Appends an Alloc, likewise.
  void add_alloc(Buf buf, Fill fill, Loc loc) {
    items_.push_back({{}, {}, {}, std::move(buf), fill, loc});
    only_checks_ = false;
  }
  /// In front of the item that stands at that place.
  void insert_let(size_t place, Sym sym, Expr value, Loc loc) {
    items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(place),
                  {{}, std::move(sym), std::move(value), {}, {}, loc});
    only_checks_ = false;
  }
  /// Returns the number of items, which is the place of the next one.
  size_t size() const { return items_.size(); }
  /// True when elements of tensors are used from that place on, other than by checks.
  bool uses_elements_from(size_t place) const;
  /// Returns the list as one statement, with `cells` declared around it. The builder keeps its items.
  Stmt finish(const std::vector<Buf> &cells) const;
  bool empty() const { return items_.empty(); }
  /// True also for an empty one.
  bool only_checks() const { return only_checks_; }
  /// Takes over the statements of another builder.
  void append(BlockBuilder &&other) {
    items_.insert(items_.end(), std::make_move_iterator(other.items_.begin()),
                  std::make_move_iterator(other.items_.end()));
    other.items_.clear();
    only_checks_ = only_checks_ && std::exchange(other.only_checks_, true);
  }

  std::vector<const ast::Block *> owners;  ///< the source blocks whose statements land here

 private:
  /// A statement if `stmt` is set, a Let if `sym` is set, else an Alloc.
  struct Item {
    Stmt stmt;
    Sym sym;
    Expr value;
    Buf buf;
    Fill fill;
    Loc loc;
    bool is_check = false;
  };
  std::vector<Item> items_;
  /// Nothing but checks has been added.
  bool only_checks_ = true;
};

/// The elements in an operand that nobody may ask for are read all the same, for their subscripts.
void read_elements(const Expr &e, BlockBuilder &builder);

}  // namespace kw
