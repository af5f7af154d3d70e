#pragma once

// Sets of isl from random programs: the iterations of a store as conditions in isl's notation. Asks isl one
// question only, whether a set is empty.

#include <isl/ctx.h>

#include <string>
#include <vector>

#include "tests/oracle/random_nest.h"

namespace kw::oracle {

/// A context of isl that frees itself.
class IslContext {
 public:
  IslContext() : context_(isl_ctx_alloc()) {}
  IslContext(const IslContext &) = delete;
  ~IslContext() { isl_ctx_free(context_); }
  isl_ctx *handle() const { return context_; }

 private:
  isl_ctx *context_;
};

/// A set over iterators, for all sizes n and m of at least 1 and every p.
class IslSet {
 public:
  void add(const std::string &condition);
  /// The iterations of an access; its iterators end in `side`.
  void add_domain(const StoreSite &site, const Access &access, const std::string &side);
  bool empty(const IslContext &context) const;

 private:
  std::vector<std::string> variables_;
  std::string conditions_;
};

}  // namespace kw::oracle
