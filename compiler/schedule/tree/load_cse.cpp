// Distinguishes elements by their subscripts as linear forms.
#include "schedule/tree/load_cse.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

#include "analysis/affine.h"
#include "analysis/nest/reduce.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// One element: a buffer and linear subscripts that read no memory.
struct Element {
  Buf buf;
  std::vector<Affine> index;
};

/// Returns the element that subscripts name; nothing if one reads memory or is not affine.
std::optional<Element> element_of(const Buf &buf, const std::vector<Expr> &index) {
  Element out{buf, {}};
  for (const Expr &e : index) {
    auto form = has_load(e) ? std::nullopt : affine_of(e);
    if (!form) return std::nullopt;
    out.index.push_back(std::move(*form));
  }
  return out;
}

/// The relation of two accesses: they touch the same element never, perhaps, or always.
enum class Meeting : uint8_t { never, unknown, always };

/// Returns the difference of two forms if it is constant.
std::optional<int64_t> distance_of(const Affine &a, const Affine &b) {
  auto alike = [](const AffineTerm &x, const AffineTerm &y) {
    const Ref *r = as<Ref>(x.atom), *s = as<Ref>(y.atom);
    return x.coefficient == y.coefficient && r && s && r->sym == s->sym;
  };
  int64_t out;
  if (std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(), alike))
    return __builtin_sub_overflow(a.constant, b.constant, &out) ? std::nullopt : std::optional(out);
  auto difference = add_scaled(a, b, -1);
  return difference && difference->is_constant() ? std::optional(difference->constant) : std::nullopt;
}

Meeting meeting_of(const Element &a, const Element &b) {
  if (a.buf != b.buf) return Meeting::never;
  bool same = true;
  for (size_t d = 0; d < a.index.size(); ++d) {
    auto distance = distance_of(a.index[d], b.index[d]);
    if (distance && *distance != 0) return Meeting::never;
    same = same && distance;
  }
  return same ? Meeting::always : Meeting::unknown;
}

/// Visits the statements of all copies in order. Elements whose value is known are not loaded again.
class LoadElimination {
 public:
  LoadElimination(const std::vector<StatementList> &copies, const std::unordered_set<const BufNode *> &apart)
      : copies_(copies), apart_(apart) {}

  StatementList run() {
    for (const StatementList &copy : copies_)
      for (const ListItem &link : copy) count(link.s);
    for (const StatementList &copy : copies_) {
      for (const ListItem &link : copy) statement(link);
      ++copy_;
    }
    StatementList kept;
    for (Piece &p : out_)
      if (!p.is_dead) kept.push_back(std::move(p.link));
    return kept;
  }

 private:
  struct Read {
    const Element *element;
    int count = 0;
  };
  /// An element that was read or written, and its value.
  struct Known {
    const Element *element;
    Expr value;
    size_t copy;  ///< the copy that accessed the element first
    bool by_several = false;
  };
  struct Piece {
    ListItem link;
    bool is_dead = false;
    Piece(ListItem l) : link(std::move(l)) {}
    Piece(Stmt s, bool opens) : link{std::move(s), opens} {}
  };

  /// Calls visit(load, is_certain) for the loads of elements in an expression; those that a lazy operator may
  /// leave out are not certain.
  template <class F>
  static void for_each_load(const Expr &e, bool certain, const F &visit) {
    for_each_guarded_operand(e, [&](const Expr &operand, const OperandGuard &guard) {
      for_each_load(operand, certain && !guard.cond, visit);
    });
    if (const Load *n = as<Load>(e); n && !n->index.empty()) visit(*n, e, certain);
  }

  /// Returns the element that a load reads, computed once per load; null if it is unknown.
  const Element *element_at(const Load &n, const Expr &at) {
    auto [found, is_new] = of_loads_.try_emplace(at.p.get());
    if (is_new) found->second = {at, element_of(n.buf, n.index)};
    return found->second.element ? &*found->second.element : nullptr;
  }

  void count(const Stmt &s) {
    auto note = [&](const Load &n, const Expr &at, bool certain) {
      const Element *element = certain ? element_at(n, at) : nullptr;
      if (!element) return;
      for (Read &r : reads_)
        if (meeting_of(*r.element, *element) == Meeting::always) return void(++r.count);
      reads_.push_back({element, 1});
    };
    if (const Let *n = as<Let>(s)) for_each_load(n->value, true, note);
    const Store *n = as<Store>(s);
    if (!n) return;
    for (const Expr &i : n->index) for_each_load(i, true, note);
    for_each_load(n->value, true, note);
  }
  bool is_read_again(const Element &e) const {
    return std::any_of(reads_.begin(), reads_.end(), [&](const Read &r) {
      return r.count > 1 && meeting_of(*r.element, e) == Meeting::always;
    });
  }

