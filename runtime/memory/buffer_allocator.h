// Puts objects of the runtime into buffers, whose lists hold more blocks of a size than malloc's: a gradient
// creates and drops a dozen tensors at once.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "runtime/memory/buffer.h"

namespace kw {

/// Allocator of the standard library that uses buffers. It has no state, so all allocators are equal.
template <class T>
struct BufferAllocator {
  using value_type = T;
  BufferAllocator() = default;
  template <class U>
  BufferAllocator(const BufferAllocator<U> &) {}  // NOLINT(google-explicit-constructor): as allocators do

  T *allocate(size_t n) {
    static_assert(alignof(T) <= 64);
    void *memory = allocate_buffer(n * sizeof(T));
    if (!memory) throw std::bad_alloc();
    return static_cast<T *>(memory);
  }
  void deallocate(T *memory, size_t) { release_buffer(memory); }
  template <class U>
  friend bool operator==(BufferAllocator, BufferAllocator<U>) {
    return true;
  }
};

/// Makes a shared object whose reference count and value are in one buffer. Throws std::bad_alloc.
template <class T, class... Args>
std::shared_ptr<T> make_in_buffer(Args &&...args) {
  return std::allocate_shared<T>(BufferAllocator<T>(), std::forward<Args>(args)...);
}

}  // namespace kw
