// The one function that libkernelwright_llvm.so exports, and the data that crosses the boundary. The data is
// plain: no exception, no LLVM type, and no allocation of one side that the other frees.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/func.h"
#include "support/target.h"

#define KW_EXPORT __attribute__((visibility("default")))

extern "C" {

enum KwLlvmWant : int32_t { KW_WANT_OBJECT = 0, KW_WANT_IR = 1, KW_WANT_ASM = 2 };
/// Faults that the containment test provokes inside the library.
enum KwLlvmProvoke : int32_t {
  KW_PROVOKE_NOTHING = 0,
  KW_PROVOKE_DIAGNOSTIC = 1,
  KW_PROVOKE_FATAL = 2,
  KW_PROVOKE_TYPE = 3,
  KW_PROVOKE_MALFORMED = 4,
  KW_PROVOKE_NO_MEMORY = 5
};

struct KwLlvmRequest {
  const char *build_id;  ///< the caller's; must equal the library's, since IR crosses in its memory layout
  const kw::Func *func;  ///< null: only sets LLVM up for the target; compiles wait for that
  const kw::Target *target;
  int32_t want;
  int32_t provoke;
  const kw::SourcePlaces *places;  ///< for line tables; null: none
};

/// Receives the result or the error text while the call runs. If the request has no function, it is called
/// without data as soon as other calls may come.
typedef void (*KwLlvmReceive)(void *context, const char *data, size_t size);

/// Returns 0 if `receive` got the bytes, and 1 if it got an error text, after which the library works on.
/// Returns 2 if it got an error text because the caller is of another build; nothing else was read. Returns 3
/// if there was no memory, and `receive` got nothing.
KW_EXPORT int32_t kw_llvm_compile(const KwLlvmRequest *request, KwLlvmReceive receive,
                                  void *context) noexcept;
}
