// Objects for a linker, from objects of our back end. ELF64, little-endian; the layout of tables is that of
// <elf.h>.
#include <elf.h>

#include <cstring>

#include "runtime/exported/exported.h"
#include "support/diagnostic.h"

namespace kw {

namespace {

template <class T>
T read_at(std::string_view bytes, uint64_t at) {
  ensure(at <= bytes.size() && sizeof(T) <= bytes.size() - at, "an object ends early");
  T v;
  std::memcpy(&v, bytes.data() + at, sizeof(T));
  return v;
}

template <class T>
void write_at(std::string &bytes, uint64_t at, const T &v) {
  std::memcpy(bytes.data() + at, &v, sizeof(T));
}

template <class T>
void append(std::string &bytes, const T &v) {
  bytes.append(reinterpret_cast<const char *>(&v), sizeof(T));
}

Elf64_Shdr section(uint32_t name, uint32_t type, uint64_t at, uint64_t size, uint64_t align) {
  Elf64_Shdr s{};
  s.sh_name = name, s.sh_type = type, s.sh_offset = at, s.sh_size = size, s.sh_addralign = align;
  return s;
}

}  // namespace

/// The new names are a copy of the old ones, at the end of the file, with one more.
std::string rename_symbol(std::string object, std::string_view from, std::string_view to) {
  auto header = read_at<Elf64_Ehdr>(object, 0);
  auto place = [&](uint64_t i) { return header.e_shoff + i * sizeof(Elf64_Shdr); };
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    auto symbols = read_at<Elf64_Shdr>(object, place(i));
    if (symbols.sh_type != SHT_SYMTAB) continue;
    auto names = read_at<Elf64_Shdr>(object, place(symbols.sh_link));
    ensure(names.sh_offset <= object.size() && names.sh_size <= object.size() - names.sh_offset,
           "names outside of an object");
    std::string text = object.substr(names.sh_offset, names.sh_size);
    for (uint64_t at = symbols.sh_offset; at < symbols.sh_offset + symbols.sh_size; at += sizeof(Elf64_Sym)) {
      auto symbol = read_at<Elf64_Sym>(object, at);
      if (symbol.st_name >= text.size() || text.c_str() + symbol.st_name != from) continue;
      symbol.st_name = static_cast<uint32_t>(text.size());
      write_at(object, at, symbol);
      text.append(to).push_back('\0');
      names.sh_offset = object.size(), names.sh_size = text.size();
      write_at(object, place(symbols.sh_link), names);
      return object + text;
    }
  }
  internal_error(__FILE__, __LINE__, "an object lacks the symbol of its entry");
}

/// The file: header | data | symbols | names of symbols | names of sections | table of sections
std::string data_object(std::string_view symbol, std::string_view bytes, std::string_view like) {
  auto header = read_at<Elf64_Ehdr>(like, 0);
  std::string out(sizeof header, '\0');
  out.append(bytes);
  out.resize((out.size() + 7) / 8 * 8, '\0');
  uint64_t symbols_at = out.size();
  append(out, Elf64_Sym{});
  Elf64_Sym data{};
  data.st_name = 1, data.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  data.st_shndx = 1, data.st_size = bytes.size();
  append(out, data);
  std::string names = '\0' + std::string(symbol) + '\0';
  uint64_t names_at = out.size();
  out += names;
  constexpr std::string_view section_names("\0.rodata\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0", 51);
  uint64_t section_names_at = out.size();
  out += section_names;
  out.resize((out.size() + 7) / 8 * 8, '\0');
  header.e_shoff = out.size();
  header.e_shnum = 6, header.e_shstrndx = 4;
  append(out, Elf64_Shdr{});
  Elf64_Shdr rodata = section(1, SHT_PROGBITS, sizeof header, bytes.size(), 64);
  rodata.sh_flags = SHF_ALLOC;
  append(out, rodata);
  Elf64_Shdr symtab = section(9, SHT_SYMTAB, symbols_at, 2 * sizeof(Elf64_Sym), 8);
  symtab.sh_link = 3, symtab.sh_info = 1, symtab.sh_entsize = sizeof(Elf64_Sym);
  append(out, symtab);
  append(out, section(17, SHT_STRTAB, names_at, names.size(), 1));
  append(out, section(25, SHT_STRTAB, section_names_at, section_names.size(), 1));
  append(out, section(35, SHT_PROGBITS, sizeof header, 0, 1));
  write_at(out, 0, header);
  return out;
}

}  // namespace kw
