// Finds the ranges of all expressions, names included, then rewrites expressions whose parts all have a
// range.
#include "transform/passes.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "ir/intrinsics.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// The least and the largest value of an expression, both included.
struct Range {
  int64_t lo, hi;
};

/// Returns whether an operator compares its operands, so that its result is a bool.
bool is_compare(BinOp op) { return op >= BinOp::lt && op <= BinOp::ne; }

/// Finds ranges and rewrites what fits into 16 bits. Every rewritten expression is `cast(i32, word)`, so the
/// code around it keeps its types; an outer rewrite takes the cast off again:
///     cast(i32, a) + cast(i32, b)   →   cast(i32, cast(i16, a) + cast(i16, b))      with a and b of u8
class Demotion {
 public:
  Func run(const Func &f) {
    // Definitions come before their uses, so the range of a name is known where a later value reads it.
    walk(f.body, [&](const Let &n, const Stmt &) {
      if (n.value.dtype() != DType::i32 || !range(n.value)) return;
      names_[n.sym.get()] = {make_sym(n.sym->kind, DType::i16, n.sym->name, n.sym->loc), *range(n.value)};
    });
    Func out = f;
    out.body = rewrite(
        f.body, [&](const Ref &n, const Expr &e) { return name(n, e); },
        [&](const Cast &n, const Expr &e) { return converted(n, e); },
        [&](const Unary &n, const Expr &e, const Expr &original) {
          return has_range(original) ? widened(unary(n.op, word(n.a), e.loc())) : e;
        },
        [&](const Binary &n, const Expr &e, const Expr &original) { return operation(n, e, original); },
        [&](const Select &n, const Expr &e, const Expr &original) {
          return has_range(original) ? widened(select(n.cond, word(n.yes), word(n.no), e.loc())) : e;
        },
        [&](const Call &n, const Expr &e, const Expr &original) {
          return has_range(original) ? widened(call(n.fn, {word(n.args[0])}, e.loc())) : e;
        },
        [&](const Let &n, const Stmt &s) {
          auto known = names_.find(n.sym.get());
          return known == names_.end() ? s : let(known->second.first, word(n.value), n.body, s.loc());
        });
    return out;
  }

 private:
  static constexpr int64_t least = INT16_MIN, most = INT16_MAX;

  static Expr widened(const Expr &word) { return cast(DType::i32, word, word.loc()); }

  /// Returns an expression that has a range in 16 bits.
  static Expr word(const Expr &e) {
    if (auto value = as_int(e)) return constant(from_int(DType::i16, *value), e.loc());
    const Expr &narrow = as<Cast>(e)->a;
    return narrow.dtype() == DType::i16 ? narrow : cast(DType::i16, narrow, e.loc());
  }

  bool has_range(const Expr &e) { return e.dtype() == DType::i32 && range(e); }

  /// Reads a demoted name by way of its 16-bit symbol.
  Expr name(const Ref &n, const Expr &e) const {
    auto known = names_.find(n.sym.get());
    return known == names_.end() ? e : widened(ref(known->second.first, e.loc()));
  }

  /// Removes the i32 between two conversions: `cast(u8, cast(i32, word))` becomes `cast(u8, word)`.
  Expr converted(const Cast &n, const Expr &e) const {
    const Cast *inner = as<Cast>(n.a);
    bool word = inner && n.a.dtype() == DType::i32 && inner->a.dtype() == DType::i16;
    return word && e.dtype() != DType::i32 ? cast(e.dtype(), inner->a, e.loc()) : e;
  }

  /// Demotes arithmetic with a range. A comparison is demoted if both operands have one, since its own result
  /// has no range.
  Expr operation(const Binary &n, const Expr &e, const Expr &original) {
    if (has_range(original)) return widened(binary(n.op, word(n.a), word(n.b), e.loc()));
    const Binary &before = *as<Binary>(original);
    bool narrow = is_compare(n.op) && has_range(before.a) && has_range(before.b);
    return narrow ? binary(n.op, word(n.a), word(n.b), e.loc()) : e;
  }

