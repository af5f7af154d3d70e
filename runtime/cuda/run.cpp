// Evaluates the launch program of a kernel against the driver.
#include "runtime/cuda/run.h"

#include <array>
#include <chrono>

#include "ir/func.h"
#include "runtime/cuda/faults.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/program.h"
#include "runtime/op_error.h"
#include "support/options.h"
#include "support/text.h"

namespace kw {

namespace {

/// Launches after which a clock is asked whether to look for interrupts. Chosen: some 100 us of launches.
constexpr uint64_t launches_between_looks = 64;

/// What the prelude's `kw_call` holds.
struct CallParameter {
  CuPointer faults;
  volatile uint64_t *fault_count;
  const volatile uint32_t *cancel;
  uint64_t number;
  uint64_t launch = 0;  ///< counted from 1 in the call
};

/// Memory for one launch. It is freed in the stream's order, so the next launch may use it again.
struct LaunchMemory {
  explicit LaunchMemory(DeviceMemory &memory) : memory(memory) {}
  LaunchMemory(const LaunchMemory &) = delete;
  ~LaunchMemory() {
    for (CuPointer p : parts) memory.release(p);
  }
  DeviceMemory &memory;
  std::vector<CuPointer> parts;
};

/// Puts the launches of one call into a stream.
class StreamQueue : public LaunchQueue {
 public:
  StreamQueue(CudaDevice &device, const LoadedKernel &kernel, const CallWords &words, CuStream stream,
              const volatile uint32_t *cancel)
      : device_(device),
        kernel_(kernel),
        program_(static_cast<const CudaProgram &>(*kernel.device_code())),
        words_(words),
        stream_(stream),
        cancel_(cancel),
        call_{device.faults().memory(), &device.words().faults, &device.words().cancel,
              device.calls().add(kernel, {words.dims, kernel.dim_count()}, words.stream.place)} {}
  ~StreamQueue() override {
    if (!is_finished_) finish();
    for (const Slot &s : slots_)
      if (s.memory) device_.memory().release(s.memory);
  }

  uint64_t number() const { return call_.number; }
  const CudaProgram &program() const { return program_; }
  /// Says that the call has no further launches.
  void finish() { is_finished_ = true, device_.calls().finish(call_.number); }
  bool was_cancelled() const { return was_cancelled_; }

  bool reserve(uint32_t slot, int64_t bytes) override {
    if (slot >= slots_.size()) slots_.resize(slot + 1);
    Slot &s = slots_[slot];
    if (s.memory && s.bytes >= bytes) return true;
    if (s.memory) device_.memory().release(std::exchange(s.memory, 0));
    s = {device_.memory().allocate(static_cast<size_t>(bytes), stream_), bytes};
    return true;
  }

  bool fill(uint32_t slot) override {
    const Slot &s = slots_.at(slot);
    check(device_.driver().cuMemsetD8Async(s.memory, 0, static_cast<size_t>(s.bytes), stream_),
          "cuMemsetD8Async");
    return true;
  }

  bool launch(const LaunchCall &c) override {
    if (is_cancelled()) return false;
    const LaunchKernel &kernel = kernel_.artifact().launches.kernels[c.kernel];
    std::array<unsigned, 3> blocks{};
    for (size_t d = 0; d < 3; ++d) blocks[d] = static_cast<unsigned>(c.blocks[d]);
    LaunchMemory own(device_.memory());
    int64_t threads = c.blocks[0] * c.blocks[1] * c.blocks[2] * kernel.threads;
    for (int64_t bytes : c.bytes) {
      int64_t all = 0;
      if (__builtin_mul_overflow(bytes, threads, &all))
        throw OpError(OpError::Kind::memory, cat("no memory for the temporaries of ", threads, " threads"));
      own.parts.push_back(device_.memory().allocate(static_cast<size_t>(all), stream_));
    }
    ++call_.launch;
    parameters(kernel, c, own.parts);
    CuFunction function = program_.function(kernel_.artifact(), device_, c.kernel, stream_);
    CuResult r = device_.driver().cuLaunchKernel(function, blocks[0], blocks[1], blocks[2], kernel.threads, 1,
                                                 1, 0, stream_, pointers_.data(), nullptr);
    check(r, "cuLaunchKernel");
    return true;
  }

  bool read(uint32_t slot, bool &word) override {
    unsigned char value = 0;
    check(device_.driver().cuMemcpyDtoHAsync_v2(&value, slots_.at(slot).memory, 1, stream_),
          "cuMemcpyDtoHAsync");
    // each wait may be too short for a look
    was_cancelled_ = device_.wait(stream_, [&] { return cancel_ && *cancel_; }) || is_cancelled();
    word = value != 0;
    return !was_cancelled_ && !device_.faults().has_failed(call_.number);
  }

