// Attributes of operators: constants of a call that are not tensors, and their declared types. Knows no
// operators.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/dtype.h"

namespace kw {

/// An attribute value: None, a truth value, a number, text, a dtype, or a list of attributes.
struct Attr {
  std::variant<std::monostate, bool, int64_t, double, std::string, DType, std::vector<Attr>> value;

  Attr() = default;
  template <class T>
    requires(!std::is_same_v<std::decay_t<T>, Attr>)
  Attr(T &&v) {  // NOLINT: an attribute is written as its value
    using V = std::decay_t<T>;
    if constexpr (std::is_same_v<V, bool> || std::is_same_v<V, DType> || std::is_same_v<V, std::string> ||
                  std::is_same_v<V, std::vector<Attr>>)
      value = std::forward<T>(v);
    else if constexpr (std::is_integral_v<V>)
      value = static_cast<int64_t>(v);
    else if constexpr (std::is_floating_point_v<V>)
      value = static_cast<double>(v);
    else
      value = std::string(v);
  }

  template <class T>
  const T *as() const {
    return std::get_if<T>(&value);
  }
  bool is_none() const { return value.index() == 0; }
  friend bool operator==(const Attr &, const Attr &) = default;
};

/// Attributes by name, in the order of the operator's declaration.
using Attrs = std::vector<std::pair<std::string, Attr>>;

/// Returns the attribute of this name, owned by `attrs`; null if there is none.
const Attr *find_attr(const Attrs &attrs, std::string_view name);

/// Returns the attribute as Python writes it: `True`, `0.5`, `'same'`, `[1, 2]`, `float32`.
std::string attr_text(const Attr &a);

/// The declared type of an attribute; `any` accepts all values.
enum class AttrType : uint8_t {
  any,
  boolean,
  integer,
  real,
  text,
  dtype,
  integers,
  reals,
  booleans,
  texts,
  dtypes,
  shape,  ///< a list of ints; some operators give -1 a meaning
  shapes,
};
constexpr AttrType last_attr_type = AttrType::shapes;
std::string_view attr_type_name(AttrType t);  ///< "bool", "int", "float", "str", "dtype", "list of int", …

/// Converts the value to this type: an int becomes a float, an int a list of one. Returns false if it cannot.
bool convert_attr(Attr &a, AttrType t);

/// Returns the first number in an attribute, itself or in its lists, that a word of this dtype cannot hold;
/// null if there is none. A float holds what rounds to a finite number, infinities and NaN.
const Attr *find_misfit(const Attr &a, DType word);

}  // namespace kw
