// Arguments → words and the lists of the ABI.
#include "runtime/calls/invocation.h"

namespace kw {

void Invocation::add_strides(const ArrayView &a, StrideClass c) {
  for (size_t d = 0; d < passed_strides(c, a.rank); ++d)
    strides.push_back(a.stride_bytes(d) / a.item_bytes());
}

void Invocation::add_number(ArgKind kind, DType dtype, uint64_t bits) {
  words.push_back(argument_word(kind, dtype, 0, StrideClass::contiguous));
  scalars.push_back(bits);
}

void Invocation::add_outputs(std::span<const ArrayView> given) {
  // strided outputs have one class and pass all their strides; they have no inner_unit class
  auto is_general = [](const ArrayView &a) {
    return a.is_array() && stride_class(a) != StrideClass::contiguous;
  };
  // a signature without words for outputs means that all outputs are contiguous
  if (std::none_of(given.begin(), given.end(), is_general)) return;
  for (const ArrayView &a : given) {
    words.push_back(output_word(is_general(a)));
    if (is_general(a)) add_strides(a, StrideClass::general);
  }
}

void Invocation::add_alias_words(size_t arguments, size_t outputs) {
  for (size_t i = 0; i < arguments; ++i)
    if (alias[i] != i) words.push_back(alias_word(i, alias[i]));
  for (size_t i = 0; i < outputs; ++i)
    if (out_alias[i] != UINT8_MAX) words.push_back(out_alias_word(i, alias[out_alias[i]]));
}

CallWords Invocation::abi_words(const Entry &entry) {
  // the ABI has one list of dims: extents, then strides
  if (!strides.empty()) extents.append(strides);
  return {data.data(), extents.data(), scalars.data(), entry.workspace, device, {}, entry.out_extents.data()};
}

}  // namespace kw
