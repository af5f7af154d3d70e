// Reads only the headers and the names, because a library may have hundreds of megabytes. An offset in the
// file may point outside of it; then nothing is read.
#include "runtime/aot/elf_sections.h"

#include <elf.h>

#include <cstring>
#include <string>

namespace kw {

namespace {

/// Returns whether these characters and a zero are at an offset.
bool has_text_at(std::ifstream &file, uint64_t offset, std::string_view text) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  std::string found(text.size() + 1, '\1');
  return file.read(found.data(), static_cast<std::streamsize>(found.size())) && !found.back() &&
         std::string_view(found).substr(0, text.size()) == text;
}

}  // namespace

std::optional<SectionPlace> find_section(const std::string &path, std::string_view name) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  bool is_elf = read_at(file, 0, header) && !std::memcmp(header.e_ident, ELFMAG, SELFMAG) &&
                header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_shentsize == sizeof(Elf64_Shdr);
  Elf64_Shdr names, section;
  if (!is_elf || !read_at(file, header.e_shoff + uint64_t{header.e_shstrndx} * sizeof(Elf64_Shdr), names))
    return std::nullopt;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    if (!read_at(file, header.e_shoff + i * sizeof(Elf64_Shdr), section)) return std::nullopt;
    if (has_text_at(file, names.sh_offset + section.sh_name, name))
      return SectionPlace{section.sh_offset, section.sh_size};
  }
  return std::nullopt;
}

}  // namespace kw
