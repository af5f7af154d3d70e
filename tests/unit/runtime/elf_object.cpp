// Layout: header, section headers, then the bytes of each section.
#include "elf_object.h"

#include <cstring>
#include <string_view>

namespace kw::unit {

namespace {
template <class T>
std::string raw(const T &v) {
  return {reinterpret_cast<const char *>(&v), sizeof v};
}
}  // namespace

ElfObject::ElfObject(uint16_t machine) : sections_(1), symbols_(1), names_(1, '\0') {
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = sizeof(Elf64_Ehdr);
}

uint16_t ElfObject::section(uint32_t type, uint64_t flags, std::string bytes, uint64_t align) {
  Section s;
  s.header.sh_type = type;
  s.header.sh_flags = flags;
  s.header.sh_size = bytes.size();
  s.header.sh_addralign = align;
  s.bytes = std::move(bytes);
  sections_.push_back(std::move(s));
  return static_cast<uint16_t>(sections_.size() - 1);
}

uint32_t ElfObject::symbol(std::string_view name, uint16_t section, uint64_t value) {
  Elf64_Sym s{};
  s.st_name = static_cast<Elf64_Word>(names_.size());
  s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  s.st_shndx = section;
  s.st_value = value;
  names_ += name;
  names_ += '\0';
  symbols_.push_back(s);
  return static_cast<uint32_t>(symbols_.size() - 1);
}

void ElfObject::relocations(uint16_t target, std::vector<Elf64_Rela> list) {
  std::string bytes;
  for (const Elf64_Rela &r : list) bytes += raw(r);
  uint16_t index = section(SHT_RELA, 0, std::move(bytes), 8);
  sections_[index].header.sh_info = target;
  sections_[index].header.sh_entsize = sizeof(Elf64_Rela);
}

std::string ElfObject::bytes() const {
  std::vector<Section> all = sections_;
  Section symbols, names;
  for (const Elf64_Sym &s : symbols_) symbols.bytes += raw(s);
  symbols.header.sh_type = SHT_SYMTAB;
  symbols.header.sh_link = static_cast<Elf64_Word>(all.size() + 1);
  symbols.header.sh_entsize = sizeof(Elf64_Sym);
  names.bytes = names_;
  names.header.sh_type = SHT_STRTAB;
  all.push_back(symbols);
  all.push_back(names);
  Elf64_Ehdr top = header;
  top.e_shnum = static_cast<Elf64_Half>(all.size());
  top.e_shstrndx = static_cast<Elf64_Half>(all.size() - 1);
  std::string heads = raw(top), contents;
  size_t begin = heads.size() + all.size() * sizeof(Elf64_Shdr);
  for (Section &s : all) {
    s.header.sh_offset = begin + contents.size();
    if (s.header.sh_type != SHT_NOBITS) s.header.sh_size = s.bytes.size();
    heads += raw(s.header);
    if (s.header.sh_type != SHT_NOBITS) contents += s.bytes;
  }
  return heads + contents;
}

uint16_t host_machine() {
#if defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_X86_64;
#endif
}

std::string returning_seven() {
#if defined(__aarch64__)
  return std::string("\xE0\x00\x80\x52\xC0\x03\x5F\xD6", 8);  // mov w0, #7; ret
#else
  return std::string("\xB8\x07\x00\x00\x00\xC3", 6);  // mov eax, 7; ret
#endif
}

}  // namespace kw::unit
