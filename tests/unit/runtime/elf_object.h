#pragma once

// Relocatable ELF objects made by hand, for the tests of the loader: a few sections, symbols and relocations.
// Writes little-endian 64-bit objects only and checks nothing.

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kw::unit {

/// Parts of an object; bytes() puts them together. Section 0 is the null section, .symtab and .strtab come
/// last.
class ElfObject {
 public:
  explicit ElfObject(uint16_t machine);

  /// Returns the index of the section.
  uint16_t section(uint32_t type, uint64_t flags, std::string bytes, uint64_t align = 16);
  /// Returns the index of the symbol.
  uint32_t symbol(std::string_view name, uint16_t section, uint64_t value = 0);
  /// Adds a .rela section for `section`.
  void relocations(uint16_t section, std::vector<Elf64_Rela> list);
  std::string bytes() const;

  /// Where a section header lies in bytes(), so that tests can damage it.
  size_t header_of(size_t section) const { return sizeof(Elf64_Ehdr) + section * sizeof(Elf64_Shdr); }
  size_t section_count() const { return sections_.size() + 2; }

  Elf64_Ehdr header{};

 private:
  struct Section {
    Elf64_Shdr header{};
    std::string bytes;
  };
  std::vector<Section> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::string names_;
};

/// The machine that runs the tests.
uint16_t host_machine();
/// Code of a function that returns 7.
std::string returning_seven();

}  // namespace kw::unit
