// Uses mmap and madvise; sysconf, control groups of both versions, and the limit of the address space.
#include "runtime/memory/map_pages.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include "runtime/memory/control_groups.h"

namespace kw {

namespace {

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/// The mapping of some data, which begins one page before the data.
struct Range {
  char *begin;
  size_t bytes;
  Range(void *data, size_t data_bytes)
      : begin(static_cast<char *>(data) - page_size()),
        bytes(page_size() + round_up(data_bytes, page_size())) {}
};

/// Returns the number in a file; SIZE_MAX for the word "max" and if there is no such file.
size_t limit_in(const std::string &path) {
  std::ifstream file(path);
  size_t limit = 0;
  return file >> limit ? limit : SIZE_MAX;
}

/// Returns the least limit in bytes of the control groups of this process; SIZE_MAX without one.
size_t control_group_limit() {
  size_t least = SIZE_MAX;
  for_each_control_group("", "memory", [&](const std::string &folder, bool second_version) {
    least = std::min(least, limit_in(folder + (second_version ? "/memory.max" : "/memory.limit_in_bytes")));
  });
  return least;
}

}  // namespace

void *map_pages(size_t bytes) {
  const size_t page = page_size();
  size_t wanted = page + round_up(bytes, page), mapped = wanted + huge_page;
  if (bytes > mapped) return nullptr;  // the sums overflowed
  void *p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  // Maps one huge page more than requested, so that it contains an aligned address. Both ends are unmapped:
  // begin … first | page | data, at a multiple of 2 MB | … end
  auto *begin = static_cast<char *>(p), *end = begin + mapped;
  size_t shift = huge_page - (reinterpret_cast<uintptr_t>(begin) + page) % huge_page;
  char *first = begin + shift % huge_page;
  if (first != begin) munmap(begin, static_cast<size_t>(first - begin));
  if (first + wanted != end) munmap(first + wanted, static_cast<size_t>(end - first - wanted));
  madvise(first, wanted, MADV_HUGEPAGE);  // systems without huge pages refuse it, which is harmless
  return first + page;
}

void unmap_pages(void *data, size_t bytes) {
  Range range(data, bytes);
  munmap(range.begin, range.bytes);
}

bool offer_pages(void *data, size_t bytes) {
  return madvise(data, round_up(bytes, page_size()), MADV_FREE) == 0;
}

size_t usable_memory() {
  auto machine = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * page_size();
  rlimit limit{};
  size_t space = getrlimit(RLIMIT_AS, &limit) == 0 ? static_cast<size_t>(limit.rlim_cur) : SIZE_MAX;
  return std::min({machine, space, control_group_limit()});
}

}  // namespace kw
