// A list of statements under construction. A Let or Alloc scopes over the items after it; finish turns each
// into a statement that encloses them.
#pragma once

#include <utility>
#include <vector>

#include "frontend/ast.h"
#include "ir/build.h"

namespace kw {

/// Builds a statement list. A Let or Alloc scopes over the items after it.
class BlockBuilder {
 public:
  void add(Stmt s) {
    items_.push_back({std::move(s), {}, {}, {}, {}, {}});
    only_checks_ = false;
  }
  /// Appends a statement that only checks. An operand that needs only checks can remain an expression.
  void add_check(Stmt s) { items_.push_back({std::move(s), {}, {}, {}, {}, {}, true}); }
  /// Appends a Let, which scopes over all later items of the list.
  void add_let(Sym sym, Expr value, Loc loc) {
    insert_let(items_.size(), std::move(sym), std::move(value), loc);
  }
  /// Appends an Alloc, which scopes over all later items of the list.
  void add_alloc(Buf buf, Fill fill, Loc loc) {
    items_.push_back({{}, {}, {}, std::move(buf), fill, loc});
    only_checks_ = false;
  }
  /// Inserts a Let in front of the item at index `place`.
  void insert_let(size_t place, Sym sym, Expr value, Loc loc) {
    items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(place),
                  {{}, std::move(sym), std::move(value), {}, {}, loc});
    only_checks_ = false;
  }
  /// Returns the number of items, which is the place of the next item.
  size_t size() const { return items_.size(); }
  /// Returns whether an item from `place` on, other than a check, uses elements of tensors.
  bool uses_elements_from(size_t place) const;
  /// Returns the list as one statement, with `cells` declared around it. The builder keeps its items.
  Stmt finish(const std::vector<Buf> &cells) const;
  bool empty() const { return items_.empty(); }
  /// Returns whether the list holds nothing but checks; true also if it is empty.
  bool only_checks() const { return only_checks_; }
  /// Takes over the statements of another builder.
  void append(BlockBuilder &&other) {
    items_.insert(items_.end(), std::make_move_iterator(other.items_.begin()),
                  std::make_move_iterator(other.items_.end()));
    other.items_.clear();
    only_checks_ = only_checks_ && std::exchange(other.only_checks_, true);
  }

  std::vector<const ast::Block *> owners;  ///< the source blocks whose statements are added here

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
  /// no item other than a check was added
  bool only_checks_ = true;
};

/// Reads the elements in an operand even if its value is unused, because their subscripts must be checked.
void read_elements(const Expr &e, BlockBuilder &builder);

}  // namespace kw
