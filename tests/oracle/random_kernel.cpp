// The choices of a random kernel, from its root to its stores.
#include "tests/oracle/random_kernel.h"

#include <algorithm>

#include "support/text.h"

namespace kw::oracle {

namespace {

class KernelMaker {
 public:
  explicit KernelMaker(Random &random) : random_(random) {}

  RandomKernel run() {
    most_depth_ = number(1, 3);
    plain_ = one_in(2);
    text_ =
        "def f(a: inout(i64, (n, m), strides=(sa, 1)), b: inout(i64, (n,)), c: inout(f64, (n,)), "
        "idx: buf(i64, (5,)), p: weak(i64), q: weak(i64)):\n"
        "  fp('strict')\n  dims(n, m, sa)\n  site('E303', b, 0)\n  site('E303', a, 1)\n"
        "  s = alloc(i64, (), 'registers')\n  s[()] = 0\n  r = alloc(f64, (), 'registers')\n  r[()] = 0.0\n"
        "  v = alloc(i64, (), 'registers')\n  v[()] = 1\n  z = alloc(i64, (), 'registers')\n  z[()] = 0\n";
    size_t head = text_.size();
    for (int k = one_in(2) ? 2 : 1; k > 0; --k) loop(1);
    if (has_temporary_) text_.insert(head, "  w = alloc(i64, (4,), 'heap', fill='zero')\n");
    text_ += "  b[0] = b[0] + s[()]\n  c[0] = c[0] + r[()]\n  return a, b, c\n";
    return {text_, depth_};
  }

 private:
  int number(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int n) { return number(1, n) == 1; }
  void line(const std::string &s) { text_ += std::string(2 * (open_.size() + extra_ + 1), ' ') + s + "\n"; }
  const std::string &iterator() {
    return open_[static_cast<size_t>(number(0, static_cast<int>(open_.size()) - 1))];
  }
  std::string size() {
    static const char *names[] = {"n", "m", "n", "m", "p", "q"};
    return names[number(0, 5)];
  }

  std::string upper() {
    if (!open_.empty() && one_in(4)) return cat(iterator(), one_in(2) ? "" : " + 1");
    if (!open_.empty() && one_in(5)) return cat(size(), " - ", iterator());
    if (one_in(6)) return cat(number(0, 9));
    std::string out = size();
    if (one_in(4)) out = cat(out, " - ", number(1, 2));
    if (one_in(10)) out = cat("min(", out, ", ", size(), ")");
    if (one_in(40)) {  // named, since the loop may write it
      out = cat("e", count_++);
      line(cat(out, ": i64 = s[()] % 5"));
    }
    return out;
  }
  std::string lower() {
    if (!open_.empty() && one_in(5)) return cat(iterator(), one_in(2) ? "" : " + 1");
    if (one_in(12)) return "p";
    return one_in(4) ? cat(number(-1, 3)) : "0";
  }

  void loop(int depth) {
    depth_ = std::max(depth_, depth);
    std::string name = one_in(5) && !closed_.empty() ? closed_[0] : cat("i", count_);
    for (const std::string &other : open_)
      if (other == name) name = cat("i", count_);
    ++count_;
    std::string lo = lower(), hi = upper();
    int step = one_in(6) ? number(2, 3) : 1;
    if (one_in(7)) std::swap(lo, hi), step = -step, lo += " - 1", hi += " - 1";
    std::string &range = ranges_[depth];
    if (range.empty() || one_in(2)) range = cat(lo, ", ", hi, ", ", step);
    ranges_[depth + 1].clear();
    line(cat("for ", name, " in serial(", range, "):"));
    open_.push_back(name);
    body(depth);
    open_.pop_back();
    closed_.push_back(name);
  }

  void body(int depth) {
    bool perfect = depth < most_depth_ && one_in(2);
    if (perfect) return loop(depth + 1);
    size_t lets = lets_.size(), tables = tables_;
    for (int k = number(1, 3); k > 0; --k) {
      int kind = depth < most_depth_ && k > 1 ? number(0, 5) : number(0, 2);
      if (kind >= 3)
        loop(depth + 1);
      else
        statement();
    }
    if (text_.back() != '\n' || ends_in_definition_) store();
    lets_.resize(lets), tables_ = tables;
  }

  void statement() {
    int kind = plain_ ? number(4, 15) : number(0, 15);
    ends_in_definition_ = kind == 0 || kind == 2;
    if (kind == 0) {
      std::string name = cat("u", count_++);
      line(cat(name, ": i64 = ", one_in(2) ? index() : value()));
      lets_.push_back(name);
    } else if (kind == 1) {
      static const char *jumps[] = {"break", "continue", "continue"};
      line(cat("if ", condition(), ":"));
      ++extra_, line(jumps[number(0, 2)]), --extra_;
      ends_in_definition_ = true;
    } else if (kind == 2) {
      line(cat("t", tables_++,
               one_in(2) ? " = alloc(i64, (4,), 'heap', fill='zero')" : " = alloc(i64, (4,), 'heap')"));
    } else if (kind == 3 && one_in(2)) {
      line(cat("check(", index(), " < ", number(4, 40), ", site=", number(0, 1), ")"));
      ends_in_definition_ = true;
    } else if (kind == 3) {
      line("z[()] = 0");
      line(cat("while z[()] < ", number(1, 3), ":"));
      ++extra_, line("z[()] = z[()] + 1"), store(), --extra_;
    } else if (kind <= 5) {
      line(cat("if ", condition(), ":"));
      ++extra_, store();
      if (one_in(3)) store();
      --extra_;
      if (one_in(3)) line("else:"), ++extra_, store(), --extra_;
    } else if (kind == 15 && !has_temporary_) {
      temporary();
    } else {
      store();
    }
  }

