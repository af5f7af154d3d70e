// Names loops, and prints and parses directives.
#include "schedule/directives/directives.h"

#include <algorithm>
#include <map>

#include "analysis/affine.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/print.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the names in their order; the second of one name becomes "x#2".
std::vector<std::string> numbered(std::vector<std::string> names) {
  std::map<std::string, int> seen;
  for (std::string &name : names)
    if (int count = ++seen[name]; count > 1) name = cat(name, "#", count);
  return names;
}

/// Buffers and their names, at the same indices.
struct NamedBuffers {
  std::vector<Buf> bufs;
  std::vector<std::string> names;
};

/// Returns the buffers that a nest accesses, in source order.
NamedBuffers buffers_of(const Nest &nest) {
  NamedBuffers out;
  for (const NestStatement &s : nest.statements)
    for (const NestAccess &a : s.accesses)
      if (std::find(out.bufs.begin(), out.bufs.end(), a.buf) == out.bufs.end()) out.bufs.push_back(a.buf);
  for (const Buf &b : out.bufs) out.names.push_back(b->sym->name);
  out.names = numbered(std::move(out.names));
  return out;
}

/// Symbols and their names, at the same indices. The first name of a symbol counts.
struct NamedValues {
  std::vector<Sym> syms;
  std::vector<std::string> names;

  void add(const Sym &sym, std::string name) {
    if (std::find(syms.begin(), syms.end(), sym) != syms.end()) return;
    syms.push_back(sym);
    names.push_back(std::move(name));
  }
};

/// Returns the symbols that an expression at a loop can mention: the iterators around it, then all symbols of
/// the nest.
NamedValues values_at(const Nest &nest, uint32_t loop) {
  NamedValues out;
  std::vector<std::string> names = loop_names(nest);
  for (uint32_t l = nest.loops[loop].parent; l != NestLoop::no_loop; l = nest.loops[l].parent)
    if (nest.loops[l].loop) out.add(nest.loops[l].loop->iter, names[l]);
  for (const NestVariable &v : nest.variables)
    if (const Ref *r = as<Ref>(v.expr); r && v.kind == NestVariable::Kind::symbol)
      out.add(r->sym, r->sym->name);
  return out;
}

/// Prints a sum in the form that LineParser::sum reads, such as "2 * n - k + 1".
std::string affine_text(const Expr &e, const NamedValues &values) {
  auto form = affine_of(e);
  if (!form) return print(e);
  std::string out;
  auto add = [&](int64_t c, const std::string &what) {
    // The magnitude of -2^63 fits 64 bits only without a sign.
    std::string size = cat(c < 0 ? 0 - static_cast<uint64_t>(c) : static_cast<uint64_t>(c));
    out += out.empty() ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + ");
    out += what.empty() ? size : size == "1" ? what : cat(size, " * ", what);
  };
  for (const AffineTerm &t : form->terms) {
    const Ref *r = as<Ref>(t.atom);
    auto at = r ? std::find(values.syms.begin(), values.syms.end(), r->sym) : values.syms.end();
    add(t.coefficient, at == values.syms.end() ? print(t.atom)
                                               : values.names[static_cast<size_t>(at - values.syms.begin())]);
  }
  if (form->constant || out.empty()) add(form->constant, "");
  return out;
}

}  // namespace

/// Returns the verbs of the alternatives of a variant.
template <class... Ds>
static std::vector<std::string_view> names_of(const std::variant<Ds...> *) {
  return {Ds::name...};
}

const std::vector<std::string_view> &directive_verbs() {
  static const std::vector<std::string_view> verbs = names_of(static_cast<const AnyDirective *>(nullptr));
  return verbs;
}

std::string_view Directive::verb() const {
  return std::visit([](const auto &d) { return d.name; }, what);
}

std::vector<uint32_t> Directive::loops() const {
  return std::visit(Overload{[](const Reorder &d) { return d.loops; }, [](const Tile &d) { return d.loops; },
                             [](const Fuse &d) { return std::vector<uint32_t>{d.loop, d.next}; },
                             [](const auto &d) { return std::vector<uint32_t>{d.loop}; }},
                    what);
}

Buf Directive::buf() const {
  return std::visit(
      [](const auto &d) {
        if constexpr (requires { d.buf; })
          return d.buf;
        else
          return Buf{};
      },
      what);
}

std::vector<std::string> loop_names(const Nest &nest) {
  std::vector<std::string> names;
  // A while has a name too, since the number of a loop is its index in this list.
  for (const NestLoop &l : nest.loops) names.push_back(l.loop ? l.loop->iter->name : "while");
  return numbered(std::move(names));
}

namespace {

/// Prints the operands of a directive, without its verb.
/// LineParser::operands reads the same forms: "i block 64", "i by 4, j by 8", "t at i", "j last 1".
class OperandPrinter {
 public:
  explicit OperandPrinter(const Nest &nest) : nest_(nest), names_(loop_names(nest)) {}

