// The arguments of one call of a kernel, from whoever makes it: Python, an operator or C++. Arguments are
// read once, into the lists of the ABI (core.md 3) and the words that select a version. The callers' readers
// append; versions and runs read.
#pragma once

#include <optional>
#include <string>

#include "codegen/artifact.h"
#include "runtime/array_view.h"
#include "runtime/launch.h"
#include "runtime/versions/signature_words.h"
#include "runtime/versions/version.h"
#include "support/fixed_list.h"

namespace kw {

/// Strides of arguments and outputs; extents of all arguments, then these strides.
inline constexpr size_t max_strides = max_rank * (max_args + max_outputs),
                        max_dims = max_rank * max_args + max_strides;

struct Invocation {
  FixedList<uint16_t, max_words> words;  ///< of the arguments, then the marks of runtime/versions
  FixedList<void *, max_args + max_outputs> data;
  FixedList<int64_t, max_dims> extents;     ///< of the arguments; abi_words appends the strides
  FixedList<int64_t, max_strides> strides;  ///< in elements; those that a stride class does not determine
  FixedList<uint64_t, max_args> scalars;
  Device device{};  ///< of all data

  /// The body `overlapping` runs, serially and in source order: a written array shares memory with another
  /// (check_written), or an array of a GPU is misaligned (add_address).
  bool in_source_order = false;
  // found by check_written
  bool same_views = false;   ///< a written array is the same view as an argument
  uint32_t temporaries = 0;  ///< bit set of outputs computed in new memory and then copied to the given array
  /// Valid if `same_views`. `alias`: the first argument that is the same view, or the argument's own index.
  /// `out_alias`: an argument that is the same view as the given output, or UINT8_MAX.
  uint8_t alias[max_args], out_alias[max_outputs];

  /// Notes an array on a GPU that begins between two items. Code of a GPU cannot load these, so the host runs
  /// the call.
  void add_address(const ArrayView &a) {
    in_source_order |=
        device.kind != DeviceKind::cpu && reinterpret_cast<uintptr_t>(a.data) % item_size(a.dtype) != 0;
  }

  /// Adds an array of this class.
  void add(const ArrayView &a, StrideClass c) {
    words.push_back(argument_word(ArgKind::tensor, a.dtype, a.rank, c));
    data.push_back(a.data);
    extents.append({a.extents, a.rank});
    if (c != StrideClass::contiguous) add_strides(a, c);
  }
  void add(const ArrayView &a) { add(a, stride_class(a)); }
  void add_number(ArgKind kind, DType dtype, uint64_t bits);
  /// Adds an argument that the kernel must not use.
  void add_unused() {
    words.push_back(argument_word(ArgKind::unused, DType::b1, 0, StrideClass::contiguous));
  }
  /// Adds the layouts of the outputs, in their order; one that is not given is `ArrayView{}`. If all are
  /// contiguous, adds nothing.
  void add_outputs(std::span<const ArrayView> given);
  /// Adds the mark of the device, for which versions of their own are compiled.
  void add_device_word() {
    if (device.kind != DeviceKind::cpu) words.push_back(device_word(device.index));
  }
  /// Adds the marks for `alias` and `out_alias`, because such calls have versions of their own.
  void add_alias_words(size_t arguments, size_t outputs);

  CallSizes sizes() const { return {extents, scalars}; }
  /// Returns the words of a run of this body, after the data of the outputs were added; the extents become
  /// the dims. Valid while the call and the entry are.
  CallWords abi_words(const Entry &entry);

 private:
  /// Appends the strides that code of class `c` receives:
  ///     contiguous: none      inner_unit: all but the last, which is 1      general: all
  void add_strides(const ArrayView &a, StrideClass c);
};

/// The arrays among the arguments and the given outputs of a call; others are no arrays.
struct CallArrays {
  FixedList<ArrayView, max_args> arguments;
  FixedList<ArrayView, max_outputs> outputs;
  uint64_t copied_arguments = 0, copied_outputs = 0;  ///< bit sets: the call works on a contiguous copy
};

/// Why a call is refused, and what its caller can do.
struct Refusal {
  std::string message, help;
};

/// Checks that arrays which a kernel writes are writable and have no byte twice, and finds which of them
/// share memory with others. `a` is the artifact of `kernel` for these arguments.
std::optional<Refusal> check_written(Invocation &call, const CallArrays &arrays, const Artifact &a,
                                     std::string_view kernel);

}  // namespace kw
