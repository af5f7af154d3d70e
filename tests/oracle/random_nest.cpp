// Generation, printing and execution of random nests.
#include "tests/oracle/random_nest.h"

#include <algorithm>

#include "support/text.h"

namespace kw::oracle {

namespace {

int64_t floor_divide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

std::string iterator(int loop) { return cat("i", loop); }

/// "2 * i0 - i1 + n - 3".
std::string sum_text(const Index &x, const std::function<std::string(int)> &name) {
  std::string out;
  auto add = [&](int64_t c, const std::string &what) {
    if (c == 0) return;
    out += out.empty() ? (c < 0 ? "0 - " : "") : (c < 0 ? " - " : " + ");
    int64_t size = c < 0 ? -c : c;
    out += size == 1 ? what : cat(size, " * ", what);
  };
  for (auto [loop, c] : x.terms) add(c, name(loop));
  add(x.n, "n"), add(x.m, "m"), add(x.p, "p");
  if (x.constant || out.empty()) {
    int64_t size = x.constant < 0 ? -x.constant : x.constant;
    out += out.empty() ? (x.constant < 0 ? "0 - " : "") : (x.constant < 0 ? " - " : " + ");
    out += cat(size);
  }
  return out;
}

std::string array_name(int array) { return std::string(1, "abtsg"[array]); }

}  // namespace

int64_t element_of_idx(int64_t at) { return ((at * 7 + 3) % 5 + 5) % 5; }

int64_t Index::value(const Env &env) const {
  if (from_cell) return env.cell;
  int64_t v = n * env.n + m * env.m + p * env.p + constant;
  for (auto [loop, c] : terms) v += c * env.iters[static_cast<size_t>(loop)];
  if (divide) v = floor_divide(v, divide);
  if (modulo) v -= modulo * floor_divide(v, modulo);
  return gather ? element_of_idx(v) : v;
}

std::string Index::text() const { return local >= 0 ? cat("u", local) : definition(); }

std::string Index::definition() const {
  if (from_cell) return "g[()]";
  std::string out = sum_text(*this, iterator);
  if (divide) out = cat("(", out, ") // ", divide);
  if (modulo) out = cat("(", out, ") % ", modulo);
  return gather ? cat("idx[", out, "]") : out;
}

std::string Index::isl_text(const std::string &suffix) const {
  std::string out = sum_text(*this, [&](int loop) { return iterator(loop) + suffix; });
  if (divide) out = cat("floor((", out, ")/", divide, ")");
  if (modulo) out = cat("((", out, ") mod ", modulo, ")");
  return cat("(", out, ")");
}

bool Condition::holds(const Env &env) const {
  int64_t x = a.value(env), y = b.value(env);
  return (op == "<" ? x < y : op == "<=" ? x <= y : x == y) != negated;
}

std::string Condition::text() const {
  std::string out = cat("(", a.text(), ") ", op, " (", b.text(), ")");
  return negated ? cat("not (", out, ")") : out;
}

std::string Condition::isl_text(const std::string &suffix) const {
  std::string out = cat(a.isl_text(suffix), op == "==" ? "=" : op, b.isl_text(suffix));
  return negated ? cat("not (", out, ")") : out;
}

std::string Access::text() const {
  std::vector<std::string> parts;
  for (const Index &x : index) parts.push_back(x.text());
  return cat(array_name(array), "[", parts.empty() ? "()" : join_text(parts, ", "), "]");
}

namespace {

/// Chooses; a nest grows from its root to its stores.
class Maker {
 public:
  Maker(Random &random, bool tame) : random_(random), tame_(tame) {}

  Program run() {
    depth_ = number(1, 3);
    nest_.root = loop();
    nest_.gathers = gathers_;
    return std::move(nest_);
  }

 private:
  int number(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int n) { return number(1, n) == 1; }

  Index constant(int64_t value) {
    Index x;
    x.constant = value;
    return x;
  }

  Index bound(bool upper) {
    Index x = constant(number(0, 1));
    bool triangular = !open_.empty() && one_in(4);
    if (triangular)
      x.terms.emplace_back(open_[static_cast<size_t>(number(0, static_cast<int>(open_.size()) - 1))], 1);
    else if (upper)
      (one_in(2) ? x.n : x.m) = 1, x.constant = -number(0, 2) / 2;
    if (upper && one_in(20)) x = Index{}, x.p = 1;
    return x;
  }

