// Faults of kernels on a device, which the host learns late: at its next call, copy or wait. Their messages
// are those that the CPU would have had, with a note that says which call it was.
#pragma once

#include "runtime/cuda/device.h"
#include "runtime/launch.h"

namespace kw {

/// Throws the error of a call that has found a fault, if there is one that this thread has not raised:
/// ResolvedError with the message that the call itself would have had and with a note that says which call it
/// was. Waits for the device then. One load as long as no kernel has found a fault.
void raise_late_fault(CudaDevice &device, FaultLog::Whose whose);

/// Writes W503 to stderr for each device with a fault that nobody has seen. For the end of the process.
void tell_unseen_faults() noexcept;

/// Returns the fault of this call, after a wait for its stream; status 0 if it found none.
RunResult fault_of_call(CudaDevice &device, uint64_t number);

}  // namespace kw
