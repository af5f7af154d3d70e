// What is wrong with a use of operators, as C++ code throws it. The kinds are those of Python's exceptions,
// into which python/bind turns them.
#pragma once

#include <stdexcept>
#include <string>

namespace kw {

class OpError : public std::runtime_error {
 public:
  enum class Kind : uint8_t { type, value, runtime, unsupported };
  OpError(Kind kind, const std::string &message) : std::runtime_error(message), kind(kind) {}
  Kind kind;
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
