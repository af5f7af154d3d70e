// Edited objects, as our own loader reads them.
#include "runtime/cpu/object_file.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/cpu/loader.h"
#include "support/diagnostic.h"

namespace kw {

namespace {

/// The header of an object for this machine.
std::string like() {
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64, h.e_ident[EI_DATA] = ELFDATA2LSB, h.e_ident[EI_VERSION] = EV_CURRENT;
  h.e_type = ET_REL, h.e_version = EV_CURRENT, h.e_ehsize = sizeof h, h.e_shentsize = sizeof(Elf64_Shdr);
#if defined(__aarch64__)
  h.e_machine = EM_AARCH64;
#else
  h.e_machine = EM_X86_64;
#endif
  return {reinterpret_cast<const char *>(&h), sizeof h};
}

/// The data that a loaded object has under a symbol; "" if it has none.
std::string loaded(const std::string &object, const char *symbol) {
  LoadedObject o = load_object(object, symbol);
  return o.error.empty() ? reinterpret_cast<const char *>(o.entry) : "";
}

TEST(ObjectFile, data_lies_under_its_symbol) {
  std::string object = data_object("somewhere", std::string("bytes\0", 6), like());
  EXPECT_EQ(loaded(object, "somewhere"), "bytes");
  EXPECT_EQ(loaded(object, "elsewhere"), "");
}

TEST(ObjectFile, a_symbol_gets_a_longer_name) {
  std::string object = data_object("a", std::string("bytes\0", 6), like());
  std::string renamed =
      rename_symbols(object, [](const std::string &name) { return "a_much_longer_name_than_" + name; });
  EXPECT_EQ(loaded(renamed, "a_much_longer_name_than_a"), "bytes");
  EXPECT_EQ(loaded(renamed, "a"), "");
  EXPECT_TRUE(functions_of(renamed).empty());  // it is data
}

TEST(ObjectFile, sections_get_addresses) {
  std::string object = data_object("a", "bytes", like());
  std::string placed = place_sections(object, std::vector<uint64_t>{0, 0x1000});
  Elf64_Ehdr header;
  std::memcpy(&header, placed.data(), sizeof header);
  Elf64_Shdr rodata;
  std::memcpy(&rodata, placed.data() + header.e_shoff + sizeof rodata, sizeof rodata);
  EXPECT_EQ(rodata.sh_addr, 0x1000u);
}

TEST(ObjectFile, what_is_no_object_is_an_internal_error) {
  std::string object = data_object("a", "bytes", like());
  auto same = [](const std::string &name) { return name; };
  size_t needed = object.size() - 2 * sizeof(Elf64_Shdr);  // the last two sections are not read
  for (size_t n = 0; n < needed; n += 7) {
    EXPECT_THROW(rename_symbols(object.substr(0, n), same), CompileError) << n;
    EXPECT_THROW(functions_of(object.substr(0, n)), CompileError) << n;
  }
}

}  // namespace

}  // namespace kw
