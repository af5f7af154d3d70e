// One walk over the tree that records assignments and the common block of all occurrences.
#include "frontend/sema/resolve.h"

#include <algorithm>
#include <utility>

#include "ir/match.h"

namespace kw {

using namespace ast;

void for_each_name(const ExprPtr &e, const std::function<void(const std::string &, Loc)> &visit) {
  if (!e) return;
  auto all = [&](const std::vector<ExprPtr> &list) {
    for (const ExprPtr &item : list) for_each_name(item, visit);
  };
  std::visit(Overload{[&](const Name &n) { visit(n.id, e->loc); }, [](const Integer &) {},
                      [](const Real &) {}, [](const Text &) {}, [](const Boolean &) {},
                      [](const NoneLiteral &) {}, [&](const Attribute &n) { for_each_name(n.value, visit); },
                      [&](const Slice &n) {
                        for_each_name(n.lower, visit), for_each_name(n.upper, visit),
                            for_each_name(n.step, visit);
                      },
                      [&](const Subscript &n) { for_each_name(n.value, visit), all(n.index); },
                      [&](const CallExpr &n) {
                        for_each_name(n.callee, visit), all(n.args);
                        for (const Keyword &k : n.keywords) for_each_name(k.value, visit);
                      },
                      [&](const UnaryExpr &n) { for_each_name(n.a, visit); },
                      [&](const BinaryExpr &n) { for_each_name(n.a, visit), for_each_name(n.b, visit); },
                      [&](const CompareExpr &n) { all(n.items); }, [&](const BoolExpr &n) { all(n.items); },
                      [&](const Ternary &n) {
                        for_each_name(n.cond, visit), for_each_name(n.yes, visit), for_each_name(n.no, visit);
                      },
                      [&](const Tuple &n) { all(n.items); }},
             e->v);
}

namespace {

/// Returns whether an expression calls `word`. Compares only the word, for check, which then reports less
/// where types decide.
bool calls(const ExprPtr &e, std::string_view word) {
  const CallExpr *call = as<CallExpr>(e);
  const Name *name = call ? as<Name>(call->callee) : nullptr;
  const Attribute *attribute = call ? as<Attribute>(call->callee) : nullptr;
  return (name && name->id == word) || (attribute && attribute->name == word);
}

/// Walks the body once, in source order. `path_` holds the enclosing blocks of the position, the outermost
/// first. `paths_` holds for each name the blocks that contain all its occurrences.
class Resolver {
 public:
  Names run(const Function &f) {
    visit(f.body);
    return std::move(names_);
  }

 private:
  void visit(const Block &block) {
    path_.push_back(&block);
    for (const ast::Stmt &s : block) visit(s);
    path_.pop_back();
  }

  /// Shortens the path of the name to the part that it shares with the position.
  ///   seen in [body, for, if], again in [body, for, while]  →  [body, for]
  void occurs(const std::string &name) {
    auto [at, first] = paths_.try_emplace(name, path_);
    if (!first) {
      std::vector<const Block *> &common = at->second;
      size_t n = 0;
      while (n < common.size() && n < path_.size() && common[n] == path_[n]) ++n;
      common.resize(n);
    }
    names_.locals[name].home = at->second.empty() ? nullptr : at->second.back();
  }

  /// Records the names that an expression reads. Names whose loop has ended are misuses.
  void reads(const ExprPtr &e) {
    for_each_name(e, [&](const std::string &name, Loc loc) {
      occurs(name);
      auto found = uses_.find(name);
      if (found != uses_.end() && found->second == Use::past)
        names_.misuses[loc.begin] = Misuse::read_after_loop;
    });
  }

  /// Records the names that a target assigns; `value` is null if no expression is the whole value. The target
  /// a[i] assigns no name and reads a and i.
  void assigns(const ExprPtr &target, const ast::Expr *value) {
    if (const Name *n = as<Name>(target)) {
      occurs(n->id);
      LocalInfo &info = names_.locals[n->id];
      ++info.assignments;
      info.values.push_back(value);
      for (const Block *b : path_) names_.assigned[b].insert(n->id);
      auto found = uses_.find(n->id);
      // after the loop the variable becomes an ordinary local; inside the loop it stays the loop variable
      if (found != uses_.end() && found->second == Use::loop)
        names_.misuses[target->loc.begin] = Misuse::assigned_in_loop;
      else
        uses_[n->id] = Use::local;
    } else if (const Tuple *t = as<Tuple>(target)) {
      for (const ExprPtr &item : t->items) assigns(item, nullptr);
    } else {
      reads(target);
    }
  }

  void loop(const ForStmt &s) {
    // Python evaluates the range before it binds the variable
    reads(s.iterable);
    for_each_name(s.target, [&](const std::string &name, Loc) {
      occurs(name);
      names_.locals[name].loop_variable = true;
      names_.locals[name].point |= as<Name>(s.target) && calls(s.iterable, "grid");
      names_.locals[name].constant |= calls(s.iterable, "const_range");
      for (const Block *b : path_) names_.looped[b].insert(name);
      uses_[name] = Use::loop;
    });
    // in the body the name is the loop variable; reading it after the loop is a misuse
    visit(*s.body);
    for_each_name(s.target, [&](const std::string &name, Loc) { uses_[name] = Use::past; });
  }

  /// Joins the uses of two branches. A name is past its loop if a branch left it so and no branch assigned
  /// it. Lowering handles names assigned on some paths only, because it knows the dead paths.
  void branches(const IfStmt &s) {
    reads(s.cond);
    // both branches begin with the same uses
    std::map<std::string, Use> before = uses_;
    visit(*s.yes);
    std::map<std::string, Use> yes = std::exchange(uses_, std::move(before));
    if (s.no) visit(*s.no);
    for (auto [name, use] : yes) {
      Use &other = uses_.try_emplace(name, use).first->second;
      other = std::min(other, use);
    }
  }

  void visit(const ast::Stmt &s) {
    std::visit(Overload{[&](const Assign &n) { reads(n.value), assigns(n.target, n.value.get()); },
                        [&](const AugAssign &n) {
                          // the target is read first; for an element, `assigns` reads the names
                          if (as<Name>(n.target)) reads(n.target);
                          reads(n.value), assigns(n.target, nullptr);
                        },
                        [&](const ForStmt &n) { loop(n); },
                        [&](const WhileStmt &n) { reads(n.cond), visit(*n.body); },
                        [&](const IfStmt &n) { branches(n); },
                        [&](const WithStmt &n) { reads(n.context), visit(*n.body); },
                        [&](const ReturnStmt &n) {
                          reads(n.value);
                          for_each_name(n.value,
                                        [&](const std::string &name, Loc) { names_.returned.insert(name); });
                        },
                        [&](const AssertStmt &n) { reads(n.cond), reads(n.message); },
                        [&](const ExprStmt &n) { reads(n.value); }, [](const auto &) {}},
               s.v);
  }

  /// The last binding of a name; where branches join, the smaller enumerator wins.
  enum class Use : uint8_t { local, loop, past };

  Names names_;
  std::map<std::string, Use> uses_;
  std::vector<const Block *> path_;
  std::map<std::string, std::vector<const Block *>> paths_;
};

}  // namespace

Names resolve_names(const Function &f) { return Resolver().run(f); }

}  // namespace kw
