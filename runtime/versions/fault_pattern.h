// The message of a failed check as a pattern: text in which single bytes stand for numbers of the fault.
// UTF-8 never contains these bytes. Shared by the process that compiles a kernel and by exported libraries,
// so it needs no library.
#pragma once

#include "runtime/abi.h"

namespace kw {

enum class FaultField : unsigned char {
  value = 0xF8,    ///< the fault's value as a signed integer
  unsigned_value,  ///< the fault's value as an unsigned integer
  real,            ///< the fault's value as the bits of a float64
  from_end,        ///< value - bound: an index as the source counts it, or the number of an element
  unsigned_from_end,
  bound,
  row,     ///< of element `from_end` in rows of `bound` elements
  column,  ///< likewise
};

constexpr bool is_fault_field(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte >= static_cast<unsigned char>(FaultField::value) &&
         byte <= static_cast<unsigned char>(FaultField::column);
}

/// Returns the integer of a field that is not `real`.
inline int64_t integer_of(FaultField field, const KwFault &fault) {
  int64_t from_end =
      static_cast<int64_t>(static_cast<uint64_t>(fault.value) - static_cast<uint64_t>(fault.bound));
  int64_t row_length = fault.bound > 0 ? fault.bound : 1;
  switch (field) {
    case FaultField::from_end:
    case FaultField::unsigned_from_end: return from_end;
    case FaultField::bound: return fault.bound;
    case FaultField::row: return from_end / row_length;
    case FaultField::column: return from_end % row_length;
    default: return fault.value;
  }
}

constexpr bool is_unsigned_field(FaultField field) {
  return field == FaultField::unsigned_value || field == FaultField::unsigned_from_end;
}

}  // namespace kw
