// The object loader: what it loads runs, and whatever core.md 2 does not allow, or is damaged, is refused.
#include "runtime/cpu/loader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <fstream>

#include "elf_object.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

using unit::ElfObject;

constexpr uint64_t code_flags = SHF_ALLOC | SHF_EXECINSTR;

ElfObject simple() {
  ElfObject o(unit::host_machine());
  uint16_t text = o.section(SHT_PROGBITS, code_flags, unit::returning_seven());
  o.symbol("kw_entry", text);
  return o;
}
std::string error_of(const std::string &bytes) { return load_object(bytes, "kw_entry").error; }
int call(const LoadedObject &o) { return reinterpret_cast<int (*)()>(o.entry)(); }

template <class T>
void overwrite(std::string &bytes, size_t at, T v) {
  ASSERT_LE(at + sizeof v, bytes.size());
  std::memcpy(bytes.data() + at, &v, sizeof v);
}

TEST(Loader, runs_what_it_loads) {
  LoadedObject o = load_object(simple().bytes(), "kw_entry");
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(call(o), 7);
}

TEST(Loader, memory_is_executable_and_not_writable) {
  LoadedObject o = load_object(simple().bytes(), "kw_entry");
  ASSERT_EQ(o.error, "");
  std::ifstream maps("/proc/self/maps");
  if (!maps) GTEST_SKIP() << "no /proc";
  std::string line, entry, begin = hex_text(reinterpret_cast<uint64_t>(o.code.data())).substr(2) + "-";
  while (std::getline(maps, line))
    if (starts_with(line, begin)) entry = line;
  EXPECT_NE(entry.find(" r-xp "), std::string::npos) << entry;
}

TEST(Loader, a_mapping_moves_with_its_owner) {
  LoadedObject o = load_object(simple().bytes(), "kw_entry");
  CodeMapping moved = std::move(o.code);
  EXPECT_EQ(o.code.data(), nullptr);
  EXPECT_EQ(call(o), 7);
  CodeMapping other;
  other = std::move(moved);
  EXPECT_EQ(call(o), 7);
}

#if defined(__x86_64__)
/// mov eax, [rip + value]; ret, where `value` lies in a read-only section behind it.
ElfObject reading(uint64_t type, int64_t addend) {
  ElfObject o(EM_X86_64);
  uint16_t text = o.section(SHT_PROGBITS, code_flags, std::string("\x8B\x05\0\0\0\0\xC3", 7));
  uint16_t data = o.section(SHT_PROGBITS, SHF_ALLOC, std::string("\x01\0\0\0\x2A\0\0\0", 8));
  o.symbol("kw_entry", text);
  uint32_t value = o.symbol("value", data);
  o.relocations(text, {{2, ELF64_R_INFO(value, type), addend}});
  return o;
}

TEST(Loader, applies_relative_relocations) {
  LoadedObject first = load_object(reading(R_X86_64_PC32, -4).bytes(), "kw_entry");
  LoadedObject second = load_object(reading(R_X86_64_PLT32, 0).bytes(), "kw_entry");  // four bytes further
  ASSERT_EQ(first.error + second.error, "");
  EXPECT_EQ(call(first), 1);
  EXPECT_EQ(call(second), 42);
}

TEST(Loader, applies_absolute_relocations) {
  // mov rax, value; mov eax, [rax]; ret
  ElfObject o(EM_X86_64);
  uint16_t text = o.section(SHT_PROGBITS, code_flags, std::string("\x48\xB8\0\0\0\0\0\0\0\0\x8B\0\xC3", 13));
  uint16_t data = o.section(SHT_PROGBITS, SHF_ALLOC, std::string("\x01\0\0\0\x2A\0\0\0", 8));
  o.symbol("kw_entry", text);
  o.relocations(text, {{2, ELF64_R_INFO(o.symbol("value", data), R_X86_64_64), 4}});
  LoadedObject loaded = load_object(o.bytes(), "kw_entry");
  ASSERT_EQ(loaded.error, "");
  EXPECT_EQ(call(loaded), 42);
}

TEST(Loader, other_relocations_are_refused) {
  for (uint64_t type :
       {R_X86_64_GOTPCREL, R_X86_64_32, R_X86_64_32S, R_X86_64_GOTPCRELX, R_X86_64_TPOFF32, 9999})
    EXPECT_NE(error_of(reading(type, -4).bytes()), "") << type;
}

TEST(Loader, relocations_outside_of_their_section_are_refused) {
  for (uint64_t offset : {uint64_t{4}, uint64_t{7}, uint64_t{100}, ~uint64_t{0} - 1}) {
    ElfObject o(EM_X86_64);
    uint16_t text = o.section(SHT_PROGBITS, code_flags, std::string(7, '\x90'));
    uint32_t entry = o.symbol("kw_entry", text);
    o.relocations(text, {{offset, ELF64_R_INFO(entry, R_X86_64_PC32), 0}});
    EXPECT_EQ(error_of(o.bytes()), "a relocation outside of its section") << offset;
  }
}

TEST(Loader, relocations_to_symbols_that_do_not_exist_are_refused) {
  ElfObject o(EM_X86_64);
  uint16_t text = o.section(SHT_PROGBITS, code_flags, std::string(8, '\x90'));
  o.symbol("kw_entry", text);
  o.relocations(text, {{0, ELF64_R_INFO(55, R_X86_64_PC32), 0}});
  EXPECT_NE(error_of(o.bytes()), "");
}
#endif

