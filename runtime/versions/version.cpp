// Runs the entry program of a call and chooses between the two bodies.
#include "runtime/versions/version.h"

#include <algorithm>

#include "ir/limits.h"
#include "runtime/versions/faults.h"

namespace kw {

namespace {

/// Returns the index of the first extent of an output with 2^46 or more elements; nothing if there is none.
/// Each extent alone is already below 2^46.
std::optional<size_t> too_large_output(const LoadedKernel &kernel, const std::vector<int64_t> &extents) {
  size_t at = 0;
  for (const ParamRecord &p : kernel.artifact().params) {
    if (p.mode != ParamMode::out) continue;
    int64_t elements = 1;
    bool empty = false, wide = false;
    for (size_t d = 0; d < p.rank; ++d) {
      empty |= extents[at + d] == 0;
      wide |= __builtin_mul_overflow(elements, extents[at + d], &elements) || elements >= max_extent;
    }
    if (wide && !empty) return at;
    at += p.rank;
  }
  return {};
}

}  // namespace

bool Version::knows(const CallSizes &sizes) const {
  // an element loop, because for a few elements it is faster than memcmp, which std::equal becomes
  if (!shape_known || extents.size() != sizes.extents.size()) return false;
  for (size_t i = 0; i < extents.size(); ++i)
    if (extents[i] != sizes.extents[i]) return false;
  return std::equal(scalars.begin(), scalars.end(), sizes.scalars.begin());
}

Request Version::request_of(Body body) const {
  Request r = request;
  r.options.body = body;
  return r;
}

size_t output_count(const LoadedKernel &kernel) {
  const auto &params = kernel.artifact().params;
  return static_cast<size_t>(std::count_if(params.begin(), params.end(),
                                           [](const ParamRecord &p) { return p.mode == ParamMode::out; }));
}

/// Returns the number of extents that the entry program has to deliver: the ranks of all outputs together.
static size_t output_dims(const LoadedKernel &kernel) {
  size_t dims = 0;
  for (const ParamRecord &p : kernel.artifact().params) dims += p.mode == ParamMode::out ? p.rank : 0;
  return dims;
}

bool enter(const LoadedKernel &kernel, const CallSizes &sizes, EntryResult &r, Resolved &error) {
  const EntryProgram &program = kernel.artifact().program;
  r = evaluate_entry(program, sizes.extents.data(), sizes.extents.size(), sizes.scalars.data(),
                     sizes.scalars.size());
  if (r.error != EntryResult::Error::none) {
    error = entry_error(kernel, r);
    return false;
  }
  // a trip count depends on data, so the estimate is no bound: the call counts as the longest possible
  if (!program.bounded) r.work = INT64_MAX;
  if (r.extents.size() != output_dims(kernel)) {  // a program of another writer
    r.error = EntryResult::Error::malformed;
    error = entry_error(kernel, r);
    return false;
  }
  auto large = too_large_output(kernel, r.extents);
  if (large) error = extent_error(kernel, *large, Code::E224, 0);
  return !large;
}

Entered enter_shape(Version &v, const CallSizes &sizes, const std::function<bool()> &need_plain,
                    Resolved &error) {
  EntryResult r;
  if (!enter(*v.main, sizes, r, error)) return Entered::refused;
  bool use_plain = !r.facts_hold, reads_scalars = r.reads_scalars;
  if (use_plain) {
    if (!need_plain()) return Entered::no_plain;
    if (!enter(*v.plain, sizes, r, error)) return Entered::refused;
  }
  v.extents.assign(sizes.extents.begin(), sizes.extents.end());
  v.out_extents = std::move(r.extents);
  v.workspace = r.workspace;
  v.work = r.work;
  v.use_plain = use_plain;
  // scalars that no entry program read are ignored, so calls that differ only in them match
  size_t counted = reads_scalars || r.reads_scalars ? sizes.scalars.size() : 0;
  v.scalars.assign(sizes.scalars.begin(), sizes.scalars.begin() + static_cast<ptrdiff_t>(counted));
  v.shape_known = true;
  return Entered::ok;
}

}  // namespace kw
