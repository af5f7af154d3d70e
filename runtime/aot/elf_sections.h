// The names of the sections of an ELF file: what a library holds, asked before it is loaded. Reads the file
// itself; loads nothing.
#pragma once

#include <string>
#include <string_view>

namespace kw {

/// Returns whether the file is ELF of 64 bits and has a section of that name; false for files that cannot be
/// read, of which the loader says more.
bool has_section(const std::string &path, std::string_view name);

}  // namespace kw
