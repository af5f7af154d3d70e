// The CUDA driver, libcuda.so.1, through prototypes of our own: nothing of CUDA is needed to build. Opened at
// its first use, once; a process without a driver never fails because of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kw {

// The driver's own types, as its interface defines them: handles are opaque, and results are numbers.
using CuResult = int;
using CuDevice = int;
using CuPointer = unsigned long long;
using CuContext = struct CUctx_st *;
using CuStream = struct CUstream_st *;
using CuEvent = struct CUevent_st *;
using CuLibrary = struct CUlib_st *;
using CuKernel = struct CUkern_st *;
using CuFunction = struct CUfunc_st *;
using CuPool = struct CUmemPoolHandle_st *;

/// CUmemPoolProps. The tests compare sizes and constants with cuda.h where that exists.
struct CuPoolProps {
  int allocation = 1;     ///< CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;   ///< none: no other process shares the memory
  int location_type = 1;  ///< CU_MEM_LOCATION_TYPE_DEVICE
  int device = 0;
  void *security = nullptr;
  size_t most = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};

/// CUresult, as far as we tell results apart.
enum CuStatus : CuResult {
  cu_success = 0,
  cu_invalid_value = 1,
  cu_out_of_memory = 2,
  cu_deinitialized = 4,
  cu_stub_library = 34,
  cu_no_device = 100,
  cu_no_binary_for_gpu = 209,
  cu_uncorrectable_ecc = 214,
  cu_unsupported_ptx_version = 222,
  cu_not_ready = 600,
  cu_illegal_address = 700,
  cu_timeout = 702,
  cu_assert = 710,
  cu_hardware_stack_error = 714,
  cu_illegal_instruction = 715,
  cu_misaligned_address = 716,
  cu_invalid_address_space = 717,
  cu_invalid_pc = 718,
  cu_launch_failed = 719,
  cu_system_driver_mismatch = 803,
  cu_stream_capture_unsupported = 900,
  cu_stream_capture_implicit = 906,
  cu_unknown = 999,
};

/// CUdevice_attribute.
enum CuAttribute : int {
  cu_most_shared_of_block = 97,
  cu_multiprocessors = 16,
  cu_major = 75,
  cu_minor = 76,
  cu_pools = 115,
};

/// The legacy default stream of a context, CU_STREAM_LEGACY: it waits for the other streams, and they for it.
inline CuStream legacy_stream() { return reinterpret_cast<CuStream>(uintptr_t{1}); }

constexpr unsigned no_timing = 2;  ///< CU_EVENT_DISABLE_TIMING

/// The functions of the driver that we call, by their names and with the parameters of its documentation.
struct CudaDriver {
  CuResult (*cuGetErrorName)(CuResult, const char **) = nullptr;
  CuResult (*cuDeviceGetCount)(int *) = nullptr;
  CuResult (*cuDeviceGet)(CuDevice *, int) = nullptr;
  CuResult (*cuDeviceGetName)(char *, int, CuDevice) = nullptr;
  CuResult (*cuDeviceGetAttribute)(int *, int, CuDevice) = nullptr;
  CuResult (*cuDevicePrimaryCtxRetain)(CuContext *, CuDevice) = nullptr;
  CuResult (*cuCtxGetCurrent)(CuContext *) = nullptr;
  CuResult (*cuCtxSetCurrent)(CuContext) = nullptr;
  CuResult (*cuCtxSynchronize)(void) = nullptr;
  CuResult (*cuLibraryLoadData)(CuLibrary *, const void *, int *, void **, unsigned, int *, void **,
                                unsigned) = nullptr;
  CuResult (*cuLibraryGetKernel)(CuKernel *, CuLibrary, const char *) = nullptr;
  CuResult (*cuKernelGetFunction)(CuFunction *, CuKernel) = nullptr;
  CuResult (*cuLaunchKernel)(CuFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             CuStream, void **, void **) = nullptr;
  CuResult (*cuMemPoolCreate)(CuPool *, const CuPoolProps *) = nullptr;
  CuResult (*cuMemPoolSetAttribute)(CuPool, int, void *) = nullptr;
  CuResult (*cuMemPoolTrimTo)(CuPool, size_t) = nullptr;
  CuResult (*cuMemAllocFromPoolAsync)(CuPointer *, size_t, CuPool, CuStream) = nullptr;
  CuResult (*cuMemFreeAsync)(CuPointer, CuStream) = nullptr;
  CuResult (*cuPointerGetAttribute)(void *, int, CuPointer) = nullptr;
  CuResult (*cuMemGetInfo_v2)(size_t *, size_t *) = nullptr;
  CuResult (*cuMemAllocHost_v2)(void **, size_t) = nullptr;
  CuResult (*cuMemcpyHtoDAsync_v2)(CuPointer, const void *, size_t, CuStream) = nullptr;
  CuResult (*cuMemcpyDtoHAsync_v2)(void *, CuPointer, size_t, CuStream) = nullptr;
  CuResult (*cuMemcpyDtoDAsync_v2)(CuPointer, CuPointer, size_t, CuStream) = nullptr;
  CuResult (*cuMemsetD8Async)(CuPointer, unsigned char, size_t, CuStream) = nullptr;
  CuResult (*cuStreamQuery)(CuStream) = nullptr;
  CuResult (*cuStreamSynchronize)(CuStream) = nullptr;
  CuResult (*cuStreamWaitEvent)(CuStream, CuEvent, unsigned) = nullptr;
  CuResult (*cuStreamIsCapturing)(CuStream, int *) = nullptr;
  CuResult (*cuEventCreate)(CuEvent *, unsigned) = nullptr;
  CuResult (*cuEventRecord)(CuEvent, CuStream) = nullptr;
  CuResult (*cuEventQuery)(CuEvent) = nullptr;
  int version = 0;  ///< 1000 · major + 10 · minor
  int devices = 0;
};

/// Returns the driver; null if it cannot be used, also in a child of fork whose parent has used it.
const CudaDriver *find_driver();
/// Returns the driver; throws ResolvedError, E501 with the reason and with what still works.
const CudaDriver &need_driver();
/// Throws ResolvedError: E501 with a reason. The help says what still works if `help` is empty.
[[noreturn]] void throw_no_device(const std::string &why, const std::string &help = {});
/// Returns why there is no driver or no device, as E501 words it; "" if there is one.
std::string why_no_cuda();

/// Returns "CUDA_ERROR_ILLEGAL_ADDRESS", or the number of a result that the driver does not name.
std::string name_of_result(const CudaDriver &driver, CuResult result);

}  // namespace kw
