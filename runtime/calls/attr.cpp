// Conversion and text of attributes.
#include "runtime/calls/attr.h"

#include <algorithm>
#include <cmath>

#include "ir/scalar_ops.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the type of the elements of a list; nothing for other types.
std::optional<AttrType> element_type(AttrType t) {
  switch (t) {
    case AttrType::integers: return AttrType::integer;
    case AttrType::reals: return AttrType::real;
    case AttrType::booleans: return AttrType::boolean;
    case AttrType::texts: return AttrType::text;
    case AttrType::dtypes: return AttrType::dtype;
    case AttrType::shape: return AttrType::integer;
    case AttrType::shapes: return AttrType::shape;
    default: return {};
  }
}

}  // namespace

const Attr *find_attr(const Attrs &attrs, std::string_view name) {
  auto found = std::find_if(attrs.begin(), attrs.end(), [&](const auto &a) { return a.first == name; });
  return found == attrs.end() ? nullptr : &found->second;
}

std::string attr_text(const Attr &a) {
  if (const auto *b = a.as<bool>()) return *b ? "True" : "False";
  if (const auto *i = a.as<int64_t>()) return cat(*i);
  if (const auto *d = a.as<double>()) return float_text(*d);
  if (const auto *s = a.as<std::string>()) return cat("'", *s, "'");
  if (const auto *t = a.as<DType>()) return std::string(numpy_name(*t));
  const auto *items = a.as<std::vector<Attr>>();
  if (!items) return "None";
  std::vector<std::string> parts;
  for (const Attr &item : *items) parts.push_back(attr_text(item));
  return cat("[", join_text(parts, ", "), "]");
}

std::string_view attr_type_name(AttrType t) {
  switch (t) {
    case AttrType::any: return "any value";
    case AttrType::boolean: return "bool";
    case AttrType::integer: return "int";
    case AttrType::real: return "float";
    case AttrType::text: return "str";
    case AttrType::dtype: return "dtype";
    case AttrType::integers: return "list of int";
    case AttrType::reals: return "list of float";
    case AttrType::booleans: return "list of bool";
    case AttrType::texts: return "list of str";
    case AttrType::dtypes: return "list of dtype";
    case AttrType::shape: return "shape";
    case AttrType::shapes: return "list of shape";
  }
  return "";
}

/// Converts an attribute in place. A bool is not an int here, because each alternative of the variant is a
/// separate type.
bool convert_attr(Attr &a, AttrType t) {
  // a value that is not a list counts as a list of one: `stride=2` is valid where [2] is declared
  if (auto element = element_type(t)) {
    if (!a.as<std::vector<Attr>>()) a = Attr(std::vector<Attr>{a});
    auto &items = std::get<std::vector<Attr>>(a.value);
    return std::all_of(items.begin(), items.end(), [&](Attr &item) { return convert_attr(item, *element); });
  }
  switch (t) {
    case AttrType::boolean: return a.as<bool>() != nullptr;
    case AttrType::integer: return a.as<int64_t>() != nullptr;
    case AttrType::real:
      if (const auto *i = a.as<int64_t>()) a = Attr(static_cast<double>(*i));
      return a.as<double>() != nullptr;
    case AttrType::text: return a.as<std::string>() != nullptr;
    case AttrType::dtype:
      // a dtype may be given by its name, as in NumPy
      if (const auto *name = a.as<std::string>())
        if (auto dtype = dtype_from_numpy(*name)) a = Attr(*dtype);
      return a.as<DType>() != nullptr;
    default: return true;
  }
}

const Attr *find_misfit(const Attr &a, DType word) {
  if (const auto *items = a.as<std::vector<Attr>>()) {
    for (const Attr &item : *items)
      if (const Attr *found = find_misfit(item, word)) return found;
    return nullptr;
  }
  if (const auto *i = a.as<int64_t>(); i && is_int(word))
    // the bits of the 64-bit number survive a round trip through the word
    return to_int(from_int(word, *i)) == *i && (word != DType::u64 || *i >= 0) ? nullptr : &a;
  if (const auto *d = a.as<double>(); d && is_float(word))
    return std::isinf(to_double(from_double(word, *d))) && !std::isinf(*d) ? &a : nullptr;
  return nullptr;
}

}  // namespace kw
