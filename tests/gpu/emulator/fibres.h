// Runs the threads of a block, each on a stack of its own, so that they can wait for one another. The words
// of shim.inc call the functions of fibres.cpp that are for C.
#pragma once

#include <cstdint>

namespace emulator {

/// Returns whether an address lies on the stack of a thread.
bool is_on_fibre(uintptr_t begin, uintptr_t end);
/// The seed that chooses which thread is next; 0 lets them run in their order.
uint64_t seed_of_block();
/// Returns false if no thread of a block runs; else leaves it for the one that runs the block, which leaves
/// the kernel.
bool leave_fibre();

}  // namespace emulator
