// Decodes words to a Signature.
#include "runtime/versions/signature_words.h"

namespace kw {

/// Tests the marks from the highest range of values to the lowest, because each range lies above the next
/// one.
Signature signature_of(std::span<const uint16_t> words) {
  Signature s;
  for (size_t i = 0; i < words.size(); ++i) {
    uint16_t w = words[i];
    auto first = static_cast<uint8_t>(w & 63u);
    if (w >= device_word(0)) continue;
    if (w >= out_alias_word(0, 0)) {
      s.out_aliases.resize(((w >> 6) & 31u) + 1, UINT8_MAX);
      s.out_aliases.back() = first;
    } else if (w >= alias_word(0, 0)) {
      s.args[(w >> 6) & 63u].alias = first;
    } else if (w >= output_word(false)) {
      s.outs.push_back(w == output_word(true) ? StrideClass::general : StrideClass::contiguous);
    } else {
      ArgSpec a;
      a.kind = static_cast<ArgKind>(w & 3u);
      a.dtype = static_cast<DType>((w >> 2) & 15u);
      a.rank = rank_of(w);
      a.stride_class = class_of(w);
      // an argument is its own alias unless a mark says otherwise; marks follow all arguments
      a.alias = static_cast<uint8_t>(i);
      s.args.push_back(a);
    }
  }
  return s;
}

}  // namespace kw
