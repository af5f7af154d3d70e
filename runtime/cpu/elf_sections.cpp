// Every offset that the file tells is checked against its size.
#include "runtime/cpu/elf_sections.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace kw {

namespace {

/// A structure at an offset of the file; false where the file ends before it does.
template <class T>
bool read_at(std::string_view file, uint64_t offset, T &out) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return false;
  std::memcpy(&out, file.data() + offset, sizeof(T));
  return true;
}

}  // namespace

bool has_section(const std::string &path, std::string_view name) {
  std::ifstream in(path, std::ios::binary);
  std::string file{std::istreambuf_iterator<char>(in), {}};
  Elf64_Ehdr header;
  bool is_elf = read_at(file, 0, header) && !std::memcmp(header.e_ident, ELFMAG, SELFMAG) &&
                header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_shentsize == sizeof(Elf64_Shdr);
  Elf64_Shdr names, section;
  if (!is_elf || !read_at(file, header.e_shoff + uint64_t{header.e_shstrndx} * sizeof(Elf64_Shdr), names))
    return false;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    if (!read_at(file, header.e_shoff + i * sizeof(Elf64_Shdr), section)) return false;
    uint64_t at = names.sh_offset + section.sh_name;
    if (at >= file.size()) continue;
    std::string_view rest = std::string_view(file).substr(at);
    if (rest.substr(0, rest.find('\0')) == name) return true;
  }
  return false;
}

}  // namespace kw
