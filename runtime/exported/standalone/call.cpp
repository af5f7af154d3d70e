// Part of every exported library. Uses C's library only, and throws nothing.
#include "runtime/exported/standalone/call.h"

#include <cstring>

#include "ir/limits.h"

extern "C" {
// the linker finds these three among the objects of the kernel
extern const kw::Exported kw_exported_kernel __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"))) int32_t kw_exported_main(const KwEnv *, void *const *, const int64_t *,
                                                               const uint64_t *, void *, KwFault *);
__attribute__((visibility("hidden"))) int32_t kw_exported_plain(const KwEnv *, void *const *, const int64_t *,
                                                                const uint64_t *, void *, KwFault *);
}

namespace kw {

const Exported &exported_kernel() { return kw_exported_kernel; }

namespace {

constexpr size_t alignment = 64;  ///< of temporaries, as core.md 2 asks

/// Returns memory that `free` releases; null if there is none.
void *allocate(size_t bytes) {
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

/// The environment of a run in the calling thread, and its memory.
struct Run {
  KwEnv env;  // first: the kernel passes its address back
  void *scratch = nullptr, *workspace = nullptr;
  size_t scratch_bytes = 0;

  Run() : env{KW_ABI_VERSION, 1, all_chunks, scratch_of, &never} {}
  Run(const Run &) = delete;
  ~Run() { std::free(scratch), std::free(workspace); }

 private:
  static constexpr uint32_t never = 0;

  static void all_chunks(const KwEnv *, int64_t n, void (*body)(void *, int64_t, int32_t), void *frame) {
    for (int64_t i = 0; i < n; ++i) body(frame, i, 0);
  }
  static void *scratch_of(const KwEnv *env, size_t bytes) {
    Run &run = *reinterpret_cast<Run *>(const_cast<KwEnv *>(env));
    if (bytes <= run.scratch_bytes && run.scratch) return run.scratch;
    std::free(run.scratch);
    run.scratch = allocate(bytes);
    run.scratch_bytes = run.scratch ? bytes : 0;
    return run.scratch;
  }
};

bool is_written(const ExportedParam &p) { return p.mode != ParamMode::in; }

}  // namespace

const char *ExportedCall::name(const ExportedParam &p) const { return exported_at<char>(p.name_at); }

int ExportedCall::refuse(const ExportedParam &p, const char *why) {
  message_.put("'").put(name(p)).put("' ").put(why);
  return exported_refused;
}

int ExportedCall::read(bool with_data) {
  const Exported &kernel = exported_kernel();
  for (uint32_t i = 0; i < kernel.param_count; ++i) {
    const ExportedParam &p = exported_param(i);
    if (p.mode == ParamMode::out) continue;
    if (int status = p.is_tensor ? read_array(i, with_data) : read_scalar(p)) return status;
  }
  for (uint32_t i = 0; i < kernel.param_count; ++i) {
    const ExportedParam &p = exported_param(i);
    if (!p.is_tensor || p.mode == ParamMode::out || p.stride_class == StrideClass::contiguous) continue;
    size_t passed = p.stride_class == StrideClass::general ? p.rank : p.rank - 1u;
    for (size_t d = 0; d < passed; ++d) dims_[dim_count_++] = views_[i].strides[d];
  }
  return exported_ok;
}

int ExportedCall::read_array(uint32_t param, bool with_data) {
  const ExportedParam &p = exported_param(param);
  const int64_t *shape = p.extents, *strides = nullptr;
  void *data = const_cast<char *>(exported_at<char>(p.captured_at));
  if (p.position >= 0) {
    shape = p.rank ? arrays_.shapes[p.position] : p.extents;
    strides = arrays_.strides ? arrays_.strides[p.position] : nullptr;
    data = with_data ? arrays_.data[p.position] : nullptr;
  }
  if (!shape) return refuse(p, "has no shape");
  int64_t step = 1;
  for (size_t d = p.rank; d-- > 0;) {
    if (shape[d] < 0) return refuse(p, "has a negative extent");
    row_major_[param][d] = step;
    if (__builtin_mul_overflow(step, shape[d] ? shape[d] : 1, &step))
      return refuse(p, "exceeds 2^46 elements");
  }
  views_[param] = {data,   shape, strides ? strides : row_major_[param], item_size(p.dtype), p.dtype,
                   p.rank, true};
  if (!is_in_reach(views_[param])) return refuse(p, "exceeds 2^46 elements");
  if (strides && stride_class(views_[param]) > p.stride_class)
    return refuse(p,
                  p.stride_class == StrideClass::contiguous
                      ? "is not row-major, but the library was exported for row-major arrays"
                      : "has gaps between the elements of its last dimension, for which the library was not "
                        "exported");
  for (size_t d = 0; d < p.rank; ++d) dims_[dim_count_++] = shape[d];
  data_[param] = data;
  return with_data ? check_memory(param) : exported_ok;
}

int ExportedCall::check_memory(uint32_t param) {
  const ExportedParam &p = exported_param(param);
  const ArrayView &a = views_[param];
  if (!a.data && !a.is_empty()) return refuse(p, "has no data");
  if (reinterpret_cast<uintptr_t>(a.data) % item_size(p.dtype))
    return refuse(p, "is not aligned to its elements");
  if (is_written(p) && !are_dims_nested(a) && !a.is_empty())
    return refuse(p, "is written, but some of its elements share memory");
  return exported_ok;
}

int ExportedCall::read_scalar(const ExportedParam &p) {
  const void *from = arrays_.data[p.position];
  if (!from) return refuse(p, "has no address");
  uint64_t bits = 0;
  std::memcpy(&bits, from, item_size(p.dtype));
  scalars_[scalar_count_++] = p.dtype == DType::b1 ? bits != 0 : bits;
  return exported_ok;
}

int ExportedCall::entry_error() {
  uint64_t extent = entry_.error_index;
  if (entry_.error == EntryResult::Error::workspace) {
    message_.put("the temporaries exceed 2^46 bytes");
    return exported_refused;
  }
  for (uint32_t i = 0; i < exported_kernel().param_count; ++i) {
    const ExportedParam &p = exported_param(i);
    if (p.mode != ParamMode::out) continue;
    if (extent >= p.rank) {
      extent -= p.rank;
      continue;
    }
    if (entry_.error != EntryResult::Error::negative_extent) return refuse(p, "exceeds 2^46 elements");
    message_.put("extent ").put(static_cast<int64_t>(extent)).put(" of output '").put(name(p));
    message_.put("' is negative: ").put(entry_.error_value);
    return exported_refused;
  }
  message_.put("the library is damaged");
  return exported_refused;
}

int ExportedCall::enter() {
  const Exported &kernel = exported_kernel();
  for (const ExportedBody *body : {&kernel.main, &kernel.plain}) {
    std::string_view code(exported_at<char>(body->program_at), body->program_bytes);
    entry_ = evaluate_entry(code, dims_, dim_count_, scalars_, scalar_count_);
    body_ = body;
    if (entry_.error != EntryResult::Error::none) return entry_error();
    if (entry_.facts_hold) break;
  }
  size_t at = 0;
  for (uint32_t i = 0; i < kernel.param_count; ++i) {
    const ExportedParam &p = exported_param(i);
    if (p.mode != ParamMode::out) continue;
    int64_t step = 1;
    for (size_t d = p.rank; d-- > 0;) {
      row_major_[i][d] = step;
      if (__builtin_mul_overflow(step, entry_.extent_values[at + d] ? entry_.extent_values[at + d] : 1,
                                 &step))
        return refuse(p, "exceeds 2^46 elements");
    }
    views_[i] = {
        nullptr, entry_.extent_values.data() + at, row_major_[i], item_size(p.dtype), p.dtype, p.rank, true};
    if (!is_in_reach(views_[i])) return refuse(p, "exceeds 2^46 elements");
    at += p.rank;
  }
  return exported_ok;
}

int ExportedCall::check_shape(uint32_t param, const int64_t *shape) {
  const ExportedParam &p = exported_param(param);
  if (p.rank == 0) return exported_ok;
  if (!shape) return refuse(p, "has no shape");
  if (std::memcmp(shape, views_[param].extents, p.rank * sizeof(int64_t)) == 0) return exported_ok;
  message_.put("'").put(name(p)).put("' has the shape ").put_shape(shape, p.rank);
  message_.put(", but the kernel computes the shape ").put_shape(views_[param].extents, p.rank);
  return exported_refused;
}

/// A written array may share memory with no other: calls of kernels run other code where it does.
int ExportedCall::check_overlap(uint32_t written) {
  const ExportedParam &w = exported_param(written);
  for (uint32_t i = 0; i < exported_kernel().param_count; ++i) {
    const ExportedParam &p = exported_param(i);
    if (i == written || !p.is_tensor || (is_written(p) && i < written)) continue;
    if (!share_bytes(views_[i], views_[written])) continue;
    message_.put("'").put(name(w)).put("' is written, but shares memory with '").put(name(p)).put("'");
    return exported_refused;
  }
  return exported_ok;
}

int ExportedCall::check_outputs() {
  const Exported &kernel = exported_kernel();
  for (uint32_t i = 0; i < kernel.param_count; ++i) {
    const ExportedParam &p = exported_param(i);
    if (p.mode != ParamMode::out) continue;
    if (int status = check_shape(i, arrays_.shapes[p.position])) return status;
    views_[i].data = data_[i] = arrays_.data[p.position];
    const int64_t *strides = arrays_.strides ? arrays_.strides[p.position] : nullptr;
    if (strides) {
      ArrayView given = views_[i];
      given.strides = strides;
      if (!is_in_reach(given) || stride_class(given) != StrideClass::contiguous)
        return refuse(p, "is not row-major, as results must be");
    }
    if (int status = check_memory(i)) return status;
  }
  for (uint32_t i = 0; i < kernel.param_count; ++i)
    if (is_written(exported_param(i)))
      if (int status = check_overlap(i)) return status;
  return exported_ok;
}

int ExportedCall::run() {
  const Exported &kernel = exported_kernel();
  Run run;
  if (entry_.workspace > 0 && !(run.workspace = allocate(static_cast<size_t>(entry_.workspace)))) {
    message_.put("no memory for temporaries");
    return exported_no_memory;
  }
  for (uint32_t i = 0; i < kernel.param_count; ++i) {
    const ExportedParam &p = exported_param(i);
    if (p.mode != ParamMode::out || p.fill != Fill::zero) continue;
    size_t bytes = item_size(p.dtype);
    for (size_t d = 0; d < p.rank; ++d) bytes *= static_cast<size_t>(views_[i].extents[d]);
    if (bytes) std::memset(data_[i], 0, bytes);
  }
  // `data` of the ABI holds arrays only
  void *data[max_args + max_outputs];
  size_t count = 0;
  for (uint32_t i = 0; i < kernel.param_count; ++i)
    if (exported_param(i).is_tensor) data[count++] = data_[i];
  KwFault fault{};
  bool is_main = body_ == &kernel.main;
  int32_t status = (is_main ? kw_exported_main : kw_exported_plain)(&run.env, data, dims_, scalars_,
                                                                    run.workspace, &fault);
  if (status == 0) return exported_ok;
  if (status == 1 && fault.site < body_->site_count) {
    message_.put_pattern(exported_at<char>(exported_at<uint32_t>(body_->sites_at)[fault.site]), fault);
    return exported_check_failed;
  }
  message_.put("no memory for temporaries");
  return exported_no_memory;
}

}  // namespace kw
