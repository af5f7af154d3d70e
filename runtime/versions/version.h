// One specialization of a kernel (one signature, one set of captured values): the words that select it, its
// bodies, and the results of its last call. Knows nothing of Python and of its callers; not thread-safe.
#pragma once

#include <functional>
#include <span>

#include "runtime/kernel.h"
#include "runtime/request.h"
#include "runtime/versions/entry.h"
#include "runtime/versions/signature_words.h"
#include "support/fixed_list.h"

namespace kw {

/// The sizes of a call: the extents of its tensors, concatenated, and its scalars.
struct CallSizes {
  std::span<const int64_t> extents;
  std::span<const uint64_t> scalars;
};

struct Version {
  Request request;                       ///< request for the body `main`
  FixedList<uint16_t, max_words> words;  ///< of its calls
  uint8_t mode = 0;                      ///< the execution_mode() for which it was compiled
  std::shared_ptr<const LoadedKernel> main, plain;
  std::shared_ptr<const LoadedKernel> overlapping;  ///< for calls whose arguments share memory
  bool has_inout = false;
  // state of the last call
  std::vector<int64_t> extents;
  std::vector<uint64_t> scalars;  ///< its scalars, if the state below depends on them; else empty
  bool shape_known = false, use_plain = false;
  std::vector<int64_t> out_extents;
  int64_t workspace = 0, work = 0;

  /// Returns whether it serves calls with these words in the present execution mode.
  bool serves(std::span<const uint16_t> call) const;
  /// Sets what `serves` compares.
  void set_calls(std::span<const uint16_t> call);
  /// Returns the body that runs for the extents of the last call.
  const LoadedKernel &body() const { return use_plain ? *plain : *main; }
  /// Returns whether a call has the same extents, and the same relevant scalars, as the last one.
  bool knows(const CallSizes &sizes) const;
  /// Returns the request for another body than `main`.
  Request request_of(Body body) const;
};

/// What a run needs of a version, copied, because other calls may change the version while it runs. The
/// version owns the kernel and keeps it.
struct Entry {
  const LoadedKernel *kernel = nullptr;
  FixedList<int64_t, max_outputs * max_rank> out_extents;
  int64_t workspace = 0, work = 0;
  bool is_new_shape = false;  ///< the version now knows these sizes; it knew others before
};

enum class Entered : uint8_t { ok, refused, no_body };

/// Chooses the body for a call and runs its entry program, or takes both from the last call of these sizes.
/// `in_source_order`: the body `overlapping` runs. `need` loads a body into the version; if it
/// returns false, the result is no_body. If the result is `refused`, sets `error`: an extent is negative, an
/// output exceeds 2^46 elements, or the temporaries exceed 2^46 bytes.
Entered enter_call(Version &v, const CallSizes &sizes, bool in_source_order,
                   const std::function<bool(Body)> &need, Entry &entry, Resolved &error);

}  // namespace kw
