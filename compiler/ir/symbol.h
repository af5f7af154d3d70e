// Names of values and buffers. Identity is the pointer; the printed name is chosen by the printer at first
// use.
#pragma once

#include <memory>
#include <string>

#include "ir/dtype.h"
#include "support/loc.h"

namespace kw {

enum class SymKind : uint8_t { extent, stride, iter, local, param, buffer };

struct SymNode {
  SymKind kind;
  DType dtype;
  std::string name;
  Loc loc;
};

/// Shared identity of a scalar value or a buffer.
using Sym = std::shared_ptr<const SymNode>;

inline Sym make_sym(SymKind kind, DType dtype, std::string name, Loc loc = {}) {
  return std::make_shared<const SymNode>(SymNode{kind, dtype, std::move(name), loc});
}

}  // namespace kw
