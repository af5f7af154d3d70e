// Kernels in C++ that run on GPUs: they get memory of the device and the stream to work in. Run on the
// stand-in by tests/gpu/test_operators.py.
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/calls/call.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/driver.h"
#include "tests/unit/runtime/tensors.h"

namespace kw {
namespace {

CuPointer pointer(const void *p) { return reinterpret_cast<CuPointer>(p); }

/// input → workspace → output, in the stream of the call
std::shared_ptr<const Operator> copying_op(void *&stream) {
  OpDef def{"t::copied", {{"x"}}, {{"y"}}};
  def.infer = [](const OpCall &c) {
    return std::vector<TensorType>{{c.inputs[0].dtype(), c.inputs[0].shape()}};
  };
  KernelDef k;
  k.op = def.name;
  k.device = DeviceKind::cuda;
  k.workspace = [](const OpCall &c, std::span<const TensorType>) {
    return static_cast<size_t>(c.inputs[0].bytes());
  };
  k.run = [&](KernelContext &x) {
    stream = x.stream.handle;
    const CudaDriver &driver = need_driver();
    size_t bytes = x.workspace.size();
    auto in_stream = static_cast<CuStream>(x.stream.handle);
    CuPointer from = pointer(x.call.inputs[0].data()), between = pointer(x.workspace.data());
    EXPECT_EQ(driver.cuMemcpyDtoDAsync_v2(between, from, bytes, in_stream), cu_success);
    EXPECT_EQ(driver.cuMemcpyDtoDAsync_v2(pointer(x.outputs[0].data()), between, bytes, in_stream),
              cu_success);
  };
  return make_op(def, {k}, {});
}

TEST(DeviceCall, CppKernelsGetMemoryAndStreamOfTheDevice) {
  // the driver is opened once in a process, and other tests open another one
  if (!std::getenv("KW_LIBCUDA") || !find_driver()) GTEST_SKIP() << "no CUDA device";
  Device gpu{DeviceKind::cuda};
  void *stream = nullptr;
  auto op = copying_op(stream);
  Tensor x = tensor({3}, {1, 2, 3});
  Tensor y = call_op(OpCall{op, {x.to(gpu)}})[0];
  EXPECT_EQ(y.device(), gpu);
  EXPECT_EQ(values(y.to({})), (Values{1, 2, 3}));
  EXPECT_EQ(stream, legacy_stream());
}

}  // namespace
}  // namespace kw
