// The functions of an exported library. The linker gives them the kernel's name: k_run, k_shapes and k, the
// entry of MindSpore's ahead-of-time kernels.
#include <unistd.h>

#include <cstring>

#include "runtime/exported/standalone/call.h"
#include "runtime/exported/standalone/processor.h"

namespace kw {

namespace {

constexpr size_t max_positions = max_args + max_outputs;

/// Names as MindSpore passes them, in the order of DType.
constexpr const char *dtype_names[] = {"bool",     "int8",    "int16",   "int32",     "int64",
                                       "uint8",    "uint16",  "uint32",  "uint64",    "float16",
                                       "bfloat16", "float32", "float64", "complex64", "complex128"};

bool has_processor(Message &message) {
  uint64_t missing = exported_kernel().features & ~processor_features();
  if (!missing) return true;
  message.put("this processor lacks ").put(exported_features[__builtin_ctzll(missing)]);
  message.put(", which the library was exported for");
  return false;
}

/// Runs the kernel; calls `begin` once nothing can be refused any more.
template <class Begin>
int run(const ExportedArrays &arrays, Message &message, Begin &&begin) {
  if (!has_processor(message)) return exported_wrong_processor;
  ExportedCall call(arrays, message);
  if (int status = call.read(true)) return status;
  if (int status = call.enter()) return status;
  if (int status = call.check_outputs()) return status;
  begin();
  return call.run();
}

/// The arguments and outputs that MindSpore passes, by position.
class AotCall {
 public:
  AotCall(void **params, const int *ranks, int64_t **shapes, const char **dtypes)
      : params_(params), ranks_(ranks), shapes_(shapes), dtypes_(dtypes) {}

  int run(Message &message) {
    const Exported &kernel = exported_kernel();
    for (uint32_t i = 0; i < kernel.argument_count; ++i) data_[i] = params_[i], shape_[i] = shapes_[i];
    for (uint32_t i = 0; i < kernel.param_count; ++i) {
      const ExportedParam &p = exported_param(i);
      if (p.position < 0 || p.mode == ParamMode::out) continue;
      if (int status = check(p, static_cast<uint32_t>(p.position), message)) return status;
    }
    for (uint32_t r = 0; r < kernel.result_count; ++r)
      if (int status = take_result(r, message)) return status;
    return kw::run({data_, shape_, nullptr}, message, [&] {
      for (uint32_t r = 0; r < kernel.result_count; ++r) copy_argument(r);
    });
  }

 private:
  static const ExportedParam &result(uint32_t r) {
    return exported_param(exported_at<uint32_t>(exported_kernel().results_at)[r]);
  }
  static uint32_t place_of_result(uint32_t r) { return exported_kernel().argument_count + r; }

  int64_t elements(uint32_t at) const {
    int64_t n = 1;
    for (int d = 0; d < ranks_[at]; ++d) n *= shapes_[at][d];
    return n;
  }

  int check(const ExportedParam &p, uint32_t at, Message &message) const {
    const char *wanted = dtype_names[static_cast<size_t>(p.dtype)];
    message.put("'").put(exported_at<char>(p.name_at)).put("' ");
    if (std::strcmp(dtypes_[at], wanted) != 0)
      message.put("is ").put(dtypes_[at]).put(", but the library was exported for ").put(wanted);
    else if (p.is_tensor && ranks_[at] != p.rank)
      message.put("has ")
          .put(int64_t{ranks_[at]})
          .put(" dimensions, but the library was exported for ")
          .put(int64_t{p.rank});
    else if (!p.is_tensor && elements(at) != 1)
      message.put("is a scalar, but a tensor of ").put(elements(at)).put(" elements was given");
    else
      return message.clear(), exported_ok;
    return exported_refused;
  }

  bool has_shape_of(uint32_t at, uint32_t other) const {
    for (int d = 0; d < ranks_[at]; ++d)
      if (shapes_[at][d] != shapes_[other][d]) return false;
    return ranks_[at] == ranks_[other];
  }

  /// An argument that the kernel writes is copied to its result, and written there.
  void copy_argument(uint32_t r) {
    const ExportedParam &p = result(r);
    uint32_t at = place_of_result(r);
    size_t bytes = p.mode == ParamMode::out ? 0 : static_cast<size_t>(elements(at)) * item_size(p.dtype);
    if (bytes) std::memmove(params_[at], params_[p.position], bytes);
  }

  int take_result(uint32_t r, Message &message) {
    const ExportedParam &p = result(r);
    uint32_t at = place_of_result(r);
    auto position = static_cast<uint32_t>(p.position);
    if (int status = check(p, at, message)) return status;
    if (p.mode == ParamMode::out) {
      shape_[position] = shapes_[at];
    } else if (!has_shape_of(at, position)) {
      message.put("'").put(exported_at<char>(p.name_at)).put("' and its result have different shapes");
      return exported_refused;
    }
    data_[position] = params_[at];
    return exported_ok;
  }

  void **params_;
  const int *ranks_;
  int64_t **shapes_;
  const char **dtypes_;
  void *data_[max_positions]{};
  const int64_t *shape_[max_positions]{};
};

}  // namespace

}  // namespace kw

extern "C" {

int kw_exported_run(void *const *data, const int64_t *const *shapes, const int64_t *const *strides,
                    char *message, size_t message_bytes) {
  kw::Message text(message, message_bytes);
  return kw::run({data, shapes, strides}, text, [] {});
}

int kw_exported_shapes(void *const *data, const int64_t *const *shapes, int64_t *const *results,
                       char *message, size_t message_bytes) {
  kw::Message text(message, message_bytes);
  kw::ExportedCall call({data, shapes, nullptr}, text);
  if (int status = call.read(false)) return status;
  if (int status = call.enter()) return status;
  const kw::Exported &kernel = kw::exported_kernel();
  for (uint32_t r = 0; r < kernel.result_count; ++r) {
    uint32_t param = kw::exported_at<uint32_t>(kernel.results_at)[r];
    if (size_t rank = kw::exported_param(param).rank)
      std::memcpy(results[r], call.extents_of(param), rank * sizeof(int64_t));
  }
  return kw::exported_ok;
}

int kw_exported_aot(int count, void **params, int *ranks, int64_t **shapes, const char **dtypes, void *,
                    void *) {
  char buffer[512];
  kw::Message text(buffer, sizeof buffer);
  const kw::Exported &kernel = kw::exported_kernel();
  int64_t wanted = int64_t{kernel.argument_count} + kernel.result_count;
  int status = kw::exported_refused;
  if (count < wanted)
    text.put("the kernel takes ")
        .put(int64_t{kernel.argument_count})
        .put(" inputs and computes ")
        .put(int64_t{kernel.result_count})
        .put(" outputs, but ")
        .put(int64_t{count})
        .put(" tensors were given");
  else
    status = kw::AotCall(params, ranks, shapes, dtypes).run(text);
  if (status == kw::exported_ok) return status;
  // the interface has no other way to say why
  char line[600];
  kw::Message(line, sizeof line).put(kw::exported_at<char>(kernel.name_at)).put(": ").put(buffer).put("\n");
  (void)!::write(STDERR_FILENO, line, std::strlen(line));
  return status;
}
}
