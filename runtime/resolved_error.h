// Errors with codes, as the runtime throws them: of compilations, of runs and of devices. Python raises them
// by their codes (bind/dispatch/raise).
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace kw {

/// Errors with their lines resolved, for raising in Python.
class ResolvedError : public std::exception {
 public:
  explicit ResolvedError(std::vector<Resolved> errors) : errors(std::move(errors)) {}
  const char *what() const noexcept override { return errors.empty() ? "" : errors[0].message.c_str(); }
  std::vector<Resolved> errors;
  std::string path = {};  ///< path of a text given in C++, whose lines count from 1
  /// If not empty, the texts that the lines count in: the error is of another kernel than the one that is
  /// called.
  std::vector<TextPlace> places = {};
};

/// Thrown where a wait was given up, because its WaitLook said so; whoever set the look has noted why.
struct WaitInterrupted : std::exception {
  const char *what() const noexcept override { return "interrupted"; }
};

}  // namespace kw
