// Prints ranges in terms of shapes. A loop of the schedule names its source loop by its LoopId.
#include "driver/loop_report.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "analysis/bounds.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/cpu/loop_cost.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns a number with two decimals at most, and none from 10 on: 1234 → "1234", 0.8123 → "0.81".
std::string figure(double n) {
  if (n >= 10 || n == std::floor(n)) return cat(static_cast<int64_t>(std::llround(n)));
  auto hundredths = std::llround(n * 100);
  std::string rest = cat(hundredths % 100);
  std::string out = cat(hundredths / 100, ".", rest.size() < 2 ? "0" : "", rest);
  while (out.back() == '0') out.pop_back();
  return out.back() == '.' ? out + "0" : out;
}

/// Returns a number with its noun: "1 byte", "2.5 bytes".
std::string amount(double n, std::string_view noun) {
  std::string number = figure(n);
  return cat(number, " ", noun, number == "1" ? "" : "s");
}

/// Returns whether the store is `x = x + term` or the like, also as an fma, which adds its third operand.
bool adds_to_its_place(const Store &s) {
  return fused_accumulator_of(s) || accumulation_of(s).is_sum_or_product();
}

/// Returns whether the loop contains another kind of store to the buffer, or allocates it.
bool begins_anew(const For &loop, const Buf &buf) {
  bool found = false;
  walk(
      loop.body, [&](const Alloc &n, const Stmt &) { found |= n.buf == buf; },
      [&](const Store &n, const Stmt &) { found |= n.buf == buf && !adds_to_its_place(n); });
  return found;
}

/// Returns a bound without the types that checks need.
Expr untyped(const Expr &e) {
  return rewrite(
      e, [](const Cast &n, const Expr &) { return n.a; },
      [](const Const &n, const Expr &) { return const_int(static_cast<int64_t>(n.bits)); });
}

/// Describes each loop of the scheduled function, outer loops first, with its share of the estimated time.
class LoopReport {
 public:
  LoopReport(const Func &safe, const Func &f, const Target &target)
      : safe_(safe), f_(f), target_(target), costs_(cost_of_loops(f, target)) {
    for (const auto &[loop, cost] : costs_) total_ += cost.runs * cost.cycles;
  }

  std::vector<Finding> run() {
    statements(f_.body, 0);
    return std::move(out_);
  }

 private:
  void statements(const Stmt &root, int32_t depth) {
    for_each_in_block(root, [&](const Stmt &s) {
      const For *n = as<For>(s);
      bool repeats = n || as<While>(s);
      if (n) out_.push_back({"nest", s.loc(), range_text(*n), depth, how(*n), estimate(*n)});
      if (as<While>(s)) out_.push_back({"nest", s.loc(), "while", depth, "serial", {}});
      if (repeats) loops_.push_back(n);
      for_each_block(s, [&](const Stmt &block) { statements(block, depth + (repeats ? 1 : 0)); });
      if (repeats) loops_.pop_back();
    });
  }

  /// Returns "i in range(a.shape[0])"; for a loop over one block "i in its block at i0".
  std::string range_text(const For &n) const {
    const Ref *first = as<Ref>(n.lo);
    bool in_block = first && std::any_of(loops_.begin(), loops_.end(), [&](const For *o) {
                      return o && o->iter == first->sym && o->id == n.id;
                    });
    if (in_block) return cat(n.iter->name, " in its block at ", first->sym->name);
    bool from_zero = as_int(n.lo) == 0 && n.step == 1;
    return cat(n.iter->name, " in range(", from_zero ? "" : cat(bound_text(f_, untyped(n.lo)), ", "),
               bound_text(f_, untyped(n.hi)), n.step == 1 ? "" : cat(", ", n.step), ")");
  }

  /// Returns how a loop runs: "parallel, vectorized by 64, sums in lanes".
  std::string how(const For &n) const {
    std::vector<std::string> out;
    if (n.kind == ForKind::parallel) out.emplace_back("parallel");
    if (n.how.vector_width >= 2) out.push_back(cat("vectorized by ", n.how.vector_width));
    if (out.empty()) out.emplace_back("serial");
    if (n.how.jam) out.push_back(cat(n.how.jam, " iterations as one"));
    for (std::string &sum : sums(n)) out.push_back(std::move(sum));
    return join_text(out, ", ");
  }

  /// Returns the orders of the sums that continue from one iteration of the loop to the next, before
  /// scheduling.
  std::vector<std::string> sums(const For &n) const {
    std::vector<std::string> out;
    for_each_store(safe_.body, [&](const Stmt &, const Store &s, const std::vector<const For *> &loops) {
      bool goes_on = std::any_of(loops.begin(), loops.end(), [&](const For *o) {
        return o && o->id == n.id && !mentions(s.index, o->iter) && !begins_anew(*o, s.buf);
      });
      if (!goes_on || !adds_to_its_place(s)) return;
      std::string text = s.order == Order::lanes ? "sums in lanes"
                         : s.order == Order::any ? "sums in any order"
                                                 : "sums in source order";
      if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
    });
    return out;
  }

  /// Returns "24 bytes, 3 operations, 1.5 cycles each: 97 % of the time"; "" for a loop without work of its
  /// own.
  std::string estimate(const For &n) const {
    const LoopCost &c = costs_.at(&n);
    if (c.cycles == 0 || total_ == 0) return {};
    double share = 100 * c.runs * c.cycles / total_;
    std::vector<std::string> parts;
    if (c.bytes > 0) parts.push_back(amount(c.bytes, "byte"));
    if (c.operations > 0) parts.push_back(amount(c.operations, "operation"));
    parts.push_back(amount(c.cycles, "cycle"));
    std::string out = cat(join_text(parts, ", "),
                          " each: ", share < 1 ? "under 1" : figure(std::round(share)), " % of the time");
    if (c.sum_registers > 0)
      out += cat("; a row of sums has ", c.sum_registers, " of ", target_.vector_registers(), " registers");
    return out;
  }

  const Func &safe_, &f_;
  const Target &target_;
  std::unordered_map<const For *, LoopCost> costs_;
  double total_ = 0;
  std::vector<const For *> loops_;  ///< enclosing loops; null for a while
  std::vector<Finding> out_;
};

}  // namespace

std::vector<Finding> describe_loops(const Func &safe, const Schedule &schedule, const Target &target) {
  return LoopReport(safe, schedule.func, target).run();
}

}  // namespace kw
