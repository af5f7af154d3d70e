// Opens libkernelwright_llvm.so on the first compile, from the directory of the core library; never on a
// cache hit. The only place that knows the file name; holds no LLVM types.
#pragma once

#include <string>

#include "ir/func.h"
#include "support/target.h"

namespace kw {

enum class LlvmWant : int32_t { object, ir, assembly };

/// Returns whether this build has the library: it is made without it by cmake -DKW_LLVM=OFF.
bool has_llvm();

/// Keeps forks waiting as long as it exists: a thread compiles. It may be nested. The thread must not wait
/// for a lock that whoever forks may hold, Python's among them.
struct HoldForks {
  HoldForks();
  ~HoldForks();
  HoldForks(const HoldForks &) = delete;
  HoldForks &operator=(const HoldForks &) = delete;
};

/// Returns the object, IR text or assembly text of a function; with `places`, with line tables. Throws
/// CompileError with E502 if the library cannot be opened, and with E503 if LLVM fails. Throws std::bad_alloc
/// if there is no memory.
std::string call_llvm(const Func &f, const Target &target, LlvmWant want,
                      const SourcePlaces *places = nullptr);

/// Starts to open the library and set up LLVM for `target` in a thread of its own, while the source is read.
/// Returns at once and reports nothing: call_llvm does.
void open_llvm_early(const Target &target);

/// Provokes one of LLVM's failure modes (see llvm_entry.h) in a compile of `f`; returns the contained error
/// text. Throws std::bad_alloc if that is the failure.
std::string provoke_llvm_fault(const Func &f, const Target &target, int32_t what);

}  // namespace kw
