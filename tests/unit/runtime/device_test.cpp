// The table of devices: the CPU's row, and what is said where there is no device.
#include "runtime/device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "runtime/calls/call.h"
#include "runtime/jit.h"
#include "runtime/launch.h"
#include "runtime/op_error.h"
#include "tests/unit/helpers.h"
#include "tests/unit/runtime/tensors.h"

namespace kw {
namespace {

TEST(Device, memory_of_the_cpu_is_aligned_and_zeroed_on_request) {
  const DeviceApi &cpu = device_api(DeviceKind::cpu);
  Device device;
  auto *zeros = static_cast<char *>(cpu.allocate(device, 100, true));
  ASSERT_TRUE(zeros);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(zeros) % 64, 0u);
  EXPECT_EQ(std::string(zeros, 100), std::string(100, '\0'));
  auto *copy = static_cast<char *>(cpu.allocate(device, 100, false));
  std::memset(zeros, 'x', 100);
  cpu.copy(device, copy, zeros, 100, {});
  EXPECT_EQ(std::string(copy, 100), std::string(100, 'x'));
  cpu.free(device, zeros);
  cpu.free(device, copy);
  EXPECT_EQ(cpu.allocate(device, SIZE_MAX / 2, false), nullptr);
}

TEST(Device, the_cpu_loads_and_runs_artifacts) {
  SourceText source{
      "def f(a):\n    c = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n"
      "        c[i] = a[i] * 2\n    return c\n",
      "k.py", 1};
  Request r;
  r.name = "f";
  r.signature = unit::signature({unit::tensor(1, DType::f64)});
  r.backend = "interp";
  std::string error;
  Artifact library;
  library.code_kind = CodeKind::library;
  auto kernel = device_api(DeviceKind::cpu).load(compile_request(r, source), "kw_test", error);
  ASSERT_TRUE(kernel) << error;
  double a[3] = {1, 2, 3}, c[3] = {};
  void *data[] = {a, c};
  int64_t dims[] = {3};
  EXPECT_EQ(run_on_device(*kernel, {data, dims, nullptr, 0}, nullptr).status, 0);
  EXPECT_EQ(std::vector<double>(c, c + 3), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(device_api(DeviceKind::cpu).load(library, "kw_test", error), nullptr);
  EXPECT_EQ(error, "a library, not a kernel");
}

TEST(Device, a_device_that_is_not_here_is_an_error) {
  // the driver is looked for once in a process
  ::setenv("KW_LIBCUDA", "/nowhere/libcuda.so.1", 1);
  EXPECT_EQ(error_of<ResolvedError>([] { Storage::allocate(8, false, {DeviceKind::cuda, 0}); }),
            "no CUDA device: KW_LIBCUDA cannot be opened: /nowhere/libcuda.so.1: cannot open shared object "
            "file: No such file or directory");
  EXPECT_EQ(device_text({}), "CPU");
  EXPECT_EQ(device_text({DeviceKind::cuda, 1}), "cuda:1");
}

TEST(Device, the_tensors_of_a_call_lie_on_one_device) {
  auto on = [](Device device) {
    return Tensor::over(Storage::allocate(8, true, device), nullptr, DType::f32, Shape{2}, {});
  };
  OpCall call{registry().need("kw::add"), {on({}), on({DeviceKind::cpu, 1})}};
  EXPECT_EQ(error_of<ResolvedError>([&] { check_call(call); }),
            "input 'y' of operator 'kw::add' is on the CPU:1, 'x' on CPU");
  call.inputs = {on({DeviceKind::cpu, 1}), on({DeviceKind::cpu, 1})};
  check_call(call);
  EXPECT_EQ(call.device, (Device{DeviceKind::cpu, 1}));
}

}  // namespace
}  // namespace kw
