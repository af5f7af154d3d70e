// Describes what the compiler made of a kernel, as data: how each loop runs, why each access is safe, which
// buffers are zeroed or shared. Also lists the conditions on shapes of the optimized body. Computed on demand
// from the IR of the front end. An artifact holds only the conditions, for when the source is gone.
#pragma once

#include <string>
#include <vector>

#include "driver/compile.h"

namespace kw {

/// One fact about one place of the source.
struct Finding {
  std::string kind;  ///< "loop", "nest", "missed", "access", "buffer"; from the front end "local", "sum"
  Loc loc;
  std::string subject;  ///< "i in range(a.shape[0])", "a[i + 1]", "c", "total"
  int32_t dim = -1;     ///< dimension of an access; depth of a loop in the schedule's nest
  std::string what;  ///< for a loop how it runs, "serial"; "proved", "conditional", "checked", "unchecked";
                     ///< "zeroed", "not zeroed"; a type; an order
  std::string why;   ///< "" if there is nothing to add
};

struct Explanation {
  std::vector<std::string> conditions;  ///< tested once per call: "b.shape[0] >= a.shape[0]"
  std::vector<std::string> schedule;    ///< the applied directives: "vectorize j by 64"
  /// The loops of the schedule's nest from the outside inwards and the missed optimizations, then the
  /// source's loops, accesses and buffers, each in source order.
  std::vector<Finding> findings;
  /// The arguments and outputs that are the same view as an earlier argument, each with the name of that
  /// argument.
  std::vector<std::pair<std::string, std::string>> shared;
};

/// Explains the body of `input.options` of a function as the front end made it. Throws CompileError for a
/// function that is out of bounds in every run, like compile().
Explanation explain(const Func &f, const CompileInput &input);

/// Returns the conditions on shapes that a call tests for a function after the pipeline, larger side first.
std::vector<std::string> condition_texts(const Func &safe);

/// Returns the source text of a location, in one line.
std::string excerpt(const SourceMap &sources, Loc loc);

}  // namespace kw