  std::string operator()(const Parallel &d) const {
    return cat(names_[d.loop], given("block", d.block), given("chunk", d.chunk));
  }
  std::string operator()(const Vectorize &d) const { return cat(names_[d.loop], given("by", d.width)); }
  std::string operator()(const Grid &d) const {
    return cat(names_[d.loop], " by ", d.per_block, given("vector", d.vector), given("unroll", d.unroll));
  }
  std::string operator()(const Team &d) const {
    return cat(names_[d.loop], " by ", d.threads, given("vector", d.vector), given("unroll", d.unroll));
  }
  std::string operator()(const Specialize &d) const {
    return cat(names_[d.loop], given("below", d.below),
               d.from ? cat(" or ", names_[d.inner], " from ", d.from) : "");
  }
  std::string operator()(const StageColumns &d) const { return cat(names_[d.loop], given("by", d.width)); }
  std::string operator()(const ShortRows &d) const { return cat(names_[d.loop], " ", names_[d.inner]); }
  std::string operator()(const Linearize &d) const {
    return cat(names_[d.loop], given("below", d.below), " by ", d.per_block, given("vector", d.vector),
               given("unroll", d.unroll));
  }
  std::string operator()(const Split &d) const { return cat(names_[d.loop], " by ", d.size); }
  std::string operator()(const Reorder &d) const {
    std::vector<std::string> out;
    for (uint32_t l : d.loops) out.push_back(names_[l]);
    return join_text(out, " ");
  }
  std::string operator()(const Tile &d) const {
    std::vector<std::string> out;
    for (size_t i = 0; i < d.loops.size(); ++i) out.push_back(cat(names_[d.loops[i]], " by ", d.sizes.at(i)));
    return join_text(out, ", ");
  }
  std::string operator()(const UnrollAndJam &d) const { return cat(names_[d.loop], " by ", d.count); }
  std::string operator()(const SetTail &d) const { return cat(names_[d.loop], " ", tail_text(d.tail)); }
  template <class D>
    requires names_loop_only<D>
  std::string operator()(const D &d) const {
    return names_[d.loop];
  }
  std::string operator()(const AssumeRows &d) const { return cat(at_loop(d.buf, d.loop), " by ", d.length); }
  std::string operator()(const Unroll &d) const { return cat(names_[d.loop], given("by", d.count)); }
  std::string operator()(const Fuse &d) const { return cat(names_[d.loop], " ", names_[d.next]); }
  std::string operator()(const Distribute &d) const { return cat(names_[d.loop], " after ", d.after); }
  std::string operator()(const Peel &d) const {
    return cat(names_[d.loop], d.last ? " last " : " first ", d.count);
  }
  std::string operator()(const SplitIndexSet &d) const {
    return cat(names_[d.loop], " at ", affine_text(d.at, values_at(nest_, d.loop)));
  }
  template <class D>
    requires names_buffer_at_loop<D>
  std::string operator()(const D &d) const {
    return at_loop(d.buf, d.loop);
  }

 private:
  /// Prints a size with its word; nothing if the size is not given.
  static std::string given(std::string_view word, int64_t size) {
    return size ? cat(" ", word, " ", size) : std::string();
  }
  /// Prints a buffer, by its name among the buffers of the nest, and a loop: "t at i".
  std::string at_loop(const Buf &buf, uint32_t loop) const {
    NamedBuffers all = buffers_of(nest_);
    auto at = static_cast<size_t>(std::find(all.bufs.begin(), all.bufs.end(), buf) - all.bufs.begin());
    ensure(at < all.names.size(), "a directive names a buffer that its nest has not");
    return cat(all.names[at], " at ", names_[loop]);
  }

  const Nest &nest_;
  std::vector<std::string> names_;
};

}  // namespace

std::string print_directive(const Nest &nest, const Directive &d) {
  std::string out = cat(d.verb(), " ", std::visit(OperandPrinter(nest), d.what));
  return d.reason.empty() ? out : cat(out, "  # ", d.reason);
}