  Item loop() {
    Item out;
    out.kind = Item::Kind::loop;
    out.number = nest_.loops++;
    out.lo = bound(false), out.hi = bound(true);
    if (one_in(8)) out.second = bound(true);
    if (one_in(5)) out.step = number(2, 3);
    if (one_in(6)) {
      out.step = -out.step;
      out.second.reset();
      std::swap(out.lo, out.hi);
      --out.lo.constant, --out.hi.constant;
    }
    open_.push_back(out.number);
    far_.emplace_back();
    if (!has_t_ && one_in(6)) out.makes_t = has_t_ = true, t_open_ = true;
    bool deeper = nest_.loops < depth_;
    if (!deeper || one_in(3)) statements(out.body);
    if (deeper) out.body.push_back(loop());
    if (!deeper ? one_in(2) : one_in(4)) statements(out.body);
    open_.pop_back();
    out.locals = std::move(far_.back());
    far_.pop_back();
    if (out.makes_t) t_open_ = false;
    return out;
  }

  /// A store, or a branch around stores.
  void statements(std::vector<Item> &out) {
    if (!one_in(4)) return store(out);
    Item branch;
    branch.kind = Item::Kind::branch;
    branch.condition = condition();
    branch.locals = std::move(near_);
    near_.clear();
    store(branch.body);
    if (one_in(3)) store(branch.otherwise);
    out.push_back(std::move(branch));
  }

  Condition condition() {
    Condition c{index(false), one_in(2) ? index(false) : constant(number(0, 3)), "<", one_in(4)};
    c.op = one_in(3) ? "==" : one_in(2) ? "<=" : "<";
    if (one_in(12)) c.a.local = -1, c.a.p = 1;
    return c;
  }

  Index index(bool may_gather) {
    Index x;
    int terms = one_in(6) ? 0 : one_in(4) ? 2 : 1;
    for (int k = 0; k < terms; ++k) {
      int loop = open_[static_cast<size_t>(number(0, static_cast<int>(open_.size()) - 1))];
      int64_t c = one_in(tame_ ? 9 : 5) ? number(-2, 3) : 1;
      bool known = false;
      for (auto &[other, old] : x.terms)
        if (other == loop) known = true;
      if (!known && c) x.terms.emplace_back(loop, c);
    }
    x.constant = one_in(2) ? 0 : number(tame_ ? -1 : -2, tame_ ? 1 : 2);
    if (one_in(12)) x.n = number(0, 1) * 2 - 1;
    if (one_in(20)) x.m = number(0, 1) * 2 - 1;
    if (one_in(16)) x.p = number(0, 1) * 2 - 1;
    if (one_in(10)) x.divide = number(2, 3);
    if (one_in(10)) x.modulo = number(2, 4);
    if (may_gather && one_in(14)) x.gather = gathers_ = true;
    if (one_in(5)) name(x);
    return x;
  }

  /// Lets a definition hold the value, just before its use or as far out as its iterators are known.
  void name(Index &x) {
    x.local = locals_++;
    if (one_in(2)) return near_.push_back(x);
    size_t depth = 0;
    for (auto [loop, c] : x.terms)
      while (depth + 1 < open_.size() &&
             std::count(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(depth) + 1, loop) == 0)
        ++depth;
    far_[depth].push_back(x);
  }

  Access access(bool is_write) {
    Access a;
    a.is_write = is_write;
    a.array = one_in(9) ? 3 : t_open_ && one_in(3) ? 2 : one_in(3) ? 1 : 0;
    for (int d = 0; d < (a.array == 0 ? 2 : a.array == 3 ? 0 : 1); ++d) a.index.push_back(index(true));
    return a;
  }

  /// g, which holds a subscript: set before its use, or moved on now and then.
  Item move() {
    Item out;
    out.number = nest_.stores++;
    out.accumulates = one_in(3);
    out.moves = out.accumulates ? constant(1) : index(false);
    Access cell;
    cell.array = 4;
    if (out.accumulates) out.accesses.push_back(cell);
    cell.is_write = true;
    out.accesses.push_back(cell);
    out.locals = std::move(near_);
    near_.clear();
    return out;
  }

