// A signature as 16-bit words, used to compare a call with the existing specializations. There is one word
// per argument, then marks for given outputs, for the device and for arguments that are the same view.
#pragma once

#include <span>

#include "ir/signature.h"

namespace kw {

inline constexpr size_t max_words = 2 * (max_args + max_outputs) + 1;
static_assert(max_args <= 64 && max_outputs <= 32);  // argument indices take 6 bits, output indices 5

// encodes an argument: kind 2 bits, dtype 4, rank 4, class 2
constexpr uint16_t argument_word(ArgKind kind, DType dtype, size_t rank, StrideClass c) {
  return static_cast<uint16_t>(static_cast<unsigned>(kind) | static_cast<unsigned>(dtype) << 2 |
                               static_cast<unsigned>(rank) << 6 | static_cast<unsigned>(c) << 10);
}
constexpr uint8_t rank_of(uint16_t argument) { return argument >> 6 & 15u; }
constexpr StrideClass class_of(uint16_t argument) { return static_cast<StrideClass>(argument >> 10 & 3u); }
/// Encodes an array given for the next output.
constexpr uint16_t output_word(bool general) { return static_cast<uint16_t>(0x8000u | (general ? 1u : 0u)); }
/// Encodes that argument `which` is the same view as argument `first`.
constexpr uint16_t alias_word(size_t which, size_t first) {
  return static_cast<uint16_t>(0xC000u | which << 6 | first);
}
/// Encodes that the array of output `which` is the same view as argument `first`.
constexpr uint16_t out_alias_word(size_t which, size_t first) {
  return static_cast<uint16_t>(0xE000u | which << 6 | first);
}

/// Encodes that all arrays lie on the GPU with this number; calls on the CPU have no such word.
constexpr uint16_t device_word(uint32_t index) { return static_cast<uint16_t>(0xF000u | (index & 0xFFFu)); }

/// Returns the signature that the words encode. It does not tell the device.
Signature signature_of(std::span<const uint16_t> words);

}  // namespace kw
