// One specialization of a kernel (one signature, one set of captured values): its bodies, and the results of
// its last call. Knows nothing of Python and of its callers; not thread-safe.
#pragma once

#include <functional>
#include <span>

#include "runtime/kernel.h"
#include "runtime/request.h"
#include "runtime/versions/entry.h"

namespace kw {

/// The sizes of a call: the extents of its tensors, concatenated, and its scalars.
struct CallSizes {
  std::span<const int64_t> extents;
  std::span<const uint64_t> scalars;
};

struct Version {
  Request request;  ///< request for the body `main`
  std::shared_ptr<const LoadedKernel> main, plain;
  std::shared_ptr<const LoadedKernel> overlapping;  ///< for calls whose arguments share memory
  bool has_inout = false;
  // state of the last call
  std::vector<int64_t> extents;
  std::vector<uint64_t> scalars;  ///< its scalars, if the state below depends on them; else empty
  bool shape_known = false, use_plain = false;
  std::vector<int64_t> out_extents;
  int64_t workspace = 0, work = 0;

  /// Returns the body that runs for the extents of the last call.
  const LoadedKernel &body() const { return use_plain ? *plain : *main; }
  /// Returns whether a call has the same extents, and the same relevant scalars, as the last one.
  bool knows(const CallSizes &sizes) const;
  /// Returns the request for another body than `main`.
  Request request_of(Body body) const;
};

/// Returns the number of outputs of a kernel.
size_t output_count(const LoadedKernel &kernel);

enum class Entered : uint8_t { ok, refused, no_plain };

/// Runs the entry program of a body for a call. Returns false and sets `error` if an extent is negative, an
/// output exceeds 2^46 elements, or the temporaries exceed 2^46 bytes.
bool enter(const LoadedKernel &kernel, const CallSizes &sizes, EntryResult &r, Resolved &error);
/// Runs the entry program for new extents, chooses the body and stores both in the specialization.
/// `need_plain` loads the body `plain`; if it returns false, the result is no_plain.
Entered enter_shape(Version &v, const CallSizes &sizes, const std::function<bool()> &need_plain,
                    Resolved &error);

}  // namespace kw
