// The object that ahead-of-time kernels get as `extra`, in the layout of custom_aot_extra.h, once for each of
// libstdc++'s two strings. Plain C types cross this border, so that either file may include it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kw {

/// Attributes, told without strings and vectors of C++. Null or false when there is none of the name.
struct AotAttrSource {
  void *of;
  bool (*has)(void *of, const char *name);
  bool (*boolean)(void *of, const char *name, bool *out);
  bool (*integer)(void *of, const char *name, int64_t *out);
  bool (*real)(void *of, const char *name, double *out);
  const char *(*text)(void *of, const char *name);
  /// Rows of numbers: calls `row` once per row with its count, then `item` for each number of it.
  bool (*rows)(void *of, const char *name, void *to, void (*row)(void *to, size_t count),
               void (*item)(void *to, double real, int64_t integer));
  /// Notes what was asked for in vain, before the exception that ends the kernel.
  void (*missing)(void *of, const char *name);
};

/// Thrown through the kernel when it asks for an attribute that it has not.
struct AotMissingAttr {};

struct AotExtraApi {
  void *(*make)(const AotAttrSource *source);
  void (*destroy)(void *extra);
  /// Destroys the kernel's data, by code of its library: before that is unloaded.
  void (*destroy_data)(void *extra);
  size_t (*workspace_count)(const void *extra);
  size_t (*workspace)(const void *extra, size_t i);
};

/// With std::string of the time before C++11, and with today's.
const AotExtraApi &aot_extra_old();
const AotExtraApi &aot_extra_new();

}  // namespace kw