  /// An array of which an iteration mostly uses the one element that it writes first.
  void temporary() {
    has_temporary_ = true;
    std::string at = cat("w[(", index(), ") % 4]");
    line(cat(at, " = ", value()));
    for (int k = number(1, 2); k > 0; --k) {
      std::string read = one_in(6) ? cat("w[(", index(), ") % 4]") : at;
      line(cat(one_in(5) ? read : element(), " = ", read, " * 2 - ", element()));
    }
    ends_in_definition_ = false;
  }

  std::string condition() {
    std::string out = cat(index(), one_in(4) ? " == " : " < ", one_in(2) ? index() : cat(number(0, 5)));
    if (one_in(8)) out = cat(value(), " < 3");
    return one_in(6) ? cat("(", out, ") and (", index(), " < ", number(1, 9), ")") : out;
  }

  /// Within reach(): one iterator twice, or two of them, and little more.
  std::string index() {
    std::string out;
    if (!one_in(8)) out = iterator();
    if (!out.empty() && one_in(6))
      out = cat("2 * ", out);
    else if (!out.empty() && one_in(6))
      out = cat(out, one_in(2) ? " + " : " - ", iterator());
    if (out.empty()) out = cat(number(0, 2));
    if (one_in(3)) out = cat(out, one_in(2) ? " + " : " - ", number(1, 2));
    if (one_in(16)) out = cat("(", out, ") // ", number(2, 3));
    if (one_in(16)) out = cat("(", out, ") % ", number(2, 4));
    if (!plain_ && one_in(20)) out = cat("idx[(", out, ") % 5]");
    if (!plain_ && !lets_.empty() && one_in(6)) out = cat("(", lets_.back(), " % 7)");
    if (!plain_ && one_in(14)) out = one_in(2) ? "(s[()] % 5)" : "(v[()] % 5)";
    if (!plain_ && one_in(24)) out = cat("(b[", out, "] % 6)");
    return out;
  }

  std::string element() {
    if (tables_ > 0 && one_in(3))
      return cat("t", number(0, static_cast<int>(tables_) - 1), "[(", index(), ") % 4]");
    if (one_in(8)) return one_in(8) ? "v[()]" : "s[()]";
    return one_in(2) ? cat("b[", index(), "]") : cat("a[", index(), ", ", index(), "]");
  }
  std::string value() {
    std::string out = element();
    if (one_in(3)) out = cat(out, " * 3 + ", element());
    if (one_in(6)) out = cat("((", out, ") if ", index(), " < 3 else 2)");
    if (!lets_.empty() && one_in(3)) out = cat(out, " + ", lets_.back());
    return out;
  }

  /// An element near that of the innermost iteration.
  std::string neighbour() {
    auto near = [&](size_t inwards) {
      const std::string &name = open_[open_.size() - 1 - inwards];
      int distance = number(-1, 1);
      return distance ? cat(name, distance < 0 ? " - 1" : " + 1") : name;
    };
    return open_.size() > 1 ? cat("a[", near(1), ", ", near(0), "]") : cat("b[", near(0), "]");
  }

  void store() {
    ends_in_definition_ = false;
    if (one_in(3)) return line(cat(neighbour(), " = 3 * ", neighbour(), " - ", neighbour()));
    std::string target = element();
    int kind = number(0, 9);
    if (kind <= 1) {
      static const char *ops[] = {" + ", " + ", " - ", " * "};
      line(cat(target, " = ", target, ops[number(0, 3)], "(", value(), ")"));
    } else if (kind == 2) {
      line(cat(target, " = ", one_in(2) ? "min(" : "max(", target, ", ", value(), ")"));
    } else if (kind <= 4) {
      bool lanes = !plain_ && one_in(6);  // into one element: a loop chooses that of c
      std::string sum = lanes || one_in(2) ? "r[()]" : cat("c[", index(), "]");
      std::string total = cat(sum, " + c[", index(), "] * 1.25");
      line(cat(sum, " = ", lanes ? cat("(", total, ") @ lanes(", open_.back(), ")") : total));
    } else if (kind == 5) {
      std::string scalar = one_in(2) ? "s[()]" : "v[()]";
      line(cat(scalar, " = ", value()));
      line(cat(target, " = ", scalar, " + ", index()));
    } else {
      line(cat(target, " = 5 - (", value(), ")"));
    }
  }

  Random &random_;
  std::string text_;
  std::vector<std::string> open_, closed_, lets_;
  std::string ranges_[6];  ///< of the last loop at each depth, for a neighbour
  size_t extra_ = 0, tables_ = 0;
  int most_depth_ = 1, depth_ = 1, count_ = 0;
  bool plain_ = false, ends_in_definition_ = false, has_temporary_ = false;
};

}  // namespace

RandomKernel random_kernel(Random &random) { return KernelMaker(random).run(); }

int64_t reach(int64_t most) {
  constexpr int64_t greatest_bound = 9;  // that a kernel names
  return 2 * (std::max(most, greatest_bound) + 4) + 8;
}

}  // namespace kw::oracle
