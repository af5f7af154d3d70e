// Maps and protects code memory with mmap and mprotect.
#include "runtime/cpu/map_code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>

namespace kw {

CodeMapping::CodeMapping(size_t bytes) {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_ = (bytes + page - 1) / page * page;
  void *p = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<char *>(p);
}

CodeMapping::~CodeMapping() {
  if (data_) munmap(data_, size_);
}

bool CodeMapping::make_executable() {
  if (mprotect(data_, size_, PROT_READ | PROT_EXEC) != 0) {
    if (errno == ENOMEM) throw std::bad_alloc();
    return false;
  }
  // on AArch64 the instruction cache does not see data writes without this flush
  __builtin___clear_cache(data_, data_ + size_);
  return true;
}

}  // namespace kw
