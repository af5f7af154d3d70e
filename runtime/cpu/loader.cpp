// Bounds-checked reading of ELF64 little-endian objects for x86-64 and AArch64.
#include "runtime/cpu/loader.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <vector>

#include "support/text.h"

namespace kw {

namespace {

// Bytes of a loaded image. Chosen: far above any kernel, and within the range of 32-bit relocations.
constexpr size_t max_image = size_t{256} << 20;

/// One load. Each step returns false after an error; later steps rely on the checks of earlier ones.
class Loader {
 public:
  explicit Loader(std::string_view bytes) : bytes_(bytes) {}

  LoadedObject run(std::string_view symbol) {
    if (!(read_header() && layout() && copy() && find_symbols() && relocate() && find_entry(symbol) &&
          read_frames())) {
      LoadedObject failed;
      failed.error = error_.empty() ? "malformed object" : error_;
      return failed;
    }
    if (!code_.make_executable()) {
      LoadedObject failed;
      failed.error = "the system refuses executable memory";
      return failed;
    }
    LoadedObject out;
    for (size_t offset : offsets_)
      out.addresses.push_back(offset == SIZE_MAX ? 0 : reinterpret_cast<uint64_t>(code_.data()) + offset);
    out.code = std::move(code_);
    out.entry = entry_;
    out.stack_bytes = stack_bytes_;
    return out;
  }

 private:
  bool fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  /// Copies a structure at an offset of the file; returns nothing if the file ends before the structure does.
  /// The copy needs no alignment.
  template <class T>
  std::optional<T> read(uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) return std::nullopt;
    T v;
    std::memcpy(&v, bytes_.data() + offset, sizeof(T));
    return v;
  }
  /// Returns whether the contents of a section are inside the file; the subtraction avoids overflow of the
  /// sum.
  bool inside(const Elf64_Shdr &s) const {
    return s.sh_offset <= bytes_.size() && s.sh_size <= bytes_.size() - s.sh_offset;
  }

  /// Checks that the file is a relocatable object for this machine and collects its sections.
  bool read_header() {
    auto header = read<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return fail("no ELF object");
#if defined(__aarch64__)
    constexpr int machine = EM_AARCH64;
#else
    constexpr int machine = EM_X86_64;
#endif
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_ident[EI_VERSION] != EV_CURRENT || header->e_version != EV_CURRENT ||
        header->e_shentsize != sizeof(Elf64_Shdr) || header->e_type != ET_REL || header->e_machine != machine)
      return fail("an object of another kind");
    for (uint32_t i = 0; i < header->e_shnum; ++i) {
      auto s = read<Elf64_Shdr>(header->e_shoff + uint64_t{i} * sizeof(Elf64_Shdr));
      if (!s || (s->sh_type != SHT_NOBITS && !inside(*s))) return fail("a section outside of the file");
      sections_.push_back(*s);
    }
    return true;
  }

  /// Places the allocated sections one after another, aligned, and maps memory for all of them. Writable
  /// sections are refused: the mapping becomes read-only.
  bool layout() {
    size_t total = 0;
    offsets_.assign(sections_.size(), SIZE_MAX);
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr &s = sections_[i];
      if (!(s.sh_flags & SHF_ALLOC) || s.sh_size == 0) continue;
      if (s.sh_flags & SHF_WRITE) return fail("a writable section");
      size_t align = s.sh_addralign ? s.sh_addralign : 1;
      if (align > 4096 || (align & (align - 1)) || s.sh_size > max_image)
        return fail("an impossible section");
      total = (total + align - 1) / align * align;
      offsets_[i] = total;
      total += s.sh_size;
      if (total > max_image) return fail("an impossible size");
    }
    if (total == 0) return fail("no code");
    code_ = CodeMapping(total);
    return true;
  }

  /// Copies the contents of the placed sections. NOBITS sections remain zeros, as the mapping is.
  bool copy() {
    for (size_t i = 0; i < sections_.size(); ++i)
      if (offsets_[i] != SIZE_MAX && sections_[i].sh_type != SHT_NOBITS)
        std::memcpy(code_.data() + offsets_[i], bytes_.data() + sections_[i].sh_offset, sections_[i].sh_size);
    return true;
  }

  /// Finds the symbol table and its names, which relocations refer to.
  bool find_symbols() {
    for (const Elf64_Shdr &s : sections_) {
      if (s.sh_type != SHT_SYMTAB) continue;
      bool names = s.sh_link < sections_.size() && sections_[s.sh_link].sh_type == SHT_STRTAB;
      if (!names) return fail("no symbol names");
      symbols_ = &s;
      names_ = &sections_[s.sh_link];
      return true;
    }
    return fail("no symbols");
  }

  std::optional<Elf64_Sym> symbol(uint64_t index) const {
    if (index >= symbols_->sh_size / sizeof(Elf64_Sym)) return std::nullopt;
    return read<Elf64_Sym>(symbols_->sh_offset + index * sizeof(Elf64_Sym));
  }
  std::string_view name(const Elf64_Sym &s) const {
    if (s.st_name >= names_->sh_size) return {};
    const char *begin = bytes_.data() + names_->sh_offset + s.st_name;
    return {begin, strnlen(begin, names_->sh_size - s.st_name)};
  }
  /// Returns the address of a symbol in a mapped section, or null.
  char *address(const Elf64_Sym &s) const {
    if (s.st_shndx == SHN_UNDEF || s.st_shndx >= sections_.size() || offsets_[s.st_shndx] == SIZE_MAX)
      return nullptr;
    if (s.st_value > sections_[s.st_shndx].sh_size) return nullptr;
    return code_.data() + offsets_[s.st_shndx] + s.st_value;
  }

  /// Applies the relocations of the placed sections. Relocations of other sections, such as debug
  /// information, are skipped.
  bool relocate() {
    for (const Elf64_Shdr &s : sections_) {
      if (s.sh_type == SHT_REL) return fail("relocations without addends");
      if (s.sh_type != SHT_RELA || s.sh_info >= sections_.size() || offsets_[s.sh_info] == SIZE_MAX) continue;
      for (uint64_t i = 0; i < s.sh_size / sizeof(Elf64_Rela); ++i) {
        auto r = read<Elf64_Rela>(s.sh_offset + i * sizeof(Elf64_Rela));
        if (!r || !apply(*r, sections_[s.sh_info].sh_size, code_.data() + offsets_[s.sh_info])) return false;
      }
    }
    return true;
  }

  /// Computes S + A, the address of the symbol plus the addend; checks the location and patches it.
  bool apply(const Elf64_Rela &r, uint64_t section_size, char *base) {
    auto s = symbol(ELF64_R_SYM(r.r_info));
    char *target = s ? address(*s) : nullptr;
    if (!target) return fail(s ? cat("undefined symbol ", name(*s)) : "no such symbol");
    uint64_t type = ELF64_R_TYPE(r.r_info), width = type == R_X86_64_64 ? 8 : 4;
    if (r.r_offset > section_size || width > section_size - r.r_offset)
      return fail("a relocation outside of its section");
    char *place = base + r.r_offset;
    auto value = reinterpret_cast<uint64_t>(target) + static_cast<uint64_t>(r.r_addend);
    return patch(type, place, value);
  }

