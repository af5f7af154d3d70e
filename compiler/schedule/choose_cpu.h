// The schedule of a kernel for CPUs, step by step (schedule/cpu): the loops are brought into a form and an
// order that suits memory, and then run on several threads and in vector registers. Every choice is asked of
// schedule/legal first. Changes no order of a sum and no result.
#pragma once

#include <string>
#include <vector>

#include "ir/func.h"
#include "support/target.h"

namespace kw {

Func choose_cpu(const Func &f, const Target &target);

/// What choose_cpu does to a function, as directives in the order of their application.
std::vector<std::string> schedule_for_cpu(const Func &f, const Target &target);

}  // namespace kw
