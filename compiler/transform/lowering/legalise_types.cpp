// Rewrites 16-bit floats.
#include "transform/lowering/passes.h"

#include <algorithm>
#include <unordered_map>

#include "ir/intrinsics.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "support/diagnostic.h"
#include "transform/lowering/half_floats.h"

namespace kw {

namespace {

/// Depth from which on parts are bound to names before their statement, unless a lazy operator decides
/// whether they are evaluated. Each operation becomes about ten levels of nodes, and a thousand are allowed.
constexpr uint32_t deep = 40;

/// Names the deep parts of one expression:
///     c[i] = f(g(h(…)))   →   part = h(…); c[i] = f(g(part))
class Splitter {
 public:
  /// Returns the value with its deep parts replaced; `wrap` puts their definitions around the statement.
  Expr split(const Expr &e) {
    if (e->depth <= deep) return e;
    if (auto found = done_.find(e.p.get()); found != done_.end()) return found->second;
    Expr out = e;
    if (const Select *n = as<Select>(e))  // its sides are not evaluated in any case
      out = make_expr(e.dtype(), e.loc(), Select{split(n->cond), n->yes, n->no, n->eager_yes, n->eager_no});
    else if (!as<Logic>(e) && !as<Load>(e))
      out = map_operands(e, [&](const Expr &operand) { return split(operand); });
    if (out->depth > deep) {
      lets_.emplace_back(make_sym(SymKind::local, e.dtype(), "part", e.loc()), out);
      out = ref(lets_.back().first, e.loc());
    }
    return done_[e.p.get()] = out;
  }

  Stmt wrap(Stmt s) const {
    for (size_t i = lets_.size(); i-- > 0;) s = let(lets_[i].first, lets_[i].second, s, s.loc());
    return s;
  }

 private:
  std::unordered_map<const ExprNode *, Expr> done_;
  std::vector<std::pair<Sym, Expr>> lets_;
};

/// Splits the values of stores and definitions, before the rewrite makes them ten times as deep.
Stmt split_deep(const Stmt &body) {
  return rewrite(
      body,
      [](const Store &n, const Stmt &s) {
        if (n.value->depth <= deep) return s;
        Splitter splitter;
        Expr value = splitter.split(n.value);
        return splitter.wrap(store(n.buf, n.index, value, s.loc(), n.order));
      },
      [](const Let &n, const Stmt &s) {
        if (n.value->depth <= deep) return s;
        Splitter splitter;
        Expr value = splitter.split(n.value);
        return splitter.wrap(let(n.sym, value, n.body, s.loc()));
      });
}

/// Rewrites one function. Symbols and buffers of 16-bit floats get a u16 counterpart, made once and found by
/// the node, so that all uses agree.
class Legaliser {
 public:
  explicit Legaliser(const Target &target) : words_(target) {}

  Func run(const Func &f) {
    Func out = f;
    for (Param &p : out.params) {
      if (p.buf) p.buf = buffer(p.buf);
      if (p.sym) p.sym = symbol(p.sym);
    }
    for (Buf &b : out.results) b = buffer(b);
    for (Site &s : out.sites)
      if (s.buf) s.buf = buffer(s.buf);
    for (Expr &e : out.facts) e = legal(e);
    out.body = legal(split_deep(f.body));
    return out;
  }

 private:
  template <class H>
  H legal(const H &root) {
    return rewrite(
        root, [&](const Const &n, const Expr &e) { return is_half(e.dtype()) ? word(n.bits, e.loc()) : e; },
        [&](const Ref &n, const Expr &e) { return is_half(e.dtype()) ? ref(symbol(n.sym), e.loc()) : e; },
        [&](const Load &n, const Expr &e) {
          Buf b = buffer(n.buf);
          return b == n.buf ? e : load(b, n.index, e.loc());
        },
        [&](const Unary &n, const Expr &e, const Expr &before) { return unary_of(n, e, before); },
        [&](const Binary &n, const Expr &e, const Expr &before) { return binary_of(n, e, before); },
        [&](const Select &n, const Expr &e) {
          return is_half(e.dtype()) ? make_expr(DType::u16, e.loc(), n) : e;
        },
        [&](const Cast &n, const Expr &e, const Expr &before) {
          return words_.convert(as<Cast>(before)->a.dtype(), e.dtype(), n.a, e);
        },
        [&](const Call &n, const Expr &e, const Expr &before) { return call_of(n, e, before); },
        [&](const Store &n, const Stmt &s) {
          Buf b = buffer(n.buf);
          return b == n.buf ? s : store(b, n.index, n.value, s.loc(), n.order);
        },
        [&](const Let &n, const Stmt &s) {
          return is_half(n.sym->dtype) ? let(symbol(n.sym), n.value, n.body, s.loc()) : s;
        },
        [&](const Alloc &n, const Stmt &s) {
          Buf b = buffer(n.buf);
          return b == n.buf ? s : alloc(b, n.fill, n.body, s.loc());
        });
  }

