// Reads the headers of fat binaries: each has a header, then code with a header of its own. NVIDIA does not
// document them; the fields are those of what nvcc 13.0 made for known architectures.
#include "runtime/aot/gpu_code.h"

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "support/text.h"

namespace kw {

namespace {

struct FatBinary {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  ///< behind the header
};

struct FatEntry {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t bytes;  ///< behind the header
  uint64_t unused;
  uint16_t minor, major;  ///< of the format of the code
  uint32_t capability;
};

constexpr uint32_t fat_magic = 0xba55ed50;
constexpr uint16_t kind_ptx = 1, kind_machine_code = 2;

}  // namespace

std::vector<GpuCode> gpu_code_in(const std::string &path, const SectionPlace &section) {
  std::ifstream file(path, std::ios::binary);
  std::vector<GpuCode> out;
  uint64_t at = section.offset, end = at + section.bytes;
  auto has_room = [&](uint64_t bytes, uint64_t limit) { return bytes <= limit - at; };
  while (has_room(sizeof(FatBinary), end)) {
    FatBinary head;
    if (!read_at(file, at, head)) return {};
    if (head.magic != fat_magic || head.header_bytes < sizeof head || !has_room(head.header_bytes, end))
      return {};
    at += head.header_bytes;
    if (!has_room(head.bytes, end)) return {};
    for (uint64_t last = at + head.bytes; at < last;) {
      FatEntry entry;
      bool is_known = has_room(sizeof entry, last) && read_at(file, at, entry) &&
                      (entry.kind == kind_ptx || entry.kind == kind_machine_code) &&
                      entry.header_bytes >= sizeof entry && has_room(entry.header_bytes, last);
      if (!is_known) return {};
      at += entry.header_bytes;
      if (!has_room(entry.bytes, last)) return {};
      at += entry.bytes;
      GpuCode code{static_cast<int>(entry.capability), entry.kind == kind_ptx};
      if (std::find(out.begin(), out.end(), code) == out.end()) out.push_back(code);
    }
  }
  return out;
}

bool can_run(const std::vector<GpuCode> &code, int capability) {
  return std::any_of(code.begin(), code.end(), [&](const GpuCode &c) {
    bool is_family = c.capability / 10 == capability / 10;  // the last digit is the minor version
    return c.capability <= capability && (c.is_ptx || is_family);
  });
}

std::string gpu_code_text(const std::vector<GpuCode> &code) {
  std::vector<std::string> names;
  for (const GpuCode &c : code) names.push_back(cat(c.is_ptx ? "compute_" : "sm_", c.capability));
  return join_text(names, ", ");
}

}  // namespace kw
