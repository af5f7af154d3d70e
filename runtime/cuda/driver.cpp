// Opens the driver. HoldForks keeps a fork waiting meanwhile: a child could not finish what the parent began.
#include "runtime/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>

#include "codegen/llvm_library.h"
#include "runtime/resolved_error.h"
#include "support/text.h"

namespace kw {

namespace {

/// The oldest version of the interface that has all functions that we call.
constexpr int least_version = 12000;

struct Opened {
  CudaDriver driver;
  std::string why;  ///< why it cannot be used, or ""
};

/// Set in a child of fork whose parent has used the driver.
std::atomic<bool> was_forked{false};

/// Returns "12.4" for 12040.
std::string version_text(int version) { return cat(version / 1000, ".", version % 1000 / 10); }

/// Returns why cuInit failed.
std::string init_text(CuResult result, const std::string &name) {
  switch (result) {
    case cu_stub_library:
      return "libcuda.so.1 is the link stub of a CUDA toolkit, not a driver; remove its folder from "
             "LD_LIBRARY_PATH";
    case cu_no_device: {
      const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
      return cat("the driver reports none",
                 visible ? cat(" (CUDA_VISIBLE_DEVICES is \"", visible, "\")") : "");
    }
    case cu_system_driver_mismatch:
      return "the driver's library and its kernel module have different versions (restart the machine)";
    case cu_unknown: return "the driver cannot start (nvidia-smi and dmesg may say more)";
    default: return cat("the driver cannot start: ", name);
  }
}

/// Opens the library and looks up all functions.
Opened open_now() {
  HoldForks whole;
  Opened out;
  const char *given = std::getenv("KW_LIBCUDA");
  const char *path = given && *given ? given : "libcuda.so.1";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    out.why = given && *given ? cat("KW_LIBCUDA cannot be opened: ", dlerror())
                              : "libcuda.so.1 was not found (no NVIDIA driver on this machine)";
    return out;
  }
  std::string missing;
  auto look_up = [&](auto *&function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function && missing.empty()) missing = name;
  };
  CuResult (*init)(unsigned) = nullptr, (*version)(int *) = nullptr;
  look_up(init, "cuInit"), look_up(version, "cuDriverGetVersion");
  if (!missing.empty()) return out.why = cat(path, " has no function ", missing), out;
  CudaDriver &d = out.driver;
  look_up(d.cuGetErrorName, "cuGetErrorName");
  look_up(d.cuDeviceGetCount, "cuDeviceGetCount");
  look_up(d.cuDeviceGet, "cuDeviceGet");
  look_up(d.cuDeviceGetName, "cuDeviceGetName");
  look_up(d.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  look_up(d.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  look_up(d.cuCtxGetCurrent, "cuCtxGetCurrent");
  look_up(d.cuCtxSetCurrent, "cuCtxSetCurrent");
  look_up(d.cuCtxSynchronize, "cuCtxSynchronize");
  look_up(d.cuLibraryLoadData, "cuLibraryLoadData");
  look_up(d.cuLibraryGetKernel, "cuLibraryGetKernel");
  look_up(d.cuKernelGetFunction, "cuKernelGetFunction");
  look_up(d.cuLaunchKernel, "cuLaunchKernel");
  look_up(d.cuMemPoolCreate, "cuMemPoolCreate");
  look_up(d.cuMemPoolSetAttribute, "cuMemPoolSetAttribute");
  look_up(d.cuMemPoolTrimTo, "cuMemPoolTrimTo");
  look_up(d.cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync");
  look_up(d.cuMemFreeAsync, "cuMemFreeAsync");
  look_up(d.cuPointerGetAttribute, "cuPointerGetAttribute");
  look_up(d.cuMemGetInfo_v2, "cuMemGetInfo_v2");
  look_up(d.cuMemAllocHost_v2, "cuMemAllocHost_v2");
  look_up(d.cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync_v2");
  look_up(d.cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync_v2");
  look_up(d.cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync_v2");
  look_up(d.cuMemsetD8Async, "cuMemsetD8Async");
  look_up(d.cuStreamQuery, "cuStreamQuery");
  look_up(d.cuStreamSynchronize, "cuStreamSynchronize");
  look_up(d.cuStreamWaitEvent, "cuStreamWaitEvent");
  look_up(d.cuStreamIsCapturing, "cuStreamIsCapturing");
  look_up(d.cuEventCreate, "cuEventCreate");
  look_up(d.cuEventRecord, "cuEventRecord");
  look_up(d.cuEventQuery, "cuEventQuery");
  if (version(&out.driver.version) == cu_success && out.driver.version < least_version) {
    out.why = cat("the driver supports CUDA ", version_text(out.driver.version), ", and ",
                  version_text(least_version), " or newer is needed");
    return out;
  }
  if (CuResult r = init(0); r != cu_success) {
    out.why = init_text(r, out.driver.cuGetErrorName ? name_of_result(out.driver, r) : cat("error ", r));
    return out;
  }
  if (!missing.empty()) {
    out.why = cat("the driver (CUDA ", version_text(out.driver.version), ") has no function ", missing);
    return out;
  }
  if (out.driver.cuDeviceGetCount(&out.driver.devices) != cu_success || out.driver.devices == 0)
    out.why = init_text(cu_no_device, {});
  return out;
}

/// Returns the driver of the process, which the first call opens; it stays open to the end.
const Opened &opened() {
  static const Opened &driver = []() -> const Opened & {
    // with the library in this process, a child of fork cannot use it any more
    const auto &out = *new Opened(open_now());
    if (out.why.empty()) pthread_atfork(nullptr, nullptr, [] { was_forked = true; });
    return out;
  }();
  return driver;
}

}  // namespace

std::string why_no_cuda() {
  if (was_forked) return "CUDA was initialised before fork(): use the start method \"spawn\"";
  return opened().why;
}

const CudaDriver *find_driver() { return !was_forked && opened().why.empty() ? &opened().driver : nullptr; }

const CudaDriver &need_driver() {
  if (const CudaDriver *driver = find_driver()) return *driver;
  throw_no_device(why_no_cuda());
}

void throw_no_device(const std::string &why, const std::string &help) {
  Resolved e;
  e.code = Code::E501;
  e.message = cat("no CUDA device: ", why);
  e.help = {help.empty()
                ? "kernels run on the CPU with NumPy arrays; kw.cuda.why() tells this without an error"
                : help};
  throw ResolvedError({e});
}

std::string name_of_result(const CudaDriver &driver, CuResult result) {
  const char *name = nullptr;
  return driver.cuGetErrorName(result, &name) == cu_success && name ? name : cat("error ", result);
}

}  // namespace kw
