// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The 16-bit floats, which C++17 has not: f16 and bf16, as bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tile_emulator {

inline uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float floatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline float widenBf16(uint16_t bits) {
  return floatOfBits(static_cast<uint32_t>(bits) << 16);
}

inline float widenF16(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f)
    return floatOfBits(sign | 0x7f800000 | fraction << 13);
  if (exponent)
    return floatOfBits(sign | (exponent + 112) << 23 | fraction << 13);
  float value = static_cast<float>(fraction) * 0x1p-24f;
  return floatOfBits(sign | bitsOfFloat(value));
}

// Each to nearest even, with the hardware's NaN.

inline uint16_t roundToBf16(float value) {
  if (std::isnan(value))
    return 0x7fff;
  uint32_t bits = bitsOfFloat(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline uint16_t roundToF16(float value) {
  if (std::isnan(value))
    return 0x7fff;
  uint32_t bits = bitsOfFloat(value);
  uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  bits &= 0x7fffffff;
  if (bits >= 0x47800000)
    return sign | 0x7c00;
  if (bits < 0x38800000) {
    // The unit of a subnormal f16 is the last bit of this sum.
    float sum = floatOfBits(bits) + 0.5f;
    return static_cast<uint16_t>(sign | (bitsOfFloat(sum) - 0x3f000000));
  }
  bits += 0xc8000fff + (bits >> 13 & 1);
  return static_cast<uint16_t>(sign | bits >> 13);
}

} // namespace tile_emulator