  /// Returns the expression with loads of known elements replaced by their values. An element that is read
  /// again becomes known.
  Expr shared(const Expr &e) {
    std::unordered_map<const ExprNode *, Expr> values;
    for_each_load(e, true, [&](const Load &n, const Expr &at, bool certain) {
      const Element *element = element_at(n, at);
      if (!element || values.count(at.p.get())) return;
      for (Known &k : known_) {
        if (meeting_of(*k.element, *element) != Meeting::always) continue;
        k.by_several = k.by_several || (certain && k.copy != copy_);
        return void(values[at.p.get()] = k.value);
      }
      if (!certain || !is_read_again(*element)) return;
      values[at.p.get()] = named(*element, at);
    });
    if (values.empty()) return e;
    return rewrite(e, [&](const Load &, const Expr &l, const Expr &before) {
      auto found = values.find(before.p.get());
      return found == values.end() ? l : found->second;
    });
  }

  /// Binds the value of an element to a name. `element` must keep its address.
  Expr named(const Element &element, const Expr &value) {
    Sym sym = make_sym(SymKind::local, value.dtype(), element.buf->sym->name, value.loc());
    out_.emplace_back(let(sym, value, {}, value.loc()), true);
    known_.push_back({&element, kw::ref(sym, value.loc()), copy_});
    return known_.back().value;
  }

  void statement(const ListItem &link) {
    const Let *let = link.opens ? as<Let>(link.s) : nullptr;
    if (let) {
      out_.emplace_back(kw::let(let->sym, shared(let->value), let->body, link.s.loc()), true);
    } else if (const Store *n = as<Store>(link.s)) {
      store(link.s, *n);
    } else {
      if (!link.opens) known_.clear();  // the statement may write any element
      out_.emplace_back(link);
    }
  }

  /// Forgets the values that the store may change. For a buffer in `apart`, a value that another copy touched
  /// stays known unless the subscripts are equal.
  void store(const Stmt &s, const Store &n) {
    std::vector<Expr> index;
    for (const Expr &i : n.index) index.push_back(shared(i));
    Expr value = shared(n.value);
    std::optional<Element> &element = of_stores_.emplace_back();
    if (!n.index.empty()) element = element_of(n.buf, n.index);
    std::erase_if(known_, [&](const Known &k) {
      bool is_apart = apart_.count(n.buf.get()) > 0 && (k.by_several || k.copy != copy_);
      Meeting m = element ? meeting_of(*k.element, *element) : Meeting::unknown;
      return k.element->buf == n.buf && (m == Meeting::always || (m == Meeting::unknown && !is_apart));
    });
    if (element && n.order != Order::lanes) {
      drop_store_before(*element, value);
      if (is_read_again(*element) && !as<Const>(value)) value = named(*element, value);
    }
    Stmt made = kw::store(n.buf, index, value, s.loc(), n.order);
    // With the element's value in a local, the store is no reduction any more: it needs no order.
    if (n.order == Order::any && !reduction_of(*as<Store>(made), {}).mark)
      made = kw::store(n.buf, std::move(index), value, s.loc());
    out_.emplace_back(std::move(made), false);
  }

  /// Removes the last store to an element that is stored again, if nothing reads the element in between.
  void drop_store_before(const Element &element, const Expr &value) {
    bool is_read = false;
    auto look = [&](const Expr &e) {
      for_each_load(e, true, [&](const Load &n, const Expr &at, bool) {
        if (is_read || n.buf != element.buf) return;
        const Element *read = element_at(n, at);
        is_read = !read || meeting_of(*read, element) != Meeting::never;
      });
    };
    look(value);
    for (size_t i = out_.size(); i-- > 0 && !is_read;) {
      const ListItem &link = out_[i].link;
      if (const Let *n = link.opens ? as<Let>(link.s) : nullptr) look(n->value);
      const Store *n = as<Store>(link.s);
      if (!n && !link.opens) return;  // the statement may read the element
      if (!n || out_[i].is_dead) continue;
      auto written = n->index.empty() ? std::nullopt : element_of(n->buf, n->index);
      if (written && n->order != Order::lanes && meeting_of(*written, element) == Meeting::always) {
        out_[i].is_dead = true;
        return;
      }
      for (const Expr &e : n->index) look(e);
      look(n->value);
    }
  }

  const std::vector<StatementList> &copies_;
  const std::unordered_set<const BufNode *> &apart_;
  struct Found {
    Expr load;  ///< held here, so that its address is not reused
    std::optional<Element> element;
  };
  std::unordered_map<const ExprNode *, Found> of_loads_;
  std::deque<std::optional<Element>> of_stores_;  ///< a deque, so that elements keep their addresses
  std::vector<Read> reads_;
  std::vector<Known> known_;
  std::vector<Piece> out_;
  size_t copy_ = 0;  ///< the number of the current copy
};

}  // namespace

StatementList eliminate_common_loads(const std::vector<StatementList> &copies,
                                     const std::unordered_set<const BufNode *> &apart) {
  return LoadElimination(copies, apart).run();
}

}  // namespace kw
