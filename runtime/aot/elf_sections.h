// The sections of an ELF file, to inspect a library before it is loaded. Reads the file itself; loads
// nothing.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace kw {

/// A range of a file, which may end before it.
struct SectionPlace {
  uint64_t offset, bytes;
};

/// Returns the section of that name of a 64-bit ELF file. Returns nothing for files that cannot be read,
/// because the loader then gives a better error.
std::optional<SectionPlace> find_section(const std::string &path, std::string_view name);

/// Reads a structure at an offset of a file. Returns false if the file ends before the structure does.
template <class T>
bool read_at(std::ifstream &file, uint64_t offset, T &out) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  return bool(file.read(reinterpret_cast<char *>(&out), sizeof(T)));
}

}  // namespace kw
