// KW_FROZEN=1: a process that runs cached kernels only, and compiles none. Tells why the cache did not have
// what was asked for.
#pragma once

#include <span>

#include "runtime/cache.h"
#include "runtime/request.h"
#include "runtime/shared_cache.h"
#include "support/diagnostic.h"

namespace kw {

/// Returns whether KW_FROZEN is 1; read once.
bool is_frozen();

/// Returns E507 for a version that no cache has. Names the kernel and its types and, of the nearest entry,
/// the first line of the key that differs.
Resolved frozen_error(const Request &r, const DiskCache &own, std::span<const SharedCache> shared);

}  // namespace kw