  /// Returns the values of an expression if every part of it fits into 16 bits.
  std::optional<Range> range(const Expr &e) {
    if (e.dtype() != DType::i32) return std::nullopt;
    // A failed answer is remembered too: shared nodes would otherwise be searched once for each use.
    auto found = ranges_.find(e.p.get());
    if (found != ranges_.end()) return found->second;
    std::optional<Range> out = computed_range(e);
    if (out && (out->lo < least || out->hi > most)) out.reset();
    ranges_[e.p.get()] = out;
    return out;
  }

  /// Returns the range from the ranges of the operands; nothing for an unknown kind of expression, such as a
  /// load of i32. Bounds cannot overflow: those of the operands fit into 16 bits.
  std::optional<Range> computed_range(const Expr &e) {
    if (as<Const>(e)) return Range{*as_int(e), *as_int(e)};
    if (const Binary *n = as<Binary>(e)) return range_of(*n);
    if (const Cast *n = as<Cast>(e)) return range_of(n->a.dtype());
    if (const Ref *n = as<Ref>(e)) {
      auto known = names_.find(n->sym.get());
      return known == names_.end() ? std::nullopt : std::optional(known->second.second);
    }
    if (const Unary *n = as<Unary>(e); n && n->op == UnOp::neg) {
      auto a = range(n->a);
      return a ? std::optional(Range{-a->hi, -a->lo}) : std::nullopt;
    }
    if (const Select *n = as<Select>(e)) {
      auto a = range(n->yes), b = range(n->no);
      return a && b ? std::optional(Range{std::min(a->lo, b->lo), std::max(a->hi, b->hi)}) : std::nullopt;
    }
    if (const Call *n = as<Call>(e); n && n->fn == Fn::abs) {
      auto a = range(n->args[0]);
      return a ? std::optional(Range{0, std::max(std::abs(a->lo), std::abs(a->hi))}) : std::nullopt;
    }
    return std::nullopt;
  }

  /// Returns the values of a type that fits into i16. u16 does not: half of its values are too large.
  static std::optional<Range> range_of(DType t) {
    switch (t) {
      case DType::b1: return Range{0, 1};
      case DType::i8: return Range{INT8_MIN, INT8_MAX};
      case DType::u8: return Range{0, UINT8_MAX};
      case DType::i16: return Range{least, most};
      default: return std::nullopt;
    }
  }

  /// Returns the range of a sum, difference, product, minimum or maximum. Other operations have none.
  std::optional<Range> range_of(const Binary &n) {
    auto a = range(n.a), b = range(n.b);
    if (!a || !b) return std::nullopt;
    switch (n.op) {
      case BinOp::add: return Range{a->lo + b->lo, a->hi + b->hi};
      case BinOp::sub: return Range{a->lo - b->hi, a->hi - b->lo};
      case BinOp::min: return Range{std::min(a->lo, b->lo), std::min(a->hi, b->hi)};
      case BinOp::max: return Range{std::max(a->lo, b->lo), std::max(a->hi, b->hi)};
      // the corners: a product is largest and least where both factors are at an end
      case BinOp::mul: {
        auto [lo, hi] = std::minmax({a->lo * b->lo, a->lo * b->hi, a->hi * b->lo, a->hi * b->hi});
        return Range{lo, hi};
      }
      default: return std::nullopt;
    }
  }

  std::unordered_map<const SymNode *, std::pair<Sym, Range>> names_;  ///< by name: its i16 symbol, its range
  std::unordered_map<const ExprNode *, std::optional<Range>> ranges_;
};

}  // namespace

Func demote_integers(const Func &f, const Target &) {
  // Ranges begin at bytes, so a function that loads none has little to demote and is left as it is.
  bool has_bytes = false;
  walk(f.body, [&](const Load &n, const Expr &) { has_bytes = has_bytes || bit_width(n.buf->dtype) <= 8; });
  return has_bytes ? Demotion().run(f) : f;
}

}  // namespace kw