#if defined(__aarch64__)
  bool patch(uint64_t type, char *place, uint64_t value) {
    uint32_t word;
    std::memcpy(&word, place, 4);
    auto at = reinterpret_cast<uint64_t>(place);
    auto low12 = [&](int shift) { word |= static_cast<uint32_t>((value & 0xFFF) >> shift) << 10; };
    switch (type) {
      case R_AARCH64_ADR_PREL_PG_HI21: {
        uint64_t pages = (value >> 12) - (at >> 12);
        word |=
            static_cast<uint32_t>((pages & 3) << 29) | static_cast<uint32_t>(((pages >> 2) & 0x7FFFF) << 5);
        break;
      }
      case R_AARCH64_ADD_ABS_LO12_NC:
      case R_AARCH64_LDST8_ABS_LO12_NC: low12(0); break;
      case R_AARCH64_LDST16_ABS_LO12_NC: low12(1); break;
      case R_AARCH64_LDST32_ABS_LO12_NC: low12(2); break;
      case R_AARCH64_LDST64_ABS_LO12_NC: low12(3); break;
      case R_AARCH64_LDST128_ABS_LO12_NC: low12(4); break;
      case R_AARCH64_CALL26:
      case R_AARCH64_JUMP26: word |= static_cast<uint32_t>(((value - at) >> 2) & 0x3FFFFFF); break;
      default: return fail(cat("relocation type ", type));
    }
    std::memcpy(place, &word, 4);
    return true;
  }
#else
  /// Patches one location. A call through the PLT becomes direct, because all symbols are in the image,
  /// within 32 bits.
  bool patch(uint64_t type, char *place, uint64_t value) {
    if (type == R_X86_64_64) return std::memcpy(place, &value, 8), true;
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32) return fail(cat("relocation type ", type));
    auto distance = static_cast<uint32_t>(value - reinterpret_cast<uint64_t>(place));
    std::memcpy(place, &distance, 4);
    return true;
  }
#endif

  /// Finds the address of `wanted`. Index 0 is the null symbol; any other undefined symbol is refused.
  bool find_entry(std::string_view wanted) {
    for (uint64_t i = 1; auto s = symbol(i); ++i) {
      if (s->st_shndx == SHN_UNDEF) return fail(cat("undefined symbol ", name(*s)));
      if (name(*s) == wanted) entry_ = address(*s);
    }
    return entry_ || fail(cat("no symbol ", wanted));
  }

  std::string_view section_name(const Elf64_Shdr &s) const {
    auto header = read<Elf64_Ehdr>(0);
    if (!header || header->e_shstrndx >= sections_.size()) return {};
    const Elf64_Shdr &names = sections_[header->e_shstrndx];
    if (names.sh_type != SHT_STRTAB || s.sh_name >= names.sh_size) return {};
    const char *begin = bytes_.data() + names.sh_offset + s.sh_name;
    return {begin, strnlen(begin, names.sh_size - s.sh_name)};
  }

  /// Adds the frame sizes of `.stack_sizes`: for each function its address and a number in LEB128. The sum
  /// bounds the stack of every chain of calls that enters no function twice.
  bool read_frames() {
    for (const Elf64_Shdr &s : sections_) {
      if (s.sh_type != SHT_PROGBITS || section_name(s) != ".stack_sizes") continue;
      const auto *at = reinterpret_cast<const uint8_t *>(bytes_.data() + s.sh_offset), *end = at + s.sh_size;
      while (end - at > 8) {
        at += 8;
        uint64_t size = 0;
        for (int shift = 0;; shift += 7) {
          if (at == end || shift > 28) return fail("an impossible frame");
          size |= uint64_t{*at & 0x7Fu} << shift;
          if (!(*at++ & 0x80)) break;
        }
        stack_bytes_ += size;
      }
    }
    return true;
  }

  std::string_view bytes_;
  std::string error_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<size_t> offsets_;
  CodeMapping code_;
  const Elf64_Shdr *symbols_ = nullptr, *names_ = nullptr;
  void *entry_ = nullptr;
  size_t stack_bytes_ = 0;
};

}  // namespace

LoadedObject load_object(std::string_view bytes, std::string_view symbol) {
  return Loader(bytes).run(symbol);
}

}  // namespace kw