TEST(Loader, undefined_symbols_are_refused_by_name) {
  ElfObject o = simple();
  o.symbol("memset", SHN_UNDEF);
  EXPECT_EQ(error_of(o.bytes()), "undefined symbol memset");
}

TEST(Loader, the_entry_must_exist) {
  EXPECT_EQ(load_object(simple().bytes(), "other").error, "no symbol other");
  ElfObject absolute(unit::host_machine());
  absolute.section(SHT_PROGBITS, code_flags, unit::returning_seven());
  absolute.symbol("kw_entry", SHN_ABS, 0x1000);
  EXPECT_EQ(error_of(absolute.bytes()), "no symbol kw_entry");
}

TEST(Loader, the_entry_lies_inside_of_its_section) {
  ElfObject o(unit::host_machine());
  uint16_t text = o.section(SHT_PROGBITS, code_flags, unit::returning_seven());
  o.symbol("kw_entry", text, 1 << 20);
  EXPECT_NE(error_of(o.bytes()), "");
}

TEST(Loader, objects_of_another_kind_are_refused) {
  ElfObject other = simple();
  other.header.e_machine = EM_RISCV;
  EXPECT_EQ(error_of(other.bytes()), "an object of another kind");
  other = simple();
  other.header.e_type = ET_EXEC;
  EXPECT_EQ(error_of(other.bytes()), "an object of another kind");
  other = simple();
  other.header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(error_of(other.bytes()), "an object of another kind");
  other = simple();
  other.header.e_ident[EI_DATA] = ELFDATA2MSB;
  EXPECT_NE(error_of(other.bytes()), "");
  EXPECT_EQ(error_of("not an object"), "no ELF object");
  EXPECT_EQ(error_of(""), "no ELF object");
}

TEST(Loader, writable_sections_are_refused) {
  ElfObject o = simple();
  o.section(SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, "data");
  EXPECT_EQ(error_of(o.bytes()), "a writable section");
}

TEST(Loader, an_object_without_code_is_refused) {
  ElfObject o(unit::host_machine());
  o.symbol("kw_entry", o.section(SHT_PROGBITS, 0, unit::returning_seven()));
  EXPECT_EQ(error_of(o.bytes()), "no code");
}

TEST(Loader, impossible_sections_are_refused) {
  ElfObject o = simple();
  o.section(SHT_PROGBITS, SHF_ALLOC, "x", 3);
  EXPECT_EQ(error_of(o.bytes()), "an impossible section");
  std::string bytes = simple().bytes();
  overwrite<uint64_t>(bytes, simple().header_of(1) + offsetof(Elf64_Shdr, sh_size), uint64_t{1} << 40);
  EXPECT_EQ(error_of(bytes), "a section outside of the file");
  bytes = simple().bytes();
  overwrite<uint64_t>(bytes, simple().header_of(1) + offsetof(Elf64_Shdr, sh_offset), ~uint64_t{0});
  EXPECT_EQ(error_of(bytes), "a section outside of the file");
}

TEST(Loader, every_truncation_is_refused) {
  std::string bytes = simple().bytes();
  for (size_t n = 0; n < bytes.size(); ++n) ASSERT_NE(error_of(bytes.substr(0, n)), "") << n;
}

/// Symbol names in a section without bytes, said to lie far behind the end of the file. In a child, where it
/// may crash.
TEST(Loader, names_in_a_section_without_bytes_are_not_read) {
  ElfObject o = simple();
  o.symbol("other", SHN_UNDEF);
  std::string bytes = o.bytes();
  size_t names = o.header_of(o.section_count() - 1);
  overwrite<uint32_t>(bytes, names + offsetof(Elf64_Shdr, sh_type), SHT_NOBITS);
  overwrite<uint64_t>(bytes, names + offsetof(Elf64_Shdr, sh_offset), uint64_t{1} << 40);
  overwrite<uint64_t>(bytes, names + offsetof(Elf64_Shdr, sh_size), uint64_t{1} << 40);
  EXPECT_EQ(unit::run_in_child([&] { return error_of(bytes).empty() ? 1 : 0; }), 0);
}

/// Damaged objects are loaded (never run) or refused. In a child, where they may crash.
TEST(Loader, damaged_objects_never_crash) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
#if defined(__x86_64__)
  std::string whole = reading(R_X86_64_PC32, -4).bytes();
#else
  std::string whole = simple().bytes();
#endif
  int code = unit::run_in_child([&] {
    unit::Random random(unit::seed());
    for (int round = 0; round < 20000; ++round) {
      std::string bytes = whole;
      for (uint64_t n = 1 + random() % 3; n > 0; --n) {
        size_t at = random() % bytes.size();
        bytes[at] = static_cast<char>(random() % 2 ? bytes[at] ^ (1 << random() % 8) : random());
      }
      LoadedObject o = load_object(bytes, "kw_entry");
      if (o.error.empty() != (o.entry != nullptr)) return 1;
      if (o.entry && (static_cast<char *>(o.entry) < o.code.data() ||
                      static_cast<char *>(o.entry) > o.code.data() + o.code.size()))
        return 2;
    }
    return 0;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace kw
