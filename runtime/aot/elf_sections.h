// The names of the sections of an ELF file, to inspect a library before it is loaded. Reads the file itself;
// loads nothing.
#pragma once

#include <string>
#include <string_view>

namespace kw {

/// Returns whether the file is 64-bit ELF and has a section of that name. Returns false for files that cannot
/// be read, because the loader then gives a better error.
bool has_section(const std::string &path, std::string_view name);

}  // namespace kw
