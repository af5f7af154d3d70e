// The object that ahead-of-time kernels get as `extra`, in the layout of custom_aot_extra.h. There is one
// implementation for each of libstdc++'s two string types. Only plain C types cross this border, so that both
// implementations may include this file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kw {

/// Access to attributes without strings and vectors of C++. Functions return null or false if no attribute
/// has the name.
struct AotAttrSource {
  void *of;
  bool (*has)(void *of, const char *name);
  bool (*boolean)(void *of, const char *name, bool *out);
  bool (*integer)(void *of, const char *name, int64_t *out);
  bool (*real)(void *of, const char *name, double *out);
  const char *(*text)(void *of, const char *name);
  /// Reports rows of numbers: calls `row` once per row with its count, then `item` for each number of the
  /// row.
  bool (*rows)(void *of, const char *name, void *to, void (*row)(void *to, size_t count),
               void (*item)(void *to, double real, int64_t integer));
  /// Notes the name of a missing attribute, before the exception that ends the kernel.
  void (*missing)(void *of, const char *name);
};

/// Thrown through the kernel when it asks for an attribute that it does not have.
struct AotMissingAttr {};

struct AotExtraApi {
  void *(*make)(const AotAttrSource *source);
  void (*destroy)(void *extra);
  /// Destroys the kernel's data with code of its library, so it must be called before the library is
  /// unloaded.
  void (*destroy_data)(void *extra);
  size_t (*workspace_count)(const void *extra);
  size_t (*workspace)(const void *extra, size_t i);
};

/// Return the implementations for std::string from before C++11 and for today's std::string.
const AotExtraApi &aot_extra_old();
const AotExtraApi &aot_extra_new();

}  // namespace kw
