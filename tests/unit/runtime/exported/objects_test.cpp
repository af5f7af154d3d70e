// Objects for the linker, as our own loader reads them.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/cpu/loader.h"
#include "runtime/exported/exported.h"
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

TEST(ExportedObjects, data_lies_under_its_symbol) {
  std::string object = data_object("somewhere", std::string("bytes\0", 6), like());
  EXPECT_EQ(loaded(object, "somewhere"), "bytes");
  EXPECT_EQ(loaded(object, "elsewhere"), "");
}

TEST(ExportedObjects, a_symbol_gets_a_longer_name) {
  std::string object = data_object("a", std::string("bytes\0", 6), like());
  std::string renamed = rename_symbol(object, "a", "a_much_longer_name");
  EXPECT_EQ(loaded(renamed, "a_much_longer_name"), "bytes");
  EXPECT_EQ(loaded(renamed, "a"), "");
}

TEST(ExportedObjects, what_is_no_object_is_an_internal_error) {
  std::string object = data_object("a", "bytes", like());
  EXPECT_THROW(rename_symbol(object, "b", "c"), CompileError);
  size_t needed = object.size() - 2 * sizeof(Elf64_Shdr);  // the last two sections are not read
  for (size_t n = 0; n < needed; n += 7)
    EXPECT_THROW(rename_symbol(object.substr(0, n), "a", "b"), CompileError) << n;
}

}  // namespace

}  // namespace kw
