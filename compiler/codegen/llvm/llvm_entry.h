// The one function that libkernelwright_llvm.so exports, and the data that crosses it. Everything is plain:
// no exception, no LLVM type and no allocation of one side freed by the other.
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
  const char *build_id;  ///< of the caller; must equal the library's, since IR crosses as it lies in memory
  const kw::Func *func;  ///< null: only set LLVM up for the target, which a compile beside it waits for
  const kw::Target *target;
  int32_t want;
  int32_t provoke;
};

/// Receives the result (or the error text) while the call runs; without a function, nothing: it is called
/// when other calls may come.
typedef void (*KwLlvmReceive)(void *context, const char *data, size_t size);

/// 0: `receive` got the bytes; 1: it got the text of an error, after which the library works on; 2: the same,
/// and the caller is of another build, so nothing was read; 3: there was no memory, and it got nothing.
KW_EXPORT int32_t kw_llvm_compile(const KwLlvmRequest *request, KwLlvmReceive receive,
                                  void *context) noexcept;
}