 private:
  struct Slot {
    CuPointer memory = 0;
    int64_t bytes = 0;
  };

  void check(CuResult r, const char *function) { device_.check(r, function); }

  /// Returns whether the call shall end: because another thread, which watches this one, says so, or, in a
  /// loop of many launches, by a look of its own.
  bool is_cancelled() {
    if (cancel_) {
      was_cancelled_ = was_cancelled_ || *cancel_;
    } else if (call_.launch % launches_between_looks == launches_between_looks - 1) {
      auto now = std::chrono::steady_clock::now();
      if (now - looked_ >= look_for_interrupts_each) looked_ = now, was_cancelled_ = is_interrupted();
    }
    return was_cancelled_;
  }

  /// Collects the values of the parameters, and pointers to them.
  void parameters(const LaunchKernel &kernel, const LaunchCall &c, const std::vector<CuPointer> &own) {
    values_.clear(), pointers_.clear();
    values_.reserve(kernel.params.size()), pointers_.reserve(kernel.params.size());
    for (const CudaParam &p : kernel.params) {
      if (p.kind == CudaParam::Kind::call) {
        pointers_.push_back(&call_);
        continue;
      }
      values_.push_back(value_of(p, c, own));
      pointers_.push_back(&values_.back());
    }
  }
  uint64_t value_of(const CudaParam &p, const LaunchCall &c, const std::vector<CuPointer> &own) const {
    switch (p.kind) {
      case CudaParam::Kind::data: return reinterpret_cast<uint64_t>(words_.data[p.index]);
      case CudaParam::Kind::dim: return static_cast<uint64_t>(words_.dims[p.index]);
      case CudaParam::Kind::scalar: return words_.scalars[p.index];
      case CudaParam::Kind::iterator: return static_cast<uint64_t>(c.iterators[p.index]);
      case CudaParam::Kind::slot: return slots_.at(p.index).memory;
      case CudaParam::Kind::temporary: return own.at(p.index);
      case CudaParam::Kind::call: break;
    }
    return 0;
  }

  CudaDevice &device_;
  const LoadedKernel &kernel_;
  const CudaProgram &program_;
  const CallWords &words_;
  CuStream stream_;
  const volatile uint32_t *cancel_;
  CallParameter call_;
  std::vector<Slot> slots_;
  std::vector<uint64_t> values_;
  std::vector<void *> pointers_;
  std::chrono::steady_clock::time_point looked_{};
  bool was_cancelled_ = false;
  bool is_finished_ = false;
};

}  // namespace

bool waits_for_host(const LoadedKernel &kernel) {
  return !kernel.device_code() || debug_options().wait || kernel.artifact().launches.reads_device;
}

DeviceStream stream_of_thread(Device device) {
  return {present_stream(device.index), number_of_thread(), find_call_place()};
}

RunResult start_on_device(CudaDevice &device, const LoadedKernel &kernel, const CallWords &words,
                          CuStream stream, const volatile uint32_t *cancel, bool wait) {
  StreamQueue queue(device, kernel, words, stream, cancel);
  StackOperands operands{words.dims, kernel.dim_count(), words.scalars, kernel.scalar_count(),
                         misalignment_of({words.data, kernel.buffer_count()})};
  LaunchResult r = queue.program().launches().run(kernel.artifact().launches, operands, queue);
  queue.finish();
  RunResult out;
  switch (r.error) {
    case LaunchResult::Error::none:
    case LaunchResult::Error::stopped: break;
    case LaunchResult::Error::overflow:
      throw OpError(OpError::Kind::memory,
                    cat("the temporaries of kernel '", kernel.artifact().name, "' exceed all memory"));
    case LaunchResult::Error::malformed:
      throw_runtime_error(cat("the launch program of '", kernel.artifact().name, "' is malformed"));
    case LaunchResult::Error::fault:
      out.status = 1;
      out.fault = {2, r.site, r.value, r.bound};
      return out;
  }
  if (queue.was_cancelled()) {
    out.status = 2;
    return out;
  }
  if (wait && device.wait(stream, [&] { return cancel && *cancel; })) {
    out.status = 2;
    return out;
  }
  // what the host has read, or waited for, may have been a fault of this call
  return wait || r.error == LaunchResult::Error::stopped ? fault_of_call(device, queue.number()) : out;
}

}  // namespace kw
