// Loads machine code. Libraries of the driver belong to no context; they stay loaded to the end, because no
// moment is known at which no device runs them any more.
#include "runtime/cuda/program.h"

#include "runtime/cuda/background.h"
#include "runtime/cuda/cubins.h"
#include "runtime/resolved_error.h"
#include "support/log.h"
#include "support/text.h"

namespace kw {

namespace {

/// Says once in the process that kernels for a device become PTX.
void warn_of_ptx(const CudaDevice &device, int arch) {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  Resolved warning;
  warning.code = Code::W504;
  int capability = device.compute_capability();
  warning.message =
      cat("device ", device.index(), " (", device.name(), ") has compute capability ", capability / 10, ".",
          capability % 10, ", for which no machine code can be made: kernels become PTX for sm_", arch);
  warning.help = {
      "the driver translates PTX at the first call in each process; a newer version makes code for it"};
  log_warning(std::move(warning));
}

/// Returns what is compiled: machine code, or PTX for a device that is newer than what we, or NVRTC, know.
std::vector<CubinSource> sources_for_devices(const Artifact &artifact) {
  const CudaDevice *newer = find_ptx_device(artifact.launches.arch);
  if (!newer) return cubin_sources(artifact, NvrtcWant::cubin);
  warn_of_ptx(*newer, arch_number(artifact.launches.arch));
  return cubin_sources(artifact, NvrtcWant::ptx);
}

/// Loads machine code and returns its only kernel; null if the driver refuses it.
CuKernel load(const CudaDriver &driver, const Cubin &code, const std::string &name, CuResult &result) {
  CuLibrary library = nullptr;
  CuKernel kernel = nullptr;
  result = driver.cuLibraryLoadData(&library, code.bytes.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result == cu_success) result = driver.cuLibraryGetKernel(&kernel, library, name.c_str());
  return result == cu_success ? kernel : nullptr;
}

}  // namespace

CudaProgram::CudaProgram(const Artifact &artifact) : kernels_(artifact.launches.kernels.size()) {
  missing_ = kernels_.size();
  load_side(artifact, 0);
}

/// Loads the kernels of one side of a condition, or those outside of all.
void CudaProgram::load_side(const Artifact &artifact, uint32_t side) const {
  const CudaDriver &driver = need_driver();
  std::vector<CubinSource> all = sources_for_devices(artifact), sources, others;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < all.size(); ++i) {
    if (kernels_[i]) continue;
    bool is_wanted = artifact.launches.kernels[i].side == side;
    if (is_wanted) numbers.push_back(i);
    (is_wanted ? sources : others).push_back(std::move(all[i]));
  }
  std::vector<Cubin> codes = obtain_cubins(sources);
  for (size_t i = 0; i < codes.size(); ++i) {
    const std::string &name = artifact.launches.kernels[numbers[i]].name;
    CuResult result = cu_success;
    CuKernel kernel = load(driver, codes[i], name, result);
    // an entry that this driver does not take is as good as none
    if (!kernel) kernel = load(driver, compile_cubin(sources[i]), name, result);
    if (!kernel) {
      Resolved e;
      e.code = Code::E503;
      e.message = cat("the driver refuses the machine code of '", artifact.name, "' for ",
                      artifact.launches.arch, ": ", name_of_result(driver, result));
      e.help = {"report it with the output of KW_DEBUG=\"dump:after=all\""};
      throw ResolvedError({e});
    }
    kernels_[numbers[i]] = kernel;
    missing_.fetch_sub(1, std::memory_order_acq_rel);
  }
  if (side != 0 && !std::exchange(has_begun_others_, true)) compile_in_background(std::move(others));
}

CuFunction CudaProgram::function(const Artifact &artifact, CudaDevice &device, uint32_t kernel,
                                 CuStream stream) const {
  auto known = [&](const OnDevice *d) {
    return d && d->device == device.index() ? d->functions[kernel] : CuFunction{};
  };
  if (CuFunction f = known(last_.load(std::memory_order_acquire))) return f;
  std::scoped_lock lock(mutex_);
  for (size_t i = made_.size(); i-- > 0;)
    if (CuFunction f = known(made_[i].get())) {
      last_.store(made_[i].get(), std::memory_order_release);
      return f;
    }
  if (!kernels_[kernel]) {
    device.refuse_capture(stream, "cuLibraryLoadData");
    load_side(artifact, artifact.launches.kernels[kernel].side);
  }
  auto made = std::make_unique<OnDevice>(OnDevice{device.index(), {}});
  for (CuKernel k : kernels_) {
    CuFunction f = nullptr;
    if (k) device.check(device.driver().cuKernelGetFunction(&f, k), "cuKernelGetFunction");
    made->functions.push_back(f);
  }
  made_.push_back(std::move(made));
  last_.store(made_.back().get(), std::memory_order_release);
  return made_.back()->functions[kernel];
}

}  // namespace kw
