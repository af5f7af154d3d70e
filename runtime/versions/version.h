// One compiled version of a kernel (one signature, one set of captured values): its bodies, and what the last
// call with it computed. Knows nothing of Python and of who calls; not thread-safe.
#pragma once

#include <functional>
#include <span>

#include "runtime/kernel.h"
#include "runtime/request.h"
#include "runtime/versions/entry.h"

namespace kw {

/// What the kernel is told of a call: the extents of its tensors one after the other, and its scalars.
struct CallSizes {
  std::span<const int64_t> extents;
  std::span<const uint64_t> scalars;
};

struct Version {
  Request request;  ///< for the body `main`
  std::shared_ptr<const LoadedKernel> main, plain;
  std::shared_ptr<const LoadedKernel> overlapping;  ///< for calls whose arguments share memory
  bool has_inout = false;
  // of the last call
  std::vector<int64_t> extents;
  std::vector<uint64_t> scalars;  ///< where what follows depends on them; else empty
  bool shape_known = false, use_plain = false;
  std::vector<int64_t> out_extents;
  int64_t workspace = 0, work = 0;

  /// The body that runs for the extents of the last call.
  const LoadedKernel &body() const { return use_plain ? *plain : *main; }
  /// Whether a call has the extents, and the scalars that count, of the last one.
  bool knows(const CallSizes &sizes) const;
  /// The request of another body than `main`.
  Request request_of(Body body) const;
};

/// How many outputs a kernel makes.
size_t output_count(const LoadedKernel &kernel);

enum class Entered : uint8_t { ok, refused, no_plain };

/// What the entry program of a body says of a call. False with the error: an extent is negative, an output
/// exceeds 2^46 elements or the temporaries 2^46 bytes.
bool enter(const LoadedKernel &kernel, const CallSizes &sizes, EntryResult &r, Resolved &error);
/// Runs the entry program for new extents, chooses the body and notes both in the version. `need_plain` loads
/// the body `plain`; when it returns false so does this, as no_plain.
Entered enter_shape(Version &v, const CallSizes &sizes, const std::function<bool()> &need_plain,
                    Resolved &error);

}  // namespace kw
