// The machine code of the stand-in: a library of the host with the header of a cubin, as NVRTC 13 writes it.
// Shared by the stand-ins of NVRTC, which makes it, and of the driver, which loads it.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace emulator {

/// Gives a library the header of machine code for an architecture, "sm_90".
inline void name_machine(std::string &library, const std::string &arch) {
  auto *head = reinterpret_cast<Elf64_Ehdr *>(library.data());
  head->e_machine = EM_CUDA, head->e_ident[EI_ABIVERSION] = 8;
  head->e_flags = static_cast<uint32_t>(std::atoi(arch.c_str() + 3)) << 8;
}

/// Returns the library of an image with such a header; "" for other images.
inline std::string library_of_image(const void *image) {
  const auto *head = static_cast<const Elf64_Ehdr *>(image);
  if (std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_machine != EM_CUDA) return "";
  std::string out(static_cast<const char *>(image),
                  head->e_shoff + size_t{head->e_shentsize} * head->e_shnum);
  auto *own = reinterpret_cast<Elf64_Ehdr *>(out.data());
  own->e_machine = EM_X86_64, own->e_flags = 0, own->e_ident[EI_ABIVERSION] = 0;
  return out;
}

}  // namespace emulator
