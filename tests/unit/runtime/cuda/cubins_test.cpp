// What a header of machine code says.
#include "runtime/cuda/cubins.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

namespace kw {
namespace {

/// A header as NVRTC writes it: `flags` and `abi` are those of 13.0 and 12.9 for these architectures.
std::string header(uint32_t flags, unsigned char abi, uint16_t machine = EM_CUDA) {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_ABIVERSION] = abi;
  head.e_machine = machine, head.e_flags = flags;
  return {reinterpret_cast<const char *>(&head), sizeof head};
}

TEST(Cubins, the_header_names_the_architecture) {
  EXPECT_TRUE(is_code_for(header(0x6005a04, 8), "sm_90"));
  EXPECT_TRUE(is_code_for(header(0x6007802, 8), "sm_120"));
  EXPECT_TRUE(is_code_for(header(0x500550, 7), "sm_80"));
  EXPECT_FALSE(is_code_for(header(0x6005a04, 8), "sm_80"));
  EXPECT_FALSE(is_code_for(header(0x500550, 7), "sm_90"));
}

TEST(Cubins, other_images_are_no_machine_code) {
  std::string good = header(0x6005a04, 8);
  EXPECT_FALSE(is_code_for(header(0x6005a04, 8, EM_X86_64), "sm_90"));
  EXPECT_FALSE(is_code_for(good.substr(0, good.size() - 1), "sm_90"));
  EXPECT_FALSE(is_code_for("", "sm_90"));
  good[0] = 'E';
  EXPECT_FALSE(is_code_for(good, "sm_90"));
}

}  // namespace
}  // namespace kw
