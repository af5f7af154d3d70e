// Checks the preconditions of the directives for GPUs on the tree. Says nothing about dependences
// (directives/legal_kinds).
#pragma once

#include "schedule/directives/directives.h"

namespace kw {

template <class D>
inline constexpr bool is_for_gpus =
    rewrites_for_gpu<D> || std::is_same_v<D, Grid> || std::is_same_v<D, Team> ||
    std::is_same_v<D, Linearize> || std::is_same_v<D, CacheRow>;

/// Return why a directive does not fit the tree, as a phrase for users; "" if it does.
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const Grid &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const Team &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const Stage &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const Rfactor &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const PrivateBins &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const Linearize &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const ScanLoop &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const StageChain &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const StageRows &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const StageColumns &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const FoldFill &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const CacheRow &d);
std::string_view why_not_on_gpu(const Func &f, const Nest &nest, const Unswitch &d);

}  // namespace kw
