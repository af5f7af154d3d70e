// Loads machine code. Libraries of the driver belong to no context; they stay loaded to the end, because no
// moment is known at which no device runs them any more.
#include "runtime/cuda/program.h"

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

CudaProgram::CudaProgram(const Artifact &artifact) : reads_device_(artifact.launches.reads_device) {
  const CudaDriver &driver = need_driver();
  std::vector<CubinSource> sources = sources_for_devices(artifact);
  std::vector<Cubin> codes = obtain_cubins(sources);
  for (size_t i = 0; i < codes.size(); ++i) {
    const std::string &name = artifact.launches.kernels[i].name;
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
    kernels_.push_back(kernel);
  }
}

CuFunction CudaProgram::function(CudaDevice &device, uint32_t kernel) const {
  if (const OnDevice *last = last_.load(std::memory_order_acquire); last && last->device == device.index())
    return last->functions[kernel];
  std::scoped_lock lock(mutex_);
  for (const auto &known : made_)
    if (known->device == device.index()) {
      last_.store(known.get(), std::memory_order_release);
      return known->functions[kernel];
    }
  auto made = std::make_unique<OnDevice>(OnDevice{device.index(), {}});
  for (CuKernel k : kernels_) {
    CuFunction f = nullptr;
    device.check(device.driver().cuKernelGetFunction(&f, k), "cuKernelGetFunction");
    made->functions.push_back(f);
  }
  made_.push_back(std::move(made));
  last_.store(made_.back().get(), std::memory_order_release);
  return made_.back()->functions[kernel];
}

}  // namespace kw