  /// Takes one subscript of an access from g.
  void read_cell(Access &a, std::vector<Access> &before) {
    gathers_ = true;
    Index &x = a.index[random_() % a.index.size()];
    x = Index{};
    x.from_cell = true;
    Access cell;
    cell.array = 4, cell.in_subscript = true, cell.condition = a.is_write ? std::nullopt : a.condition;
    before.push_back(cell);
  }

  void store(std::vector<Item> &out) {
    bool by_cell = one_in(10), moves_last = by_cell && one_in(3);
    if (by_cell && !moves_last) out.push_back(move());
    Item item;
    item.number = nest_.stores++;
    Access write = access(true);
    item.accumulates = one_in(4);
    bool writes_there = by_cell && !write.index.empty() && one_in(2);
    if (writes_there) read_cell(write, item.accesses);
    if (item.accumulates) {
      if (writes_there) item.accesses.push_back(item.accesses.back());
      Access read = write;
      read.is_write = false;
      item.summed = static_cast<int>(item.accesses.size());
      item.accesses.push_back(read);
    }
    for (int k = number(item.accumulates ? 0 : 1, 2); k > 0; --k) {
      Access read = access(false);
      if (one_in(6)) read.condition = condition();
      if (by_cell && !writes_there && !read.index.empty()) read_cell(read, item.accesses);
      item.accesses.push_back(read);
    }
    item.accesses.push_back(write);
    item.locals = std::move(near_);
    near_.clear();
    out.push_back(std::move(item));
    if (moves_last) out.push_back(move());
  }

  Random &random_;
  bool tame_;
  int depth_ = 1;
  Program nest_;
  std::vector<int> open_;
  std::vector<Index> near_;              ///< definitions for the statement in work
  std::vector<std::vector<Index>> far_;  ///< for the body of each open loop
  int locals_ = 0;
  bool has_t_ = false, t_open_ = false, gathers_ = false;
};

void print_items(const std::vector<Item> &items, const std::string &indent,
                 const std::vector<std::string> &hints, std::string &out);

std::string value_text(const Item &store) {
  if (store.moves) return store.accumulates ? cat("g[()] + ", store.moves->text()) : store.moves->text();
  std::string first, term;
  for (const Access &a : store.accesses) {
    if (a.is_write || a.in_subscript) continue;
    std::string read = a.condition ? cat("(", a.text(), " if ", a.condition->text(), " else 1)") : a.text();
    if (store.accumulates && first.empty())
      first = read;
    else
      term = term.empty() ? read : cat("(", term, ") * 3 + ", read);
  }
  if (term.empty()) term = "7";
  return store.accumulates ? cat(first, " + (", term, ")") : cat("5 - (", term, ")");
}

void print_locals(const Item &item, const std::string &indent, std::string &out) {
  for (const Index &x : item.locals) out += cat(indent, x.text(), ": i64 = ", x.definition(), "\n");
}

void print_item(const Item &item, const std::string &indent, const std::vector<std::string> &hints,
                std::string &out) {
  if (item.kind != Item::Kind::loop) print_locals(item, indent, out);
  if (item.kind == Item::Kind::store) {
    out += cat(indent, item.accesses.back().text(), " = ", value_text(item), "\n");
    return;
  }
  if (item.kind == Item::Kind::branch) {
    out += cat(indent, "if ", item.condition.text(), ":\n");
    print_items(item.body, indent + "  ", hints, out);
    if (!item.otherwise.empty()) out += indent + "else:\n";
    print_items(item.otherwise, indent + "  ", hints, out);
    return;
  }
  std::string hi = item.second ? cat("min(", item.hi.text(), ", ", item.second->text(), ")") : item.hi.text();
  size_t number = static_cast<size_t>(item.number);
  std::string hint =
      number < hints.size() && !hints[number].empty() ? cat(", hint='", hints[number], "'") : "";
  out += cat(indent, "for ", iterator(item.number), " in serial(", item.lo.text(), ", ", hi, ", ", item.step,
             hint, "):\n");
  if (item.makes_t) out += indent + "  t = alloc(i64, (4,), 'heap')\n";
  print_locals(item, indent + "  ", out);
  print_items(item.body, indent + "  ", hints, out);
}

void print_items(const std::vector<Item> &items, const std::string &indent,
                 const std::vector<std::string> &hints, std::string &out) {
  for (const Item &item : items) print_item(item, indent, hints, out);
}

/// Runs a nest in its own order and writes down every touch.
class Runner {
 public:
  Runner(const Program &nest, Env env) : env_(std::move(env)) {
    env_.iters.resize(static_cast<size_t>(nest.loops));
  }