namespace {

bool is_name_part(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Parses one line by recursive descent, one word ahead. Loops i and j have the numbers 0 and 1 here:
///     tile i by 4, j by 8  # two rows   →   Tile{{0, 1}, {4, 8}} with the reason "two rows"
class LineParser {
 public:
  LineParser(const Func &f, const Nest &nest, const SourceMap &sources, Loc line)
      : f_(f), nest_(nest), text_(sources.text(line.source)), line_(line), at_(line.begin), end_(line.end) {
    // The reason is cut off first, since it is free text.
    cut_reason();
    next();
  }

  Directive run() {
    Loc at = loc_;
    std::string_view verb = word_;
    const std::vector<std::string_view> &verbs = directive_verbs();
    if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end())
      fail(at, cat("`", verb, "` is no directive"), suggestion({verbs.begin(), verbs.end()}));
    next();
    Directive out;
    read(verb, out.what);
    out.reason = reason_;
    if (!word_.empty()) fail(loc_, cat("the directive ends before `", word_, "`"), "");
    return out;
  }

 private:
  /// Reads the operands of the alternative with this verb.
  template <class... Ds>
  void read(std::string_view verb, std::variant<Ds...> &out) {
    auto one = [&](auto d) {
      if (d.name != verb) return;
      operands(d);
      out = std::move(d);
    };
    // No two directives have the same verb, so that one alternative at most is read.
    (one(Ds{}), ...);
  }

  void operands(Parallel &d) {
    d.loop = loop();
    if (word_ == "block") d.block = size("block");
    if (word_ == "chunk") d.chunk = size("chunk");
  }
  void operands(Vectorize &d) { d.loop = loop(), d.width = size("by"); }
  template <class D>
    requires std::is_same_v<D, Grid> || std::is_same_v<D, Linearize>
  void operands(D &d) {
    d.loop = loop();
    if constexpr (std::is_same_v<D, Linearize>)
      if (word_ == "below") d.below = size("below");
    d.per_block = size("by");
    if (word_ == "vector") d.vector = size("vector");
    if (word_ == "unroll") d.unroll = size("unroll");
  }
  void operands(Team &d) {
    d.loop = loop(), d.threads = size("by");
    if (word_ == "vector") d.vector = size("vector");
    if (word_ == "unroll") d.unroll = size("unroll");
  }
  void operands(Specialize &d) {
    d.loop = loop();
    if (word_ != "or") d.below = size("below");
    if (word_ != "or") return;
    next();
    d.inner = loop(), d.from = size("from");
  }
  void operands(Split &d) { d.loop = loop(), d.size = size("by"); }
  void operands(Reorder &d) {
    do d.loops.push_back(loop());
    while (!word_.empty());
  }
  void operands(Tile &d) {
    do d.loops.push_back(loop()), d.sizes.push_back(size("by"));
    while (accept(","));
  }
  void operands(UnrollAndJam &d) { d.loop = loop(), d.count = size("by"); }
  void operands(Unroll &d) {
    d.loop = loop();
    if (word_ == "by") d.count = size("by");
  }
  void operands(Fuse &d) { d.loop = loop(), d.next = loop(); }
  void operands(StageColumns &d) {
    d.loop = loop();
    if (word_ == "by") d.width = size("by");
  }
  void operands(ShortRows &d) { d.loop = loop(), d.inner = loop(); }
  void operands(Distribute &d) { d.loop = loop(), d.after = size("after"); }
  void operands(Peel &d) {
    d.loop = loop();
    d.last = word_ == "last";
    d.count = size(d.last ? "last" : "first");
  }
  void operands(SplitIndexSet &d) {
    d.loop = loop();
    expect("at");
    values_ = values_at(nest_, d.loop);
    add_parameters();
    d.at = sum();
  }
  template <class D>
    requires names_buffer_at_loop<D>
  void operands(D &d) {
    d.buf = buffer(), d.loop = loop();
  }
  void operands(SetTail &d) {
    d.loop = loop();
    std::vector<std::string> words;
    for (Tail t : {Tail::scalar, Tail::masked, Tail::overlapped, Tail::overlapped_or_masked})
      words.emplace_back(tail_text(t));
    d.tail = static_cast<Tail>(choose(words, "tail"));
  }
  template <class D>
    requires names_loop_only<D>
  void operands(D &d) {
    d.loop = loop();
  }
  void operands(AssumeRows &d) { d.buf = buffer(), d.loop = loop(), d.length = size("by"); }

  Buf buffer() {
    NamedBuffers all = buffers_of(nest_);
    Buf out = all.bufs[choose(all.names, "buffer")];
    expect("at");
    return out;
  }

  // ---- words
  /// Reads the next word: a name with its number, digits, or one other character; "" is the end.
  void next() {
    while (at_ < end_ && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    uint32_t begin = at_;
    auto part = [&](uint32_t i) { return i < end_ && is_name_part(text_[i]); };
    while (part(at_)) ++at_;
    if (at_ > begin && at_ < end_ && text_[at_] == '#' && part(at_ + 1))
      for (++at_; part(at_);) ++at_;
    if (at_ == begin && at_ < end_) ++at_;
    word_ = text_.substr(begin, at_ - begin);
    loc_ = {line_.source, begin, at_};
    if (word_.empty() && begin > line_.begin) loc_ = {line_.source, begin - 1, begin};
  }

  /// Cuts off the reason, which follows " #".
  void cut_reason() {
    // The number of a name, as in "i#2", follows a letter and is no reason.
    for (uint32_t i = at_; i < end_; ++i)
      if (text_[i] == '#' && (i == at_ || text_[i - 1] == ' ' || text_[i - 1] == '\t')) {
        reason_ = trim(text_.substr(i + 1, end_ - i - 1));
        end_ = i;
      }
    while (end_ > at_ && (text_[end_ - 1] == ' ' || text_[end_ - 1] == '\t')) --end_;
  }

  /// Skips the current word if it is `word`; returns whether it was.
  bool accept(std::string_view word) {
    bool found = word_ == word;
    if (found) next();
    return found;
  }
  void expect(std::string_view word) {
    if (!accept(word)) fail(loc_, cat("`", word, "` is expected ", here()), "");
  }
  std::string here() const { return word_.empty() ? "at the end" : cat("in place of `", word_, "`"); }

  uint32_t loop() { return static_cast<uint32_t>(choose(loop_names(nest_), "loop")); }

  /// Reads a name and returns its index in `names`. Throws CompileError with the known names for any other.
  size_t choose(const std::vector<std::string> &names, std::string_view what) {
    auto found = std::find(names.begin(), names.end(), word_);
    if (word_.empty()) fail(loc_, cat("a ", what, " is expected at the end"), listed(names));
    if (found == names.end())
      fail(loc_, cat("no ", what, " of this nest is named `", word_, "`"), listed(names));
    next();
    return static_cast<size_t>(found - names.begin());
  }

  /// Reads `word` and the number after it.
  int64_t size(std::string_view word) {
    expect(word);
    return number();
  }
  int64_t number() {
    int64_t value = 0;
    bool digits = !word_.empty();
    for (char c : word_) {
      digits = digits && c >= '0' && c <= '9' && value < INT64_MAX / 100;  // two digits more still fit
      if (digits) value = value * 10 + (c - '0');
    }
    if (!digits) fail(loc_, cat("a number is expected ", here()), "");
    next();
    return value;
  }

  // ---- sums of products of a number and a name
  // sum: ["-"] product {("+" | "-") product}; product: value {"*" value}; value: number | name.
  Expr sum() {
    bool negative = accept("-");
    Expr out = product();
    if (negative) out = sub(const_int(0), out);
    for (;;) {
      if (accept("+"))
        out = add(out, product());
      else if (accept("-"))
        out = sub(out, product());
      else
        return out;
    }
  }
  Expr product() {
    Expr out = value();
    while (accept("*")) out = mul(out, value());
    return out;
  }
  Expr value() {
    if (!word_.empty() && word_[0] >= '0' && word_[0] <= '9') return const_int(number());
    return kw::ref(values_.syms[choose(values_.names, "value")]);
  }
  /// Adds the extents and integer arguments that the nest does not mention.
  void add_parameters() {
    for (const Sym &s : f_.extents)
      if (s->kind == SymKind::extent) values_.add(s, s->name);
    for (const Param &p : f_.params)
      if (p.sym && p.sym->dtype == DType::i64) values_.add(p.sym, p.sym->name);
  }

  // ---- errors
  /// Returns a help text: the name that is most like the current word, else all names.
  std::string suggestion(const std::vector<std::string> &names) const {
    std::string near = closest(word_, names);
    return near.empty() ? listed(names) : cat("did you mean `", near, "`?");
  }
  static std::string listed(const std::vector<std::string> &names) {
    std::vector<std::string> quoted;
    for (const std::string &name : names)
      // No directive applies to a while.
      if (name.substr(0, 5) != "while") quoted.push_back(cat("`", name, "`"));
    return quoted.empty() ? std::string() : cat("there are ", join_text(quoted, ", "));
  }
  [[noreturn]] static void fail(Loc at, std::string message, std::string help) {
    Diagnostic d{Code::E401, at, std::move(message), {}, {}};
    if (!help.empty()) d.help.push_back(std::move(help));
    throw CompileError(std::move(d));
  }

  const Func &f_;
  const Nest &nest_;
  std::string_view text_;
  Loc line_;
  uint32_t at_, end_;
  std::string_view word_;
  Loc loc_;
  std::string reason_;
  NamedValues values_;
};

}  // namespace

Directive parse_directive(const Func &f, const Nest &nest, const SourceMap &sources, Loc line) {
  return LineParser(f, nest, sources, line).run();
}

std::vector<Loc> directive_lines(const SourceMap &sources, uint32_t source) {
  std::string_view text = sources.text(source);
  std::vector<Loc> out;
  for (uint32_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = static_cast<uint32_t>(std::min(text.find('\n', begin), text.size()));
    uint32_t first = begin;
    while (first < end && (text[first] == ' ' || text[first] == '\t')) ++first;
    if (first < end && text[first] != '#') out.push_back({source, first, end});
  }
  return out;
}

}  // namespace kw
