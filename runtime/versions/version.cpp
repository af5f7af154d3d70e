// Runs the entry program of a call and chooses between the two bodies.
#include "runtime/versions/version.h"

#include <algorithm>

#include "ir/limits.h"
#include "runtime/versions/faults.h"

namespace kw {

namespace {

/// Returns the index of the first extent of an output with 2^46 or more elements; nothing if there is none.
/// Each extent alone is already below 2^46.
std::optional<size_t> too_large_output(const LoadedKernel &kernel, std::span<const int64_t> extents) {
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

/// Compares with an element loop, because for a few elements it is faster than memcmp, which std::equal
/// becomes.
template <class T>
bool are_same(std::span<const T> a, std::span<const T> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return false;
  return true;
}

}  // namespace

bool Version::serves(std::span<const uint16_t> call) const {
  return are_same<uint16_t>(words, call) && mode == execution_mode();
}

void Version::set_calls(std::span<const uint16_t> call) {
  words.truncate(0);
  words.append(call);
  mode = execution_mode();
}

bool Version::knows(const CallSizes &sizes) const {
  if (!shape_known || !are_same<int64_t>(extents, sizes.extents)) return false;
  return std::equal(scalars.begin(), scalars.end(), sizes.scalars.begin());
}

Request Version::request_of(Body body) const {
  Request r = request;
  r.options.body = body;
  if (r.target.is_gpu()) set_present_target(r);  // the host runs what is rare
  return r;
}

/// Returns the number of extents that the entry program has to deliver: the ranks of all outputs together.
static size_t output_dims(const LoadedKernel &kernel) {
  size_t dims = 0;
  for (const ParamRecord &p : kernel.artifact().params) dims += p.mode == ParamMode::out ? p.rank : 0;
  return dims;
}

/// Runs the entry program of a body. Returns false and sets `error` if it refuses the call.
static bool enter(const LoadedKernel &kernel, const CallSizes &sizes, EntryResult &r, Resolved &error) {
  const EntryProgram &program = kernel.artifact().program;
  r = evaluate_entry(program, sizes.extents.data(), sizes.extents.size(), sizes.scalars.data(),
                     sizes.scalars.size());
  if (r.error != EntryResult::Error::none) {
    error = entry_error(kernel, r);
    return false;
  }
  // a trip count depends on data, so the estimate is no bound: the call counts as the longest possible
  if (!program.bounded) r.work = INT64_MAX;
  if (r.extent_count != output_dims(kernel)) {  // a program of another writer
    r.error = EntryResult::Error::malformed;
    error = entry_error(kernel, r);
    return false;
  }
  auto large = too_large_output(kernel, r.extents());
  if (large) error = extent_error(kernel, *large, Code::E224, 0);
  return !large;
}

/// Runs the entry program for new extents, chooses the body and stores both in the version.
static Entered enter_shape(Version &v, const CallSizes &sizes, const std::function<bool(Body)> &need,
                           Resolved &error) {
  EntryResult r;
  if (!enter(*v.main, sizes, r, error)) return Entered::refused;
  bool use_plain = !r.facts_hold, reads_scalars = r.reads_scalars;
  if (use_plain) {
    if (!need(Body::plain)) return Entered::no_body;
    if (!enter(*v.plain, sizes, r, error)) return Entered::refused;
  }
  v.extents.assign(sizes.extents.begin(), sizes.extents.end());
  v.out_extents.assign(r.extents().begin(), r.extents().end());
  v.workspace = r.workspace;
  v.work = r.work;
  v.use_plain = use_plain;
  // scalars that no entry program read are ignored, so calls that differ only in them match
  size_t counted = reads_scalars || r.reads_scalars ? sizes.scalars.size() : 0;
  v.scalars.assign(sizes.scalars.begin(), sizes.scalars.begin() + static_cast<ptrdiff_t>(counted));
  v.shape_known = true;
  return Entered::ok;
}

Entered enter_call(Version &v, const CallSizes &sizes, bool in_source_order,
                   const std::function<bool(Body)> &need, Entry &entry, Resolved &error) {
  if (in_source_order) {
    EntryResult r;
    if (!need(Body::overlapping)) return Entered::no_body;
    if (!enter(*v.overlapping, sizes, r, error)) return Entered::refused;
    entry.kernel = v.overlapping.get();
    entry.out_extents.append(r.extents());
    entry.workspace = r.workspace, entry.work = r.work;
    return Entered::ok;
  }
  entry.is_new_shape = !v.knows(sizes);
  if (entry.is_new_shape)
    if (Entered e = enter_shape(v, sizes, need, error); e != Entered::ok) return e;
  entry.kernel = &v.body();
  entry.out_extents.append(v.out_extents);
  entry.workspace = v.workspace, entry.work = v.work;
  return Entered::ok;
}

}  // namespace kw
