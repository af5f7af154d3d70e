// Errors in the use of operators, as C++ code throws them. The kinds correspond to Python's exceptions, into
// which python/bind converts them.
#pragma once

#include <stdexcept>
#include <string>

namespace kw {

class OpError : public std::runtime_error {
 public:
  /// no_kernel: a type error of a call that none of the operator's kernels can run; nothing has run then.
  /// device: E501, no device can run it. memory: a device has no memory left.
  enum class Kind : uint8_t { type, value, runtime, unsupported, no_kernel, device, memory };
  OpError(Kind kind, const std::string &message, std::string op = {})
      : std::runtime_error(message), kind(kind), op(std::move(op)) {}
  Kind kind;
  std::string op;  ///< for no_kernel: the operator's name
};

[[noreturn]] inline void throw_type_error(const std::string &message) {
  throw OpError(OpError::Kind::type, message);
}
[[noreturn]] inline void throw_value_error(const std::string &message) {
  throw OpError(OpError::Kind::value, message);
}
[[noreturn]] inline void throw_runtime_error(const std::string &message) {
  throw OpError(OpError::Kind::runtime, message);
}

}  // namespace kw
