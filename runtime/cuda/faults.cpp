// Reads the record of a device and forgets it.
#include "runtime/cuda/faults.h"

#include <cstdio>

#include "runtime/resolved_error.h"
#include "runtime/versions/faults.h"
#include "support/text.h"

namespace kw {

namespace {

/// Reads and clears the record after all work of the device has ended, which may still find a fault that
/// comes before the first one in source order.
FaultRecord take_record(CudaDevice &device) {
  const CudaDriver &driver = device.driver();
  FaultRecord record{};
  device.check(driver.cuCtxSynchronize(), "cuCtxSynchronize");
  CuStream stream = legacy_stream();
  device.check(driver.cuMemcpyDtoHAsync_v2(&record, device.fault_record(), sizeof record, stream),
               "cuMemcpyDtoHAsync");
  device.check(driver.cuMemsetD8Async(device.fault_record(), 0, sizeof record, stream), "cuMemsetD8Async");
  device.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
  device.words().failed_call = 0;
  return record;
}

/// Returns the fault as a CPU kernel reports it.
KwFault fault_of(const FaultRecord &record, const LoadedKernel &kernel) {
  size_t sites = std::max<size_t>(kernel.artifact().sites.size(), 1);
  return {2, static_cast<uint32_t>(record.key % sites), record.value, record.bound};
}

/// Writes W503 with the message of a fault that is left at the end of the process.
void tell_unseen_fault(CudaDevice &device) noexcept {
  try {
    device.enter();
    device.wait(legacy_stream());  // without a look for interrupts: Python has ended
    raise_late_fault(device);
  } catch (const ResolvedError &e) {
    if (e.errors.empty() || e.errors[0].code == Code::E504) return;
    Resolved warning;
    warning.code = Code::W503;
    warning.message = cat("the program ended before it saw a fault of a kernel on device ", device.index());
    warning.help = {"wait for results before the end: .numpy(), or kw.cuda.synchronize()"};
    std::string text = render(warning, {}, 0);
    for (const Resolved &error : e.errors) text += cat("\n", render(error, e.places));
    std::fputs(cat(text, "\n").c_str(), stderr);
  } catch (...) {  // the process ends
  }
}

}  // namespace

void tell_unseen_faults() noexcept {
  for (uint32_t i = 0; i < most_devices; ++i)
    if (CudaDevice *device = find_used_device(i); device && find_driver()) tell_unseen_fault(*device);
}

void raise_late_fault(CudaDevice &device) {
  if (device.words().failed_call == 0) [[likely]]
    return;
  FaultRecord record = take_record(device);
  if (!record.is_set) return;
  auto call = device.calls().find(record.call);
  if (!call) {
    Resolved e;
    e.code = Code::E303;
    e.message = cat("an index of call ", record.call, " on device ", device.index(),
                    " was out of range; too many calls came after it to tell which kernel it was");
    throw ResolvedError({e});
  }
  Resolved e = fault_error(*call->kernel, call->extents, fault_of(record, *call->kernel));
  uint64_t since = device.calls().newest() - record.call;
  std::string when = since == 0 ? "the last call" : since == 1 ? "1 call ago" : cat(since, " calls ago");
  e.notes.push_back(cat("raised late: by a call of '", call->kernel->artifact().name, "'",
                        call->kernel->place_text(), " (call ", record.call, ", ", when, ")"));
  e.help.emplace_back("with KW_DEBUG=wait, or kw.kernel(wait=True), the call itself raises it");
  ResolvedError error({std::move(e)});
  error.places = call->kernel->places();
  throw error;
}

RunResult fault_of_call(CudaDevice &device, uint64_t number) {
  RunResult out;
  if (device.words().failed_call == 0) return out;
  if (device.words().failed_call != number) raise_late_fault(device);
  FaultRecord record = take_record(device);
  auto call = device.calls().find(number);
  if (!record.is_set || !call) return out;
  out.status = 1;
  out.fault = fault_of(record, *call->kernel);
  return out;
}

}  // namespace kw
