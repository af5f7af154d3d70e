// Checks arrays that a kernel writes: they are writable, have no byte twice, and share no memory with other
// arguments, or only in allowed ways. Changes no array.
#include <algorithm>

#include "runtime/calls/invocation.h"
#include "support/text.h"

namespace kw {

namespace {

/// A written argument, or a given output.
struct Written {
  const char *parameter;  ///< null for an output
  const ArrayView &array;
  size_t number;   ///< of the argument or the output
  bool is_copied;  ///< the call works on a copy

  bool is_argument(size_t i) const { return parameter && number == i; }
  /// Returns how messages name it.
  std::string subject() const { return parameter ? cat("argument '", parameter, "'") : "out="; }
};

/// The check of one call.
class WrittenCheck {
 public:
  WrittenCheck(Invocation &call, const CallArrays &arrays, const Artifact &artifact, std::string_view kernel)
      : call_(call), arrays_(arrays), artifact_(artifact), kernel_(kernel) {}

  std::optional<Refusal> run() {
    size_t output = 0;
    for (const ParamRecord &p : artifact_.params) {
      if (p.mode == ParamMode::inout) {
        auto i = static_cast<size_t>(p.arg);
        Written w{p.name.c_str(), arrays_.arguments[i], i, is_copied(i)};
        if (auto no = check_writable(w)) return no;
        if (auto no = compare_argument(w)) return no;
      }
      if (p.mode != ParamMode::out) continue;
      size_t i = output++;
      if (i >= arrays_.outputs.size() || !arrays_.outputs[i].is_array()) continue;
      Written w{nullptr, arrays_.outputs[i], i, (arrays_.copied_outputs >> i & 1u) != 0};
      if (auto no = check_writable(w)) return no;
      // the kernel writes new memory, which the call copies to this array after the run
      if (!can_be_written(w, p)) call_.temporaries |= 1u << i;
    }
    return compare_outputs();
  }

 private:
  bool is_copied(size_t argument) const { return (arrays_.copied_arguments >> argument & 1u) != 0; }

  /// Refuses an array that is read-only or whose elements share memory. With shared elements the result would
  /// depend on the order of the stores.
  std::optional<Refusal> check_writable(const Written &w) const {
    if (!w.array.writable)
      return Refusal{cat(w.subject(), " of kernel '", kernel_, "' is written but read-only"),
                     w.parameter ? cat("pass a writable copy: ", w.parameter, ".copy()")
                                 : "pass a writable array, or leave out= away and take the result"};
    if (overlaps_itself(w.array))
      return Refusal{
          cat(w.subject(), " of kernel '", kernel_, "' is written but several of its elements share memory"),
          w.parameter ? cat("pass a copy: ", w.parameter, ".copy()")
                      : "pass an array of its own, or leave out= away and take the result"};
    return {};
  }

  /// Notes overlaps of a written argument with the others. Refuses overlaps that copies would break.
  std::optional<Refusal> compare_argument(const Written &w) {
    for (size_t i = 0; i < arrays_.arguments.size(); ++i) {
      const ArrayView &other = arrays_.arguments[i];
      if (w.is_argument(i) || !other.is_array() || !ranges_meet(w.array, other)) continue;
      // a copy would not see writes of the kernel through the other array
      bool copied = w.is_copied || is_copied(i);
      if (!copied && is_same_view(w.array, other)) {
        note_same_view(w, i);
        continue;
      }
      if (!share_bytes(w.array, other)) continue;
      call_.in_source_order = true;
      if (!copied) continue;
      return Refusal{cat(w.subject(), " of kernel '", kernel_, "' is written and overlaps argument '",
                         name_of(i), "', and one of them is not aligned to its items"),
                     "pass aligned arrays, or arrays that are apart"};
    }
    return {};
  }

  /// Returns whether a kernel may write a given output directly. It must share no memory with an argument, or
  /// be the same view as an argument whose elements the kernel reads before it writes them.
  bool can_be_written(const Written &w, const ParamRecord &p) {
    bool right_type = w.array.rank == p.rank && w.array.dtype == p.dtype;
    FixedList<size_t, max_args> views;
    for (size_t i = 0; i < arrays_.arguments.size(); ++i) {
      const ArrayView &other = arrays_.arguments[i];
      if (!other.is_array() || !ranges_meet(w.array, other)) continue;
      bool in_place = right_type && (p.in_place >> i & 1u) && !w.is_copied && !is_copied(i);
      if (in_place && is_same_view(w.array, other))
        views.push_back(i);
      else if (share_bytes(w.array, other))
        return false;
    }
    for (size_t i : views) note_same_view(w, i);
    return true;
  }

  /// Refuses two outputs in the same memory, which would have no defined contents.
  std::optional<Refusal> compare_outputs() const {
    for (size_t i = 0; i < arrays_.outputs.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (arrays_.outputs[i].is_array() && arrays_.outputs[j].is_array() &&
            share_bytes(arrays_.outputs[i], arrays_.outputs[j]))
          return Refusal{cat("two arrays of out= of kernel '", kernel_, "' overlap"), ""};
    return {};
  }

  /// Notes that a written array is the same view as argument `i`. The first note initializes the tables:
  /// until then each argument is its own group, and no output has one.
  void note_same_view(const Written &w, size_t i) {
    if (!std::exchange(call_.same_views, true)) {
      for (size_t k = 0; k < arrays_.arguments.size(); ++k) call_.alias[k] = static_cast<uint8_t>(k);
      std::fill(std::begin(call_.out_alias), std::end(call_.out_alias), uint8_t{UINT8_MAX});
    }
    if (w.parameter) return join_aliases(w.number, i);
    uint8_t &out = call_.out_alias[w.number];
    if (out == UINT8_MAX) out = static_cast<uint8_t>(i);
    join_aliases(out, i);
  }

  /// Merges two groups of arguments that are the same view. The least index represents the group.
  void join_aliases(size_t i, size_t j) {
    uint8_t first = std::min(call_.alias[i], call_.alias[j]),
            other = std::max(call_.alias[i], call_.alias[j]);
    for (size_t k = 0; k < arrays_.arguments.size(); ++k)
      if (call_.alias[k] == other) call_.alias[k] = first;
  }

  std::string name_of(size_t argument) const {
    for (const ParamRecord &p : artifact_.params)
      if (p.arg == static_cast<int32_t>(argument)) return p.name;
    return cat(argument);
  }

  Invocation &call_;
  const CallArrays &arrays_;
  const Artifact &artifact_;
  std::string_view kernel_;
};

}  // namespace

std::optional<Refusal> check_written(Invocation &call, const CallArrays &arrays, const Artifact &a,
                                     std::string_view kernel) {
  return WrittenCheck(call, arrays, a, kernel).run();
}

}  // namespace kw
