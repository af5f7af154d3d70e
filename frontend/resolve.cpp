// One walk over the tree that records assignments and the common block of all occurrences.
#include "frontend/resolve.h"

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

  void reads(const ExprPtr &e) {
    for_each_name(e, [&](const std::string &name, Loc) { occurs(name); });
  }

  void assigns(const ExprPtr &target) {
    if (const Name *n = as<Name>(target)) {
      occurs(n->id);
      ++names_.locals[n->id].assignments;
      for (const Block *b : path_) names_.assigned[b].insert(n->id);
    } else if (const Tuple *t = as<Tuple>(target)) {
      for (const ExprPtr &item : t->items) assigns(item);
    } else {
      reads(target);
    }
  }

  void loop_variables(const ExprPtr &target) {
    for_each_name(target, [&](const std::string &name, Loc) {
      occurs(name);
      names_.locals[name].loop_variable = true;
    });
  }

  void visit(const ast::Stmt &s) {
    std::visit(
        Overload{
            [&](const Assign &n) { reads(n.value), assigns(n.target); },
            [&](const AugAssign &n) { reads(n.value), assigns(n.target); },
            [&](const ForStmt &n) { reads(n.iterable), loop_variables(n.target), visit(*n.body); },
            [&](const WhileStmt &n) { reads(n.cond), visit(*n.body); },
            [&](const IfStmt &n) {
              reads(n.cond), visit(*n.yes);
              if (n.no) visit(*n.no);
            },
            [&](const WithStmt &n) { reads(n.context), visit(*n.body); },
            [&](const ReturnStmt &n) {
              reads(n.value);
              for_each_name(n.value, [&](const std::string &name, Loc) { names_.returned.insert(name); });
            },
            [&](const AssertStmt &n) { reads(n.cond), reads(n.message); },
            [&](const ExprStmt &n) { reads(n.value); }, [](const PassStmt &) {}, [](const JumpStmt &) {}},
        s.v);
  }

  Names names_;
  std::vector<const Block *> path_;
  std::map<std::string, std::vector<const Block *>> paths_;
};

}  // namespace

Names resolve_names(const Function &f) { return Resolver().run(f); }

}  // namespace kw
