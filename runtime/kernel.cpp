// Loads object code or IR.
#include "runtime/kernel.h"

#include "codegen/interp/interp.h"
#include "runtime/cpu/code_events.h"
#include "runtime/cpu/loader.h"
#include "runtime/jit.h"
#include "support/text.h"

namespace kw {

void LoadedKernel::count_words(const Artifact &a) {
  // The dims of the ABI hold the extents of the arguments, then the strides that the stride classes do not
  // determine. Extents of outputs are not passed: they follow from the arguments.
  for (const ParamRecord &p : a.params) {
    if (!p.is_tensor) {
      ++scalar_count_;
      continue;
    }
    ++buffer_count_;
    if (p.mode == ParamMode::out)
      ++output_count_;
    else
      dim_count_ += p.rank;
    dim_count_ += passed_strides(p.stride_class, p.rank);
  }
}

std::string LoadedKernel::place_text() const {
  return places_.empty() ? "" : cat(", defined at ", places_[0].path, ":", places_[0].first_line);
}

std::shared_ptr<const LoadedKernel> LoadedKernel::with_device_code(Artifact artifact,
                                                                   const CodeOrigin &origin,
                                                                   std::unique_ptr<const DeviceCode> code) {
  auto kernel = std::make_shared<LoadedKernel>();
  kernel->count_words(artifact);
  kernel->places_ = origin.places;
  kernel->device_code_ = std::move(code);
  kernel->artifact_ = std::move(artifact);
  return kernel;
}

std::shared_ptr<const LoadedKernel> LoadedKernel::load(Artifact artifact, const CodeOrigin &origin,
                                                       std::string &error) {
  auto kernel = std::make_shared<LoadedKernel>();
  kernel->count_words(artifact);
  kernel->places_ = origin.places;
  // libraries of users share the cache and its format, but have no ABI entry point
  if (artifact.code_kind == CodeKind::library) {
    error = "a library, not a kernel";
    return nullptr;
  }
  if (artifact.code_kind == CodeKind::cuda || artifact.code_kind == CodeKind::cubin) {
    error = "code for a GPU, not for this processor";
    return nullptr;
  }
  if (artifact.code_kind == CodeKind::ir) {
    kernel->ir_ = parse_ir_text(artifact.code, error);
    if (!kernel->ir_) return nullptr;
  } else {
    // the mapping moves into the kernel, so the entry point is valid while the kernel lives
    LoadedObject object = load_object(artifact.code, "kw_entry");
    if (!object.error.empty()) {
      error = object.error;
      return nullptr;
    }
    kernel->announced_ = announce_code(artifact.code, object.addresses, origin.name);
    kernel->stack_bytes_ = object.stack_bytes;
    kernel->code_ = std::move(object.code);
    kernel->entry_ = reinterpret_cast<KwEntry>(object.entry);
  }
  kernel->artifact_ = std::move(artifact);
  return kernel;
}

int32_t LoadedKernel::run_ir(const KwEnv *env, void *const *data, const int64_t *dims,
                             const uint64_t *scalars, KwFault *fault) const {
  InterpArgs args{data, dims, scalars, env->cancel, nullptr};
  InterpResult r = interpret(*ir_, args);
  // state 2 means "set": the interpreter uses one thread and needs no claim
  if (r.status == 1) *fault = {2, r.site, r.value, r.bound};
  return r.status;
}

}  // namespace kw