  static Expr word(uint64_t bits, Loc loc) { return constant({DType::u16, bits}, loc); }

  /// Negates a 16-bit float by its sign bit, which also holds for NaN and zeros.
  Expr unary_of(const Unary &n, const Expr &e, const Expr &before) {
    if (!is_half(before.dtype())) return e;
    ensure(n.op == UnOp::neg, "a bitwise operation on a 16-bit float");
    return binary(BinOp::bit_xor, n.a, word(0x8000, e.loc()), e.loc());
  }

  /// Computes in float32 and rounds the result. A comparison gives a bool, which needs no rounding.
  Expr binary_of(const Binary &n, const Expr &e, const Expr &before) {
    DType t = as<Binary>(before)->a.dtype();
    if (!is_half(t)) return e;
    Expr result = binary(n.op, words_.widen(t, n.a), words_.widen(t, n.b), e.loc());
    return is_half(before.dtype()) ? words_.narrow(t, result) : result;
  }

  /// Computes a function of 16-bit floats in float32 and rounds it; fma needs the bits of float64.
  Expr call_of(const Call &n, const Expr &e, const Expr &before) {
    DType t = as<Call>(before)->args[0].dtype();
    bool exchanges = n.fn == Fn::to_bits || n.fn == Fn::from_bits;
    if (exchanges && (is_half(t) || is_half(before.dtype()))) return n.args[0];
    if (!is_half(t)) return e;
    if (n.fn == Fn::abs) return binary(BinOp::bit_and, n.args[0], word(0x7FFF, e.loc()), e.loc());
    DType wide = n.fn == Fn::fma ? DType::f64 : DType::f32;
    std::vector<Expr> args;
    for (const Expr &a : n.args) args.push_back(cast(wide, words_.widen(t, a), e.loc()));
    Expr result = call(n.fn, std::move(args), e.loc());
    return is_half(before.dtype()) ? words_.convert(wide, t, result, result) : result;
  }

  /// Returns the u16 counterpart of a symbol; other symbols stay as they are.
  Sym symbol(const Sym &s) {
    if (!is_half(s->dtype)) return s;
    Sym &out = symbols_[s.get()];
    if (!out) out = make_sym(s->kind, DType::u16, s->name, s->loc);
    return out;
  }

  /// Returns the buffer in words. Rebuilds buffers of other types, too, if an extent reads a rewritten
  /// scalar.
  Buf buffer(const Buf &b) {
    if (auto found = buffers_.find(b.get()); found != buffers_.end()) return found->second;
    std::vector<Expr> extents = b->extents, strides = b->strides;
    bool changed = is_half(b->dtype);
    for (Expr &e : extents) {
      Expr mapped = legal(e);
      changed |= mapped.p != e.p;
      e = mapped;
    }
    Buf out = b;
    if (changed) out = make_buf(is_half(b->dtype) ? symbol(b->sym) : b->sym, extents, b->space, strides);
    buffers_[b.get()] = out;
    return out;
  }

  HalfFloats words_;
  std::unordered_map<const SymNode *, Sym> symbols_;
  std::unordered_map<const BufNode *, Buf> buffers_;
};

/// Returns whether a parameter, a buffer or an expression is a 16-bit float. Functions without one stay as
/// they are.
bool has_half(const Func &f) {
  bool found = std::any_of(f.params.begin(), f.params.end(),
                           [](const Param &p) { return is_half(p.buf ? p.buf->dtype : p.sym->dtype); });
  walk(
      f.body, [&](const Alloc &n, const Stmt &) { found |= is_half(n.buf->dtype); },
      [&](const Const &, const Expr &e) { found |= is_half(e.dtype()); },
      [&](const Cast &, const Expr &e) { found |= is_half(e.dtype()); },
      [&](const Call &, const Expr &e) { found |= is_half(e.dtype()); });
  return found;
}

}  // namespace

Func legalise_types(const Func &f, const Target &target) {
  return has_half(f) ? Legaliser(target).run(f) : f;
}

}  // namespace kw
