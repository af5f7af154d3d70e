// Makes errors of faults.
#include "runtime/cuda/faults.h"

#include <cstdio>

#include "runtime/resolved_error.h"
#include "runtime/versions/faults.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the fault as a CPU kernel reports it.
KwFault fault_of(const FaultRecord &record, const LoadedKernel &kernel) {
  size_t sites = std::max<size_t>(kernel.artifact().sites.size(), 1);
  return {2, static_cast<uint32_t>(record.key % sites), record.value, record.bound};
}

/// Returns the error of a fault whose call has returned.
ResolvedError late_error(CudaDevice &device, const LateFault &fault) {
  uint64_t number = fault.record.call;
  Resolved e;
  std::vector<TextPlace> places;
  if (fault.call) {
    const LoadedKernel &kernel = *fault.call->kernel;
    e = fault_error(kernel, fault.call->extents, fault_of(fault.record, kernel));
    places = kernel.places();
    uint64_t since = device.calls().newest() - number;
    std::string when = since == 0 ? "the last call" : since == 1 ? "1 call ago" : cat(since, " calls ago");
    const CallPlace *place = fault.call->place;
    std::string which =
        place ? cat("the call of '", kernel.artifact().name, "' at ", place->file, ":", place->line)
              : cat("a call of '", kernel.artifact().name, "'", kernel.place_text());
    e.notes.push_back(cat("raised late: by ", which, fault.is_of_other_thread ? " in another thread" : "",
                          " (call ", number, ", ", when, ")"));
  } else {
    e.code = Code::E303;
    e.message = fault.is_lost
                    ? cat("more calls than device ", device.index(), " has room to note, up to call ", number,
                          ", had an index out of range")
                    : cat("an index of call ", number, " on device ", device.index(),
                          " was out of range; too many calls came after it to tell which kernel it was");
  }
  e.help.emplace_back("with KW_DEBUG=wait, or kw.kernel(wait=True), the call itself raises it");
  if (fault.others > 0)
    e.notes.push_back(cat(fault.others_are_more ? "at least " : "", counted(fault.others, "other call"),
                          " had an index out of range, too"));
  ResolvedError error({std::move(e)});
  error.places = std::move(places);
  return error;
}

/// Writes W503 with the message of a fault that is left at the end of the process.
void tell_unseen_fault(CudaDevice &device) noexcept {
  try {
    device.enter();
    device.wait(legacy_stream());  // without a look for interrupts: Python has ended
    if (auto fault = device.faults().take_unseen()) throw late_error(device, *fault);
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

void raise_late_fault(CudaDevice &device, FaultLog::Whose whose) {
  if (auto fault = device.faults().take(whose)) [[unlikely]]
    throw late_error(device, *fault);
}

RunResult fault_of_call(CudaDevice &device, uint64_t number) {
  RunResult out;
  auto fault = device.faults().take(FaultLog::Whose::own);
  if (!fault) return out;
  if (fault->record.call != number || !fault->call) throw late_error(device, *fault);
  out.status = 1;
  out.fault = fault_of(fault->record, *fault->call->kernel);
  return out;
}

}  // namespace kw
