// Messages for entry programs and runs, from the artifact's locations and sites.
#include "runtime/versions/faults.h"

#include <bit>

#include "runtime/versions/fault_pattern.h"
#include "support/text.h"

namespace kw {

namespace {

/// Evaluates a sum of extents. It wraps in unsigned arithmetic, where overflow is defined; the value is only
/// used in a message.
int64_t value_of(const ExtentSum &sum, std::span<const int64_t> extents) {
  auto value = static_cast<uint64_t>(sum.constant);
  for (const ExtentSum::Term &t : sum.terms)
    if (t.dim < extents.size())
      value += static_cast<uint64_t>(t.factor) * static_cast<uint64_t>(extents[t.dim]);
  return static_cast<int64_t>(value);
}

/// Returns "b.shape[1] is 3 but must be at least a.shape[1] = 4", or "" if the condition is true.
std::string failed_condition(const ShapeCondition &c, std::span<const int64_t> extents) {
  int64_t larger = value_of(c.larger, extents), smaller = value_of(c.smaller, extents);
  if (larger >= smaller) return {};
  if (c.larger.terms.empty()) return cat(c.smaller.text, " is ", smaller, " but must be at most ", larger);
  return cat(c.larger.text, " is ", larger, " but must be at least ", c.smaller.text,
             c.smaller.terms.empty() ? "" : cat(" = ", smaller));
}

constexpr char mark(FaultField field) { return static_cast<char>(field); }

/// Returns what stands for the value in a message of this kind; "" if the message shows no value.
std::string value_mark(SiteMessage::Value kind) {
  switch (kind) {
    case SiteMessage::Value::i64: return {mark(FaultField::value)};
    case SiteMessage::Value::u64: return {mark(FaultField::unsigned_value)};
    case SiteMessage::Value::f64: return {mark(FaultField::real)};
    default: return {};
  }
}

/// Returns the pattern for an element that is read before it is written.
std::string element_read(const SiteRecord &s) {
  // in two dimensions the bound is the extent of the last one
  std::string which =
      s.rank == 0   ? ""
      : s.rank == 2 ? cat("element [", mark(FaultField::row), ", ", mark(FaultField::column), "] of ")
                    : cat("element ", mark(FaultField::from_end), s.rank == 1 ? " of " : " (row by row) of ");
  return cat(which, "'", s.tensor, "' is read before it is written");
}

/// Returns the text of a field.
std::string text_of(FaultField field, const KwFault &fault) {
  if (field == FaultField::real) return float_text(std::bit_cast<double>(fault.value));
  int64_t v = integer_of(field, fault);
  return is_unsigned_field(field) ? cat(static_cast<uint64_t>(v)) : cat(v);
}

/// Returns a message: its pattern with the numbers of the fault.
std::string filled(std::string_view pattern, const KwFault &fault) {
  std::string out;
  for (char c : pattern)
    if (is_fault_field(c))
      out += text_of(static_cast<FaultField>(c), fault);
    else
      out += c;
  return out;
}

/// Makes a diagnostic without a source line.
Resolved without_place(Code code, std::string message) {
  Resolved e;
  e.code = code;
  e.message = std::move(message);
  return e;
}

}  // namespace

Resolved extent_error(const LoadedKernel &kernel, size_t index, Code code, int64_t value) {
  size_t extent = index;
  std::string output;
  for (const ParamRecord &p : kernel.artifact().params) {
    if (p.mode != ParamMode::out) continue;
    output = p.name;
    if (extent < p.rank) break;
    extent -= p.rank;
  }
  Resolved e;
  e.code = code;
  const auto &places = kernel.artifact().program.extent_places;
  if (index < places.size()) {
    e.line = places[index].line;
    e.column = places[index].column;
    e.end_column = places[index].end_column;
    e.line_text = places[index].line_text;
  }
  e.message = code == Code::E304 ? cat("extent ", extent, " of output '", output, "' is negative: ", value)
                                 : cat("the extents of output '", output, "' exceed 2^46 elements");
  return e;
}

Resolved entry_error(const LoadedKernel &kernel, const EntryResult &r) {
  const std::string &name = kernel.artifact().name;
  if (r.error == EntryResult::Error::malformed)
    return without_place(Code::E503, cat("the entry program of '", name, "' is malformed"));
  if (r.error == EntryResult::Error::workspace)
    return without_place(Code::E224, cat("the temporaries of kernel '", name, "' exceed 2^46 bytes"));
  bool negative = r.error == EntryResult::Error::negative_extent;
  return extent_error(kernel, r.error_index, negative ? Code::E304 : Code::E224, r.error_value);
}

std::string fault_pattern(const SiteRecord &s) {
  if (s.code == Code::E310) return element_read(s);
  if (s.tensor.empty()) return cat(s.message.before, value_mark(s.message.value), s.message.after);
  if (s.code == Code::E304)
    return cat("extent ", s.dim, " of '", s.tensor, "' is negative: ", mark(FaultField::bound));
  // the kernel adds the extent to an index from the end, so the message shows the number in the source
  FaultField index = s.from_end      ? s.is_unsigned ? FaultField::unsigned_from_end : FaultField::from_end
                     : s.is_unsigned ? FaultField::unsigned_value
                                     : FaultField::value;
  return cat("index ", mark(index), " is out of range for dimension ", s.dim, " of '", s.tensor,
             "', whose extent is ", mark(FaultField::bound));
}

Resolved fault_error(const LoadedKernel &kernel, std::span<const int64_t> extents, const KwFault &fault) {
  const auto &sites = kernel.artifact().sites;
  if (fault.site >= sites.size()) return without_place(Code::E503, "a fault of an unknown site");
  const SiteRecord &s = sites[fault.site];
  Resolved e;
  e.code = s.code;
  e.line = s.line;
  e.column = s.column;
  e.end_column = s.end_column;
  e.line_text = s.line_text;
  e.text = s.text;
  e.notes = s.notes;
  e.message = filled(fault_pattern(s), fault);
  if (s.code == Code::E310) {
    e.notes.push_back("without debug=True it is 0");
    return e;
  }
  if (s.tensor.empty()) {
    if (!s.message.note.empty()) e.notes.insert(e.notes.begin(), s.message.note);
    return e;
  }
  if (s.code == Code::E304) return e;
  if (fault.bound > 0) e.message += cat(" (valid 0..", fault.bound - 1, ")");
  if (!s.from_end && !s.is_unsigned && fault.value < 0)
    e.notes.push_back("a variable index below 0 does not count from the end");
  for (const ShapeCondition &c : s.conditions)
    if (std::string note = failed_condition(c, extents); !note.empty()) e.notes.push_back(std::move(note));
  return e;
}

}  // namespace kw
