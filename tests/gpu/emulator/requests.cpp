// Groups accesses to requests. The n-th execution of an instruction by one thread of a warp and that by
// another one belong together, which holds for threads that go the same way.
//
// Memory of the device is read and written in sectors of 32 bytes. Shared memory has 32 banks of 4 bytes, and
// serves a request in as many steps as it takes to read each bank once a step; accesses of 8 and 16 bytes are
// served for 16 and 8 threads at a time.
#include "requests.h"

#include <array>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory.h"
#include "races.h"

namespace emulator {

bool counts_requests = false;

namespace {

constexpr uint64_t sector_bytes = 32, bank_bytes = 4, banks = 32;

struct Access {
  uint64_t address = 0;
  uint32_t bytes = 0;  ///< 0: this thread has none
};
struct Warp {
  std::array<Access, warp_size> lanes;
  bool writes = false, is_shared = false;
};

/// An instruction, and the warp or the thread that executes it.
struct Executed {
  const void *site;
  uint64_t who;
  bool operator==(const Executed &) const = default;
};
struct Hash {
  size_t operator()(const Executed &e) const {
    return (reinterpret_cast<uintptr_t>(e.site) ^ e.who * 0x9E3779B97F4A7C15ull) * 0xC2B2AE3D27D4EB4Full >> 7;
  }
};
std::unordered_map<Executed, uint32_t, Hash> times;          ///< that each thread executed an instruction
std::unordered_map<Executed, std::vector<Warp>, Hash> made;  ///< requests of each warp by each instruction

/// What a kind of requests needed, and the least that it could have needed.
struct Count {
  uint64_t needed = 0, least = 0;
};
/// Reads and writes of device memory in sectors, reads and writes of shared memory in steps.
using Counts = std::array<Count, 4>;
std::mutex mutex;
std::map<std::string, Counts> of_kernels;

Count sectors_of(const Warp &w) {
  std::set<uint64_t> sectors, bytes;
  for (const Access &a : w.lanes)
    for (uint64_t p = a.address; p < a.address + a.bytes; ++p)
      sectors.insert(p / sector_bytes), bytes.insert(p);
  return {sectors.size(), (bytes.size() + sector_bytes - 1) / sector_bytes};
}

Count steps_of(const Warp &w) {
  Count out;
  uint32_t widest = bank_bytes;
  for (const Access &a : w.lanes) widest = std::max(widest, a.bytes);
  size_t together = warp_size * bank_bytes / widest;
  for (size_t begin = 0; begin < warp_size; begin += together) {
    std::array<std::set<uint64_t>, banks> words;
    std::set<uint64_t> all;
    for (size_t i = begin; i < begin + together; ++i)
      for (uint64_t word = w.lanes[i].address / bank_bytes;
           w.lanes[i].bytes && word <= (w.lanes[i].address + w.lanes[i].bytes - 1) / bank_bytes; ++word)
        words[word % banks].insert(word), all.insert(word);
    size_t most = 0;
    for (const auto &bank : words) most = std::max(most, bank.size());
    out.needed += most, out.least += (all.size() + banks - 1) / banks;
  }
  return out;
}

}  // namespace

void add_request(const Request &r) {
  uint64_t thread = here.thread - 1, block = thread / here.threads, in_block = thread % here.threads;
  uint32_t time = times[{r.site, thread}]++;
  uint64_t warps = (here.threads + warp_size - 1) / warp_size;
  std::vector<Warp> &all = made[{r.site, block * warps + in_block / warp_size}];
  if (time >= all.size()) all.resize(time + 1);
  all[time].writes = r.writes, all[time].is_shared = r.is_shared;
  all[time].lanes[in_block % warp_size] = {r.address, r.bytes};
}

void finish_requests(const char *kernel) {
  Counts counts;
  for (const auto &[executed, warps] : made) {
    for (const Warp &w : warps) {
      Count c = w.is_shared ? steps_of(w) : sectors_of(w);
      Count &sum = counts[(w.is_shared ? 2u : 0u) + (w.writes ? 1u : 0u)];
      sum.needed += c.needed, sum.least += c.least;
    }
  }
  times.clear(), made.clear();
  std::scoped_lock lock(mutex);
  Counts &of_kernel = of_kernels[kernel];
  for (size_t i = 0; i < counts.size(); ++i)
    of_kernel[i].needed += counts[i].needed, of_kernel[i].least += counts[i].least;
}

}  // namespace emulator

using namespace emulator;

extern "C" {

/// For tests: begins to count, or ends it. Forgets what was counted.
void kw_emulator_count(int on) {
  std::scoped_lock lock(mutex);
  counts_requests = on != 0;
  of_kernels.clear();
}

/// For tests: a line for each kernel, with its name and the counts, each needed and least.
const char *kw_emulator_counts() {
  static std::string out;
  std::scoped_lock lock(mutex);
  out.clear();
  for (const auto &[kernel, counts] : of_kernels) {
    out += kernel;
    for (const Count &c : counts) out += " " + std::to_string(c.needed) + " " + std::to_string(c.least);
    out += "\n";
  }
  return out.c_str();
}

}  // extern "C"
