// Reading and editing of the objects that our back end makes: names of functions, addresses of sections. For
// tools beside the loader: exports, profilers, debuggers. Objects of other makers are internal errors.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

/// A function of an object; `section` and `offset` say where it begins.
struct ObjectFunction {
  std::string name;
  uint32_t section = 0;
  uint64_t offset = 0, size = 0;
};

/// Returns the functions that an object defines.
std::vector<ObjectFunction> functions_of(std::string_view object);
/// Returns an object in which each symbol that is defined has the name that `renamed` gives for its own.
std::string rename_symbols(std::string object,
                           const std::function<std::string(const std::string &)> &renamed);
/// Returns an object whose sections say at which addresses they lie, by their numbers; 0: not in memory.
std::string place_sections(std::string object, std::span<const uint64_t> addresses);
/// Returns an object with read-only data, aligned to 64 bytes, under a symbol. For the machine that `like`,
/// an object, is for.
std::string data_object(std::string_view symbol, std::string_view bytes, std::string_view like);

}  // namespace kw
