// What is rare runs on the host, on copies of the arrays: shapes whose facts fail, arrays that share memory,
// kernels with debug=True. One thread of a GPU would be a hundred times slower than a processor.
#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/array_runs.h"
#include "runtime/cuda/faults.h"
#include "runtime/cuda/run.h"
#include "runtime/memory/buffer.h"
#include "support/log.h"
#include "support/text.h"

namespace kw {

namespace {

/// The bytes of one array on the device: those between its first and its last element.
struct Span {
  CuPointer begin = 0;
  size_t bytes = 0;
  const int64_t *extents = nullptr;
  std::vector<int64_t> strides{};  ///< in elements
  bool is_read = true, is_written = false;
};

/// Bytes that one or several arrays share, and their copy.
struct SharedBytes {
  CuPointer begin = 0, end = 0;
  bool is_read = false, is_written = false;
  std::unique_ptr<void, void (*)(void *)> copy{nullptr, release_buffer};
};

/// Reads the sizes of the arrays from the words of a call.
class Spans {
 public:
  Spans(const LoadedKernel &kernel, const CallWords &words) : words_(words) {
    const Artifact &a = kernel.artifact();
    // The dims hold the extents of all arguments, then the strides of all arrays.
    size_t strides = 0;
    for (const ParamRecord &p : a.params)
      if (p.is_tensor && p.mode != ParamMode::out) strides += p.rank;
    size_t extents = 0, out_extents = 0;
    for (const ParamRecord &p : a.params) {
      if (!p.is_tensor) continue;
      bool is_out = p.mode == ParamMode::out;
      const int64_t *sizes = is_out ? words.out_extents + out_extents : words.dims + extents;
      (is_out ? out_extents : extents) += p.rank;
      spans_.push_back(span_of(p, sizes, strides));
    }
  }
  const std::vector<Span> &all() const { return spans_; }

 private:
  /// Returns the bytes of an array; `at` is the place of its strides among the dims, which it moves.
  Span span_of(const ParamRecord &p, const int64_t *extents, size_t &at) {
    int64_t lowest = 0, highest = 0, row_major = 1;
    bool is_empty = false;
    size_t given = passed_strides(p.stride_class, p.rank);
    Span out;
    out.extents = extents, out.strides.resize(p.rank);
    for (size_t d = p.rank; d-- > 0;) {
      int64_t stride = out.strides[d] = d < given ? words_.dims[at + d] : row_major;
      row_major *= std::max<int64_t>(extents[d], 1);
      is_empty |= extents[d] == 0;
      (stride < 0 ? lowest : highest) += stride * std::max<int64_t>(extents[d] - 1, 0);
    }
    at += given;
    auto item = static_cast<int64_t>(item_size(p.dtype));
    out.begin =
        reinterpret_cast<CuPointer>(words_.data[spans_.size()]) + static_cast<CuPointer>(lowest * item);
    out.bytes = is_empty ? 0 : static_cast<size_t>((highest - lowest + 1) * item);
    // an output that is filled, or has gaps, keeps what the kernel does not write
    out.is_written = p.mode != ParamMode::in;
    return out;
  }

  const CallWords &words_;
  std::vector<Span> spans_;
};

/// Returns regions that share no bytes, by their addresses.
std::vector<SharedBytes> regions_of(const std::vector<Span> &spans) {
  std::vector<Span> sorted;
  for (const Span &s : spans)
    if (s.bytes) sorted.push_back(s);
  std::sort(sorted.begin(), sorted.end(), [](const Span &a, const Span &b) { return a.begin < b.begin; });
  std::vector<SharedBytes> out;
  for (const Span &s : sorted) {
    if (out.empty() || s.begin >= out.back().end) out.push_back({s.begin, s.begin, false, false});
    SharedBytes &r = out.back();
    r.end = std::max(r.end, s.begin + s.bytes);
    r.is_read |= s.is_read, r.is_written |= s.is_written;
  }
  return out;
}

void *in_copy(const Span &s, CuPointer place, const std::vector<SharedBytes> &regions) {
  for (const SharedBytes &r : regions)
    if (s.bytes && place >= r.begin && place < r.end)
      return static_cast<char *>(r.copy.get()) + (place - r.begin);
  return nullptr;
}

/// Zeroes the outputs that the kernel of the host wants to be zero: that of the device may write all of them.
void fill_outputs(const LoadedKernel &kernel, const std::vector<Span> &spans,
                  const std::vector<void *> &data) {
  size_t number = 0;
  for (const ParamRecord &p : kernel.artifact().params) {
    if (!p.is_tensor) continue;
    const Span &s = spans[number];
    ArrayView all{
        data[number++], s.extents, s.strides.data(), static_cast<int64_t>(item_size(p.dtype)), p.dtype,
        p.rank,         true};
    if (p.mode == ParamMode::out && p.fill == Fill::zero)
      for_each_run(all, [](void *first, size_t bytes) { std::memset(first, 0, bytes); });
  }
}

}  // namespace

/// Returns why a kernel has no code for the device, from the options in its key.
static std::string_view why_on_host(const LoadedKernel &kernel) {
  auto has = [&](std::string_view name, Body body) {
    std::string line = cat("\noption ", name, " ", static_cast<int>(body), "\n");
    return kernel.artifact().key.find(line) != std::string::npos;
  };
  if (has("body", Body::overlapping)) return "its arrays share memory";
  if (has("body", Body::plain)) return "a condition of the fast code does not hold for its sizes";
  return interpreting() ? "KW_DEBUG interprets it" : "it has debug=True";
}

RunResult run_on_host(CudaDevice &device, const LoadedKernel &kernel, const CallWords &words, CuStream stream,
                      const volatile uint32_t *cancel) {
  const CudaDriver &driver = device.driver();
  Spans spans(kernel, words);
  std::vector<SharedBytes> regions = regions_of(spans.all());
  RunResult out;
  size_t bytes = 0;
  for (SharedBytes &r : regions) {
    size_t size = r.end - r.begin;
    bytes += size;
    r.copy.reset(allocate_buffer(size, false));
    if (!r.copy) {
      out.status = 3;
      return out;
    }
    device.check(driver.cuMemcpyDtoHAsync_v2(r.copy.get(), r.begin, size, stream), "cuMemcpyDtoHAsync");
  }
  log_message(LogArea::compile, LogLevel::debug,
              cat("kernel '", kernel.artifact().name, "' runs on the host, on copies of ", bytes,
                  " bytes: ", why_on_host(kernel)));
  if (device.wait(stream, [&] { return cancel && *cancel; })) {
    out.status = 2;
    return out;
  }
  raise_late_fault(device, FaultLog::Whose::all);
  std::vector<void *> data(spans.all().size());
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = in_copy(spans.all()[i], reinterpret_cast<CuPointer>(words.data[i]), regions);
  fill_outputs(kernel, spans.all(), data);
  CallWords on_host = words;
  on_host.data = data.data();
  on_host.device = {};
  out = run_here(kernel, on_host, cancel);
  for (const SharedBytes &r : regions)
    if (r.is_written)
      device.check(driver.cuMemcpyHtoDAsync_v2(r.begin, r.copy.get(), r.end - r.begin, stream),
                   "cuMemcpyHtoDAsync");
  device.wait(stream);  // the copies end with this function
  return out;
}

}  // namespace kw