  std::vector<Touch> run(const Item &root) {
    item(root);
    return std::move(touches_);
  }

 private:
  void items(const std::vector<Item> &list) {
    for (const Item &x : list) item(x);
  }

  void item(const Item &x) {
    if (x.kind == Item::Kind::branch) return items(x.condition.holds(env_) ? x.body : x.otherwise);
    if (x.kind == Item::Kind::loop) return loop(x);
    std::vector<int64_t> iteration;
    for (int l : loops_) iteration.push_back(env_.iters[static_cast<size_t>(l)]);
    for (size_t k = 0; k < x.accesses.size(); ++k) {
      const Access &a = x.accesses[k];
      if (a.condition && !a.condition->holds(env_)) continue;
      std::vector<int64_t> place = {a.array, a.array == 2 ? made_ : 0};
      for (const Index &i : a.index) place.push_back(i.value(env_));
      touches_.push_back({x.number, static_cast<int>(k), loops_, iteration, &a, std::move(place)});
    }
    if (x.moves) env_.cell = x.moves->value(env_) + (x.accumulates ? env_.cell : 0);
  }

  void loop(const Item &x) {
    int64_t lo = x.lo.value(env_), hi = x.hi.value(env_);
    if (x.second) hi = std::min(hi, x.second->value(env_));
    loops_.push_back(x.number);
    for (int64_t i = lo; x.step > 0 ? i < hi : i > hi; i += x.step) {
      env_.iters[static_cast<size_t>(x.number)] = i;
      if (x.makes_t) ++made_;
      items(x.body);
    }
    loops_.pop_back();
  }

  Env env_;
  std::vector<int> loops_;
  std::vector<Touch> touches_;
  int64_t made_ = 0;
};

void collect(const Item &item, StoreSite &around, std::vector<StoreSite> &out) {
  if (item.kind == Item::Kind::store) {
    out.push_back(around);
    out.back().item = &item;
    return;
  }
  StoreSite inside = around;
  if (item.kind == Item::Kind::loop) {
    inside.loops.push_back(item.number);
    inside.loop_items.push_back(&item);
    for (const Item &x : item.body) collect(x, inside, out);
    return;
  }
  inside.conditions.push_back(&item);
  for (bool side : {true, false}) {
    inside.sides.push_back(side);
    for (const Item &x : side ? item.body : item.otherwise) collect(x, inside, out);
    inside.sides.pop_back();
  }
}

}  // namespace

std::string Program::text(const std::vector<std::string> &hints) const {
  std::string out =
      "def f(a: inout(i64, (n, m)), b: inout(i64, (n,)), idx: buf(i64, (k,)), p: weak(i64)):\n"
      "  fp('strict')\n  dims(n, m, k)\n  s = alloc(i64, (), 'registers')\n  s[()] = 0\n"
      "  g = alloc(i64, (), 'registers')\n  g[()] = 0\n";
  print_item(root, "  ", hints, out);
  return out + "  b[0] = s[()]\n  return a, b\n";
}

Program random_program(Random &random, bool tame) { return Maker(random, tame).run(); }

std::vector<Touch> run(const Program &nest, int64_t n, int64_t m, int64_t p) {
  return Runner(nest, {n, m, p, {}, 0}).run(nest.root);
}

std::vector<StoreSite> stores_of(const Program &nest) {
  std::vector<StoreSite> out;
  StoreSite around{};
  collect(nest.root, around, out);
  return out;
}

}  // namespace kw::oracle
