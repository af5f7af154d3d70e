// ELF64, little-endian; the layout of tables is that of <elf.h>.
#include "runtime/cpu/object_file.h"

#include <elf.h>

#include <cstring>

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
void append_record(std::string &bytes, const T &v) {
  bytes.append(reinterpret_cast<const char *>(&v), sizeof(T));
}

Elf64_Shdr section(uint32_t name, uint32_t type, uint64_t at, uint64_t size, uint64_t align) {
  Elf64_Shdr s{};
  s.sh_name = name, s.sh_type = type, s.sh_offset = at, s.sh_size = size, s.sh_addralign = align;
  return s;
}

}  // namespace

namespace {

/// The tables of an object that name its functions.
struct Symbols {
  Elf64_Ehdr header;
  Elf64_Shdr table, names;
  uint64_t names_place;  ///< of the header of the section of names

  explicit Symbols(std::string_view object) : header(read_at<Elf64_Ehdr>(object, 0)) {
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      table = read_at<Elf64_Shdr>(object, header.e_shoff + i * sizeof(Elf64_Shdr));
      if (table.sh_type != SHT_SYMTAB) continue;
      names_place = header.e_shoff + table.sh_link * sizeof(Elf64_Shdr);
      names = read_at<Elf64_Shdr>(object, names_place);
      ensure(names.sh_offset <= object.size() && names.sh_size <= object.size() - names.sh_offset,
             "names outside of an object");
      return;
    }
    internal_error(__FILE__, __LINE__, "an object without symbols");
  }

  std::string name(std::string_view object, const Elf64_Sym &s) const {
    std::string_view all = object.substr(names.sh_offset, names.sh_size);
    std::string_view rest = s.st_name < all.size() ? all.substr(s.st_name) : std::string_view();
    return std::string(rest.substr(0, rest.find('\0')));
  }

  /// Calls f(place, symbol) for each symbol that the object defines and names.
  template <class F>
  void for_each(std::string_view object, F &&f) const {
    for (uint64_t at = table.sh_offset; at < table.sh_offset + table.sh_size; at += sizeof(Elf64_Sym)) {
      auto s = read_at<Elf64_Sym>(object, at);
      if (s.st_shndx != SHN_UNDEF && s.st_name != 0) f(at, s);
    }
  }
};

}  // namespace

std::vector<ObjectFunction> functions_of(std::string_view object) {
  Symbols symbols(object);
  std::vector<ObjectFunction> out;
  symbols.for_each(object, [&](uint64_t, const Elf64_Sym &s) {
    if (ELF64_ST_TYPE(s.st_info) == STT_FUNC)
      out.push_back({symbols.name(object, s), s.st_shndx, s.st_value, s.st_size});
  });
  return out;
}

/// The new names follow a copy of the old ones, at the end of the file.
std::string rename_symbols(std::string object,
                           const std::function<std::string(const std::string &)> &renamed) {
  Symbols symbols(object);
  std::string names = object.substr(symbols.names.sh_offset, symbols.names.sh_size);
  symbols.for_each(std::string_view(object), [&](uint64_t at, Elf64_Sym s) {
    std::string before = symbols.name(object, s), after = renamed(before);
    if (after == before) return;
    s.st_name = static_cast<uint32_t>(names.size());
    names.append(after).push_back('\0');
    write_at(object, at, s);
  });
  symbols.names.sh_offset = object.size(), symbols.names.sh_size = names.size();
  write_at(object, symbols.names_place, symbols.names);
  return object + names;
}

std::string place_sections(std::string object, std::span<const uint64_t> addresses) {
  auto header = read_at<Elf64_Ehdr>(object, 0);
  for (uint64_t i = 0; i < header.e_shnum && i < addresses.size(); ++i) {
    uint64_t place = header.e_shoff + i * sizeof(Elf64_Shdr);
    auto s = read_at<Elf64_Shdr>(object, place);
    s.sh_addr = addresses[i];
    write_at(object, place, s);
  }
  return object;
}

/// The file: header | data | symbols | names of symbols | names of sections | table of sections
std::string data_object(std::string_view symbol, std::string_view bytes, std::string_view like) {
  auto header = read_at<Elf64_Ehdr>(like, 0);
  std::string out(sizeof header, '\0');
  out.append(bytes);
  out.resize((out.size() + 7) / 8 * 8, '\0');
  uint64_t symbols_at = out.size();
  append_record(out, Elf64_Sym{});
  Elf64_Sym data{};
  data.st_name = 1, data.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  data.st_shndx = 1, data.st_size = bytes.size();
  append_record(out, data);
  std::string names = '\0' + std::string(symbol) + '\0';
  uint64_t names_at = out.size();
  out += names;
  constexpr std::string_view section_names("\0.rodata\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0", 51);
  uint64_t section_names_at = out.size();
  out += section_names;
  out.resize((out.size() + 7) / 8 * 8, '\0');
  header.e_shoff = out.size();
  header.e_shnum = 6, header.e_shstrndx = 4;
  append_record(out, Elf64_Shdr{});
  Elf64_Shdr rodata = section(1, SHT_PROGBITS, sizeof header, bytes.size(), 64);
  rodata.sh_flags = SHF_ALLOC;
  append_record(out, rodata);
  Elf64_Shdr symtab = section(9, SHT_SYMTAB, symbols_at, 2 * sizeof(Elf64_Sym), 8);
  symtab.sh_link = 3, symtab.sh_info = 1, symtab.sh_entsize = sizeof(Elf64_Sym);
  append_record(out, symtab);
  append_record(out, section(17, SHT_STRTAB, names_at, names.size(), 1));
  append_record(out, section(25, SHT_STRTAB, section_names_at, section_names.size(), 1));
  append_record(out, section(35, SHT_PROGBITS, sizeof header, 0, 1));
  write_at(out, 0, header);
  return out;
}

}  // namespace kw
