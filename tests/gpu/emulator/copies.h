// Copies to shared memory that a thread waits for later. The words of shim.inc call the functions of
// copies.cpp that are for C.
#pragma once

namespace emulator {

/// Reports copies of the present thread, which ends, that it has not waited for.
void end_copies();
/// Forgets those of all threads.
void forget_copies();

}  // namespace emulator
