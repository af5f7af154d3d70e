// Copies to shared memory that a thread waits for later. An odd seed lets some copy at once, others when the
// thread waits for them: a device may do either.
#include "copies.h"

#include <cstring>
#include <deque>
#include <unordered_map>
#include <vector>

#include "fibres.h"
#include "memory.h"

namespace emulator {

namespace {

struct Copy {
  void *to;
  const void *from;
  uint32_t bytes;
  bool is_made;
};
using Group = std::vector<Copy>;
/// The groups of a thread that it has not waited for; the last one has not ended.
std::unordered_map<uint32_t, std::deque<Group>> under_way;
uint64_t copies_so_far = 0;

void make(const Copy &c) { std::memcpy(c.to, c.from, c.bytes); }

void finish(const Group &group) {
  for (const Copy &c : group) {
    if (!c.is_made) make(c);
    set_under_way(c.to, c.bytes, false);
    access(c.to, c.bytes, Access::write, nullptr);  // others need a barrier after this
  }
}

}  // namespace

void end_copies() {
  for (const Group &g : under_way[here.thread])
    if (!g.empty()) report("ends before its copies to shared memory");
  under_way.erase(here.thread);
}

void forget_copies() { under_way.clear(); }

}  // namespace emulator

using namespace emulator;

extern "C" {

void kw_emulator_copy(void *to, const void *from, unsigned size, int line) {
  if (!is_shared(to)) report("an asynchronous copy to memory that is not shared");
  const void *site = reinterpret_cast<const void *>(intptr_t{line});
  access(const_cast<void *>(from), size, Access::read, site);
  access(to, size, Access::write, site);
  set_under_way(to, size, true);
  std::deque<Group> &groups = under_way[here.thread];
  if (groups.empty()) groups.emplace_back();
  uint64_t random = (seed_of_block() + copies_so_far++) * 0x9E3779B97F4A7C15ull;
  Copy c{to, from, size, seed_of_block() % 2 == 1 && random >> 63};
  if (c.is_made) make(c);
  groups.back().push_back(c);
}

void kw_emulator_end_group() {
  std::deque<Group> &groups = under_way[here.thread];
  if (groups.empty()) groups.emplace_back();
  groups.emplace_back();
}

void kw_emulator_wait_groups(unsigned left) {
  std::deque<Group> &groups = under_way[here.thread];
  // The last one has not ended: it does not count.
  for (; groups.size() > left + 1; groups.pop_front()) finish(groups.front());
}

}  // extern "C"
